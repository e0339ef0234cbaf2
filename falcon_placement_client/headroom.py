"""The headroom of requests: how many more consumers of each request fit.

`headroom_rows` implements the command `placement-manage headroom`, which formats the rows.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Required, TypedDict

from falcon_placement_client.json_request import JsonRequest
from falcon_placement_client.rest import V2, RestApi

# Limits of the API.
MAX_REQUESTS = 100
MAX_BY = 100
MAX_LIMIT = 1_000_000

# Codes of hosts without enough free capacity, and of hosts without inventory of a class.
CAPACITY = "capacity"
LACKS_CLASS = "no_inventory"


class JsonHeadroomRequests(TypedDict, total=False):
    """The body of `POST /headroom`."""

    #: Name -> request, without `limit`, `order` and `first_available`.
    requests: Required[Mapping[str, JsonRequest]]
    #: Upper bound of every number of consumers in the response (default: 10,000).
    limit: int
    #: UUIDs of aggregates. The response contains separate results for their hosts.
    by: Sequence[str]
    #: Whether to measure as if there were no allocations.
    empty: bool


class AggregateHeadroom(TypedDict):
    """How many consumers fit on the hosts of an aggregate."""

    #: Number of consumers that certainly fit.
    fits: int
    #: Number of consumers that no placement can exceed, or None if more than `fits` may fit.
    at_most: int | None
    #: Whether both numbers are known and equal.
    exact: bool
    #: Whether all hosts were evaluated.
    complete: bool
    #: Number of hosts that serve at least one consumer.
    hosts: int
    #: Maximum number of consumers on one host.
    largest: int


class LimitedHosts(TypedDict):
    """Hosts on which the same condition prevents another consumer."""

    #: A code of explanations.
    code: str
    #: Suffix of the group, or None if no single group is the cause.
    group: str | None
    #: Resource class, or None if the code does not concern a class.
    resource_class: str | None
    #: The meaning of the code.
    meaning: str
    #: Number of hosts.
    hosts: int


class HeadroomResult(AggregateHeadroom):
    """How many consumers of a request fit on all hosts."""

    #: The conditions that prevent another consumer on full hosts, most hosts first.
    limited_by: list[LimitedHosts]
    #: UUID of an aggregate -> the result for its hosts.
    by: dict[str, AggregateHeadroom]


class HeadroomRow(NamedTuple):
    """The number of consumers of a request that fit on all hosts or on those of an aggregate."""

    name: str
    # UUID of the aggregate, or None for all hosts.
    aggregate: str | None
    fits: int
    at_most: int | None
    # Whether all hosts were evaluated.
    complete: bool
    # Number of hosts that serve at least one consumer.
    hosts: int
    # Maximum number of consumers on one host.
    largest: int
    # The conditions that prevent another consumer on full hosts. Empty for an aggregate.
    limited_by: Sequence[LimitedHosts]

    @property
    def bottlenecks(self) -> str:
        """The limits in words, without hosts that lack a class if other hosts serve the request.

        A host without the class cannot be a bottleneck, because it would not serve the request even
        if it were empty.
        """
        lacking = [each for each in self.limited_by if each["code"] == LACKS_CLASS]
        others = [each for each in self.limited_by if each["code"] != LACKS_CLASS]
        return ", ".join(map(_limit, others if self.hosts else [*others, *lacking]))


def measure(api: RestApi, body: JsonHeadroomRequests) -> dict[str, HeadroomResult]:
    """Return name -> how many more consumers of each request fit.

    Raises:
        ServiceTooOld: the service does not support placement 2.0.
        RefusedError: the service refuses a request.
    """
    api.require_v2("headroom")
    results: dict[str, HeadroomResult] = api.post("/headroom", body, V2)["headroom"]
    return results


def headroom_rows(
    api: RestApi, requests: Mapping[str, JsonRequest], *, by_aggregate: bool = False
) -> list[HeadroomRow]:
    """Return a row for each request. With `by_aggregate`, add a row for each aggregate of hosts.

    Raises:
        RestError: the service refuses a request, or cannot be reached.
    """
    aggregates = _aggregates_of_roots(api) if by_aggregate else []
    rows: list[HeadroomRow] = []
    for names in _chunks(list(requests), MAX_REQUESTS if not by_aggregate else 1):
        results: dict[str, HeadroomResult] = {}
        of_aggregates: dict[str, dict[str, AggregateHeadroom]] = {name: {} for name in names}
        for by in _chunks(aggregates, MAX_BY):
            body: JsonHeadroomRequests = {
                "requests": {name: requests[name] for name in names},
                "limit": MAX_LIMIT,
                "by": by,
            }
            results = measure(api, body)
            for name in names:
                of_aggregates[name] |= results[name]["by"]
        for name in names:
            rows.append(_row(name, None, results[name], results[name]["limited_by"]))
            rows += [
                _row(name, uuid, of_aggregates[name][uuid], ())
                for uuid in sorted(of_aggregates[name])
            ]
    return rows


def _chunks(items: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    """Yield the items in chunks. There is at least one chunk."""
    for start in range(0, max(1, len(items)), size):
        yield items[start : start + size]


def _aggregates_of_roots(api: RestApi) -> list[str]:
    """Return the UUIDs of all aggregates of roots."""
    aggregates: set[str] = set()
    for provider in api.pages("include=aggregates", V2):
        if provider["uuid"] == provider["root_provider_uuid"]:
            aggregates.update(provider["aggregates"])
    return sorted(aggregates)


def _row(
    name: str, aggregate: str | None, result: AggregateHeadroom, limited_by: Sequence[LimitedHosts]
) -> HeadroomRow:
    members: Mapping[str, Any] = result
    shared = (members[field] for field in HeadroomRow._fields[2:-1])
    return HeadroomRow._make((name, aggregate, *shared, limited_by))


def _limit(limited: LimitedHosts) -> str:
    """Return the class or the code, the group, and the number of hosts."""
    code, name, hosts = limited["code"], limited["resource_class"], limited["hosts"]
    what = name or code
    if name and code != CAPACITY:
        what += f" ({code})"
    group = f" of {limited['group']}" if limited["group"] else ""
    return f"{what}{group} on {hosts} {'host' if hosts == 1 else 'hosts'}"
