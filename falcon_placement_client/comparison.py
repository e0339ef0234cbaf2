"""The comparison of two services by the same reads: of an access log, or of the cloud itself.

Only GET requests are sent, one at a time, so a cloud in production can be compared.
"""

import json
import math
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, cycle
from statistics import median
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from falcon_placement_client.access_log import request_of
from falcon_placement_client.announced import PAGE, READS, Exchange, explained
from falcon_placement_client.command_client import ONCE, RestClient
from falcon_placement_client.errors import RestError, path_of, reason
from falcon_placement_client.responses import (
    CANDIDATES,
    Differences,
    Request,
    ServerResponse,
    candidates,
    differences,
)
from falcon_placement_client.rest import LEAST

# The part of a path after the prefix below which the API is served.
_READ = re.compile(
    r"/(?:resource_providers|resource_classes|traits|usages|allocations|allocation_candidates)"
    r"(?:/.*)?\Z"
)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

LISTS = ("/", "/resource_classes", "/traits", "/traits?associated=true", "/resource_providers")
PARTS = ("", "/inventories", "/usages", "/traits", "/aggregates", "/allocations")
# The shapes of responses, with only the members that are read: a type, a list of one shape, an
# object with certain members, or an object with any members of one shape.
PROVIDERS = {"resource_providers": [{"uuid": str, "generation": int, "root_provider_uuid": str}]}
PART_SHAPES = {
    "inventories": {str: dict.fromkeys(("total", "min_unit", "max_unit", "step_size"), int)},
    "traits": [str],
    "aggregates": [str],
    "allocations": {str: dict},
}
HELD = {"allocations": {str: {"resources": {str: int}}}}
OWNER = {"project_id": str, "user_id": str}
LIMIT = 1000  # nova's default of [scheduler] max_placement_results
UNLIMITED = 10  # rounds with one search without a limit, whose responses are large
MAX_KNOWN = 100  # searches without a limit whose candidates are kept
MAX_SHOWN = 5  # differences of a kind of request, and lines of a difference
MAX_TEXT = 300  # characters of a line
# Parts of a line that differ between requests with the same cause of a difference.
_VARIABLE = re.compile(rf"{_UUID.pattern}|\d+")


class Difference(NamedTuple):
    """A difference that is not announced."""

    request: str
    aspect: str
    # Lines of the first response alone, which begin with `-`, and of the other one (`+`).
    lines: Sequence[str]

    def __str__(self) -> str:
        return "\n".join((f"{self.request}: {self.aspect}", *self.lines))


class DifferenceCause(NamedTuple):
    """Differences that are equal except for UUIDs and numbers."""

    requests: int
    # The first of the differences.
    example: Difference

    def __str__(self) -> str:
        return f"{self.requests:,} × {self.example}"


class AnnouncedDifference(NamedTuple):
    """A difference that the documentation announces."""

    name: str
    requests: int
    reason: str
    # Page and heading.
    page: str

    def __str__(self) -> str:
        return f"{self.requests:,} × {self.reason} ({self.page})"


class KindRow(NamedTuple):
    """The requests of a kind. Durations are in milliseconds, as seen by this client."""

    # Path, with {} for names, and the parameters that determine the work.
    kind: str
    requests: int
    median: float
    other_median: float
    p99: float
    other_p99: float
    announced: Sequence[AnnouncedDifference]
    # Requests whose responses differ by providers that only the first service has changed since.
    changed: int
    # Requests with other differences.
    different: int
    # The first of these differences.
    examples: Sequence[Difference]


def read_log(lines: Iterable[str], minors: Sequence[int]) -> Iterator[Request]:
    """Yield the reads in an access log, except those of placement 2.0.

    minors: microversions of lines that name none.
    """
    for line in lines:
        logged = request_of(line)
        path = _READ.search(logged.path) if logged and logged.method == "GET" else None
        if logged is None or path is None:
            continue
        if logged.version is None:
            yield from (Request("GET", path[0], minor, logged.query) for minor in minors)
        elif logged.version.startswith("1."):
            yield Request("GET", path[0], int(logged.version[2:]), logged.query)


def cloud_requests(api: RestClient, seed: int, minors: Sequence[int]) -> Iterator[Request]:
    """Yield reads of a cloud's objects, and searches for sizes that its consumers have.

    The same cloud and seed have the same requests, without an end unless there is no provider.
    """
    rng = random.Random(seed)
    listed = _read(api, "/resource_providers", PROVIDERS)["resource_providers"]
    providers = sorted(each["uuid"] for each in listed)
    # Most consumers have allocations of roots, which can be few of the providers.
    roots = sorted({each["root_provider_uuid"] for each in listed})
    choices = cycle([roots, providers]) if providers else []
    rounds = (_round(api, rng, choice, number) for number, choice in enumerate(choices))
    for target in chain(LISTS, chain.from_iterable(rounds)):
        path, _, query = target.partition("?")
        yield from (Request("GET", path, minor, query) for minor in minors)


def _round(
    api: RestClient, rng: random.Random, providers: Sequence[str], number: int
) -> Iterator[str]:
    """Yield the reads of one provider, of one of its consumers, and of hosts for that."""
    uuid = rng.choice(providers)
    path = f"/resource_providers/{uuid}"
    inventories, traits, aggregates, consumers = (
        _read(api, f"{path}/{part}", {part: shape})[part] for part, shape in PART_SHAPES.items()
    )
    yield from (path + part for part in PARTS)
    yield f"/resource_providers?in_tree={uuid}"
    for name in rng.sample(sorted(inventories), min(1, len(inventories))):
        yield from (f"{path}/inventories/{name}", f"/resource_classes/{name}")
    conditions = [""]
    for parameter, values in (("required", traits), ("member_of", aggregates)):
        for value in rng.sample(sorted(values), min(1, len(values))):
            conditions.append(f"&{parameter}={value}")
            yield f"/resource_providers?{parameter}={value}"
    amounts: Counter[str] = Counter()
    for consumer in rng.sample(sorted(consumers), min(1, len(consumers))):
        held = _read(api, f"/allocations/{consumer}", HELD)
        yield f"/allocations/{consumer}"
        if held["allocations"]:
            _check(api, f"/allocations/{consumer}", held, OWNER)
            owner = {"project_id": held["project_id"], "user_id": held["user_id"]}
            yield f"/usages?project_id={quote(held['project_id'], safe='')}"
            yield f"/usages?{urlencode(owner)}"
        for allocation in held["allocations"].values():
            amounts.update(allocation["resources"])
    for name, amount in (amounts or _sizes(inventories)).items():
        conditions[0] += f"{',' if conditions[0] else 'resources='}{name}:{amount}"
    if conditions[0]:
        search = conditions[0] + rng.choice(["", *conditions[1:]])
        if number % UNLIMITED == 0:
            yield f"{CANDIDATES}?{search}"
        yield f"{CANDIDATES}?{search}&limit={LIMIT}"
        yield f"/resource_providers?{search}"


def _sizes(inventories: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    """Return an eighth of each amount, or the least that can be allocated."""
    sizes = {}
    for name, each in sorted(inventories.items()):
        step = max(each["step_size"], 1)
        amount = min(max(each["total"] // 8, each["min_unit"]), each["max_unit"])
        sizes[name] = max(amount - amount % step, step)
    return sizes


def kind_of(request: Request) -> str:
    """Return the path without names, and the parameters that determine the work."""
    steps = [step if number % 2 else "{}" for number, step in enumerate(request.path.split("/"))]
    names = {name for name, _ in parse_qsl(request.query, keep_blank_values=True)}
    if request.path == CANDIDATES:
        names &= {"limit"}
    return "/" + "/".join(steps[1:]) + ("?" + "&".join(sorted(names)) if names else "")


@dataclass
class _Kind:
    requests: int = 0
    seconds: tuple[list[float], list[float]] = field(default_factory=lambda: ([], []))
    announced: Counter[str] = field(default_factory=Counter)
    changed: int = 0
    different: int = 0
    examples: list[Difference] = field(default_factory=list)


class Comparison:
    """The comparison of a service, such as openstack-placement, with another one: this service."""

    def __init__(self, first: RestClient, other: RestClient) -> None:
        """Connect to both services.

        Raises:
            RestError: a service does not respond, or they do not serve the same cloud.
        """
        self._servers = first, other
        self._kinds: defaultdict[str, _Kind] = defaultdict(_Kind)
        # Aspect and lines without UUIDs and numbers -> the number of requests, and the first one.
        self._causes: dict[tuple[str, ...], DifferenceCause] = {}
        # Search without its limit -> the candidates that both services have returned.
        self._known: dict[tuple[str, int], set[str]] = {}
        for server in self._servers:
            _send(server, Request("GET", "/", 0))  # connects, which is not measured
        providers = [_generations(server).keys() for server in self._servers]
        if any(providers) and providers[0].isdisjoint(providers[1]):
            # All responses would differ by providers that seem to have been added or deleted.
            raise RestError(
                f"{first.url} and {other.url} have no provider in common: the second one needs a "
                "copy of the data of the first one"
            )

    def send(self, request: Request) -> None:
        """Send a request to both services.  Raises RestError."""
        kind = self._kinds[kind_of(request)]
        sent: dict[int, ServerResponse] = {}
        # Each is the first to respond to every other request.
        for index in (0, 1) if kind.requests % 2 else (1, 0):
            began = time.perf_counter()
            sent[index] = _send(self._servers[index], request)
            kind.seconds[index].append(time.perf_counter() - began)
        kind.requests += 1
        pair = Exchange(request, sent[1], sent[0])
        rows, left = explained(READS, pair, differences(request, pair.ours, pair.peer))
        kind.announced.update(row.name for row in rows)
        left = left or ({} if rows else self._strangers(pair))
        if left and self._has_changed(pair, left):
            kind.changed += 1
        elif left:
            kind.different += 1
            target = f"GET {request.target} at 1.{request.minor}"
            found = [Difference(target, name, _lines(*left[name])) for name in sorted(left)]
            kind.examples += found[: MAX_SHOWN - len(kind.examples)]
            for each in found:
                cause = each.aspect, *(_VARIABLE.sub("{}", line) for line in each.lines)
                number, first = self._causes.get(cause, (0, each))
                self._causes[cause] = DifferenceCause(number + 1, first)

    def rows(self) -> list[KindRow]:
        """Return a row for each kind of request."""
        return [_row(name, kind) for name, kind in sorted(self._kinds.items())]

    def causes(self) -> list[DifferenceCause]:
        """Return the causes of differences that are not announced, the most requests first."""
        return sorted(self._causes.values(), key=lambda cause: -cause.requests)

    def _strangers(self, pair: Exchange) -> Differences:
        """Return candidates of limited searches that the same search without a limit lacks."""
        request = pair.request
        if request.path != CANDIDATES or pair.statuses != (200, 200):
            return {}
        query = [each for each in parse_qsl(request.query) if each[0] != "limit"]
        key = urlencode(query), request.minor
        ours, peer = (set(candidates(each.body)) for each in (pair.ours, pair.peer))
        if not request.is_limited:
            if len(self._known) < MAX_KNOWN:
                self._known[key] = ours
        elif key in self._known and (ours | peer) - self._known[key]:
            return {"body": (sorted(ours - self._known[key]), sorted(peer - self._known[key]))}
        return {}

    @cached_property
    def _copied(self) -> Mapping[str, int]:
        """UUID -> generation of the providers of the copy, at the first difference."""
        return _generations(self._servers[1])

    def _has_changed(self, pair: Exchange, left: Differences) -> bool:
        """Return whether all differences are of providers that the first service has changed.

        The copy of a cloud stays as it was. Sums of many providers may differ after any change.
        """
        if not left.keys() <= {"body"} and not {*pair.statuses} <= {200, 404}:
            return False
        first, other = _generations(self._servers[0]), self._copied
        changed = {
            uuid
            for uuid in first.keys() | other.keys()
            if first.get(uuid, math.inf) > other.get(uuid, -1)
        }
        lines = (_unequal_lines(*left["body"]) if "body" in left else []) or [""]
        providers = first.keys() | other.keys()
        return all(
            changed & (providers & {*_UUID.findall(pair.request.target + line)} or changed)
            for line in lines
        )


def _send(server: RestClient, request: Request) -> ServerResponse:
    """Send a request once.  Raises RestError."""
    from keystoneauth1.exceptions import ClientException  # noqa: PLC0415

    try:
        received = server.respond("GET", request.target, None, (1, request.minor), **ONCE)
    except ClientException as error:
        raise RestError(f"GET {request.target} of {server.url}: {reason(error)}") from None
    raw = received.content
    if prefix := urlsplit(server.url).path:  # of links
        raw = raw.replace(f'"{prefix}/'.encode(), b'"/')
    headers = {name.lower(): value for name, value in received.headers.items()}
    return ServerResponse(received.status_code, headers, raw)


def _read(server: RestClient, path: str, shape: Any) -> Any:
    """Return the JSON value at a path.  Raises RestError, also if it does not have the shape."""
    value = server.get(path, LEAST)
    _check(server, path, value, shape)
    return value


def _check(server: RestClient, path: str, value: Any, shape: Any) -> None:
    for member in _invalid(value, shape):
        problem = f"{member} is missing or has the wrong type"
        raise RestError(f"GET {path} of {server.url}: {problem}; is this a placement service?")


def _invalid(value: Any, shape: Any, *steps: str | int) -> Iterator[str]:
    """Yield the paths of members that are missing or have another type."""
    kind: Any = shape if isinstance(shape, type) else type(shape)
    if not isinstance(value, kind):
        yield path_of(*steps) or "the body"
    elif isinstance(shape, list):
        for index, each in enumerate(value):
            yield from _invalid(each, *shape, *steps, index)
    elif isinstance(shape, dict):
        shapes = dict.fromkeys(value, shape[str]) if str in shape else shape
        for name, each in shapes.items():
            yield from _invalid(value.get(name), each, *steps, name)


def _generations(server: RestClient) -> dict[str, int]:
    """Return UUID -> generation of all providers.  Raises RestError."""
    found = _read(server, "/resource_providers", PROVIDERS)["resource_providers"]
    return {each["uuid"]: each["generation"] for each in found}


def _row(name: str, kind: _Kind) -> KindRow:
    reasons = {row.name: row for row in READS}
    announced = [
        AnnouncedDifference(each, number, reasons[each].reason, f"{PAGE}, {reasons[each].section}")
        for each, number in sorted(kind.announced.items())
    ]
    first, other = map(sorted, kind.seconds)
    last = math.ceil(0.99 * kind.requests) - 1
    durations = (_ms(median(first)), _ms(median(other)), _ms(first[last]), _ms(other[last]))
    found = announced, kind.changed, kind.different, kind.examples
    return KindRow(name, kind.requests, *durations, *found)


def _ms(seconds: float) -> float:
    return round(1000 * seconds, 1)


def _lines(ours: Any, peer: Any) -> list[str]:
    shown = _unequal_lines(ours, peer) or [f"- {peer}", f"+ {ours}"]
    more = [f"  … {len(shown) - MAX_SHOWN:,} more lines"] if len(shown) > MAX_SHOWN else []
    return [*(line[:MAX_TEXT] for line in shown[:MAX_SHOWN]), *more]


def _unequal_lines(ours: Any, peer: Any) -> list[str]:
    """Return the members in only one of two values: `-` of the first service, `+` of the other."""
    mine, theirs = Counter(_members(ours)), Counter(_members(peer))
    return [f"- {each}" for each in (theirs - mine)] + [f"+ {each}" for each in (mine - theirs)]


def _members(value: Any, path: str = "") -> Iterator[str]:
    match value:
        case dict():
            for key, each in value.items():
                yield from _members(each, f"{path}{key}: ")
        case list():
            yield from (f"{path}{json.dumps(each, sort_keys=True)}" for each in value)
        case _:
            yield f"{path}{value}"
