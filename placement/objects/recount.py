"""Filling the derived columns anew (DESIGN section 3): after a migration, or a stay elsewhere."""

from sqlalchemy.engine import Connection

from placement.db.dialect import CHUNK
from placement.db.statements import recount as statements
from placement.errors import ConfigurationError
from placement.objects.capacity import capacity
from placement.objects.trees import fresh_revision


def recount(conn: Connection) -> None:
    """Recompute `used` and `capacity` of every inventory, give every tree a new revision."""
    conn.execute(statements.recount_used())
    after = -1
    while rows := conn.execute(statements.amounts(after, CHUNK)).all():
        capacities = {
            row.id: capacity(row.total, row.reserved, float(row.allocation_ratio)) for row in rows
        }
        changed = {row.id: capacities[row.id] for row in rows if row.capacity != capacities[row.id]}
        if changed:
            conn.execute(statements.set_capacity(changed))
        after = rows[-1].id
    after = -1
    while rows := conn.execute(statements.roots(after, CHUNK)).all():
        conn.execute(statements.set_revisions({row.id: fresh_revision() for row in rows}))
        after = rows[-1].id


def check(conn: Connection) -> None:
    """Raise ConfigurationError when `used` is not the sum of the allocations somewhere."""
    if conn.execute(statements.wrong_used()).first() is not None:
        raise ConfigurationError(
            "inventories.used differs from the allocations: another software has written to "
            "this database; run placement-manage db sync"
        )
