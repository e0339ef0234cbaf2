"""The gauges of `[metrics] headroom_file`. The module reads the file and measures its requests."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from placement import client
from placement.api.handler import Service
from placement.api.json_body import Schema, path_of
from placement.api.operations.headroom import HEADROOM_REQUESTS, MAX_LIMIT, read_headroom
from placement.candidates import HeadroomQuery, find_headroom
from placement.errors import ConfigurationError, PlacementError
from placement.metrics.headroom import HeadroomGauges, RequestHeadroom
from placement.objects import revisions

LOG = logging.getLogger(__name__)

_SCHEMA = Schema(HEADROOM_REQUESTS, path_of)


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
        # The requests in the file.
        self._query = self._read()

    def state(self) -> object:
        """Return a value that is equal while the numbers are equal, or None if this is unknown."""
        self._refresh()
        with self._service.database.read() as conn:
            trees = revisions.state_of_all(conn)
        if trees is None:
            return None
        candidates = self._service.settings.candidates
        bounds = sorted(candidates.taints), candidates.max_search_steps
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


def make_gauges(path: str, interval: float, directory: Path, service: Service) -> HeadroomGauges:
    """Return the gauges of a file.  Raises ConfigurationError if the file cannot be used."""
    file = HeadroomFile(Path(path), service)
    return HeadroomGauges(directory, interval, file.state, file.measure)
