"""`/resource_providers/{uuid}/rollup`."""

from placement.api.handler import NOW, Call, Reply
from placement.api.members import CLASS_KEY, UUID_KEY
from placement.api.shapes import Json, Object, Property, Table, itself
from placement.objects import rollup
from placement.objects.rollup import Rollup, Sum, Sums

_EXAMPLES = {"total": 64, "reserved": 2, "capacity": 992, "used": 12, "free": 980, "largest": 62}

_SUM: Object[Sum] = Object(
    "Sum", *(Property(name, Json.of("integer", amount)) for name, amount in _EXAMPLES.items())
)
_RESOURCES = Table(CLASS_KEY, _SUM)
_SHARING: Object[Sums] = Object("SharingRollup", Property("resources", _RESOURCES, itself))
ROLLUP: Object[Rollup] = Object(
    "Rollup",
    Property("providers", Json.of("integer", 5)),
    Property("resources", _RESOURCES),
    Property("sharing", Table(UUID_KEY, _SHARING)),
)


def show_provider_rollup(call: Call) -> Reply:
    """Sum up the inventories of a provider and its descendants by resource class.

    The `free` units of a provider are at least 0. `largest` is the maximum amount that one provider
    can serve. `sharing` lists the sharing providers outside of the tree that all its providers can
    use.
    """
    with call.service.database.read() as conn:
        sums = rollup.sum_subtree(conn, call.path["uuid"])
    return Reply(200, sums, changed_at=NOW)
