"""Metrics for Prometheus: events counted, and what the cloud has and uses.

Every process counts in files of its own, and whichever is asked adds up all of them.
"""

from collections.abc import Callable

from placement import __version__, events
from placement.config import MetricsSettings
from placement.db.engine import Database
from placement.errors import ConfigurationError
from placement.metrics import directory
from placement.metrics.declarations import BUILD
from placement.metrics.inventories import Inventories
from placement.metrics.text import family, labels

_listening: list[Callable[[], None]] = []  # what ends it; one at most, in a process


class Metrics:
    """The metrics of a service, whichever of its processes is asked."""

    def __init__(self, settings: MetricsSettings) -> None:
        """Nothing is counted before `listen`.  Raises ConfigurationError."""
        self._directory = directory.use(settings.directory)
        keep = settings.inventory_seconds
        self._inventories = Inventories(self._directory, keep) if keep else None

    def listen(self) -> None:
        """Count the events from now on, and none of them twice.  Raises ConfigurationError."""
        # PERF: imported only where metrics are enabled; and the library looks at its environment.
        from placement.metrics.counts import Counts  # noqa: PLC0415

        stop_listening()
        try:
            counts = Counts()
        except OSError as error:
            raise ConfigurationError(f"[metrics] directory: cannot count there ({error})") from None
        _listening.append(events.listen(counts))

    def give_to(self, user: int, group: int) -> None:
        """Let the processes of another user count, if this is one that starts them (root)."""
        directory.give_to(self._directory, user, group)

    def fold(self) -> None:
        """Tidy up after processes that are gone."""
        directory.fold(self._directory)

    def text(self, database: Database) -> bytes:
        """Return all metrics, in the text form 0.0.4 of Prometheus."""
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
        return text if self._inventories is None else text + self._inventories.text(database)


def stop_listening() -> None:
    """Count no more in this process."""
    while _listening:
        _listening.pop()()
