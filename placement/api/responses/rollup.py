"""Responses with the sums of a provider and its descendants."""

from placement.api.members import CLASS_KEY, UUID_KEY
from placement.api.shapes import Json, Object, Property, Table, itself
from placement.objects.rollup import Rollup, Sum, Sums

_EXAMPLES = {"total": 64, "reserved": 2, "capacity": 992, "used": 12, "free": 980, "largest": 62}

_SUM: Object[Sum] = Object(
    "Sum",
    *(
        Property(name, Json({"type": "integer", "examples": [amount]}))
        for name, amount in _EXAMPLES.items()
    ),
)
_RESOURCES = Table(CLASS_KEY, _SUM)
_SHARING: Object[Sums] = Object("SharingRollup", Property("resources", _RESOURCES, itself))
ROLLUP: Object[Rollup] = Object(
    "Rollup",
    Property("providers", Json({"type": "integer", "examples": [5]})),
    Property("resources", _RESOURCES),
    Property("sharing", Table(UUID_KEY, _SHARING)),
)
