"""Connections and transactions (DESIGN section 4).

A GET runs in one `Database.read()` block: one snapshot of the whole request. Any other request
hands one function to `Database.write`, which runs it in one transaction and runs all of it
again when the engine or the function itself (`Restart`) asks for that.
"""

import logging
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.engine import Connection, make_url

from placement.config import DatabaseSettings
from placement.db import dialect
from placement.errors import ConfigurationError, DatabaseUnavailable, LostRace

LOG = logging.getLogger(__name__)

T = TypeVar("T")

FIRST_PAUSE = 0.005  # seconds; doubled with every further attempt
LONGEST_PAUSE = 0.5
DUPLICATE_RETRIES = 3


class Restart(Exception):
    """Raised inside a write: what it decided on has changed, begin again from a fresh look."""


class Database:
    """The two engines of a process: snapshots for reads, short transactions for writes."""

    def __init__(self, settings: DatabaseSettings) -> None:
        """Raise ConfigurationError when a URL cannot be understood; nothing is connected yet."""
        self._settings = settings
        self.writer = self._engine(settings.connection, "write")
        self.reader = self._engine(settings.slave_connection or settings.connection, "read")

    def _engine(self, url: str, role: str) -> sa.Engine:
        settings = self._settings
        options = {
            "pool_recycle": settings.recycle,
            "pool_size": settings.pool_size,
            "max_overflow": settings.max_overflow,
            "pool_timeout": settings.pool_timeout,
        }
        try:
            return dialect.engine(
                make_url(url),
                role,
                synchronous=settings.sqlite_synchronous,
                sql_mode=settings.mysql_sql_mode,
                echo=settings.debug,
                **{name: value for name, value in options.items() if value is not None},
            )
        except (exc.ArgumentError, exc.NoSuchModuleError, ImportError) as error:
            raise ConfigurationError(
                f"[placement_database] connection cannot be used: {dialect.one_line(error)}"
            ) from None

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Enter one read-only snapshot.  Raises DatabaseUnavailable when the engine fails."""
        try:
            with self.reader.connect() as conn, conn.begin():
                yield conn
        except exc.DBAPIError as error:
            if not dialect.is_retriable(error) and not isinstance(error, exc.OperationalError):
                raise
            LOG.warning("a read failed: %s", dialect.one_line(error))
            raise DatabaseUnavailable from error
        except exc.TimeoutError as error:
            raise DatabaseUnavailable from error

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in one transaction and return what it returned, once committed.

        `work` may be run several times and must not act outside of the connection. Its domain
        errors pass through after a rollback. Raises LostRace when other writers keep changing
        what `work` depends on, DatabaseUnavailable when the engine does not let it through
        within `[placement_database] write_timeout` seconds.
        """
        deadline = time.monotonic() + self._settings.write_timeout
        restarts = duplicates = attempt = 0
        while True:
            try:
                with self.writer.begin() as conn:
                    return work(conn)
            except Restart:
                restarts += 1
                if restarts > self._settings.conflict_retries:
                    raise LostRace from None
            except exc.IntegrityError:
                # Somebody created the same thing: a fresh look finds it.
                duplicates += 1
                if duplicates > DUPLICATE_RETRIES:
                    raise
            except exc.DBAPIError as error:
                if not dialect.is_retriable(error):
                    if isinstance(error, exc.OperationalError):
                        LOG.error("a write failed: %s", dialect.one_line(error))
                        raise DatabaseUnavailable from error
                    raise
                LOG.info("a write is tried again: %s", dialect.one_line(error))
                if time.monotonic() > deadline:
                    raise DatabaseUnavailable from error
            except exc.TimeoutError as error:
                raise DatabaseUnavailable from error
            pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2**attempt)
            attempt += 1
            time.sleep(random.uniform(0, pause))

    def ping(self) -> None:
        """Raise DatabaseUnavailable unless the database answers."""
        with self.read() as conn:
            conn.execute(sa.select(1))

    def connect_first(self) -> None:
        """Connect for the first time, patiently: `max_retries` times, `retry_interval` apart.

        Raises ConfigurationError, one line, when the database does not answer.
        """
        tries = self._settings.max_retries
        attempt = 0
        while True:
            try:
                with self.writer.connect():
                    return
            except exc.DBAPIError as error:
                complaint = dialect.one_line(error)
                local = self.writer.dialect.name == "sqlite"
                if local or (tries >= 0 and attempt >= tries):
                    raise ConfigurationError(
                        f"cannot open the database "
                        f"{self.writer.url.render_as_string(hide_password=True)}: {complaint}"
                    ) from None
            attempt += 1
            LOG.warning("the database does not answer (%s); attempt %s", complaint, attempt)
            time.sleep(self._settings.retry_interval)

    def dispose(self) -> None:
        """Close all pooled connections: before a fork, and at the end of a process."""
        self.writer.dispose()
        self.reader.dispose()
