"""The id of a request, its context, and its lines in the log.

The log records of all libraries contain the request, because they use its context. The context
belongs to the thread: each request sets a new context before authentication, and clears it at its
end. For a slow request, the log contains a second line with the duration of each phase.
"""

import logging
import re
import sys
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import orjson
from oslo_context import context

from placement.api import dry_run, problems
from placement.compat import oslo_context
from placement.runtime import events, stopwatch
from placement.runtime.events import Event
from placement.runtime.stopwatch import Phase

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

LOG = logging.getLogger(__name__)
REQUEST_LOG = logging.getLogger("placement.requestlog")  # operators filter logs by this name

REQUEST_ID = "X-Openstack-Request-Id"
REQUEST_ID_KEY = "openstack.request_id"
GLOBAL_ID_KEY = "openstack.global_request_id"
VERSION_KEY = "placement.version"
OPERATION_KEY = "placement.operation"

NO_OPERATION = "other"
METRICS = "show_metrics"  # name of the operation for paths outside of the API
NOT_STARTED = "-"  # status of a request without a response
PROBES = {"check_health", METRICS}  # operations that monitoring systems call continuously

LINE = '%s "%s %s" status: %s len: %s microversion: %s time: %.6f statements: %s'
SEARCH_LINE = f"{LINE} candidates: %s"
_GLOBAL_ID = re.compile(r"req-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")
_PLAIN = re.compile(r"[\w/.-]*\Z", re.ASCII)
_IN_PATHS = "/:@!$&'()*+,;="  # characters that do not have to be quoted in paths


class RequestLog:
    """Assigns an id and a context to each request, and writes the access log.

    If no inner layer handles an exception, the response is 500, and the log contains the traceback.
    """

    def __init__(self, application: "WSGIApplication", slow: float) -> None:
        """Wrap an application. slow: seconds after which requests are slow; 0 for never."""
        self._application = application
        self._slow = slow

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Process one request."""
        caller = environ.get("HTTP_X_OPENSTACK_REQUEST_ID", "")
        environ[REQUEST_ID_KEY] = request_id = f"req-{uuid.uuid4()}"
        environ[GLOBAL_ID_KEY] = global_id = caller if _GLOBAL_ID.match(caller) else None
        # This call sets the context of the thread.
        context.RequestContext(request_id=request_id, global_request_id=global_id)
        response = _Response(environ, start_response, self._slow)
        try:
            body = self._application(environ, response.start)
        except Exception:
            LOG.exception("unexpected error in %s %s", environ["REQUEST_METHOD"], _uri(environ))
            # With exc_info, uWSGI (2.0) raises the error again and sends no body.
            failure = sys.exc_info() if response.has_started else None
            body = refuse(environ, response.start, 500, problems.FAULT, exc_info=failure)
        if isinstance(body, list):
            return _Whole(body, response)
        return _Pieces(body, response)


class _Response:
    """The status of a response. It is kept until the response ends and is logged."""

    __slots__ = ("_environ", "_slow", "_start_response", "_status", "_timer")

    def __init__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse", slow: float
    ) -> None:
        self._environ = environ
        self._start_response = start_response
        self._status = NOT_STARTED
        self._slow = slow
        self._timer = stopwatch.begin()

    @property
    def has_started(self) -> bool:
        """Whether `start` was called."""
        return self._status != NOT_STARTED

    def start(self, status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
        """Start the response like WSGI's `start_response`, with the request id in its headers."""
        self._status = status[:3]
        headers.append((REQUEST_ID.lower(), self._environ[REQUEST_ID_KEY]))
        if dry_run.is_requested(self._environ):
            headers.append((dry_run.HEADER.lower(), "true"))
        return self._start_response(status, headers, exc_info)

    def finish(self) -> None:
        """Stop the timer. The response is complete at this point, but has not been sent yet."""
        self._timer.stop()

    def end(self, length: int) -> None:
        """Log the request, whose response had `length` bytes, and clear its context."""
        environ, timer = self._environ, self._timer
        timer.stop()
        stopwatch.end()
        seconds, statements = timer.elapsed(), timer.statements
        operation = environ.get(OPERATION_KEY, NO_OPERATION)
        slow = 0 < self._slow <= seconds
        events.emit(
            Event.REQUEST,
            operation=operation,
            version=environ.get(VERSION_KEY),
            method=environ["REQUEST_METHOD"],
            path=environ.get("PATH_INFO", ""),
            status=self._status,
            seconds=seconds,
            length=length,
            statements=statements,
            slow=slow,
        )
        quiet = operation in PROBES and self._status == "200"
        level = logging.DEBUG if quiet else logging.INFO
        if REQUEST_LOG.isEnabledFor(level):
            facts = {
                "client": environ.get("REMOTE_ADDR", "-"),
                "method": environ["REQUEST_METHOD"],
                "uri": _uri(environ),
                "status": self._status,
                "length": length,
                "microversion": environ.get(VERSION_KEY, "-"),
                "seconds": round(seconds, 6),
                "statements": statements,
            }
            line = LINE
            if timer.candidates is not None:
                facts["candidates"] = timer.candidates
                line = SEARCH_LINE
            extra = {"extra": facts, "context": context.get_current()}
            REQUEST_LOG.log(level, line, *facts.values(), extra=extra)
        if slow:
            facts = {
                phase.value: round(spent, 3) for phase, spent in _longest_first(timer.seconds())
            }
            REQUEST_LOG.warning(
                'slow: "%s %s" took %.3f s and %s statements: %s',
                environ["REQUEST_METHOD"],
                _uri(environ),
                seconds,
                statements,
                ", ".join(f"{phase} {spent:.3f}" for phase, spent in facts.items()),
                extra={"extra": facts},
            )
        oslo_context.clear()


class _Whole(list[bytes]):
    """A complete body.

    Therefore, the client does not wait for the log and the metrics.
    """

    def __init__(self, body: list[bytes], response: _Response) -> None:
        super().__init__(body)
        self._response = response
        response.finish()

    def close(self) -> None:
        """End the response."""
        self._response.end(sum(map(len, self)))


class _Pieces:
    """A body that is generated while the server sends it."""

    def __init__(self, body: Iterable[bytes], response: _Response) -> None:
        self._body = body
        self._pieces = iter(body)
        self._response = response
        self._length = 0

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        piece = next(self._pieces)
        self._length += len(piece)
        return piece

    def close(self) -> None:
        """End the response, whether it is complete or not. Servers call this method once."""
        try:
            close = getattr(self._body, "close", None)
            if close is not None:
                close()
        finally:
            self._response.end(self._length)


def refuse(
    environ: "WSGIEnvironment",
    start_response: "StartResponse",
    status: int,
    detail: str,
    headers: Sequence[tuple[str, str]] = (),
    exc_info: Any = None,
) -> list[bytes]:
    """Respond to an error that was raised outside of the application, in the format of the API."""
    body = orjson.dumps(problems.envelope(status, detail, environ[REQUEST_ID_KEY], None))
    entity_headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
    start_response(f"{status} {problems.title(status)}", [*headers, *entity_headers], exc_info)
    return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]


def _longest_first(phases: Mapping[Phase, float]) -> list[tuple[Phase, float]]:
    return sorted(phases.items(), key=itemgetter(1), reverse=True)


def _uri(environ: "WSGIEnvironment") -> str:
    """Return path and query in their original form. Servers unquote the path."""
    path = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
    query = environ.get("QUERY_STRING", "")
    quoted = path
    if not _PLAIN.match(path):  # PERF: most paths need no quoting
        quoted = quote(path, _IN_PATHS, encoding="latin-1", errors="replace")
    return f"{quoted}?{query}" if query else quoted
