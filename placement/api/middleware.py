"""The steps before the operation of every request, and after its response."""

import re
from typing import Any

import falcon

from placement.api.history import (
    HEADER,
    HISTORY,
    LATEST,
    LINES,
    OLDEST,
    Line,
    MalformedVersionError,
    Microversion,
    requested,
)
from placement.api.problems import RequestRefused
from placement.api.request_log import REQUEST_ID_KEY, VERSION_KEY

MAX_URI = 64 * 1024  # bytes of path and query

# Host name or address, optionally with a port. `Location` contains it.
_HOST = re.compile(r"[A-Za-z0-9._~%!$&'()*+,;=:\[\]-]*", re.ASCII)


class Intake:
    """Sets the id of a request, and checks its length and its Host header."""

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Set `req.context.request_id`.

        Raises:
            RequestRefused: 414 if the URI is too long, 400 if Host is malformed.
        """
        req.context.request_id = req.env[REQUEST_ID_KEY]
        if len(req.path) + len(req.query_string) > MAX_URI:
            raise RequestRefused(
                414,
                f"path and query together may have {MAX_URI} bytes: name fewer objects, or send "
                f"POST /allocation_candidates of placement 2.0",
            )
        if not _HOST.fullmatch(req.env.get("HTTP_HOST", "")):
            raise RequestRefused(400, "Host: this header is not a valid host name")


def _versions(line: Line) -> str:
    return str(line.newest) if line.oldest == line.newest else f"{line.oldest} to {line.newest}"


def _nearest(version: Microversion) -> Microversion:
    """Return the newest version with the major number of an unsupported one, or of 1.x."""
    newest = {line.newest.major: line.newest for line in LINES}
    return newest.get(version.major, LATEST)


class Negotiation:
    """Negotiates the version of a request, and adds it to the response."""

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Set `req.context.version`.

        Raises:
            RequestRefused: 400 if the header is malformed, 406 if the version is not supported.
        """
        try:
            version = requested(req.get_header(HEADER), LATEST)
        except MalformedVersionError as error:
            raise RequestRefused(
                400,
                f"{HEADER}: invalid version string: {error}; expected a version such as "
                "placement 1.39, or placement latest",
            ) from None
        if version not in HISTORY:
            raise RequestRefused(
                406,
                f"Unacceptable version header: {version}; this service has "
                f"{' and '.join(map(_versions, LINES))}: "
                f"send {HEADER}: placement {_nearest(version)}",
                members={"max_version": str(LATEST), "min_version": str(OLDEST)},
            )
        req.context.version = version
        req.env[VERSION_KEY] = str(version)
        if req.content_length and req.content_type is None:
            raise RequestRefused(400, "Content-Type: this header is required with a body")

    def process_resource(
        self, req: falcon.Request, resp: falcon.Response, resource: Any, params: dict[str, str]
    ) -> None:
        """Let the resource refuse a method that Falcon has no responder for."""
        if req.method not in falcon.COMBINED_METHODS:
            resource.respond(req, resp, **params)

    def process_response(
        self, req: falcon.Request, resp: falcon.Response, resource: Any, succeeded: bool
    ) -> None:
        """Add the version to the response."""
        version = getattr(req.context, "version", None)
        if version is not None:
            resp.set_header(HEADER, f"placement {version}")
            resp.append_header("Vary", HEADER.lower())
