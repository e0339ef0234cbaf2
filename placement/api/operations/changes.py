"""`/changes`."""

import re
from collections.abc import Mapping

from placement.api import samples
from placement.api.handler import Call, Reply
from placement.api.history import Microversion
from placement.api.members import ROOT_UUID
from placement.api.parameters import Pairs, Parameter, bad, last_values, pairs, positive
from placement.api.shapes import Array, Json, Object, Property
from placement.objects import changes
from placement.objects.changes import Change, ChangeCursor, Changes

MAX_CHANGES = 1000

_CURSOR = re.compile(r"([0-7][0-9a-f]{15})([0-7][0-9a-f]{15})")

PARAMETERS: Mapping[str, Parameter] = {
    # Clients must not rely on the form of cursors.
    "since": Parameter("2.0", "A cursor of an earlier response; the changes since are listed."),
    "limit": Parameter(
        "2.0",
        f"Maximum number of changes, {MAX_CHANGES} by default.",
        {"type": "integer", "minimum": 1, "maximum": MAX_CHANGES, "default": MAX_CHANGES},
    ),
}


def parse_changes_query(query: Pairs, version: Microversion) -> tuple[ChangeCursor | None, int]:
    """Return the cursor of the client and the maximum number of changes.

    Without a cursor, a new cursor and no changes are requested. Raises BadQuery.
    """
    values = last_values(query, PARAMETERS, version)
    limit = positive("limit", values.get("limit", str(MAX_CHANGES)), MAX_CHANGES)
    if "since" not in values:
        return None, limit
    match = _CURSOR.fullmatch(values["since"])
    if match is None:
        raise bad(
            "since",
            values["since"],
            "expected the cursor of an earlier response; GET /changes returns one",
        )
    return ChangeCursor(int(match[1], 16), int(match[2], 16)), limit


_CHANGE: Object[Change] = Object(
    "ChangedTree", Property("uuid", ROOT_UUID), Property("gone", Json.of("boolean", False))
)
CHANGES: Object[Changes] = Object(
    "Changes",
    Property("changes", Array(_CHANGE)),
    Property(
        "cursor",
        Json.of("string", samples.CURSOR),
        lambda changes: f"{changes.cursor.position:016x}{changes.cursor.token:016x}",
    ),
    Property("complete", Json.of("boolean", True)),
)


def list_changes(call: Call) -> Reply:
    """List the trees of resource providers that have changed since a cursor.

    Without `since`, the response contains no changes and the newest cursor. Each changed tree is
    listed once, by the UUID of its root, and clients then read its current state. `gone` means that
    no root has this UUID now. A provider of the tree may be in another tree, which is also listed.
    If `complete` is false, more changes are available. A change may be listed a second after its
    commit, and more than once. A cursor expires (410) when later changes are deleted (`[placement]
    changes_kept`), or when the database is replaced by an older copy.
    """
    since, limit = parse_changes_query(pairs(call.query_string), call.version)
    service = call.service
    database, kept = service.database.primary(), service.settings.changes_kept
    content = changes.get_since(database, since, limit, kept)
    return Reply(200, content, storable=False)
