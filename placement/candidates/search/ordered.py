"""Candidates of all hosts, those of the best hosts first.

Every host is looked at before the first candidate is offered. Then hosts take turns as ever, in the
order of the request.
"""

import random
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from operator import itemgetter

from placement.candidates.budget import BudgetSpentError, Spend
from placement.candidates.model import Pool
from placement.candidates.order import Order, Rank, rank_by
from placement.candidates.search.anchors import Search
from placement.candidates.search.candidate import Candidate
from placement.candidates.search.result import interleave
from placement.errors import DeadlineExceeded
from placement.vocabulary import SHARING_TRAIT

# Hosts with equal keys among which a claim chooses the one that it begins at.
MAX_HEADS = 8


class _Host:
    """A host that has a candidate, when it is its turn.

    shared: its candidates of which every provider shares, and at
    least one is its own; those of other trees alone are found there.
    """

    __slots__ = ("_first", "_may_share", "_search", "shared")

    def __init__(self, first: Candidate, search: Search | None) -> None:
        """search: of the candidates after the first one; None: there are none."""
        self.shared: list[Candidate] = []
        self._first: Candidate | None = first
        self._search = search
        self._may_share = _may_share(first.pool)

    def next(self, *, known: bool) -> Candidate | None:
        """Return the next candidate in which some provider does not share, or None.

        known: without any work. Raises BudgetSpentError.
        """
        while True:
            candidate, self._first = self._first, None
            if candidate is None and not known and self._search is not None:
                candidate = self._search.next()
            if candidate is None or not self._may_share or not all_share(candidate):
                return candidate
            if min(candidate.assignment) < candidate.pool.local:
                self.shared.append(candidate)

    @property
    def exhausted(self) -> bool:
        """Whether it has no further candidate."""
        return self._first is None and (self._search is None or self._search.exhausted)


def _may_share(pool: Pool) -> bool:
    return bool(pool.sharing) or any(SHARING_TRAIT in member.traits for member in pool.members)


def all_share(candidate: Candidate) -> bool:
    """Whether every provider of a candidate shares."""
    members = candidate.pool.members
    return all(SHARING_TRAIT in members[position].traits for position in candidate.assignment)


# What a host is sorted by, its UUID, its first candidate, and what searches for more, if any.
_Found = tuple[Rank, str, Candidate, Search | None]


class OrderedHosts:
    """Sorts the hosts of one search; those with equal keys by UUID, or at random."""

    def __init__(self, order: Order, *, breadth_first: bool, randomize: bool, spend: Spend) -> None:
        """spend: is told of the providers looked at."""
        self._order = order
        self._breadth_first = breadth_first
        self._randomize = randomize
        self._spend = spend
        # What has ended the search before its end.
        self._error: Exception | None = None
        self._ranks: dict[str, Rank] = {}

    @property
    def sorts(self) -> bool:
        """Whether hosts are wanted in an order."""
        return bool(self._order)

    def candidates(
        self, searches: Iterable[Search], alone: Iterable[Search]
    ) -> Iterator[Candidate]:
        """Yield the candidates: of hosts, of sharing providers at their own root, of these alone.

        searches: of hosts. alone: of sets of sharing providers. Raises what has ended the search,
        after what is known by then.
        """
        if self._order:
            return self._in_order(searches, alone)
        return interleave(chain(searches, alone), breadth_first=self._breadth_first)

    def _in_order(self, searches: Iterable[Search], alone: Iterable[Search]) -> Iterator[Candidate]:
        hosts: list[_Host] = []
        yield from self._turns(self._sorted(searches), hosts)
        yield from self._shared(hosts)
        if self._error is not None:
            raise self._error
        yield from interleave(alone, breadth_first=self._breadth_first)

    def _sorted(self, searches: Iterable[Search]) -> list[_Found]:
        """Look at all hosts; return those that have a candidate, in order."""
        # PERF: tuples, for most hosts never have their turn where the request states a limit.
        found: list[_Found] = []
        rank_of = rank_by(self._order)
        looks = len(self._order)
        try:
            for search in searches:
                first = search.next()
                if first is not None and first.pool.anchor is not None:
                    tree = first.pool.anchor
                    more = None if search.exhausted else search
                    found.append((rank_of(tree), tree.uuid, first, more))
                    self._spend(len(tree.members) * looks)
        except (BudgetSpentError, DeadlineExceeded) as error:
            self._error = error
        if self._randomize:
            random.shuffle(found)
            found.sort(key=itemgetter(0))
        else:
            found.sort(key=itemgetter(0, 1))
        return found

    def _turns(self, found: Iterable[_Found], hosts: list[_Host]) -> Iterator[Candidate]:
        """Yield the candidates in which some provider does not share; note all hosts."""
        waiting: deque[_Host] = deque()
        for rank, uuid, first, search in found:
            host = _Host(first, search)
            hosts.append(host)
            self._ranks[uuid] = rank
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
        """Yield the others, which are known when hosts have no more of the first kind."""
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
        """Return the positions at which the hosts begin that stand first with equal keys."""
        heads: list[int] = []
        roots: set[str] = set()
        for position, candidate in enumerate(candidates):
            root = candidate.pool.root
            if root in roots and not self._breadth_first:
                continue
            if root in roots or len(heads) == MAX_HEADS or not self._stands_first(candidates, root):
                break
            if _kind(candidate) != _kind(candidates[0]):
                break
            heads.append(position)
            roots.add(root)
        return heads

    def _stands_first(self, candidates: Sequence[Candidate], root: str) -> bool:
        first = candidates[0].pool.root
        return root == first or (
            root in self._ranks and self._ranks[root] == self._ranks.get(first)
        )


def _kind(candidate: Candidate) -> tuple[bool, bool]:
    return candidate.split, all_share(candidate)
