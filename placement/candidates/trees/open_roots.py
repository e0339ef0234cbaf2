"""The roots of searches for one request, each of which is made while there is less room.

A tree that has no candidate has none once it has less room (where no amount is split). So a search
begins with the trees that those before it have not refused, and goes on where they have stopped.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from placement import stopwatch
from placement.candidates.budget import Spend
from placement.candidates.model import Root
from placement.candidates.stats import Outcome, RootStats
from placement.candidates.trees.roots import RootSource

# The work of a statement that looks for roots (more for two conditions of it), where the database
# is in this process, as SQLite is; and of each root that it returns.
LOOKS_PER_READ = 60_000
LOOKS_PER_ROOT = 12


class OpenRoots:
    """Hands out roots in batches, without those that earlier searches have refused."""

    def __init__(
        self,
        make_source: Callable[[], RootSource],
        *,
        repeated: bool,
        resumed: bool,
        batch: int,
        conditions: int,
    ) -> None:
        """make_source: makes what reads roots, from the first one on.

        repeated: there may be several searches. resumed: they go on where those before have
        stopped; without it each begins with a source of its own. batch: how many roots that were
        read before are handed out together. conditions: how many a statement may have.
        """
        self._make_source = make_source
        self._source = make_source()
        self._repeated = repeated
        self._resumed = resumed
        self._batch = batch
        self._read_looks = LOOKS_PER_READ * (1 + conditions // 2)
        # What came of the roots that the source has returned.
        self._stats = RootStats()
        # Those that are being searched, and what came of the first of them.
        self._part: Sequence[int] = ()
        self._outcomes: list[Outcome] = []
        # By id: those read and not refused, in their order; those refused; those not in the stats.
        self._open: dict[int, Root] = {}
        self._refused: set[int] = set()
        self._uncounted: set[int] = set()

    def batches(self, spend: Spend) -> Iterator[Sequence[Root]]:
        """Yield the roots of a search.  spend: is told of the work."""
        self._fold()
        if self._stats.trees and not self._resumed:
            self._source, self._stats = self._make_source(), RootStats()
            self._open.clear()
        known = iter(tuple(self._open.values()))
        while batch := tuple(islice(known, self._batch)):
            spend(LOOKS_PER_ROOT * len(batch))
            yield batch
        while True:
            self._fold()
            statements = stopwatch.statements()
            with stopwatch.WINDOWS:
                roots = self._source.next_batch(self._stats)
            spend(self._read_looks * (stopwatch.statements() - statements))
            if roots is None:
                return
            spend(LOOKS_PER_ROOT * len(roots))
            if self._repeated:
                roots = [root for root in roots if root.id not in self._refused]
                self._open.update((root.id, root) for root in roots)
                self._uncounted.update(root.id for root in roots)
            yield roots

    def outcomes(self, part: Sequence[int]) -> list[Outcome]:
        """Return an empty list for what comes of these roots of a batch (by id), in their order."""
        self._fold()
        self._part, self._outcomes = part, []
        return self._outcomes

    def _fold(self) -> None:
        """Note what came of the roots searched last, as far as they were."""
        part, outcomes = self._part, self._outcomes
        self._part, self._outcomes = (), []
        if not self._repeated:
            self._stats = self._stats.plus(outcomes)
            return
        first = []
        for root_id, outcome in zip(part, outcomes, strict=False):
            if root_id in self._uncounted:
                self._uncounted.discard(root_id)
                first.append(outcome)
            if not outcome.served:
                self._open.pop(root_id, None)
                self._refused.add(root_id)
        self._stats = self._stats.plus(first)
