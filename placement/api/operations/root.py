"""The versions, the health and the OpenAPI document of the service."""

from collections.abc import Sequence
from operator import attrgetter

from placement.api.handler import NOW, Call, Reply
from placement.api.history import LATEST, LINES, OLDEST, Line
from placement.api.members import LINK
from placement.api.shapes import Array, Fragment, Json, Object, Property, itself
from placement.objects import health

_HREF: Fragment = {**LINK["properties"], "href": {"type": "string", "examples": [""]}}

VERSION: Object[Line] = Object(
    "Version",
    Property("id", Json.of("string", "v1.0"), attrgetter("name")),
    Property("max_version", Json.of("string", str(LATEST)), lambda line: str(line.newest)),
    Property("min_version", Json.of("string", str(OLDEST)), lambda line: str(line.oldest)),
    Property("status", Json.of("string", "CURRENT")),
    Property(
        "links",
        Array(Json({**LINK, "properties": _HREF, "title": "VersionLink"})),
        lambda _line: [{"rel": "self", "href": ""}],
    ),
)
VERSIONS: Object[Sequence[Line]] = Object("Versions", Property("versions", Array(VERSION), itself))
HEALTH: Object[str] = Object("Health", Property("status", Json.of("string", "ok"), itself))
DOCUMENT = Json({"title": "OpenapiDocument", "type": "object", "examples": [{"openapi": "3.1.0"}]})


def list_versions(call: Call) -> Reply:
    """List the supported microversions. Only a request at 2.x lists the series 2.x."""
    # Clients of openstack-placement may refuse a second series, or a status other than CURRENT.
    lines = [line for line in LINES if line.oldest <= call.version]
    return Reply(200, lines, changed_at=NOW)


def check_health(call: Call) -> Reply:
    """Check whether the service can process requests; 503 if its database cannot be used."""
    health.check(call.service.database)
    return Reply(200, "ok")


def show_document(call: Call) -> Reply:
    """Show this document: the API at the requested microversion, as OpenAPI."""
    return Reply(200, [call.service.document(call.version, call.mount)])
