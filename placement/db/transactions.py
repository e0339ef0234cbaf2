"""Where every transaction begins and ends, and statements that need none."""

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from time import perf_counter
from typing import TypeVar

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.engine import Connection, RootTransaction

from placement import deadline, events, stopwatch
from placement.compat.sqlalchemy import connect
from placement.db.dialects import ONE_VIEW
from placement.db.messages import one_line
from placement.errors import PlacementError
from placement.events import Event

LOG = logging.getLogger(__name__)

Result = TypeVar("Result")


@contextmanager
def transaction(
    engine: sa.Engine,
    end: Callable[[RootTransaction], None] = RootTransaction.rollback,
    *,
    one_view: bool = False,
) -> Iterator[Connection]:
    """Enter a transaction that is rolled back at the end, unless it has been committed before.

    All transactions end here. A connection goes back to the pool only after the database has
    said that its transaction is over; else it is closed, which ends it too. (A ROLLBACK may fail:
    MariaDB's can be interrupted, and leaves everything open.)

    end: what ends it instead. one_view: all its statements have the same view of the database, also
    where each would have its own.
    """
    with _connection(engine, one_view=one_view) as conn:
        with stopwatch.BEGIN, deadline.waiting():
            _on_living(conn, _begin)
        try:
            yield conn
        finally:
            _end(conn, end)


def reading(engine: sa.Engine, *, one_view: bool) -> AbstractContextManager[Connection]:
    """Enter a transaction that only reads, as `transaction` does.

    PERF: it ends with COMMIT. At a ROLLBACK psycopg has PostgreSQL forget all statements that are
    prepared on the connection, and planning one takes longer than running it.
    """
    return transaction(engine, RootTransaction.commit, one_view=one_view)


def alone(engine: sa.Engine, work: Callable[[Connection], Result]) -> Result:
    """Run `work`, which executes one statement, outside of transactions; return its result.

    Connections of the engine have to commit each such statement. A connection of which nobody
    knows whether its statement is over is closed. Raises RuntimeError for more than one statement:
    they might see different states.
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
        if stopwatch.statements() > statements + 1:
            raise RuntimeError(f"several statements without a transaction: {work}")
        return result

    with _connection(engine, begins=False) as conn:
        return _on_living(conn, ask)


@contextmanager
def _connection(
    engine: sa.Engine, *, begins: bool = True, one_view: bool = False
) -> Iterator[Connection]:
    """Take a connection from the pool, and give it back."""
    with stopwatch.BEGIN, deadline.waiting():
        conn = _connect(engine, begins=begins)
        if one_view:
            conn.execution_options(**{ONE_VIEW: True})
    taken = perf_counter()
    try:
        yield conn
    finally:
        conn.close()
        events.tell(Event.CONNECTION, pool=engine.logging_name, seconds=perf_counter() - taken)


def _connect(engine: sa.Engine, *, begins: bool) -> Connection:
    try:
        return connect(engine, begins=begins)
    except exc.TimeoutError:
        events.tell(Event.NO_CONNECTION, pool=engine.logging_name)
        raise


def _on_living(conn: Connection, act: Callable[[Connection], Result]) -> Result:
    """Act again if the database was restarted while the connection lay in the pool."""
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
        conn.invalidate()  # nobody knows whether it has begun
        raise


def _end(conn: Connection, end: Callable[[RootTransaction], None]) -> None:
    current = conn.get_transaction()
    if current is None:
        return  # it has been committed
    over = False
    try:
        if current.is_valid:  # after a COMMIT that failed it is not, and perhaps open
            end(current)
            over = True
    except exc.DBAPIError as error:
        LOG.warning("a transaction did not end, its connection is closed: %s", one_line(error))
    finally:
        if not over:
            conn.invalidate()
