"""The roots of repeated searches for one request, while the free capacity decreases.

If a tree has no candidate, it does not gain one when its free capacity decreases, unless an amount
is split. Therefore, a search starts with the trees that previous searches did not refuse, and then
reads further roots.
"""

from collections.abc import Callable, Iterator
from itertools import islice

from placement.candidates.budget import COST_PER_STEP, WORK_BETWEEN_CHECKS, Charge
from placement.candidates.model import Roots
from placement.candidates.stats import Outcome, RootStats
from placement.candidates.trees.roots import Source
from placement.runtime import stopwatch

# Cost of one statement that reads roots. It takes some milliseconds, in this process if the engine
# is SQLite.
READ_COST = 4 * WORK_BETWEEN_CHECKS


class OpenRoots:
    """Yields roots in batches, excluding the roots that previous searches refused."""

    def __init__(
        self,
        make_source: Callable[[], Source],
        *,
        repeated: bool,
        resumed: bool,
        batch: int,
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
