"""What happens to every request before its operation, and to every answer after it."""

import logging
import re
from typing import Any

import falcon

from placement.api.history import HISTORY, LATEST, OLDEST
from placement.api.microversion import HEADER, MalformedVersionError, requested
from placement.api.outer import REQUEST_ID, REQUEST_ID_KEY
from placement.api.problems import Refusal

ACCESS_LOG = logging.getLogger("placement.access")

MAX_URI = 64 * 1024  # bytes of path and query
_GLOBAL_ID = re.compile(r"req-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")


class RequestContext:
    """Notes each request's id, bounds its length, and logs one line when it is answered."""

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Set `req.context.request_id`."""
        req.context.request_id = req.env[REQUEST_ID_KEY]
        if len(req.path) + len(req.query_string) > MAX_URI:
            raise Refusal(414, f"path and query may have {MAX_URI} bytes together")

    def process_response(
        self, req: falcon.Request, resp: falcon.Response, resource: Any, succeeded: bool
    ) -> None:
        """Log the request."""
        caller = req.get_header(REQUEST_ID) or ""
        ACCESS_LOG.info(
            '%s "%s %s" status: %s len: %s microversion: %s %s%s',
            req.remote_addr,
            req.method,
            req.relative_uri,
            falcon.http_status_to_code(resp.status),
            len(resp.data or b"") if resp.stream is None else resp.content_length,
            getattr(req.context, "version", "-"),
            req.context.request_id,
            f" for {caller}" if _GLOBAL_ID.match(caller) else "",
        )


class Negotiation:
    """Settles the version of a request; says so in every answer to a negotiated one."""

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Set `req.context.version`: 400 for a malformed one, 406 for one not served."""
        try:
            version = requested(req.get_header(HEADER), LATEST)
        except MalformedVersionError as error:
            raise Refusal(400, f"{HEADER}: invalid version string: {error}") from None
        if version not in HISTORY:
            raise Refusal(
                406,
                f"Unacceptable version header: {version}; this service has {OLDEST} to "
                f"{LATEST}: send {HEADER}: placement {LATEST}",
                members={"max_version": str(LATEST), "min_version": str(OLDEST)},
            )
        req.context.version = version
        if req.content_length and req.content_type is None:
            raise Refusal(400, "Content-Type: this header is required with a body")
        if req.method not in falcon.COMBINED_METHODS:
            raise Refusal(405, f"The method {req.method} is not known")

    def process_response(
        self, req: falcon.Request, resp: falcon.Response, resource: Any, succeeded: bool
    ) -> None:
        """Name the version in the answer."""
        version = getattr(req.context, "version", None)
        if version is not None:
            resp.set_header(HEADER, f"placement {version}")
            resp.append_header("Vary", HEADER.lower())
