"""The parameters of `GET /changes`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from placement.api.microversion import Microversion
from placement.api.parameters import Pairs, Parameter, bad, last_values, matching, positive
from placement.objects.changes import ChangeCursor

MAX_CHANGES = 1000

_CURSOR = re.compile(r"([0-7][0-9a-f]{15})([0-7][0-9a-f]{15})")

PARAMETERS: Mapping[str, Parameter] = {
    "since": Parameter(
        "2.0",
        "A cursor of an earlier answer; the changes since are listed.",
        matching("([0-7][0-9a-f]{15}){2}"),
    ),
    "limit": Parameter(
        "2.0",
        f"Maximum number of changes, {MAX_CHANGES} by default.",
        {"type": "integer", "minimum": 1, "maximum": MAX_CHANGES},
    ),
}


@dataclass(frozen=True, slots=True)
class ChangesQuery:
    """The requested changes."""

    # Cursor of the client. None requests a new cursor and no changes.
    since: ChangeCursor | None
    # Maximum number of changes.
    limit: int


def parse_changes_query(query: Pairs, version: Microversion) -> ChangesQuery:
    """Parse the parameters.  Raises BadQuery."""
    values = last_values(query, PARAMETERS, version)
    limit = positive("limit", values["limit"]) if "limit" in values else MAX_CHANGES
    if limit > MAX_CHANGES:
        raise bad("limit", values["limit"], f"expected at most {MAX_CHANGES}")
    if "since" not in values:
        return ChangesQuery(None, limit)
    match = _CURSOR.fullmatch(values["since"])
    if match is None:
        raise bad("since", values["since"], "expected the cursor of an earlier answer")
    return ChangesQuery(ChangeCursor(int(match[1], 16), int(match[2], 16)), limit)
