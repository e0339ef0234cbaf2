"""Responses about the versions, the health and the OpenAPI document of the service."""

from collections.abc import Sequence
from operator import attrgetter

from placement.api.history import LATEST, OLDEST, Line
from placement.api.members import LINK
from placement.api.shapes import Array, Fragment, Json, Object, Property, itself

_HREF: Fragment = {**LINK["properties"], "href": {"type": "string", "examples": [""]}}

VERSION: Object[Line] = Object(
    "Version",
    Property("id", Json({"type": "string", "examples": ["v1.0"]}), attrgetter("name")),
    Property(
        "max_version",
        Json({"type": "string", "examples": [str(LATEST)]}),
        lambda line: str(line.newest),
    ),
    Property(
        "min_version",
        Json({"type": "string", "examples": [str(OLDEST)]}),
        lambda line: str(line.oldest),
    ),
    Property("status", Json({"type": "string", "examples": ["CURRENT"]})),
    Property(
        "links",
        Array(Json({**LINK, "properties": _HREF, "title": "VersionLink"})),
        lambda _line: [{"rel": "self", "href": ""}],
    ),
)
VERSIONS: Object[Sequence[Line]] = Object("Versions", Property("versions", Array(VERSION), itself))
HEALTH: Object[str] = Object(
    "Health", Property("status", Json({"type": "string", "examples": ["ok"]}), itself)
)
DOCUMENT = Json({"title": "OpenapiDocument", "type": "object", "examples": [{"openapi": "3.1.0"}]})
