"""The totals of one request over all hosts."""

from collections import Counter
from collections.abc import Iterable, Mapping

from placement.candidates.headroom.value import (
    Figures,
    Headroom,
    HeadroomRequest,
    LimitedHosts,
    RoomLimit,
)
from placement.candidates.trace import Refusal


class Sums:
    """Numbers of consumers, added up over hosts."""

    __slots__ = ("hosts", "largest", "lower", "upper")

    def __init__(self) -> None:
        # Number of consumers that fit, and the number that no placement can exceed.
        self.lower = self.upper = 0
        # Hosts that serve at least one consumer.
        self.hosts = 0
        # Maximum number of consumers on one host.
        self.largest = 0

    def add(self, lower: int, upper: int, hosts: int, largest: int) -> None:
        """Add the sums of further hosts."""
        self.lower += lower
        self.upper += upper
        self.hosts += hosts
        self.largest = max(self.largest, largest)

    def figures(self, limit: int, *, complete: bool) -> Figures:
        """Return the numbers. No number exceeds the limit.

        Args:
            complete: whether all hosts were added.
        """
        fits = min(self.lower, limit)
        at_most = min(self.upper, limit) if complete else limit
        return Figures(fits, at_most, complete, self.hosts, min(self.largest, limit))


class Totals:
    """The figures of one request for all hosts and for each aggregate, and the hosts' limits."""

    def __init__(self, question: HeadroomRequest) -> None:
        self._question = question
        # Whether all hosts were added.
        self.complete = True
        # The sums over all hosts.
        self._sums = Sums()
        # Aggregate -> its sums, in the order of the request body.
        self._by = {key: Sums() for key in question.by.values() if key is not None}
        # Limit -> number of hosts that have it.
        self._limits: Counter[RoomLimit] = Counter()

    def add(
        self,
        lower: int,
        upper: int,
        limit: RoomLimit | None,
        aggregates: frozenset[str],
        hosts: int = 1,
    ) -> None:
        """Add hosts that serve the same number of consumers.

        Args:
            lower: consumers that fit on one of them.
            upper: consumers that no placement on one of them exceeds.
            limit: the limit of the hosts, or None if the trees only share resources.
            aggregates: normalized UUIDs of the root's aggregates.
            hosts: number of hosts.
        """
        if limit is None:
            self.add_sums(lower * hosts, upper * hosts, 0, 0, aggregates)
            return
        serving = hosts if lower else 0
        self.add_sums(lower * hosts, upper * hosts, serving, lower, aggregates)
        self._limits[limit] += hosts

    def add_sums(
        self, lower: int, upper: int, hosts: int, largest: int, aggregates: frozenset[str]
    ) -> None:
        """Add the sums of hosts, without their limits."""
        self._sums.add(lower, upper, hosts, largest)
        for key in self._by.keys() & aggregates:
            self._by[key].add(lower, upper, hosts, largest)

    def add_alone(self, lower: int, limit: RoomLimit | None, aggregates: frozenset[str]) -> None:
        """Add a host whose consumers are counted together with those of other hosts.

        Args:
            lower: consumers that fit if it were alone.
            limit: the limit of the host, or None if the tree only shares resources.
            aggregates: normalized UUIDs of the root's aggregates.
        """
        if limit is not None:
            self.add_sums(0, 0, bool(lower), lower, aggregates)
            self._limits[limit] += 1

    def add_joint(self, lower: int, upper: int, key: str | None) -> None:
        """Add consumers of hosts that share resources, for one aggregate or (None) for all."""
        sums = self._sums if key is None else self._by[key]
        sums.add(lower, upper, 0, 0)

    def count(self, limits: Mapping[RoomLimit, int]) -> None:
        """Count hosts by their limit."""
        self._limits.update(limits)

    @property
    def keys(self) -> Iterable[str]:
        """The normalized UUIDs of the aggregates that have separate figures."""
        return self._by.keys()

    def headroom(self) -> Headroom:
        """Return the result."""
        most, complete = self._question.limit, self.complete
        by = {}
        for name, key in self._question.by.items():
            # If an aggregate does not exist, it contains no hosts.
            sums = Sums() if key is None else self._by[key]
            by[name] = sums.figures(most, complete=complete or key is None)
        limited_by = [LimitedHosts(limit, hosts) for limit, hosts in self._limits.items() if hosts]
        limited_by.sort(key=_by_hosts)
        return Headroom(self._sums.figures(most, complete=complete), by, limited_by)


_CODE_ORDER = {code: index for index, code in enumerate(Refusal)}


def _by_hosts(limited: LimitedHosts) -> tuple[int, int, str, str]:
    """Sort key: most hosts first, and then the order of the codes."""
    code, group, resource_class = limited.limit
    return -limited.hosts, _CODE_ORDER[code], group or "", resource_class or ""
