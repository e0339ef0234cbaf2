"""The roots that may serve a request, with the best hosts of an order first."""

from collections.abc import Iterator
from itertools import islice

from placement.candidates.model import Roots
from placement.candidates.stats import RootStats
from placement.candidates.trees.ranked_roots import RankedRoot, shuffled
from placement.candidates.trees.roots import RootReader, is_rare
from placement.candidates.tuning import SearchTuning


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
        is_known = stats.trees >= tuning.first_window
        if not self._is_filtered and is_known and is_rare(stats.trees, stats.served, tuning):
            self._is_filtered = True
            matching = self._reader.matching(0, stats)
            if matching is not None:
                self._ranked = filter(lambda root: root.id in matching, self._ranked)
        batch = {root.id: root.revision for root in islice(self._ranked, self._batch_size)}
        self._batch_size = min(4 * self._batch_size, tuning.largest_batch)
        return batch or None
