"""Reads and writes: what is run again, and what failures become.

A GET runs in one `Database.read()` block: one snapshot of the whole request. Any other request
hands one function to `Database.write`, which runs it in one transaction and runs all of it
again when the engine or the function itself (`Restart`) asks for that. When a COMMIT
fails, nobody may know yet whether it happened; the write then asks what its work has left with
`settle_by`.
"""

import logging
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar, cast

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.engine import Connection, make_url

from placement import events
from placement.config import DatabaseSettings
from placement.db import codes, dialect, limits
from placement.db.lasting import fault, unusable
from placement.db.statement import Restart
from placement.db.transactions import transaction
from placement.errors import (
    ConfigurationError,
    DatabaseUnavailable,
    DatabaseUnusable,
    LostRace,
    OutcomeUnknown,
    StatementTooLong,
    Unstorable,
)
from placement.events import Event

LOG = logging.getLogger(__name__)

T = TypeVar("T")

FIRST_PAUSE = 0.005  # seconds; doubled with every further attempt
LONGEST_PAUSE = 0.5
DUPLICATE_RETRIES = 3


# Tells, in a later transaction, whether an earlier one happened; None: it cannot be told.
Settle = Callable[[Connection], bool | None]
_SETTLE = "settle"


class _CommitLost(Exception):
    """A COMMIT has failed and may have happened all the same."""

    def __init__(self, result: object, settle: Settle | None, error: exc.DBAPIError) -> None:
        super().__init__()
        self.result = result
        self.settle = settle
        self.error = error


def settle_by(conn: Connection, settle: Settle) -> None:
    """Say how to find out whether this transaction happened, should its COMMIT be lost."""
    conn.info[_SETTLE] = settle


class Database:
    """The two engines of a process: snapshots for reads, short transactions for writes."""

    def __init__(self, settings: DatabaseSettings) -> None:
        """Raise ConfigurationError when a URL cannot be understood; nothing is connected yet."""
        self._settings = settings
        self._writes_fail: DatabaseUnusable | None = None  # what the latest write has met
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
                sync_wait=settings.wsrep_sync_wait,
                lock_wait=settings.write_timeout,
                echo=settings.debug,
                **{name: value for name, value in options.items() if value is not None},
            )
        except (exc.SQLAlchemyError, ImportError, TypeError, ValueError) as error:
            extra = dialect.EXTRAS.get(getattr(error, "name", None))
            help_ = f"; pip install 'falcon-placement[{extra}]' brings it" if extra else ""
            raise ConfigurationError(
                f"[placement_database] connection cannot be used: {dialect.one_line(error)}{help_}"
            ) from None

    def limit_statements(self) -> None:
        """From now on let no statement take longer than `statement_timeout`; 0: as it wants.

        That is for a service: what migrates, counts or checks a database may take its time. A
        statement of a write may also wait for others, as long as `write_timeout`.
        """
        most = self._settings.statement_timeout
        if most:
            limits.limit(self.reader, most)
            limits.limit(self.writer, most + self._settings.write_timeout)
        self.dispose()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Enter one read-only snapshot.

        Raises DatabaseUnavailable when the engine fails, DatabaseUnusable when it will again,
        StatementTooLong.
        """
        try:
            with transaction(self.reader) as conn:
                yield conn
        except exc.DBAPIError as error:
            _refuse_unstorable(error)
            _refuse_for_good(error)
            _refuse_too_long(error)
            if not codes.is_retriable(error) and not isinstance(error, exc.OperationalError):
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
        within `[placement_database] write_timeout` seconds, DatabaseUnusable when it never will,
        StatementTooLong, OutcomeUnknown when a COMMIT failed and it cannot be found out whether
        it happened.
        """
        deadline = time.monotonic() + self._settings.write_timeout
        restarts = duplicates = attempt = 0
        while True:
            try:
                return self._attempt(work)
            except Restart:
                restarts += 1
                if restarts > self._settings.conflict_retries:
                    raise LostRace from None
            except exc.IntegrityError as error:
                # Somebody created the same thing: a fresh look finds it.
                duplicates += 1
                if codes.is_duplicate(error):
                    if duplicates > max(DUPLICATE_RETRIES, self._settings.conflict_retries):
                        raise LostRace from error
                elif duplicates > DUPLICATE_RETRIES:
                    raise
            except _CommitLost as lost:
                if self._happened(lost.settle, deadline):
                    return cast(T, lost.result)
                _refuse_unless_retriable(lost.error, deadline)
            except exc.DBAPIError as error:
                self._writes_fail = unusable(error)
                _refuse_for_good(error)
                _refuse_unless_retriable(error, deadline)
            except exc.TimeoutError as error:
                raise DatabaseUnavailable from error
            events.tell(Event.RETRY, attempt=attempt + 1)
            _pause(attempt)
            attempt += 1

    def _attempt(self, work: Callable[[Connection], T]) -> T:
        with transaction(self.writer) as conn:
            conn.info.pop(_SETTLE, None)  # belongs to the pooled connection, so to earlier writes
            result = work(conn)
            settle = conn.info.pop(_SETTLE, None)
            try:
                conn.commit()
            except exc.DBAPIError as error:
                if not codes.is_outcome_unknown(error):
                    raise
                LOG.warning("a COMMIT was lost: %s", dialect.one_line(error))
                raise _CommitLost(result, settle, error) from error
            self._writes_fail = None
            return result

    def _happened(self, settle: Settle | None, deadline: float) -> bool:
        """Whether a transaction whose COMMIT was lost did happen.  Raises OutcomeUnknown."""
        attempt = 0
        while settle is not None and time.monotonic() < deadline:
            try:
                with transaction(self.writer) as conn:
                    try:
                        dialect.catch_up(conn)
                        outcome = settle(conn)
                        conn.commit()
                    finally:
                        conn.invalidate()  # what catching up sets is no concern of later writes
            except (exc.DBAPIError, exc.TimeoutError, Restart) as error:
                # A database on its way back: nothing else may be answered before it is there.
                LOG.info("a lost COMMIT is not settled yet: %s", dialect.one_line(error))
                _pause(attempt)
                attempt += 1
                continue
            if outcome is None:
                break
            LOG.info("a lost COMMIT had %s", "happened" if outcome else "not happened")
            events.tell(Event.LOST_COMMIT, happened=outcome)
            return outcome
        raise OutcomeUnknown

    def refuse_if_writes_fail(self) -> None:
        """Raise DatabaseUnusable when the latest write of this process was refused for good."""
        if self._writes_fail is not None:
            raise DatabaseUnusable(*self._writes_fail.arguments)

    def connect_first(self, *, patient: bool = True) -> None:
        """Connect for the first time; if patient, `max_retries` times, `retry_interval` apart.

        Raises ConfigurationError, one line, when the database does not answer.
        """
        tries = self._settings.max_retries if patient else 0
        attempt = 0
        while True:
            try:
                with self.writer.connect():
                    return
            except exc.DBAPIError as error:
                complaint = dialect.one_line(error)
                local = self.writer.dialect.name == "sqlite"
                if local or fault(error) or (tries >= 0 and attempt >= tries):
                    raise self._unusable(complaint) from None
            except (OSError, TypeError, ValueError) as error:
                # Of a driver that makes nothing of what the URL gives it.
                raise self._unusable(dialect.one_line(error)) from None
            attempt += 1
            LOG.warning("the database does not answer (%s); attempt %s", complaint, attempt)
            time.sleep(self._settings.retry_interval)

    def _unusable(self, complaint: str) -> ConfigurationError:
        url = dialect.shown(self.writer.url)
        return ConfigurationError(f"cannot open the database {url}: {complaint}")

    def dispose(self) -> None:
        """Close all pooled connections: before a fork, and at the end of a process."""
        self.writer.dispose()
        self.reader.dispose()


def _refuse_unstorable(error: exc.DBAPIError) -> None:
    text = codes.unstorable_text(error)
    if text is not None:
        raise Unstorable(text) from error


def _refuse_for_good(error: exc.DBAPIError) -> None:
    refusal = unusable(error)
    if refusal is not None:
        raise refusal from error


def _refuse_too_long(error: exc.DBAPIError) -> None:
    if limits.is_too_long(error):
        LOG.warning("a statement took too long: %s", dialect.one_line(error))
        raise StatementTooLong from error


def _refuse_unless_retriable(error: exc.DBAPIError, deadline: float) -> None:
    _refuse_unstorable(error)
    _refuse_too_long(error)
    if not codes.is_retriable(error):
        if isinstance(error, exc.OperationalError):
            LOG.error("a write failed: %s", dialect.one_line(error))
            raise DatabaseUnavailable from error
        raise error
    LOG.info("a write is tried again: %s", dialect.one_line(error))
    if time.monotonic() > deadline:
        raise DatabaseUnavailable from error


def _pause(attempt: int) -> None:
    time.sleep(random.uniform(0, min(LONGEST_PAUSE, FIRST_PAUSE * 2**attempt)))
