"""Metrics for Prometheus: counts of events, and the inventories of the cloud.

Each process counts in its own files. The process that serves a scrape adds up the files.
"""

from collections.abc import Callable, Collection
from pathlib import Path

from placement import __version__
from placement.config import MetricsSettings
from placement.db.engine import Database
from placement.errors import ConfigurationError
from placement.metrics import directory
from placement.metrics.declarations import BUILD, TAINT
from placement.metrics.inventories import Inventories
from placement.metrics.text import family, labels
from placement.runtime import events

# Functions that stop the listener of this process. Empty if there is no listener.
_listening: list[Callable[[], None]] = []


class Metrics:
    """The metrics of a service. Each of its processes can read them."""

    def __init__(self, settings: MetricsSettings, taints: Collection[str] = frozenset()) -> None:
        """Select the directory. Counting does not start until `listen`.

        Raises ConfigurationError if the directory cannot be used.
        """
        self._taints = sorted(taints)
        self._directory = directory.use(settings.directory)
        keep = settings.inventory_seconds
        # The text of the inventory metrics, or None if these metrics are disabled.
        self._inventories = (
            Inventories(self._directory, keep, with_allocations=settings.allocations)
            if keep
            else None
        )

    def listen(self) -> None:
        """Start to count events. Another call replaces the listener.

        Raises:
            ConfigurationError: the files of this process cannot be written.
        """
        # PERF: the module is imported only if metrics are enabled. Its import reads the environment
        # variable.
        from placement.metrics.counts import Counts  # noqa: PLC0415

        stop_listening()
        try:
            counts = Counts()
        except OSError as error:
            raise ConfigurationError(f"[metrics] directory: cannot count there ({error})") from None
        _listening.append(events.listen(counts))

    def fold(self) -> None:
        """Merge the files of processes that have ended."""
        directory.fold(self._directory)

    @property
    def directory(self) -> Path:
        """The directory of the files. All processes of the service share it."""
        return self._directory

    def text(self, database: Database) -> bytes:
        """Return all metrics in the text format 0.0.4 of Prometheus."""
        from prometheus_client import CollectorRegistry, generate_latest  # noqa: PLC0415
        from prometheus_client.multiprocess import MultiProcessCollector  # noqa: PLC0415

        from placement.metrics import processes  # noqa: PLC0415

        self.fold()
        registry = CollectorRegistry()
        with directory.reading(self._directory):
            MultiProcessCollector(registry, str(self._directory))
            text = generate_latest(registry)
            text += processes.text(directory.processes(self._directory).items())
        text += family(BUILD, [(labels({"version": __version__}), 1)])
        if self._taints:
            text += family(TAINT, [(labels({"trait": name}), 1) for name in self._taints])
        return text if self._inventories is None else text + self._inventories.text(database)


def stop_listening() -> None:
    while _listening:
        _listening.pop()()
