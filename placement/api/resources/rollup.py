"""`/resource_providers/{uuid}/rollup`."""

from placement.api.handler import NOW, Call, Reply
from placement.api.parameters import refuse_parameters
from placement.objects import rollup


def show_provider_rollup(call: Call) -> Reply:
    """Sum up the inventories of a provider and its descendants by resource class.

    The `free` units of a provider are at least 0. `largest` is the maximum amount that one provider
    can serve. `sharing` lists the sharing providers outside of the tree that all its providers can
    use.
    """
    refuse_parameters(call.query_string, call.version)
    with call.service.database.read() as conn:
        sums = rollup.sum_subtree(conn, call.path["uuid"])
    return Reply(200, sums, changed_at=NOW)
