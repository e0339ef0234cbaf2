"""The changes of trees as clients see them."""

from placement.api import samples
from placement.api.members import ROOT_UUID
from placement.api.shapes import Array, Json, Object, Property
from placement.objects.changes import Change, Changes

_CHANGE: Object[Change] = Object(
    "ChangedTree",
    Property("uuid", ROOT_UUID),
    Property("gone", Json({"type": "boolean", "examples": [False]})),
)
CHANGES: Object[Changes] = Object(
    "Changes",
    Property("changes", Array(_CHANGE)),
    Property(
        "cursor",
        Json({"type": "string", "examples": [samples.CURSOR]}),
        lambda changes: f"{changes.cursor.position:016x}{changes.cursor.token:016x}",
    ),
    Property("complete", Json({"type": "boolean", "examples": [True]})),
)
