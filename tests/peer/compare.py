"""The comparison of two responses to one request, including writes."""

from __future__ import annotations

from typing import Any

from falcon_placement_client import responses
from falcon_placement_client.responses import Differences, ServerResponse, unequal
from tests.peer.generator import Request
from tests.peer.servers import Server

# Headers that have an aspect of their own. Of all others, the names are compared.
COMPARED_HEADERS = frozenset(
    [
        "openstack-api-version", "vary", "cache-control", "last-modified", "location",
        "content-type", "allow", "www-authenticate", "x-openstack-request-id",
    ]
)  # fmt: skip


def send(server: Server, request: Request) -> ServerResponse:
    """Send a request to one server."""
    response = server.session.request(
        request.method,
        f"{server.url}{request.target}",
        data=request.body,
        headers={"Accept": None, **request.all_headers()},
        allow_redirects=False,
        timeout=60,
    )
    headers = {key.lower(): value for key, value in response.headers.items()}
    return ServerResponse(response.status_code, headers, response.content)


def _headers(response: ServerResponse) -> dict[str, Any]:
    """Return what is compared besides the aspects of reads, and without proxies in between."""
    headers = response.headers
    location = headers.get("location", "")
    return {
        "location": location.split("/", 3)[3:] if "//" in location else location,
        "vary": headers.get("vary"),
        "allow": sorted(headers.get("allow", "").replace(" ", "").split(",")),
        "others": sorted(headers.keys() - COMPARED_HEADERS),
    }


def differences(request: Request, ours: ServerResponse, peer: ServerResponse) -> Differences:
    """Return aspect -> the two values, for aspects that differ."""
    return responses.differences(request, ours, peer) | unequal(_headers(ours), _headers(peer))
