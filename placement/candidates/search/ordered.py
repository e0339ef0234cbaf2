"""Candidates in the order of hosts that a request specifies.

Each host is searched for its first candidate, and the hosts are sorted. Then the candidates are
interleaved as in other searches, starting with the best host.
"""

import random
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from operator import itemgetter

from placement.candidates.budget import BudgetSpentError, Charge
from placement.candidates.model import Pool
from placement.candidates.order import Order, Rank, rank_by
from placement.candidates.search.anchors import Search
from placement.candidates.search.candidate import Candidate
from placement.candidates.search.result import interleave
from placement.errors import DeadlineExceeded
from placement.vocabulary import SHARING_TRAIT

# Maximum number of hosts with equal keys among which a claim chooses its first candidate.
MAX_HEADS = 8


class _Host:
    """The candidates of a host that has at least one candidate."""

    __slots__ = ("_first", "_may_share", "_search", "shared")

    def __init__(self, search: Search) -> None:
        """search: a search that has a candidate."""
        first = search.first
        assert first is not None
        # Candidates that use only sharing providers, at least one of them from this host.
        # Candidates that use only providers of other trees are found at those trees.
        self.shared: list[Candidate] = []
        # The first candidate, or None after it was returned.
        self._first: Candidate | None = first
        self._search = search
        # Whether the pool has sharing providers that a candidate may use.
        self._may_share = _may_share(first.pool)

    def next(self, *, known: bool) -> Candidate | None:
        """Return the next candidate with a provider that does not share, or None.

        Args:
            known: return only the candidate that was already found, without further search.

        Raises:
            BudgetSpentError: the search reached a limit.
        """
        while True:
            candidate, self._first = self._first, None
            if candidate is None and not known:
                candidate = self._search.next()
            if candidate is None or not self._may_share or not all_share(candidate):
                return candidate
            if min(candidate.assignment) < candidate.pool.local:
                self.shared.append(candidate)

    @property
    def exhausted(self) -> bool:
        """Whether the host has no further candidates."""
        return self._first is None and self._search.exhausted


def _may_share(pool: Pool) -> bool:
    return bool(pool.sharing) or any(SHARING_TRAIT in member.traits for member in pool.members)


def all_share(candidate: Candidate) -> bool:
    """Return whether all providers of a candidate are sharing providers."""
    members = candidate.pool.members
    return all(SHARING_TRAIT in members[position].traits for position in candidate.assignment)


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

    @property
    def sorts(self) -> bool:
        """Whether the request orders its hosts."""
        return bool(self._order)

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
        if self._order:
            return self.in_turn(self._sorted(searches), alone)
        return interleave(chain(searches, alone), breadth_first=self._breadth_first)

    def in_turn(self, searches: Iterable[Search], alone: Iterable[Search]) -> Iterator[Candidate]:
        """Yield candidates like `candidates`.

        Args:
            searches: searches that each have a candidate, in the order of their hosts.
            alone: searches of sets of sharing providers.
        """
        hosts: list[_Host] = []
        yield from self._turns(searches, hosts)
        yield from self._shared(hosts)
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

    def _turns(self, searches: Iterable[Search], hosts: list[_Host]) -> Iterator[Candidate]:
        """Yield candidates with a provider that does not share, and add all hosts to `hosts`."""
        waiting: deque[_Host] = deque()
        for search in searches:
            host = _Host(search)
            hosts.append(host)
            yield from self._turn(host, waiting)
        while waiting:
            yield from self._turn(waiting.popleft(), waiting)

    def _turn(self, host: _Host, waiting: deque[_Host]) -> Iterator[Candidate]:
        candidate = self._next(host)
        while candidate is not None:
            yield candidate
            if self._breadth_first:
                break
            candidate = self._next(host)
        if candidate is not None and not host.exhausted:
            waiting.append(host)

    def _next(self, host: _Host) -> Candidate | None:
        try:
            return host.next(known=self._error is not None)
        except (BudgetSpentError, DeadlineExceeded) as error:
            self._error = error
            return None

    def _shared(self, hosts: Sequence[_Host]) -> Iterator[Candidate]:
        """Yield the candidates with only sharing providers that the hosts' turns have collected."""
        if not self._breadth_first:
            for host in hosts:
                yield from host.shared
            return
        turn = 0
        waiting = [host for host in hosts if host.shared]
        while waiting:
            yield from [host.shared[turn] for host in waiting]
            turn += 1
            waiting = [host for host in waiting if len(host.shared) > turn]

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
