"""Gauges that show how many more consumers of the requests in a file fit.

The text is cached like the text of the inventories. Its first line contains the state on which the
numbers depend. While the state is unchanged, nothing is measured.
"""

import logging
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from placement import __version__
from placement.errors import LargeWorkBusy, PlacementError
from placement.metrics.declarations import HEADROOM, HEADROOM_EMPTY, HEADROOM_UPPER
from placement.metrics.shared_text import SharedText
from placement.metrics.text import family, labels

LOG = logging.getLogger(__name__)


class RequestHeadroom(NamedTuple):
    """How many more consumers of one request fit."""

    # Number of further consumers that certainly fit.
    fits: int
    # Number of further consumers that no placement can exceed.
    at_most: int
    # Number of consumers that would fit if there were no allocations.
    empty: int


# Function that returns name -> headroom, for the requests in the file.
Measure = Callable[[], Mapping[str, RequestHeadroom]]


class HeadroomGauges:
    """The text of the gauges. It is cached in the metrics directory."""

    def __init__(
        self,
        directory: Path,
        interval: float,
        state: Callable[[], object],
        measure: Measure,
    ) -> None:
        """Set up the cache.

        Args:
            directory: directory of the metrics.
            interval: minimum seconds between two measurements.
            state: returns a value that is equal while all trees and settings are unchanged, or None
                if this is not known.
            measure: measures the headroom.
        """
        # The cached text. All processes share it.
        self._text = SharedText(directory, "headroom", interval)
        self._state = state
        self._measure = measure

    def text(self) -> bytes:
        """Return the text. Empty if the headroom cannot be measured."""
        try:
            return self._text.text(self._make)
        except PlacementError as error:
            LOG.warning("the headroom cannot be measured for the metrics: %s", error.complaint)
            return b""

    def _make(self, previous: bytes | None) -> bytes:
        state = self._state()
        first = b""
        if state is not None:
            digest = sha256(repr((__version__, state)).encode()).hexdigest()
            first = f"# {digest}\n".encode()
            if previous is not None and previous.startswith(first):
                return previous
        try:
            return first + render(self._measure())
        except LargeWorkBusy:
            if previous is None:
                raise
            return previous  # the next measurement is after the next interval


def render(headroom: Mapping[str, RequestHeadroom]) -> bytes:
    """Return the gauges as text."""
    labelled = [(labels({"request": name}), numbers) for name, numbers in headroom.items()]
    return b"".join(
        (
            family(HEADROOM, [(label, numbers.fits) for label, numbers in labelled]),
            family(HEADROOM_UPPER, [(label, numbers.at_most) for label, numbers in labelled]),
            family(HEADROOM_EMPTY, [(label, numbers.empty) for label, numbers in labelled]),
        )
    )
