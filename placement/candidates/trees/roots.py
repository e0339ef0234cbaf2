"""Read the roots of trees that may serve a request, in batches that are loaded together.

A window is an unfiltered run of roots, ordered by id. Its cost depends only on its length. Checking
a cached tree is about five times cheaper than evaluating the conditions in SQL. If a window shows
that matches are rare, a single query returns the remaining roots that satisfy the rarest condition.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Protocol

from placement.candidates.model import Outcome, Roots, RootStats, Trace
from placement.candidates.terms import PlaceTerm, of_kind
from placement.candidates.trees.conditions import TreeCondition, choose_drivers, root_condition
from placement.candidates.trees.ranked_roots import RankedRoot, shuffled
from placement.candidates.trees.resolve import ResolvedRequest
from placement.candidates.trees.scan import PlainRoots, sound_roots
from placement.candidates.trees.tuning import SearchTuning
from placement.db.statements import root_windows
from placement.db.statements import roots as statements
from placement.runtime import stopwatch
from placement.runtime.budget import COST_PER_STEP, WORK_BETWEEN_CHECKS, Charge


@dataclass(frozen=True, slots=True)
class Window:
    """A run of roots to read."""

    # Id after which the window begins, or 0 for the first root.
    after: int
    # Number of roots, or None for all remaining roots that match.
    size: int | None


@dataclass(frozen=True, slots=True)
class WindowResult:
    """The statistics of a window after its search."""

    # Number of roots read.
    rows: int
    # Id of the last root.
    last: int
    # Number of trees with a candidate.
    matches: int


def is_rare(rows: int, matches: int, tuning: SearchTuning) -> bool:
    """Return whether matches are so rare that a query for them is cheaper than more windows."""
    return matches * tuning.rare_match <= rows


def first_size(limit: int | None, tuning: SearchTuning) -> int:
    """Return the size of the first window. It is small because the rate of matches is unknown."""
    if limit is None:
        return tuning.first_window
    return min(max(tuning.smallest_window, 2 * limit), tuning.first_window)


def next_window(
    window: Window, result: WindowResult, missing: int | None, tuning: SearchTuning
) -> Window | None:
    """Return the next window, or None if all roots have been read.

    The search needs `missing` further matches, or all matches if it is None.
    """
    if window.size is None or result.rows < window.size:
        return None
    if is_rare(result.rows, result.matches, tuning):
        return Window(result.last, None)
    size = window.size * tuning.window_growth
    if missing is not None:
        # The size that is sufficient at the current rate of matches, plus 10 %.
        size = max(size, missing * result.rows * 11 // (result.matches * 10) + 1)
    return Window(result.last, min(size, tuning.largest_window))


def random_runs(least: int, most: int, size: int, tuning: SearchTuning) -> list[tuple[int, int]]:
    """Return runs (after, size) at random positions between the ids `least` and `most`.

    The runs have `size` roots in total and may overlap. They spread over the cloud, but are not a
    uniform sample.
    """
    part = -(-size // tuning.sample_runs)
    return [(random.randint(least, most) - 1, part) for _ in range(tuning.sample_runs)]


class Source(Protocol):
    """Returns the roots of one search."""

    def next_batch(self, stats: RootStats) -> Roots | None:
        """Return the next roots, or None if there are no more.

        Args:
            stats: outcomes of all roots returned so far.
        """


class RootSource:
    """Returns roots in windows.

    The outcomes of the previous windows determine the size of a window.

    If results are randomized, the source returns a random sample before the first window.
    """

    def __init__(
        self, reader: "RootReader", limit: int | None, *, randomize: bool, tuning: SearchTuning
    ) -> None:
        self._reader = reader
        self._limit = limit
        self._tuning = tuning
        # Whether the next window is a random sample.
        self._to_sample = randomize and limit is not None and not reader.pinned
        # The roots of the random sample, which no window returns again.
        self._sample: Roots = {}
        # The latest window, or None before the first one.
        self._window: Window | None = None
        # The number of roots that the window returned.
        self._rows = 0
        # The id of the last of these roots.
        self._last = 0
        self._served_before = 0  # trees with a candidate before the latest window
        # The roots of the window that have not been returned yet, as (id, revision).
        self._pending: Iterator[tuple[int, int]] = iter(())
        self._batch_size = tuning.first_batch

    def next_batch(self, stats: RootStats) -> Roots | None:
        """Return the next roots, or None if there are no more.

        Args:
            stats: outcomes of all roots returned so far.
        """
        while not (batch := dict(islice(self._pending, self._batch_size))):
            roots = self._read(stats)
            if roots is None:
                return None
            self._pending = iter(roots.items())
            self._batch_size = self._tuning.first_batch
        self._batch_size = min(4 * self._batch_size, self._tuning.largest_batch)
        return batch

    def _read(self, stats: RootStats) -> Roots | None:
        if self._to_sample:
            self._to_sample = False
            self._sample = self._reader.sample(first_size(self._limit, self._tuning))
            return self._sample
        window = self._next_window(stats)
        if window is None:
            return None
        self._window = window
        self._served_before = stats.served
        matching = self._reader.matching(window.after, stats) if window.size is None else None
        if matching is None:
            size = window.size or self._tuning.largest_window
            self._window = Window(window.after, size)
            roots, self._rows, self._last = self._reader.run(window.after, size)
        else:
            roots = matching
        for root_id in self._sample:
            roots.pop(root_id, None)
        return roots

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
    """Reads runs of roots, or matching roots, from the database."""

    def __init__(
        self,
        resolved: ResolvedRequest,
        plain: PlainRoots,
        make_conditions: Callable[[], Sequence[TreeCondition]],
        trace: Trace,
        tuning: SearchTuning,
    ) -> None:
        """Read nothing yet.

        Args:
            plain: reads the runs of roots.
            make_conditions: returns the conditions on trees.
        """
        self._resolved = resolved
        # Connection of the transaction that reads the roots.
        self.conn = plain.conn
        # Reads the next run of roots; see `PlainRoots.run`.
        self.run = plain.run
        self._make_conditions = make_conditions
        self._trace = trace
        self._tuning = tuning

    @cached_property
    def _conditions(self) -> Sequence[TreeCondition]:
        """The conditions on trees.  PERF: most searches find enough in the first run of roots."""
        return self._make_conditions()

    @cached_property
    def pinned(self) -> bool:
        """Whether the request names the only tree that may serve it."""
        return bool(of_kind(self._resolved.request.group_terms, PlaceTerm)) and any(
            condition.member.tree is not None and not condition.member.reach
            for condition in self._conditions
        )

    def sample(self, size: int) -> Roots:
        """Return some roots from random positions, in random order."""
        least, most = root_windows.outermost_roots().row(self.conn)
        if least is None:
            return {}
        roots: dict[int, int] = {}
        for after, length in random_runs(least, most, size, self._tuning):
            roots |= self.run(after, length)[0]
        return dict(random.sample(sorted(roots.items()), len(roots)))

    def matching(self, after: int, stats: RootStats) -> dict[int, int] | None:
        """Return the roots after an id whose trees may match.

        Args:
            stats: outcomes so far, which determine the condition that the database evaluates.

        Returns:
            None if no condition selects trees.
        """
        driving = choose_drivers(self._conditions, root_condition(self._resolved), stats)
        if not driving:
            return None
        roots = sound_roots(statements.driven_roots(after, driving).rows(self.conn))
        self._trace.filtered.append(len(roots))
        return roots


def batches(roots: Roots, size: int, largest: int) -> Iterator[Roots]:
    """Split roots into batches. Each batch has four times the size of the previous one."""
    pending = iter(roots.items())
    while batch := dict(islice(pending, size)):
        yield batch
        size = min(4 * size, largest)


class BestRoots:
    """Returns roots in the order of hosts.

    If the first hosts show that matches are rare, a query finds the roots that may match, and the
    other roots are skipped.
    """

    def __init__(
        self,
        reader: RootReader,
        ranked: Iterator[RankedRoot],
        tuning: SearchTuning,
        *,
        randomize: bool,
    ) -> None:
        """Return nothing yet.

        Args:
            ranked: all roots in the order of hosts.
            randomize: whether roots with equal ranks are returned in random order.
        """
        self._reader = reader
        self._ranked = shuffled(ranked) if randomize else ranked
        self._tuning = tuning
        self._batch_size = tuning.first_batch
        # Whether the roots that may match have been read.
        self._is_filtered = False

    def next_batch(self, stats: RootStats) -> Roots | None:
        """Return the next roots, or None if there are no more.

        Args:
            stats: outcomes of all roots returned so far.
        """
        tuning = self._tuning
        trees = stats.total()
        is_known = trees >= tuning.first_window
        if not self._is_filtered and is_known and is_rare(trees, stats.served, tuning):
            self._is_filtered = True
            matching = self._reader.matching(0, stats)
            if matching is not None:
                self._ranked = filter(lambda root: root.id in matching, self._ranked)
        batch = {root.id: root.revision for root in islice(self._ranked, self._batch_size)}
        self._batch_size = min(4 * self._batch_size, tuning.largest_batch)
        return batch or None


# Cost of one statement that reads roots. It takes some milliseconds, in this process if the engine
# is SQLite.
READ_COST = 4 * WORK_BETWEEN_CHECKS


class OpenRoots:
    """Yields roots in batches, excluding the roots that previous searches refused.

    The free capacity decreases between the searches. If a tree has no candidate, it does not gain
    one when its free capacity decreases, unless an amount is split. Therefore, a search starts with
    the trees that previous searches did not refuse, and then reads further roots.
    """

    def __init__(
        self, make_source: Callable[[], Source], *, repeated: bool, resumed: bool, batch: int
    ) -> None:
        """Create the source of the first search.

        Args:
            make_source: creates a source that starts at the first root.
            repeated: whether there may be several searches.
            resumed: whether searches continue the source of earlier searches. Otherwise each search
                starts with a new source.
            batch: size of batches of roots that were read before.
        """
        self._make_source = make_source
        # The source of the current search.
        self._source = make_source()
        self._repeated = repeated
        self._resumed = resumed
        self._batch = batch
        # The outcomes of the roots that the source has returned.
        self._stats = RootStats()
        # Id of a root -> its outcome. The search adds the outcomes of each batch.
        self.outcomes: dict[int, Outcome] = {}
        # The roots that were not refused, in the order in which they were read.
        self._open: dict[int, int] = {}
        # Ids of refused roots.
        self._refused: set[int] = set()
        # Ids of roots whose outcomes are not in the statistics yet.
        self._uncounted: set[int] = set()

    def batches(self, spend: Charge) -> Iterator[Roots]:
        """Yield the roots of a search in batches.

        Args:
            spend: charges the work.
        """
        self._add_outcomes()
        if self._stats and not self._resumed:
            self._source, self._stats = self._make_source(), RootStats()
            self._open.clear()
        known = iter(tuple(self._open.items()))
        while batch := dict(islice(known, self._batch)):
            spend(COST_PER_STEP * len(batch))
            yield batch
        while True:
            self._add_outcomes()
            statements = stopwatch.statements()
            with stopwatch.WINDOWS:
                roots = self._source.next_batch(self._stats)
            spend(READ_COST * (stopwatch.statements() - statements))
            if roots is None:
                return
            spend(COST_PER_STEP * len(roots))
            if self._repeated:
                roots = {
                    root_id: revision
                    for root_id, revision in roots.items()
                    if root_id not in self._refused
                }
                self._open.update(roots)
                self._uncounted.update(roots)
            yield roots

    def _add_outcomes(self) -> None:
        """Record the outcomes of the roots that were searched since the last call."""
        if self._repeated:
            for root_id, outcome in self.outcomes.items():
                if root_id in self._uncounted:
                    self._uncounted.discard(root_id)
                    self._stats[outcome] += 1
                if not outcome.served:
                    self._open.pop(root_id, None)
                    self._refused.add(root_id)
        else:
            self._stats.update(self.outcomes.values())
        self.outcomes.clear()
