"""The begin and end of all transactions, and statements without a transaction."""

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from time import perf_counter
from typing import TypeVar

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.engine import Connection, RootTransaction

from placement.compat.sqlalchemy import connect
from placement.db.dialects import ONE_VIEW
from placement.db.messages import one_line
from placement.errors import PlacementError
from placement.runtime import deadline, events, stopwatch
from placement.runtime.events import Event

LOG = logging.getLogger(__name__)

Result = TypeVar("Result")


@contextmanager
def transaction(
    engine: sa.Engine,
    end: Callable[[RootTransaction], None] = RootTransaction.rollback,
    *,
    one_view: bool = False,
) -> Iterator[Connection]:
    """Enter a transaction that is rolled back, or ended by `end`, unless it was committed.

    Every transaction ends in this function. A connection returns to the pool only after the
    database has confirmed the end of its transaction. Otherwise, the connection is closed, which
    also ends the transaction. A ROLLBACK may fail: on MariaDB, it can be interrupted, and the
    transaction remains open.

    With `one_view`, all statements get the same view of the database, also on engines where each
    statement would have its own.
    """
    with _connection(engine, one_view=one_view) as conn:
        with stopwatch.BEGIN, deadline.waiting():
            _retry_if_stale(conn, _begin)
        try:
            yield conn
        finally:
            _end(conn, end)


def reading(engine: sa.Engine, *, one_view: bool) -> AbstractContextManager[Connection]:
    """Enter a read-only transaction.

    PERF: the transaction ends with a COMMIT. After a ROLLBACK, psycopg would deallocate all
    statements that are prepared on the connection, and planning a statement takes longer than
    executing it.
    """
    return transaction(engine, RootTransaction.commit, one_view=one_view)


def autocommit(engine: sa.Engine, work: Callable[[Connection], Result], most: int = 1) -> Result:
    """Run `work` without a transaction, and return its result.

    The engine must use autocommit outside of transactions. A connection is closed if its statement
    may still be running.

    Args:
        most: maximum number of statements. Each sees a state of its own.

    Raises:
        RuntimeError: more statements were executed.
    """

    def ask(conn: Connection) -> Result:
        statements = stopwatch.statements()
        try:
            result = work(conn)
        except PlacementError:
            raise
        except BaseException:
            conn.invalidate()
            raise
        if stopwatch.statements() > statements + most:
            raise RuntimeError(f"too many statements without a transaction: {work}")
        return result

    with _connection(engine, begins=False) as conn:
        return _retry_if_stale(conn, ask)


@contextmanager
def _connection(
    engine: sa.Engine, *, begins: bool = True, one_view: bool = False
) -> Iterator[Connection]:
    """Check a connection out of the pool, and return the connection at the end."""
    with stopwatch.BEGIN, deadline.waiting():
        conn = _connect(engine, begins=begins)
        if one_view:
            conn.execution_options(**{ONE_VIEW: True})
    taken = perf_counter()
    try:
        yield conn
    finally:
        conn.close()
        events.emit(Event.CONNECTION, pool=engine.logging_name, seconds=perf_counter() - taken)


def _connect(engine: sa.Engine, *, begins: bool) -> Connection:
    try:
        return connect(engine, begins=begins)
    except exc.TimeoutError:
        events.emit(Event.NO_CONNECTION, pool=engine.logging_name)
        raise


def _retry_if_stale(conn: Connection, act: Callable[[Connection], Result]) -> Result:
    """Call `act` again if the connection was lost while it was idle in the pool."""
    try:
        return act(conn)
    except exc.DBAPIError as error:
        if not error.connection_invalidated:
            raise
        return act(conn)


def _begin(conn: Connection) -> None:
    try:
        conn.begin()
    except BaseException:
        conn.invalidate()  # the transaction may have begun
        raise


def _end(conn: Connection, end: Callable[[RootTransaction], None]) -> None:
    current = conn.get_transaction()
    if current is None:
        return  # the transaction is already committed
    over = False
    try:
        if current.is_valid:  # not after a failed COMMIT, because the transaction may still be open
            end(current)
            over = True
    except exc.DBAPIError as error:
        LOG.warning("a transaction did not end; closing its connection: %s", one_line(error))
    finally:
        if not over:
            conn.invalidate()
