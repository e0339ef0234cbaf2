"""Inventories, usages and allocations of the cloud, named as in openstack-exporter.

The metrics take one statement, or two with allocations, and an iteration over all rows. Therefore,
the text is cached in a file that all processes share, and only one process at a time renews it.
"""

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path

from placement.db.engine import Database
from placement.errors import Unavailable
from placement.metrics.declarations import ALLOCATIONS, STOCKS, UP
from placement.metrics.text import SharedText, family, labels
from placement.objects import inventory_list
from placement.objects.inventory_list import ListedInventory

LOG = logging.getLogger(__name__)


class Inventories:
    """The text of the inventory metrics. It is cached in the metrics directory."""

    def __init__(self, directory: Path, keep: float, *, with_allocations: bool = False) -> None:
        """Set up the cache. A text is valid for `keep` seconds."""
        # The cached text. All processes share it.
        self._text = SharedText(directory, "inventories", keep)
        self._read = _read_allocations_too if with_allocations else _read

    def text(self, database: Database) -> bytes:
        """Return the text. If the cached text is too old, a new text is created.

        If the database cannot be read, the text contains only the metric that reports this.
        """
        try:
            return self._text.text(lambda _previous: self._read(database))
        except Unavailable as error:
            LOG.warning("the inventories cannot be read for the metrics: %s", error.complaint)
            return family(UP, [("", 0)])


def _read(database: Database) -> bytes:
    with database.read() as conn:
        return render(inventory_list.list_all(conn))


def _read_allocations_too(database: Database) -> bytes:
    with database.read() as conn:
        text = render(inventory_list.list_all(conn))
        return text + render_allocations(inventory_list.list_allocations(conn))


def render_allocations(amounts: Mapping[tuple[str, str, str], int]) -> bytes:
    """Return the metric of the allocations of consumers as text."""
    samples = (
        (labels(dict(zip(ALLOCATIONS.labels, key, strict=True))), amount)
        for key, amount in amounts.items()
    )
    return family(ALLOCATIONS, samples)


def render(inventories: Iterable[ListedInventory]) -> bytes:
    """Return the metrics of inventories as text."""
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
