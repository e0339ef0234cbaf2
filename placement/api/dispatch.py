"""The pipeline of every operation.

The steps are version, content type or accept, policy, path, body, handler and response, in this
order. If a request has several errors, the response reports the first one.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import falcon
import orjson
from oslo_context.context import RequestContext

from placement.api import bodies, body_stream, dry_run, media_types, tags
from placement.api.authentication import CALLER_KEY
from placement.api.handler import Call, Reply, Service, http_date
from placement.api.history import LINES, Feature, Microversion, Versioned, exists_from
from placement.api.parameters import last_values, pairs, split
from placement.api.policy import Policy
from placement.api.problems import RequestRefused
from placement.api.request_log import OPERATION_KEY
from placement.api.routes import OPERATIONS, Route
from placement.api.shapes import Response, View
from placement.api.tags import Unmodified
from placement.errors import BadBody, BadPath, Unstorable
from placement.objects import identifiers
from placement.runtime import deadline, stopwatch

CACHED = "no-cache"  # clients may cache the response but must revalidate it
NOT_STORED = "no-store"
MAX_CHUNK = 256 * 1024  # bytes of a response that are written at a time

# The default of `[placement] request_deadline`, in seconds. Clients of 1.x do not repeat a request:
# for nova, a scheduling request that fails with 503 is a failed boot.
DEADLINES = Versioned({"1.0": 30.0, "2.0": 5.0})


class CallersRights(NamedTuple):
    """The rights of a caller, which apply to its own project by default."""

    policy: Policy
    # None if the request needs no authentication.
    caller: RequestContext | None
    # Object of the operation. None means the project of the caller.
    target: Mapping[str, Any] | None = None

    def allow(self, rule: str) -> bool:
        """Return whether the rule allows the operation on its object."""
        return self.caller is not None and self.policy.allows(rule, self.caller, self.target)

    def require(self, rule: str) -> None:
        """Raise RequestRefused unless the rule allows the operation on its object."""
        refusal = self.policy.refusal(rule, self.caller, self.target)
        if refusal is not None:
            raise RequestRefused(403, refusal)


class Endpoint:
    """All operations of one path, as a Falcon resource."""

    def __init__(
        self, methods: Mapping[str, Versioned[Route]], service: Service, policy: Policy
    ) -> None:
        # Operations of a later major version do not exist here, and neither do paths that have no
        # other operations.
        self._by_line = {
            line.newest.major: {
                method: routes
                for method, routes in methods.items()
                if routes.since.major <= line.newest.major
            }
            for line in LINES
        }
        self._methods = methods
        self._service = service
        self._policy = policy

    def respond(self, req: falcon.Request, resp: falcon.Response, **path: str) -> None:
        """Process one request with any method."""
        seconds = self._service.settings.request_deadline
        if seconds is None:
            seconds = DEADLINES.at(req.context.version)
        with deadline.limit(seconds):
            if req.method != "GET":
                self._respond(req, resp, path)
                return
            large_responses, url = self._service.large_responses, f"{req.path}?{req.query_string}"
            with large_responses.turn(url):
                self._respond(req, resp, path)
            large_responses.note(url, int(resp.content_length or 0))

    def _respond(self, req: falcon.Request, resp: falcon.Response, path: Mapping[str, str]) -> None:
        if "" in path.values() or req.path.removeprefix("/").endswith("/"):
            raise falcon.HTTPNotFound  # no path of the API ends with a slash
        version = req.context.version
        route = self._route(req, version)
        req.env[OPERATION_KEY] = route.operation
        _check_types(req, route)
        self._authorize(req, route)
        _check_path(path)
        service = self._service
        if route.has_dry_runs:
            if dry_run.parse(req.query_string, version, route.body_schema):
                service = replace(service, database=service.database.rehearsal())
        elif route.parameters is None and Feature.WHOLE_LANGUAGE.at(version):
            last_values(pairs(req.query_string), {}, version)
        rights = CallersRights(self._policy, req.env.get(CALLER_KEY))
        url, known_tags = f"{req.path}?{req.query_string}", _known_tags(req)
        call = Call(
            service, version, path, req.query_string, None, req.root_path, rights, url, known_tags
        )
        if route.order.before_body is not None:
            route.order.before_body(call)
        if route.body_schema is not None:
            # This check is the last one because it is the most expensive one.
            call = self._with_body(req, route, route.body_schema, call)
        try:
            # To nova, 503 is a failure: it does not repeat the request, which leaves allocations.
            repeats = req.method == "GET" and not Feature.WHOLE_LANGUAGE.at(version)
            work = partial(route.handler, call)
            reply = service.database.repeat_read(work) if repeats else work()
        except Unmodified as unmodified:
            _write_unmodified(resp, unmodified.tag)
            return
        except Unstorable as error:
            # The engine reports the text that it cannot store. Find this text in the request.
            raise BadBody(f"{_name_of(call, error.text)}: {error}") from error
        if reply.tag is not None and tags.ANY in known_tags:
            _write_unmodified(resp, reply.tag)
            return
        _write(req, resp, call, reply, route.response)

    def _route(self, req: falcon.Request, version: Microversion) -> Route:
        methods = self._by_line[version.major]
        routes = (methods or self._methods).get(req.method)
        if routes is None and not methods:
            since = min(every.since for every in self._methods.values())
            raise RequestRefused(404, f"{req.path} {exists_from(since)}")
        if routes is None:
            allowed = ", ".join(methods)
            detail = f"{req.method} is not allowed here: use {allowed}"
            if req.method in self._methods:
                later = self._methods[req.method].since
                detail += f"; {req.method} {exists_from(later)}"
            raise RequestRefused(405, detail, headers={"Allow": allowed})
        if version >= routes.since:
            return routes.at(version)
        first = routes.at(routes.since)
        if first.order.types_below:
            _check_types(req, first)
        raise RequestRefused(
            first.order.below, f"{first.method} {first.path} {exists_from(routes.since)}"
        )

    def _authorize(self, req: falcon.Request, route: Route) -> None:
        if route.rule is None:
            return
        caller, target = req.env[CALLER_KEY], None
        if route.target is not None:
            # Lenient: callers without the right receive no details about the errors of a query.
            target = {route.target: dict(split(req.query_string)).get(route.target)}
        CallersRights(self._policy, caller, target).require(route.rule)
        if route.part_rules is not None:
            rights = CallersRights(self._policy, caller)
            names = ",".join(
                value for key, value in split(req.query_string) if key == "include"
            ).split(",")
            for name, rule in route.part_rules.items():
                if name in names:
                    rights.require(rule)

    def _with_body(
        self, req: falcon.Request, route: Route, schemas: Versioned[bodies.Schema], call: Call
    ) -> Call:
        with deadline.waiting():  # for the client
            raw = body_stream.read(req, self._service.settings.max_body_size)
        try:
            value = bodies.decode(raw)
            _check(schemas, call.version, value)
        except BadBody:
            # Some operations look up the object of the path first, so that 404 takes precedence
            # over 400.
            if route.order.at_bad_body is not None:
                route.order.at_bad_body(call)
            raise
        return call._replace(body=value)


def _check(schemas: Versioned[bodies.Schema], version: Microversion, value: Any) -> None:
    """Raise BadBody if a body is invalid, with the versions at which it would be valid."""
    try:
        schemas.at(version).check(value)
    except BadBody as error:
        raise BadBody(f"{error}{_valid_at(schemas, version, value)}") from None


def _valid_at(schemas: Versioned[bodies.Schema], version: Microversion, value: Any) -> str:
    """Return a hint about the versions at which a body would be valid, or ""."""
    # From the last one on: successive forms may accept the same body.
    for (_since, schema), (end, _next) in reversed([*pairwise(schemas.entries)]):
        if end <= version and schema.accepts(value):
            return f"; this form of the body exists only below microversion {end}"
    for since, schema in schemas.entries:
        if since > version and since.major == version.major and schema.accepts(value):
            return f"; this form of the body {exists_from(since)}"
    return ""


# Falcon looks up a responder for each method, and would respond to those without one itself.
for _method in falcon.COMBINED_METHODS:
    setattr(Endpoint, f"on_{_method.lower()}", Endpoint.respond)


def _known_tags(req: falcon.Request) -> tuple[str, ...]:
    """Return the entity tags that the client has cached, or `*`. A quoted `*` is a normal tag."""
    stated = req.if_none_match or ()
    return tuple(tag for tag in stated if tag != tags.ANY or not isinstance(tag, falcon.ETag))


def _name_of(call: Call, text: str) -> str:
    """Return where a text comes from: the name of a parameter, or the path of a body member."""
    for name, value in (*call.path.items(), *split(call.query_string)):
        if text in value:
            return name
    return next(_members(call.body, text), "a text")


def _members(value: Any, text: str, steps: tuple[str | int, ...] = ()) -> Iterator[str]:
    """Yield the paths of all body members that are equal to a text."""
    if value == text:
        yield bodies.path_of(steps)
    items: Iterable[tuple[str | int, Any]] = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for step, member in items:
        yield from _members(member, text, (*steps, step))


def _check_path(path: Mapping[str, str]) -> None:
    """Raise BadPath for characters that some engine cannot compare."""
    for name, text in path.items():
        # MySQL's and MariaDB's utf8mb3 ends at U+FFFF. Names and UUIDs in paths have no line feeds.
        if not identifiers.storable(text) or max(text) > "\uffff" or min(text) < " ":
            raise BadPath(f"{name}: {text!r} has a character that no name or UUID has")


def _check_types(req: falcon.Request, route: Route) -> None:
    if route.body_schema is not None and not media_types.is_json(req):
        raise RequestRefused(
            415, f"Content-Type {req.content_type!r} is not supported: use application/json"
        )
    if route.accepts_json_only and not media_types.accepts_json(req):
        raise RequestRefused(406, f"Accept {req.accept!r} leaves out application/json: add it")


def _write(
    req: falcon.Request, resp: falcon.Response, call: Call, reply: Reply, response: Response
) -> None:
    resp.status = reply.status
    if reply.value is not None:
        resp.content_type = falcon.MEDIA_JSON
        with stopwatch.RENDERING:
            content = response.render(reply.value, View(call.version, call.mount))
            _write_body(resp, content)
    if reply.location is not None:
        resp.set_header("Location", f"{req.prefix}{reply.location}")
    if reply.changed_at is not None and Feature.CACHE_HEADERS.at(call.version):
        resp.set_header("Cache-Control", CACHED)
        resp.set_header("Last-Modified", http_date(reply.changed_at))
    if not reply.storable:
        resp.set_header("Cache-Control", NOT_STORED)
    if reply.tag is not None:
        resp.set_header("ETag", _weak(reply.tag))


def _write_unmodified(resp: falcon.Response, tag: str) -> None:
    """Write a response that confirms the client's cached copy."""
    resp.status = 304
    resp.set_header("Cache-Control", CACHED)
    resp.set_header("ETag", _weak(tag))


def _weak(tag: str) -> str:
    # Weak, because the order of members may differ.
    return f'W/"{tag}"'


def _write_body(resp: falcon.Response, content: Any) -> None:
    if not isinstance(content, list):
        resp.data = orjson.dumps(content)
        return
    ends = list(accumulate(map(len, content)))
    if ends[-1] <= MAX_CHUNK:
        resp.data = b"".join(content)
    else:
        # Streamed, because the whole response would be in memory twice otherwise.
        resp.content_length = ends[-1]
        resp.stream = _join_chunks(content, ends)


def _join_chunks(pieces: Sequence[bytes], ends: Sequence[int]) -> Iterator[bytes]:
    """Yield pieces joined up to a size."""
    start, written = 0, 0
    while start < len(pieces):
        end = max(start + 1, bisect_right(ends, written + MAX_CHUNK))
        yield b"".join(pieces[start:end])
        start, written = end, ends[end - 1]


def add_routes(app: "falcon.App[Any, Any]", service: Service, policy: Policy) -> None:
    """Add every path in the route table to the application."""
    # Responses without a body have no type; all other responses set it.
    app.resp_options.default_media_type = None  # type: ignore[assignment]
    for path, methods in OPERATIONS.items():
        app.add_route(path, Endpoint(methods, service, policy))
