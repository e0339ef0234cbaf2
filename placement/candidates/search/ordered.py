"""Candidates in the order of hosts that a request specifies.

Each host is searched for its first candidate, and the hosts are sorted. Then the candidates are
interleaved as in other searches, starting with the best host.
"""

import random
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter

from placement.candidates.model import Member, Pool
from placement.candidates.request import Order, Rank, rank_by
from placement.candidates.search.anchors import Search
from placement.candidates.search.candidate import Candidate
from placement.candidates.search.result import interleave
from placement.errors import DeadlineExceeded
from placement.runtime.budget import BudgetSpentError, Charge
from placement.vocabulary import SHARING_TRAIT

# Maximum number of hosts with equal keys among which a claim chooses its first candidate.
MAX_HEADS = 8


class _Host:
    """The candidates of a host that has at least one candidate."""

    __slots__ = ("_first", "_only_shares", "_search", "_shared", "may_share")

    def __init__(self, search: Search) -> None:
        """search: a search that has a candidate."""
        first = search.first
        assert first is not None
        pool = first.pool
        # Whether the pool has sharing providers that a candidate may use.
        self.may_share = _may_share(pool)
        # Whether no member of the host's own tree that does not share can serve a slot.
        self._only_shares = self.may_share and not _serves_itself(first)
        # Candidates that use only sharing providers, at least one of them from this host.
        # Candidates that use only providers of other trees are found at those trees.
        self._shared: deque[Candidate] = deque()
        # The first candidate, or None after it was returned.
        self._first: Candidate | None = first
        self._search = search

    def next(self, *, shared: bool, known: bool) -> Candidate | None:
        """Return the next candidate, or None.

        Args:
            shared: return candidates with only sharing providers, after all other candidates.
            known: return only candidates that were already found, without further search.

        Raises:
            BudgetSpentError: the search reached a limit.
        """
        if shared and self._shared:
            return self._shared.popleft()
        while (candidate := self._take(known=known)) is not None:
            if not self.may_share or not all_share(candidate):
                return candidate
            if min(candidate.assignment) < candidate.pool.local:
                if shared:
                    return candidate
                self._shared.append(candidate)
            if self._only_shares and not shared:
                return None
        return None

    def _take(self, *, known: bool) -> Candidate | None:
        candidate, self._first = self._first, None
        return self._search.next() if candidate is None and not known else candidate

    @property
    def exhausted(self) -> bool:
        """Whether the host has no further candidates."""
        return self._first is None and not self._shared and self._search.exhausted


def _shares(member: Member) -> bool:
    return SHARING_TRAIT in member.traits


def _may_share(pool: Pool) -> bool:
    return bool(pool.sharing) or any(map(_shares, pool.members))


def _serves_itself(candidate: Candidate) -> bool:
    """Return whether a member of the host that does not share has room for the classes of a slot.

    If not, all candidates of the host consist of sharing providers, and there may be too many of
    them to look for another one.
    """
    pool = candidate.pool
    classes = {tuple([name for name, _units in slot.resources]) for slot in candidate.layout.slots}
    for member in pool.members[: pool.local]:
        with_room = {name for name, stock in member.stocks.items() if stock.room > 0}
        if not _shares(member) and any(map(with_room.issuperset, classes)):
            return True
    return False


def all_share(candidate: Candidate) -> bool:
    """Return whether all providers of a candidate are sharing providers."""
    members = candidate.pool.members
    return all(_shares(members[position]) for position in candidate.assignment)


class OrderedHosts:
    """Sorts the hosts of one search. Hosts with equal keys are sorted by UUID or at random."""

    def __init__(
        self, order: Order, *, breadth_first: bool, randomize: bool, spend: Charge
    ) -> None:
        """spend: charges the work of ranking hosts."""
        self._order = order
        self._breadth_first = breadth_first
        self._randomize = randomize
        self._spend = spend
        # The error that ended the search early, or None.
        self._error: Exception | None = None

    def candidates(
        self, searches: Iterable[Search], alone: Iterable[Search]
    ) -> Iterator[Candidate]:
        """Yield the candidates of hosts, and then the candidates with only sharing providers.

        Args:
            searches: searches of hosts.
            alone: searches of sets of sharing providers.

        Raises:
            BudgetSpentError: the search reached a limit. It is raised after the last candidate
                found.
            DeadlineExceeded: the search reached the deadline of the request. It is raised likewise.
        """
        return self.in_turn(self._sorted(searches), alone)

    def candidates_of_best(
        self, searches: Iterable[Search], alone: Iterable[Search]
    ) -> Iterator[Candidate]:
        """Yield candidates like `candidates`. Only as many hosts are searched as are consumed.

        Args:
            searches: searches of hosts, in the order of the hosts.
            alone: searches of sets of sharing providers.
        """
        return self.in_turn(self._served(searches), alone)

    def in_turn(self, searches: Iterable[Search], alone: Iterable[Search]) -> Iterator[Candidate]:
        """Yield candidates like `candidates`.

        Args:
            searches: searches that each have a candidate, in the order of their hosts.
            alone: searches of sets of sharing providers.
        """
        hosts: list[_Host] = []

        def created() -> Iterator[_Host]:
            for search in searches:
                hosts.append(_Host(search))
                yield hosts[-1]

        yield from self._turns(created(), shared=False)
        yield from self._turns([host for host in hosts if host.may_share], shared=True)
        if self._error is not None:
            raise self._error
        yield from interleave(alone, breadth_first=self._breadth_first)

    def _sorted(self, searches: Iterable[Search]) -> list[Search]:
        """Search all hosts for a first candidate, and return the searches that have one, sorted."""
        found: list[tuple[Rank, str, Search]] = []
        rank_of = rank_by(self._order)
        cost = len(self._order)
        try:
            for search in searches:
                tree = None if search.first is None else search.first.pool.anchor
                if tree is not None:
                    found.append((rank_of(tree), tree.uuid, search))
                    self._spend(len(tree.members) * cost)
        except (BudgetSpentError, DeadlineExceeded) as error:
            self._error = error
        if self._randomize:
            random.shuffle(found)
            found.sort(key=itemgetter(0))
        else:
            found.sort(key=itemgetter(0, 1))
        return [search for _rank, _uuid, search in found]

    def _served(self, searches: Iterable[Search]) -> Iterator[Search]:
        """Yield the searches that have a candidate, until the search reaches a limit."""
        try:
            for search in searches:
                if search.first is not None:
                    yield search
        except (BudgetSpentError, DeadlineExceeded) as error:
            self._error = error

    def _turns(self, hosts: Iterable[_Host], *, shared: bool) -> Iterator[Candidate]:
        """Yield the candidates of hosts with or without a provider that does not share."""
        waiting: deque[_Host] = deque()
        for host in hosts:
            yield from self._turn(host, waiting, shared=shared)
        while waiting:
            yield from self._turn(waiting.popleft(), waiting, shared=shared)

    def _turn(self, host: _Host, waiting: deque[_Host], *, shared: bool) -> Iterator[Candidate]:
        candidate = self._next(host, shared=shared)
        while candidate is not None:
            yield candidate
            if self._breadth_first:
                break
            candidate = self._next(host, shared=shared)
        if candidate is not None and not host.exhausted:
            waiting.append(host)

    def _next(self, host: _Host, *, shared: bool) -> Candidate | None:
        try:
            return host.next(shared=shared, known=self._error is not None)
        except (BudgetSpentError, DeadlineExceeded) as error:
            self._error = error
            return None

    def heads(self, candidates: Sequence[Candidate]) -> list[int]:
        """Return the positions of the first candidates of the best hosts, which have equal keys."""
        heads: list[int] = []
        roots: set[str] = set()
        for position, candidate in enumerate(candidates):
            root = candidate.pool.root
            if root in roots and not self._breadth_first:
                continue
            if root in roots or len(heads) == MAX_HEADS:
                break
            if self._rank(candidate) != self._rank(candidates[0]):
                break
            heads.append(position)
            roots.add(root)
        return heads

    def _rank(self, candidate: Candidate) -> tuple[bool, bool, Rank | None]:
        """Return the kind of a candidate, and the sort key of its host if it has one."""
        anchor = candidate.pool.anchor
        rank = None if anchor is None else rank_by(self._order)(anchor)
        return candidate.split, all_share(candidate), rank
