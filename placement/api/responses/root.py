"""The service itself as clients see it: its versions, its health, its document."""

from collections.abc import Sequence
from operator import attrgetter

from placement.api.history import LATEST, OLDEST, Line
from placement.api.responses.common import LINK
from placement.api.shapes import Array, Fragment, Json, Member, Object, itself

_HREF: Fragment = {**LINK["properties"], "href": {"type": "string", "examples": [""]}}

VERSION: Object[Line] = Object(
    "Version",
    Member("id", Json({"type": "string", "examples": ["v1.0"]}), attrgetter("name")),
    Member(
        "max_version",
        Json({"type": "string", "examples": [str(LATEST)]}),
        lambda line: str(line.newest),
    ),
    Member(
        "min_version",
        Json({"type": "string", "examples": [str(OLDEST)]}),
        lambda line: str(line.oldest),
    ),
    Member("status", Json({"type": "string", "examples": ["CURRENT"]})),
    Member(
        "links",
        Array(Json({**LINK, "properties": _HREF, "title": "VersionLink"})),
        lambda _line: [{"rel": "self", "href": ""}],
    ),
)
VERSIONS: Object[Sequence[Line]] = Object("Versions", Member("versions", Array(VERSION), itself))
HEALTH: Object[str] = Object(
    "Health", Member("status", Json({"type": "string", "examples": ["ok"]}), itself)
)
DOCUMENT = Json({"title": "OpenapiDocument", "type": "object", "examples": [{"openapi": "3.1.0"}]})
