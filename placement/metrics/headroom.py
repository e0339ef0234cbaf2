"""Gauges that show how many more consumers of the requests in `[metrics] headroom_file` fit.

The text is cached like the text of the inventories. Its first line contains the state on which the
numbers depend. While the state is unchanged, nothing is measured.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from placement import __version__, client
from placement.api.bodies import Schema, path_of
from placement.api.handler import Service
from placement.api.operations.headroom import HEADROOM_REQUESTS, MAX_LIMIT, read_headroom
from placement.errors import ConfigurationError, LargeWorkBusy, PlacementError
from placement.foresight.headroom import HeadroomQuery, find_headroom
from placement.metrics.declarations import HEADROOM, HEADROOM_EMPTY, HEADROOM_UPPER
from placement.metrics.text import SharedText, family, labels
from placement.objects import revisions

LOG = logging.getLogger(__name__)

_SCHEMA = Schema(HEADROOM_REQUESTS, path_of)


class RequestHeadroom(NamedTuple):
    """How many more consumers of one request fit."""

    # Number of further consumers that certainly fit.
    fits: int
    # Number of further consumers that no placement can exceed, or None if it is unknown.
    at_most: int | None
    # Number of consumers that would fit if there were no allocations.
    empty: int


class HeadroomFile:
    """The requests in a file. The file is read again after each change."""

    def __init__(self, path: Path, service: Service) -> None:
        """Read the file.

        Raises:
            ConfigurationError: the file cannot be used, or the client is not installed, which
                translates flavors.
        """
        self._path = path
        self._service = service
        # Returns name -> request in JSON, from a file. Raises ValueError.
        self._read_requests = client.load(client.FILES, "requests", "[metrics] headroom_file")
        # Time of the last change of the file when it was read.
        self._modified = self._mtime()
        self._query = self._read()

    def state(self) -> object:
        """Return a value that is equal while the numbers are equal, or None if this is unknown."""
        self._refresh()
        with self._service.database.read() as conn:
            trees = revisions.state_of_all(conn)
        if trees is None:
            return None
        candidates = self._service.settings.candidates
        bounds = sorted(map(sorted, candidates.traits)), candidates.max_search_steps
        return trees, bounds, repr(self._query)

    def measure(self) -> Mapping[str, RequestHeadroom]:
        """Measure the requests, both now and as if there were no allocations.

        Raises:
            PlacementError: a name does not exist, or the database or the process is busy.
        """
        service = self._service
        with service.large_work.turn(), service.database.read_trees() as conn:
            now, empty = (
                find_headroom(conn, service.trees, query, service.settings.candidates)
                for query in (self._query, replace(self._query, empty=True))
            )
        return {
            name: RequestHeadroom(each.total.fits, each.total.at_most, empty[name].total.fits)
            for name, each in now.items()
        }

    def _refresh(self) -> None:
        """Read the file again if it has changed.

        If the file cannot be used, keep the previous requests.
        """
        modified = self._mtime()
        if modified == self._modified:
            return
        self._modified = modified
        try:
            self._query = self._read()
        except ConfigurationError as error:
            LOG.error("%s; the previous requests remain in use", error)

    def _mtime(self) -> int:
        try:
            return self._path.stat().st_mtime_ns
        except OSError:
            return 0

    def _read(self) -> HeadroomQuery:
        try:
            body = {"requests": self._read_requests(self._path), "limit": MAX_LIMIT}
            _SCHEMA.check(body)
            return read_headroom(body)
        except (ValueError, PlacementError) as error:
            raise ConfigurationError(f"[metrics] headroom_file: {error}") from None


class HeadroomGauges:
    """The text of the gauges. All processes share the cached text in the metrics directory."""

    def __init__(self, directory: Path, interval: float, file: HeadroomFile) -> None:
        """Set up the cache. There are at least `interval` seconds between two measurements."""
        self._text = SharedText(directory, "headroom", interval)
        self._file = file

    def text(self) -> bytes:
        """Return the text. Empty if the headroom cannot be measured."""
        try:
            return self._text.text(self._make)
        except PlacementError as error:
            LOG.warning("the headroom cannot be measured for the metrics: %s", error.complaint)
            return b""

    def _make(self, previous: bytes | None) -> bytes:
        state = self._file.state()
        first = b""
        if state is not None:
            digest = sha256(repr((__version__, state)).encode()).hexdigest()
            first = f"# {digest}\n".encode()
            if previous is not None and previous.startswith(first):
                return previous
        try:
            return first + _render(self._file.measure())
        except LargeWorkBusy:
            if previous is None:
                raise
            return previous  # the next measurement is after the next interval


def _render(headroom: Mapping[str, RequestHeadroom]) -> bytes:
    labelled = [(labels({"request": name}), numbers) for name, numbers in headroom.items()]
    upper = [(label, each.at_most) for label, each in labelled if each.at_most is not None]
    return b"".join(
        (
            family(HEADROOM, [(label, numbers.fits) for label, numbers in labelled]),
            family(HEADROOM_UPPER, upper),
            family(HEADROOM_EMPTY, [(label, numbers.empty) for label, numbers in labelled]),
        )
    )
