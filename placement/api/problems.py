"""The conversion of errors to HTTP responses, with a table of error classes and statuses.

The status of a domain error is the status of its nearest base class in the table. Any other error
is a bug in the service: the response is 500, the log contains the traceback, and the client
receives only the request id.
"""

import http
import logging
from collections.abc import Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import falcon
import orjson

from placement import errors
from placement.api import history
from placement.api.bodies import closed
from placement.api.history import Feature, Microversion
from placement.runtime import events
from placement.runtime.events import Event
from placement.runtime.messages import escaped
from placement.runtime.suggestions import did_you_mean, nearest

LOG = logging.getLogger(__name__)

STATUS: Mapping[type[Exception], int] = {
    errors.NotFound: 404,
    errors.Expired: 410,
    errors.Invalid: 400,
    errors.Conflict: 409,
    errors.Unavailable: 503,
}

SEARCH = "/allocation_candidates"
MAX_COMPARED = 255  # characters of an unknown path that is compared with existing paths
MAX_DETAIL = 4000  # characters; a detail may repeat data of the client

FAULT = "The server met an unexpected fault; its log has the details under this request id"

TITLES = {413: "Content Too Large", 414: "URI Too Long"}

ERRORS = closed(
    {
        "errors": {
            "type": "array",
            "minItems": 1,
            "maxItems": 1,
            "items": closed(
                {
                    "status": {"type": "integer"},
                    "title": {"type": "string"},
                    "detail": {"type": "string", "description": "What is wrong, for people."},
                    "request_id": {"type": "string"},
                },
                {
                    "code": {"type": "string", "description": "What is wrong, for programs."},
                    "max_version": {"type": "string"},
                    "min_version": {"type": "string"},
                },
                "Error",
            ),
        }
    },
    title="Errors",
)


class RequestRefused(Exception):
    """A request that the pipeline refuses before the handler runs."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        members: Mapping[str, str] | None = None,
    ) -> None:
        """`members` are additional members of the error object."""
        super().__init__(detail)
        self.status = status
        self.headers = headers or {}
        self.members = members or {}


def title(status: int) -> str:
    """Return the standard reason phrase of a status."""
    return TITLES.get(status) or http.HTTPStatus(status).phrase


def envelope(
    status: int,
    detail: str,
    request_id: str,
    version: Microversion | None,
    code: str = errors.UNDEFINED,
    members: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the body of an error, without `code` at versions that have no codes.

    Args:
        status: status of the response.
        detail: description of the error; long descriptions are cut.
        request_id: id of the request.
        version: version of the response, or None if none has been negotiated.
        code: code of the error.
        members: additional members of the error object.
    """
    error: dict[str, Any] = {
        "status": status,
        "title": title(status),
        "detail": detail if len(detail) <= MAX_DETAIL else f"{detail[:MAX_DETAIL]}…",
        "request_id": request_id,
    }
    if version is not None and Feature.ERROR_CODES.at(version):
        error["code"] = code
    return {"errors": [{**error, **(members or {})}]}


def _respond(
    req: falcon.Request,
    resp: falcon.Response,
    status: int,
    detail: str,
    code: str = errors.UNDEFINED,
    members: Mapping[str, str] | None = None,
) -> None:
    resp.status = status
    resp.content_type = falcon.MEDIA_JSON
    body = envelope(status, detail, req.context.request_id, _version(req), code, members)
    resp.data = orjson.dumps(body)
    if req.path == SEARCH and status < 500:
        # Nova reports a refused search like an empty one, and does not log the detail.
        LOG.info("refused with %s: %s", status, escaped(body["errors"][0]["detail"]))


def _version(req: falcon.Request) -> Microversion | None:
    return getattr(req.context, "version", None)


def _ignored(req: falcon.Request) -> str:
    return history.ignored(req.get_header(history.HEADER))


def domain_error(
    req: falcon.Request, resp: falcon.Response, error: errors.PlacementError, _params: Any
) -> None:
    """Respond to a domain error."""
    status = next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)
    if isinstance(error, errors.Conflict):
        events.emit(Event.CONFLICT, code=error.code)
    if isinstance(error, errors.DatabaseUnusable):
        LOG.error("%s", error.complaint)
    if isinstance(error, errors.DatabaseUnavailable):
        LOG.warning("%s", error.complaint)
    if isinstance(error, errors.Unavailable) and error.retry_after is not None:
        resp.set_header("Retry-After", str(error.retry_after))
    version = _version(req)
    # Versions 1.x do not define codes for 503.
    is_coded = status != 503 or (version is not None and Feature.WHOLE_LANGUAGE.at(version))
    code = error.code if is_coded else errors.UNDEFINED
    _respond(req, resp, status, f"{error}{_ignored(req)}", code)


def refusal(
    req: falcon.Request, resp: falcon.Response, error: RequestRefused, _params: Any
) -> None:
    """Respond to a request that the pipeline refused."""
    resp.set_headers(dict(error.headers))
    _respond(req, resp, error.status, f"{error}{_ignored(req)}", members=error.members)


def http_error(
    req: falcon.Request,
    resp: falcon.Response,
    error: falcon.HTTPError,
    _params: Any,
    *,
    paths: Mapping[str, Microversion] = MappingProxyType({}),
) -> None:
    """Respond to an error that Falcon itself raises, such as an unknown path or a malformed line.

    Args:
        req: the request.
        resp: the response.
        error: the exception of Falcon.
        paths: existing paths, with variables in braces, for suggestions; with their first versions.
    """
    status = falcon.http_status_to_code(error.status)
    detail = error.description or title(status)
    if status == 404 and not error.description:
        version = _version(req) or history.LATEST
        existing = [path for path, since in paths.items() if since.major <= version.major]
        detail = f"No resource at {req.path}{_similar_path(req.path, existing)}"
    _respond(req, resp, status, detail + _ignored(req))


def _similar_path(path: str, paths: Iterable[str]) -> str:
    """Return a hint with the existing path that is most similar to an unknown one."""
    if len(path) > MAX_COMPARED:
        return ""
    paths = tuple(paths)
    prefix, *segments = path.strip("/").split("/")
    tails = ["/" + "/".join(segments[start:]) for start in range(len(segments))]
    if not nearest(prefix, {pattern.split("/")[1] for pattern in paths}, cutoff=0.75):
        for tail in tails:
            if tail in _filled_paths(tail, paths):
                return f"; did you mean {tail}? The service is not below {path.removesuffix(tail)}"
    if similar := nearest(path, _filled_paths(path, paths), cutoff=0.75):
        return did_you_mean(similar)
    below = [pattern for pattern in paths if pattern.startswith(f"/{prefix}/") and not segments]
    listed = "; GET /consumers?held=true lists holds" if prefix == "holds" else ""
    return f"; there is {below[0]}{listed}" if below else ""


def _filled_paths(path: str, patterns: Iterable[str]) -> list[str]:
    """Return the patterns with as many segments as a path, with its segments as the variables."""
    segments = path.rstrip("/").split("/")
    return [
        "/".join(map(_filled, pattern.split("/"), segments))
        for pattern in patterns
        if pattern.count("/") == len(segments) - 1
    ]


def _filled(pattern: str, segment: str) -> str:
    return segment if pattern.startswith("{") else pattern


def unexpected(req: falcon.Request, resp: falcon.Response, error: Exception, _params: Any) -> None:
    """Respond to an unexpected exception. Such an exception is a bug in the service."""
    LOG.exception("unexpected error in %s %s", req.method, req.path, exc_info=error)
    _respond(req, resp, 500, FAULT)


def register(
    app: "falcon.App[Any, Any]", paths: Mapping[str, Microversion] = MappingProxyType({})
) -> None:
    """Register the handlers of all errors with the application.

    Args:
        app: the application.
        paths: paths of the application and their first versions, for suggestions.
    """
    app.add_error_handler(Exception, unexpected)
    app.add_error_handler(falcon.HTTPError, partial(http_error, paths=paths))
    app.add_error_handler(errors.PlacementError, domain_error)
    app.add_error_handler(RequestRefused, refusal)
