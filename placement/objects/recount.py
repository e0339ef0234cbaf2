"""Filling the derived columns anew (DESIGN section 3): after a migration, or a stay elsewhere."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy.engine import Connection

from placement.db.dialect import CHUNK
from placement.db.statements import recount as statements
from placement.db.writes import carry_out
from placement.errors import ConfigurationError
from placement.objects.capacity import capacity
from placement.objects.trees import fresh_revision


@dataclass(frozen=True, slots=True)
class Recounted:
    """How many trees there are, and how many inventories had another `used` or `capacity`."""

    trees: int
    used: int
    capacity: int


def recount(conn: Connection) -> Recounted:
    """Recompute `used` and `capacity` of every inventory, give every tree a new revision.

    The revisions come first: with them every tree is owned, and nobody claims meanwhile.
    """
    return Recounted(renew_all(conn), fill_used(conn), fill_capacity(conn))


def renew_all(conn: Connection) -> int:
    """Own every tree until the transaction ends; return how many there are."""
    after, trees = -1, 0
    while rows := conn.execute(statements.roots(after, CHUNK)).all():
        trees += len(rows)
        carry_out(conn, statements.set_revisions({row.id: fresh_revision() for row in rows}))
        after = rows[-1].id
    return trees


def fill_used(conn: Connection) -> int:
    """Recompute `used` of every inventory; the caller owns the trees. Return how many changed."""
    return _fill(conn, "used", wrong_used(conn))


def fill_capacity(conn: Connection) -> int:
    """As `fill_used`, of `capacity`."""
    return _fill(conn, "capacity", wrong_capacities(conn))


def _fill(conn: Connection, column: str, chunks: Iterator[dict[int, int]]) -> int:
    changed = 0
    for chunk in chunks:
        carry_out(conn, statements.set_column(column, chunk))
        changed += len(chunk)
    return changed


def wrong_used(conn: Connection) -> Iterator[dict[int, int]]:
    """Yield, by inventory id, the sums that differ from those stored; in chunks."""
    sums = {
        (row.resource_provider_id, row.resource_class_id): int(row.used)
        for row in conn.execute(statements.sums())
    }
    return _wrong(
        conn, "used", lambda row: sums.get((row.resource_provider_id, row.resource_class_id), 0)
    )


def wrong_capacities(conn: Connection) -> Iterator[dict[int, int]]:
    """Yield, by inventory id, the capacities that differ from those stored; in chunks."""
    return _wrong(
        conn,
        "capacity",
        lambda row: capacity(row.total, row.reserved, float(row.allocation_ratio)),
    )


def _wrong(conn: Connection, column: str, derive: Callable[[Any], int]) -> Iterator[dict[int, int]]:
    after = -1
    while rows := conn.execute(statements.inventories(after, CHUNK)).all():
        right = {row.id: derive(row) for row in rows}
        if wrong := {
            row.id: right[row.id] for row in rows if getattr(row, column) != right[row.id]
        }:
            yield wrong
        after = rows[-1].id


def is_right(conn: Connection) -> bool:
    """Whether `used` and `capacity` are right, and every tree has been counted."""
    if conn.execute(statements.uncounted_roots().limit(1)).first() is not None:
        return False
    return not any(wrong_used(conn)) and not any(wrong_capacities(conn))


def check(conn: Connection) -> None:
    """Raise ConfigurationError unless what is derived is right."""
    if not is_right(conn):
        raise ConfigurationError(
            "what inventories count of their allocations is not right: another software has "
            "written to this database, or db sync was interrupted; run placement-manage db sync"
        )
