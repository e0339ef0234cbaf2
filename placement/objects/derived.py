"""Derived columns (`used` and `capacity` of inventories), and revisions of trees.

Every write maintains them. They are recomputed after a migration. They are also recomputed after
openstack-placement has written to the database, because it does not maintain them.
"""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from sqlalchemy.engine import Connection

from falcon_placement_client.inventory import capacity
from placement.db.statements import derived as statements
from placement.db.statements.derived import WINDOW
from placement.errors import ConfigurationError
from placement.objects.locking import new_revision
from placement.progress import Progress, silent


@dataclass(frozen=True, slots=True)
class Corrections:
    """The result of a recomputation."""

    # Number of trees.
    trees: int
    # Number of inventories whose `used` was wrong.
    used: int
    # Number of inventories whose `capacity` was wrong.
    capacity: int


def recompute(conn: Connection, progress: Progress = silent) -> Corrections:
    """Recompute `used` and `capacity` of all inventories, and renew the revisions of all trees."""
    # The new revisions lock all trees against concurrent claims.
    trees = renew_all_revisions(conn, progress)
    return Corrections(trees, correct_used(conn, progress), correct_capacity(conn, progress))


def renew_all_revisions(conn: Connection, progress: Progress = silent) -> int:
    """Lock every tree until the transaction ends. Return the number of trees."""
    trees, revision = 0, new_revision()
    number = statements.number_of_roots().value(conn)
    with progress(_windows_of_roots(conn), f"times {WINDOW:,} trees", _parts(number)) as windows:
        for root_ids in windows:
            statements.set_revision(root_ids, revision).execute(conn)
            trees += len(root_ids)
    return trees


def _windows_of_roots(conn: Connection) -> Iterator[list[int]]:
    last_id = -1
    while rows := statements.roots(last_id).rows(conn):
        last_id = rows[-1].id
        yield [row.id for row in rows]


def correct_used(conn: Connection, progress: Progress = silent) -> int:
    """Correct `used` of all inventories. The caller has locked the trees.

    Returns the number of changed inventories.
    """
    return _correct(conn, "used", wrong_used(conn, progress))


def correct_capacity(conn: Connection, progress: Progress = silent) -> int:
    """Correct `capacity` of all inventories. The caller has locked the trees.

    Returns the number of changed inventories.
    """
    return _correct(conn, "capacity", wrong_capacities(conn, progress))


def _correct(conn: Connection, column: str, corrections: Iterator[dict[int, int]]) -> int:
    inventories = 0
    for values in corrections:
        statements.set_column(column, values).execute(conn)
        inventories += len(values)
    return inventories


def wrong_used(conn: Connection, progress: Progress = silent) -> Iterator[dict[int, int]]:
    """Yield, in windows, inventory id -> sum of its allocations, if `used` differs from the sum."""
    with _windows(conn, "used", progress) as windows:
        for after, until in windows:
            rows = statements.wrong_used(after, until).rows(conn)
            if rows:
                yield {row.id: int(row.right) for row in rows}


def wrong_capacities(conn: Connection, progress: Progress = silent) -> Iterator[dict[int, int]]:
    """Yield, in windows, inventory id -> computed capacity, if the column differs from it."""
    with _windows(conn, "capacity", progress) as windows:
        for after, until in windows:
            # Single inventories are read only if a capacity in the window is wrong.
            distinct = statements.distinct_capacities(after, until).rows(conn)
            if not any(map(_is_wrong, distinct)):
                continue
            rows = statements.capacities(after, until).rows(conn)
            yield {row.id: _capacity(row) for row in rows if _is_wrong(row)}


def _capacity(row: Any) -> int:
    """Return the capacity that follows from the amounts of an inventory."""
    return capacity(row.total, row.reserved, float(row.allocation_ratio))


def _is_wrong(row: Any) -> bool:
    return bool(row.capacity != _capacity(row))


def _windows(
    conn: Connection, column: str, progress: Progress
) -> AbstractContextManager[Iterable[tuple[int, int]]]:
    """Return windows of inventories: the ids before the first one, and of the last one."""

    def windows() -> Iterator[tuple[int, int]]:
        after = -1
        while (until := statements.last_of_window(after).value(conn)) is not None:
            yield after, until
            after = until

    number = statements.number_of_inventories().value(conn)
    return progress(windows(), f"times {WINDOW:,} inventories ({column})", _parts(number))


def _parts(number: int) -> int:
    return -(-number // WINDOW)


def is_correct(conn: Connection) -> bool:
    """Return whether all derived columns are correct and every tree has a revision."""
    if statements.roots_without_revision(limit=1).rows(conn):
        return False
    return not any(wrong_used(conn)) and not any(wrong_capacities(conn))


def refuse_incorrect(conn: Connection) -> None:
    """Raise ConfigurationError unless the derived columns are correct."""
    if not is_correct(conn):
        raise ConfigurationError(
            "derived columns of inventories are not correct: other software has "
            "written to this database, or db sync was interrupted; run placement-manage db sync"
        )
