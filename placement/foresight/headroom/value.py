"""The questions of how many more consumers of a request fit, their totals, and their results."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from placement.candidates.model import Refusal
from placement.candidates.request import CandidateRequest
from placement.foresight.explanation.causes import ORDER


@dataclass(frozen=True, slots=True)
class HeadroomQuery:
    """The questions of one call."""

    # Name -> request, in the order of the results.
    requests: Mapping[str, CandidateRequest]
    # Maximum of all numbers of consumers.
    limit: int = 10_000
    # Aggregates, as written by the client. The result contains separate figures for their hosts.
    by: Sequence[str] = ()
    # Whether to measure as if there were no allocations.
    empty: bool = False
    # Aggregate -> its normalized UUID, or None if it does not exist. Set when names are resolved.
    keys: Mapping[str, str | None] = field(default_factory=dict)


class RoomLimit(NamedTuple):
    """The reason why a full host cannot serve another consumer."""

    # The check that rejects the consumer.
    code: Refusal
    # Suffix of the group, or None if no single group is the cause.
    group: str | None = None
    # Name of the class, or None if the code does not concern amounts of one class.
    resource_class: str | None = None


UNDECIDED = RoomLimit(Refusal.BUDGET)


class LimitedHosts(NamedTuple):
    """The hosts with one limit."""

    # The limit that the hosts have in common.
    limit: RoomLimit
    # Number of hosts.
    hosts: int


class Figures(NamedTuple):
    """How many consumers fit on some hosts."""

    # Consumers that certainly fit, at most the limit of the question.
    fits: int
    # Number of consumers that no placement can exceed. None if the limit was reached, or if not
    # all hosts were measured.
    at_most: int | None
    # Whether all hosts were measured.
    complete: bool
    # Number of hosts that serve at least one consumer.
    hosts: int
    # Maximum number of consumers on one host, at most the limit. Each host is considered alone.
    largest: int

    @property
    def exact(self) -> bool:
        """Whether both bounds are known and equal."""
        return self.fits == self.at_most


class Headroom(NamedTuple):
    """The result for a question."""

    # The figures for all hosts.
    total: Figures
    # Aggregate, as written by the client -> the figures of the hosts whose root is in it.
    by: Mapping[str, Figures]
    # The hosts by their limit, most hosts first.
    limited_by: Sequence[LimitedHosts]


@dataclass(slots=True)
class Sums:
    """Numbers of consumers, added up over hosts."""

    # Number of consumers that fit.
    lower: int = 0
    # Number of consumers that no placement can exceed.
    upper: int = 0
    # Hosts that serve at least one consumer.
    hosts: int = 0
    # Maximum number of consumers on one host.
    largest: int = 0

    def add(self, lower: int, upper: int, hosts: int = 0, largest: int = 0) -> None:
        """Add the sums of further hosts."""
        self.lower += lower
        self.upper += upper
        self.hosts += hosts
        self.largest = max(self.largest, largest)

    def figures(self, limit: int, *, complete: bool) -> Figures:
        """Return the numbers, up to a limit.

        Args:
            complete: whether all hosts were added.
        """
        fits = min(self.lower, limit)
        at_most = self.upper if complete and self.lower < limit else None
        return Figures(fits, at_most, complete, self.hosts, min(self.largest, limit))


class Totals:
    """The sums of one request over all hosts and over each aggregate, and the hosts' limits."""

    def __init__(self, query: HeadroomQuery) -> None:
        self._query = query
        # Whether all hosts were added.
        self.complete = True
        # Normalized UUID of an aggregate, or None for all hosts -> the sums.
        self.sums = {key: Sums() for key in (None, *query.keys.values())}
        # Limit -> number of hosts that have it.
        self.limits: Counter[RoomLimit] = Counter()

    def add(
        self, lower: int, upper: int, hosts: int, largest: int, aggregates: frozenset[str]
    ) -> None:
        """Add the sums of hosts whose roots are in the same aggregates (normalized UUIDs)."""
        for key in (None, *(self.sums.keys() & aggregates)):
            self.sums[key].add(lower, upper, hosts, largest)

    def headroom(self) -> Headroom:
        """Return the result."""
        most, complete = self._query.limit, self.complete
        by = {}
        for name, key in self._query.keys.items():
            # If an aggregate does not exist, it contains no hosts.
            sums = Sums() if key is None else self.sums[key]
            by[name] = sums.figures(most, complete=complete or key is None)
        limited_by = [LimitedHosts(limit, hosts) for limit, hosts in self.limits.items() if hosts]
        limited_by.sort(key=_by_hosts)
        return Headroom(self.sums[None].figures(most, complete=complete), by, limited_by)


def _by_hosts(limited: LimitedHosts) -> tuple[int, int, str, str]:
    """Sort key: most hosts first, and then the order of the codes."""
    code, group, resource_class = limited.limit
    return -limited.hosts, ORDER[code], group or "", resource_class or ""
