"""Filling the derived columns anew (DESIGN section 3): after a migration, or a stay elsewhere."""

from collections.abc import Iterator

from sqlalchemy.engine import Connection

from placement.db.dialect import CHUNK, chunks
from placement.db.statements import recount as statements
from placement.errors import ConfigurationError
from placement.objects.capacity import capacity
from placement.objects.trees import fresh_revision


def recount(conn: Connection) -> None:
    """Recompute `used` and `capacity` of every inventory, give every tree a new revision.

    The revisions come first: with them every tree is owned, and nobody claims meanwhile.
    """
    renew_all(conn)
    fill_used(conn)
    fill_capacity(conn)


def renew_all(conn: Connection) -> None:
    """Own every tree until the transaction ends."""
    after = -1
    while rows := conn.execute(statements.roots(after, CHUNK)).all():
        conn.execute(statements.set_revisions({row.id: fresh_revision() for row in rows}))
        after = rows[-1].id


def fill_used(conn: Connection) -> None:
    """Recompute `used` of every inventory; the caller owns the trees."""
    for chunk in chunks(conn.execute(statements.wrong_used()).all()):
        right = {row.id: int(row.allocated) for row in chunk}
        conn.execute(statements.set_column("used", right))


def fill_capacity(conn: Connection) -> None:
    """Recompute `capacity` of every inventory; the caller owns the trees."""
    for chunk in wrong_capacities(conn):
        conn.execute(statements.set_column("capacity", chunk))


def wrong_capacities(conn: Connection) -> Iterator[dict[int, int]]:
    """Yield, by inventory id, the capacities that differ from those stored; in chunks."""
    after = -1
    while rows := conn.execute(statements.amounts(after, CHUNK)).all():
        right = {
            row.id: capacity(row.total, row.reserved, float(row.allocation_ratio)) for row in rows
        }
        if wrong := {row.id: right[row.id] for row in rows if row.capacity != right[row.id]}:
            yield wrong
        after = rows[-1].id


def is_right(conn: Connection) -> bool:
    """Whether `used` and `capacity` are right, and every tree has been counted."""
    queries = (statements.wrong_used(), statements.uncounted_roots())
    if any(conn.execute(query.limit(1)).first() is not None for query in queries):
        return False
    return not any(wrong_capacities(conn))


def check(conn: Connection) -> None:
    """Raise ConfigurationError unless what is derived is right."""
    if not is_right(conn):
        raise ConfigurationError(
            "what inventories count of their allocations is not right: another software has "
            "written to this database, or db sync was interrupted; run placement-manage db sync"
        )
