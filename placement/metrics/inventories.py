"""What the cloud has and uses, by provider and class, in the names of openstack-exporter.

It takes one statement and a walk over all inventories, so it is kept for some time, in a file that
all processes share; only one of them makes it anew.
"""

import fcntl
import logging
import time
from collections.abc import Iterable
from pathlib import Path

from placement.db.engine import Database
from placement.errors import Unavailable
from placement.metrics.declarations import STOCKS, UP
from placement.metrics.text import family, labels
from placement.objects import inventory_list
from placement.objects.inventory_list import ListedInventory

LOG = logging.getLogger(__name__)


class Inventories:
    """The text of these metrics, kept in the directory of the metrics."""

    def __init__(self, directory: Path, keep: float) -> None:
        """keep: seconds for which a text is good."""
        self._file = directory / "inventories.txt"
        self._lock = directory / "inventories.lock"
        self._keep = keep

    def text(self, database: Database) -> bytes:
        """Return the text, made now if it is older than it may be.

        While another process or thread makes it, the one before is returned; the first one is
        waited for. Without a database, the text says that.
        """
        if self._is_good():
            return self._file.read_bytes()
        with self._lock.open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if self._file.exists():
                    return self._file.read_bytes()
                fcntl.flock(lock, fcntl.LOCK_EX)
            if self._is_good():  # somebody else was faster
                return self._file.read_bytes()
            try:
                text = _read(database)
            except Unavailable as error:
                LOG.warning("the inventories cannot be read for the metrics: %s", error)
                return family(UP, [("", 0)])
            unfinished = self._file.with_suffix(".new")
            unfinished.write_bytes(text)
            unfinished.replace(self._file)
            return text

    def _is_good(self) -> bool:
        try:
            modified = self._file.stat().st_mtime
        except FileNotFoundError:
            return False
        return 0 <= time.time() - modified < self._keep


def _read(database: Database) -> bytes:
    with database.read() as conn:
        return render(inventory_list.everything(conn))


def render(inventories: Iterable[ListedInventory]) -> bytes:
    """Return the metrics of these inventories as text."""
    labelled = [(_labels(inventory), inventory) for inventory in inventories]
    families = [family(UP, [("", 1)])]
    for field, metric in STOCKS.items():
        families.append(
            family(metric, ((text, getattr(inventory, field)) for text, inventory in labelled))
        )
    return b"".join(families)


def _labels(inventory: ListedInventory) -> str:
    return labels(
        {
            "hostname": inventory.provider,
            "resourcetype": inventory.class_name,
            "root": inventory.root,
        }
    )
