"""The service with a planted fault, named in `PLANTED`. The checks must find the fault."""

import os
from collections.abc import Callable, Collection, Mapping
from typing import Any

import sqlalchemy as sa

from placement.db import engine
from placement.db import tables as t
from placement.db.dialects.mysql import MySql
from placement.db.dialects.postgresql import PostgreSql
from placement.db.dialects.protocol import Role
from placement.db.statement import Write, Writes
from placement.db.statements import inventories
from placement.db.statements.providers import bump_generations
from placement.entry import app
from placement.objects import allocations, locking


def _no_lock() -> None:
    """Do not lock trees, so that the state of a decision may change concurrently."""
    locking.renew_revisions = lambda conn, root_ids: 1

    def lock_seen(
        conn: sa.Connection,
        revisions: Mapping[int, int],
        root_ids: Mapping[int, int],
        bumped: Collection[int] = (),
    ) -> None:
        bump_generations(dict.fromkeys(bumped, 1), {}).execute(conn)

    locking.lock_seen = lock_seen


def _no_lock_and_no_guard() -> None:
    """Do not stop claims because of concurrent claims."""
    _no_lock()
    inventory = t.inventories

    def move_used(moves: Mapping[int, tuple[int, ...]]) -> Writes:
        deltas = {row_id: delta for row_id, (delta, *_units) in moves.items()}
        statement = (
            sa.update(inventory)
            .where(inventory.c.id.in_(sorted(deltas)))
            .values(used=inventory.c.used + sa.case(deltas, value=inventory.c.id))
        )
        return Writes([Write(statement, matches=len(deltas))])

    inventories.move_used = move_used


def _used_is_not_moved() -> None:
    """Write allocations without updating `used`."""
    column = t.inventories.c

    def move_used(moves: Mapping[int, tuple[int, ...]]) -> Writes:
        statement = sa.update(t.inventories).where(column.id.in_(sorted(moves)))
        return Writes([Write(statement.values(used=column.used), matches=len(moves))])

    inventories.move_used = move_used


def _no_guard_of_generations() -> None:
    """Do not compare the generation in a request with the generation of the consumer."""
    module: Any = allocations
    module.check_consumer_generations = lambda state, claims: None


def _pages_of_several_moments() -> None:
    """Read the parts of a response at different moments, and do not confirm them."""
    MySql.tears_views = False
    PostgreSql.begin = {Role.READ: "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY"}


def _lost_commit_is_retried() -> None:
    """Treat a COMMIT with an unknown outcome as failed."""
    engine.Database._happened = lambda *_: False  # type: ignore[method-assign]


def _lost_commit_is_believed() -> None:
    """Treat a COMMIT with an unknown outcome as successful."""
    engine.Database._happened = lambda *_: True  # type: ignore[method-assign]


FAULTS: dict[str, Callable[[], None]] = {
    "no lock": _no_lock,
    "no lock and no guard": _no_lock_and_no_guard,
    "used is not moved": _used_is_not_moved,
    "no guard of generations": _no_guard_of_generations,
    "pages of several moments": _pages_of_several_moments,
    "a lost COMMIT is retried": _lost_commit_is_retried,
    "a lost COMMIT is believed": _lost_commit_is_believed,
}

if "PLANTED" in os.environ:
    FAULTS[os.environ["PLANTED"]]()
    application = app.serve()
