"""The roots of trees that may serve a request, in batches that are worth loading at once.

A window is a run of roots in the order of ids, unfiltered; its cost is that of its length,
whatever the cloud. Checking a tree that is in memory is some five times cheaper than having the
database evaluate the conditions. Once a window shows that matches are rare, the database is asked
for all that is left, for then it can begin with what is rare.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy.engine import Connection

from placement.candidates.model import Root
from placement.candidates.stats import RootStats
from placement.candidates.trace import Trace
from placement.candidates.trees.conditions import TreeCondition, choose_driver, root_condition
from placement.candidates.trees.resolve import ResolvedRequest
from placement.candidates.trees.sharing import Spellings
from placement.candidates.tuning import SearchTuning
from placement.db.conditions import DrivingCondition, MemberCondition, TreeFilter
from placement.db.statements import root_windows
from placement.db.statements import roots as statements

MAX_KEPT_ROOTS = 10_000  # for an explanation; others are read again


@dataclass(frozen=True, slots=True)
class Window:
    """The next `size` roots with an id above `after`; None: all of these that match."""

    after: int
    size: int | None


@dataclass(frozen=True, slots=True)
class WindowResult:
    """What a window showed. last: the id of its last root. matches: how many could serve."""

    rows: int
    last: int
    matches: int


def is_rare(rows: int, matches: int, tuning: SearchTuning) -> bool:
    """Whether the database should be asked for the roots that match."""
    return matches * tuning.rare_match <= rows


def first_size(limit: int | None, tuning: SearchTuning) -> int:
    """Return the number of roots of the first window: few, for nobody knows yet who matches."""
    if limit is None:
        return tuning.first_window
    return min(max(tuning.smallest_window, 2 * limit), tuning.first_window)


def next_window(
    window: Window, result: WindowResult, missing: int | None, tuning: SearchTuning
) -> Window | None:
    """Return the window after one that was read, or None where all roots have been read.

    missing: how many more matches are wanted; None: all.
    """
    if window.size is None or result.rows < window.size:
        return None
    if is_rare(result.rows, result.matches, tuning):
        return Window(result.last, None)
    size = window.size * tuning.window_growth
    if missing is not None:
        # As many as it takes if matches go on as they were, and a tenth more.
        size = max(size, missing * result.rows * 11 // (result.matches * 10) + 1)
    return Window(result.last, min(size, tuning.largest_window))


def random_runs(least: int, most: int, size: int, tuning: SearchTuning) -> list[tuple[int, int]]:
    """Return runs (after, size) at random places among the ids from `least` to `most`.

    They have `size` roots in all, give a fair spread over the cloud and not a uniform sample,
    and may overlap.
    """
    part = -(-size // tuning.sample_runs)
    return [(random.randint(least, most) - 1, part) for _ in range(tuning.sample_runs)]


class RootSource:
    """Hands out roots, window by window; each is sized by what the ones before have shown.

    Where answers are to be spread over the cloud, a random sample comes first.
    """

    def __init__(
        self, reader: "RootReader", limit: int | None, *, randomize: bool, tuning: SearchTuning
    ) -> None:
        self._reader = reader
        self._limit = limit
        self._tuning = tuning
        self._to_sample = randomize and limit is not None and not reader.pinned
        self._sample: frozenset[int] = frozenset()  # ids
        self._window: Window | None = None  # the latest one, its rows, and the id of the last
        self._rows = 0
        self._last = 0
        self._served_before = 0  # trees with a candidate when it was read
        self._pending: Sequence[Root] = ()
        self._batch_size = tuning.first_batch

    def next_batch(self, stats: RootStats) -> Sequence[Root] | None:
        """Return the next roots, or None when there are no more.

        stats: what came of all the roots returned so far.
        """
        while not self._pending:
            pending = self._read(stats)
            if pending is None:
                return None
            self._pending = pending
            self._batch_size = self._tuning.first_batch
        batch = self._pending[: self._batch_size]
        self._pending = self._pending[self._batch_size :]
        self._batch_size = min(4 * self._batch_size, self._tuning.largest_batch)
        return batch

    def _read(self, stats: RootStats) -> Sequence[Root] | None:
        if self._to_sample:
            self._to_sample = False
            roots = self._reader.sample(first_size(self._limit, self._tuning))
            self._sample = frozenset(root.id for root in roots)
            return roots
        window = self._next_window(stats)
        if window is None:
            return None
        self._window = window
        self._served_before = stats.served
        if window.size is None:
            roots = self._reader.matching(window.after, stats)
        else:
            roots, self._rows, self._last = self._reader.run(window.after, window.size)
        return [root for root in roots if root.id not in self._sample]

    def _next_window(self, stats: RootStats) -> Window | None:
        tuning = self._tuning
        if self._window is not None:
            result = WindowResult(self._rows, self._last, stats.served - self._served_before)
            missing = None if self._limit is None else self._limit - stats.served
            return next_window(self._window, result, missing, tuning)
        poor_sample = self._sample and is_rare(len(self._sample), stats.served, tuning)
        if self._reader.pinned or poor_sample:
            return Window(0, None)
        return Window(0, first_size(self._limit, tuning))


class RootReader:
    """Reads roots from the database: runs of them as they come, or those that match.

    pinned: the request names the one tree that may serve.
    """

    def __init__(
        self,
        resolved: ResolvedRequest,
        plain: "PlainRoots",
        conditions: Sequence[TreeCondition],
        spellings: Spellings,
        trace: Trace,
        tuning: SearchTuning,
    ) -> None:
        """plain: reads runs of roots."""
        self.pinned = any(
            condition.member.tree is not None and not condition.member.reach
            for condition in conditions
        )
        self._conn = plain.conn
        self.run = plain.run
        self._conditions = conditions
        self._root = root_condition(resolved)
        self._spellings = spellings
        self._trace = trace
        self._tuning = tuning

    def sample(self, size: int) -> list[Root]:
        """Return some roots from random places, in random order."""
        least, most = root_windows.outermost_roots().row(self._conn)
        if least is None:
            return []
        roots: set[Root] = set()
        for after, length in random_runs(least, most, size, self._tuning):
            roots.update(self.run(after, length)[0])
        return random.sample(sorted(roots), len(roots))

    def matching(self, after: int, stats: RootStats) -> list[Root]:
        """Return the roots after an id whose trees seem to match.

        stats decide with which of the conditions the database begins. If that leaves few, these
        are all that it is asked: to look at their trees is faster.
        """
        conditions = self._conditions[: self._tuning.max_conditions]
        driving = None if self.pinned else choose_driver(conditions, self._root, stats)
        roots = None if driving is None else self._few(after, conditions[driving.index], driving)
        if roots is None:
            roots = self._meeting(after, conditions, driving)
        self._trace.filter_trees(len(roots))
        return roots

    def _few(
        self, after: int, condition: TreeCondition, driving: DrivingCondition
    ) -> list[Root] | None:
        """Return the roots with what the database would begin with; None if they are not few."""
        most = self._tuning.few_roots
        query = statements.driven_roots(after, condition.member, driving.driver, most + 1)
        rows = query.rows(self._conn)
        return _sound(dict.fromkeys(map(tuple, rows))) if len(rows) <= most else None

    def _meeting(
        self, after: int, conditions: Sequence[TreeCondition], driving: DrivingCondition | None
    ) -> list[Root]:
        """Return the roots whose trees seem to meet all conditions."""
        # A tree where everything comes from elsewhere is no anchor. That can be said only where
        # no condition was left out.
        needs_own = len(conditions) == len(self._conditions) and all(
            condition.member.reach for condition in conditions
        )
        members = tuple(self._widened(condition.member) for condition in conditions)
        query = statements.matching_roots(
            after, TreeFilter(members, self._root, needs_own), driving
        )
        rows = query.rows(self._conn)
        return _sound((root_id, revision) for root_id, revision, matches in rows if matches)

    def _widened(self, condition: MemberCondition) -> MemberCondition:
        """Return the condition with every row that means an aggregate of its reach."""
        if not condition.reach:
            return condition
        return replace(condition, reach=self._spellings.rows(condition.reach))


class PlainRoots:
    """Reads runs of roots as they come, and keeps those of runs from the first root on.

    A search reads as many of them as it needs. `windows` returns these, and then reads the others.
    """

    def __init__(self, conn: Connection, first: Sequence[Any] | None) -> None:
        """first: the rows that have come with names; None: none have."""
        self.conn = conn
        self._first = first
        self._kept: list[Root] = []
        self._last = 0  # the id of the last root that is kept
        self._complete = False  # there are no others

    def run(self, after: int, size: int) -> tuple[list[Root], int, int]:
        """Return the next roots after an id, how many rows were read, and the last one's id."""
        if after == 0 and self._first is not None and size <= root_windows.FIRST:
            rows = self._first[:size]
        else:
            rows = root_windows.next_roots(after, size).rows(self.conn)
        roots = _sound(rows)
        last = rows[-1][0] if rows else after
        if after == self._last and not self._complete and len(self._kept) < MAX_KEPT_ROOTS:
            self._kept += roots
            self._last = last
            self._complete = len(rows) < size
        return roots, len(rows), last

    def windows(self, size: int) -> Iterator[Sequence[Root]]:
        """Yield all roots: those that are kept, then windows of so many."""
        if not self._last and self._first is not None and len(self._first) < root_windows.FIRST:
            self.run(0, root_windows.FIRST)  # these are all
        if self._kept:
            yield tuple(self._kept)
        after, complete = self._last, self._complete
        while not complete:
            roots, rows, after = self.run(after, size)
            complete = rows < size
            yield roots


def _sound(rows: Iterable[Sequence[int]]) -> list[Root]:
    """Return the roots of (id, revision) rows.

    A row that names another root, as in a damaged database, has no revision.
    """
    return [Root(root_id, revision) for root_id, revision in rows if revision is not None]
