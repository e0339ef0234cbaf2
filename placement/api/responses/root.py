"""The service itself as clients see it: its versions, its health, its document."""

from collections.abc import Mapping

from placement.api.history import LATEST, OLDEST
from placement.api.microversion import Microversion
from placement.api.responses.common import LINK
from placement.api.shapes import Array, Fragment, Json, Member, Object, itself

_HREF: Fragment = {**LINK["properties"], "href": {"type": "string", "examples": [""]}}

# There is one major version; clients look for the range of the microversions that are served.
VERSION: Object[Mapping[Microversion, str]] = Object(
    "Version",
    Member("id", Json({"type": "string", "examples": ["v1.0"]}), lambda _history: "v1.0"),
    Member(
        "max_version",
        Json({"type": "string", "examples": [str(LATEST)]}),
        lambda history: str(max(history)),
    ),
    Member(
        "min_version",
        Json({"type": "string", "examples": [str(OLDEST)]}),
        lambda history: str(min(history)),
    ),
    Member("status", Json({"type": "string", "examples": ["CURRENT"]}), lambda _history: "CURRENT"),
    Member(
        "links",
        Array(Json({**LINK, "properties": _HREF, "title": "VersionLink"})),
        lambda _history: [{"rel": "self", "href": ""}],
    ),
)
VERSIONS: Object[Mapping[Microversion, str]] = Object(
    "Versions", Member("versions", Array(VERSION), lambda history: [history])
)
HEALTH: Object[str] = Object(
    "Health", Member("status", Json({"type": "string", "examples": ["ok"]}), itself)
)
DOCUMENT = Json({"title": "OpenapiDocument", "type": "object", "examples": [{"openapi": "3.1.0"}]})
