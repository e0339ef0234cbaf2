"""Where every transaction begins and ends."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.engine import Connection

from placement import events, stopwatch
from placement.db.messages import one_line
from placement.events import Event

LOG = logging.getLogger(__name__)


@contextmanager
def transaction(engine: sa.Engine) -> Iterator[Connection]:
    """Enter a transaction that is rolled back at the end, unless it has been committed before.

    All transactions end here. A connection goes back to the pool only after the database has
    said that its transaction is over; else it is closed, which ends it too. (A ROLLBACK may fail:
    MariaDB's can be interrupted, and leaves everything open.)
    """
    pool = engine.logging_name
    with stopwatch.BEGIN:
        conn = _connect(engine)
    taken = perf_counter()
    try:
        with stopwatch.BEGIN:
            try:
                _begin(conn)
            except exc.DBAPIError as error:
                if not error.connection_invalidated:
                    raise
                _begin(conn)  # the database was restarted while the connection lay in the pool
        try:
            yield conn
        finally:
            _end(conn)
    finally:
        conn.close()
        events.tell(Event.CONNECTION, pool=pool, seconds=perf_counter() - taken)


def _connect(engine: sa.Engine) -> Connection:
    try:
        return engine.connect()
    except exc.TimeoutError:
        events.tell(Event.NO_CONNECTION, pool=engine.logging_name)
        raise


def _begin(conn: Connection) -> None:
    try:
        conn.begin()
    except BaseException:
        conn.invalidate()  # nobody knows whether it has begun
        raise


def _end(conn: Connection) -> None:
    current = conn.get_transaction()
    if current is None:
        return  # it has been committed
    over = False
    try:
        if current.is_active:  # a COMMIT that failed leaves it inactive, and perhaps open
            current.rollback()
            over = True
    except exc.DBAPIError as error:
        LOG.warning("a ROLLBACK failed, its connection is closed: %s", one_line(error))
    finally:
        if not over:
            conn.invalidate()
