"""Derived columns (`used` and `capacity` of inventories), and revisions of trees.

Every write of this service maintains them. Other software and changes by SQL do not. `heal`
recomputes them, for `db sync`, for `db check --repair`, and for a start that finds wrong values.
The new revisions also make all processes read the trees again that they have cached.
"""

from collections.abc import Collection, Iterator
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy.engine import Connection

from placement.db.engine import Database
from placement.db.statements import derived as statements
from placement.inventory import capacity
from placement.objects.locking import renew_revisions
from placement.runtime.progress import Progress, silent

# Maximum number of trees that are locked at a time. Writes of these trees wait until the end of the
# transaction.
TREES_PER_TRANSACTION = 100
# Number of trees that are checked by one statement. MariaDB converts a list of 1,000 or more values
# to a table, joins it last, and reads all providers of the cloud for each list.
TREES_PER_CHECK = 500


class Corrections(NamedTuple):
    """The result of a recomputation."""

    trees: int = 0
    # Number of inventories whose `used` was wrong.
    used: int = 0
    # Number of inventories whose `capacity` was wrong.
    capacity: int = 0


def heal(database: Database, progress: Progress = silent) -> Corrections:
    """Recompute `used` and `capacity` of all inventories, and renew the revisions of all trees.

    Services may run concurrently. Each transaction locks only a few trees.
    """
    with database.primary().read() as conn:
        number = statements.number_of_roots().value(conn)
    parts = -(-number // TREES_PER_TRANSACTION)
    noun = f"times {TREES_PER_TRANSACTION:,} trees"
    with progress(_heal_windows(database), noun, parts) as windows:
        return Corrections(*map(sum, zip(Corrections(), *windows, strict=True)))


def _heal_windows(database: Database) -> Iterator[Corrections]:
    after = -1
    while True:
        last, corrections = database.write(partial(heal_next, after=after))
        if last is None:
            return
        yield corrections
        after = last


def heal_next(conn: Connection, after: int) -> tuple[int | None, Corrections]:
    """Heal the trees whose roots are the next ones after an id.

    Returns:
        The id of the last root, or None if there are no further roots; and the corrections.
    """
    # The roots are the mutexes of their trees. With the locks, no other transaction can change the
    # inventories, and allocations that are not counted in `used` yet are not visible.
    rows = statements.roots(after, TREES_PER_TRANSACTION, lock=True).rows(conn)
    root_ids = [row.id for row in rows]
    if not root_ids:
        return None, Corrections()
    renew_revisions(conn, root_ids)
    used, capacities = wrong_used(conn, root_ids), wrong_capacities(conn, root_ids)
    statements.set_column("used", used).execute(conn)
    statements.set_column("capacity", capacities).execute(conn)
    return root_ids[-1], Corrections(len(root_ids), len(used), len(capacities))


def wrong_used(conn: Connection, root_ids: Collection[int]) -> dict[int, int]:
    """Return inventory id -> sum of its allocations, if `used` differs from the sum."""
    return {row.id: int(row.right) for row in statements.wrong_used(root_ids).rows(conn)}


def wrong_capacities(conn: Connection, root_ids: Collection[int]) -> dict[int, int]:
    """Return inventory id -> computed capacity, if the column differs from it."""
    # Single inventories are read only if a capacity is wrong.
    if not any(map(_is_wrong, statements.distinct_capacities(root_ids).rows(conn))):
        return {}
    rows = statements.capacities(root_ids).rows(conn)
    return {row.id: _capacity(row) for row in rows if _is_wrong(row)}


def _capacity(row: Any) -> int:
    return capacity(row.total, row.reserved, float(row.allocation_ratio))


def _is_wrong(row: Any) -> bool:
    return bool(row.capacity != _capacity(row))


def windows(conn: Connection) -> Iterator[list[int]]:
    """Yield the ids of all roots in lists of a limited length."""
    after = -1
    while rows := statements.roots(after, TREES_PER_CHECK).rows(conn):
        yield [row.id for row in rows]
        after = rows[-1].id


def is_correct(conn: Connection) -> bool:
    """Return whether all derived columns are correct and every tree has a revision."""
    if statements.roots_without_revision(limit=1).rows(conn):
        return False
    return not any(
        wrong_used(conn, root_ids) or wrong_capacities(conn, root_ids) for root_ids in windows(conn)
    )
