"""Derived columns, `used` and `capacity` of inventories, and the revisions of trees.

Every write keeps them right. They are recomputed after a migration, and after another software,
which does not know them, has written to the database.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy.engine import Connection

from placement.db.statement import CHUNK
from placement.db.statements import derived as statements
from placement.errors import ConfigurationError
from placement.objects.capacity import capacity
from placement.objects.locking import new_revision


@dataclass(frozen=True, slots=True)
class Corrections:
    """How many trees there are, and how many inventories had a wrong `used` or `capacity`."""

    trees: int
    used: int
    capacity: int


def recompute(conn: Connection) -> Corrections:
    """Recompute `used` and `capacity` of every inventory, and renew the revision of every tree."""
    # The revisions come first: they lock every tree, so that nobody claims meanwhile.
    trees = renew_all_revisions(conn)
    return Corrections(trees, correct_used(conn), correct_capacity(conn))


def renew_all_revisions(conn: Connection) -> int:
    """Lock every tree until the transaction ends; return how many there are."""
    last_id, trees = -1, 0
    while rows := statements.roots(last_id, CHUNK).rows(conn):
        trees += len(rows)
        statements.set_revisions({row.id: new_revision() for row in rows}).execute(conn)
        last_id = rows[-1].id
    return trees


def correct_used(conn: Connection) -> int:
    """Correct `used` of every inventory; the caller has locked the trees.

    Returns how many inventories changed.
    """
    return _correct(conn, "used", wrong_used(conn))


def correct_capacity(conn: Connection) -> int:
    """Correct `capacity` of every inventory; the caller has locked the trees.

    Returns how many inventories changed.
    """
    return _correct(conn, "capacity", wrong_capacities(conn))


def _correct(conn: Connection, column: str, corrections: Iterator[dict[int, int]]) -> int:
    inventories = 0
    for values in corrections:
        statements.set_column(column, values).execute(conn)
        inventories += len(values)
    return inventories


def wrong_used(conn: Connection) -> Iterator[dict[int, int]]:
    """Yield, in chunks, inventory id -> sum of its allocations, where `used` is another."""
    sums = {
        (row.resource_provider_id, row.resource_class_id): int(row.used)
        for row in statements.sums().rows(conn)
    }

    def used(row: Any) -> int:
        """Return the sum of the allocations from an inventory."""
        return sums.get((row.resource_provider_id, row.resource_class_id), 0)

    return _differing(conn, "used", used)


def wrong_capacities(conn: Connection) -> Iterator[dict[int, int]]:
    """Yield, in chunks, inventory id -> its capacity, where the column holds another."""

    def computed(row: Any) -> int:
        """Return the capacity that follows from the amounts of an inventory."""
        return capacity(row.total, row.reserved, float(row.allocation_ratio))

    return _differing(conn, "capacity", computed)


def _differing(
    conn: Connection, column: str, derive: Callable[[Any], int]
) -> Iterator[dict[int, int]]:
    """Yield, in chunks, inventory id -> derived value, where the column holds another."""
    last_id = -1
    while rows := statements.inventories(last_id, CHUNK).rows(conn):
        corrections: dict[int, int] = {}
        for row in rows:
            value = derive(row)
            if getattr(row, column) != value:
                corrections[row.id] = value
        if corrections:
            yield corrections
        last_id = rows[-1].id


def is_correct(conn: Connection) -> bool:
    """Whether `used` and `capacity` are right, and every tree has a revision."""
    if statements.uncounted_roots(limit=1).rows(conn):
        return False
    return not any(wrong_used(conn)) and not any(wrong_capacities(conn))


def refuse_incorrect(conn: Connection) -> None:
    """Raise ConfigurationError unless the derived columns are right."""
    if not is_correct(conn):
        raise ConfigurationError(
            "what inventories count of their allocations is not right: another software has "
            "written to this database, or db sync was interrupted; run placement-manage db sync"
        )
