"""The versions, the health and the OpenAPI document of the service."""

from placement.api.handler import NOW, Call, Reply
from placement.api.history import LINES
from placement.objects import health


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
