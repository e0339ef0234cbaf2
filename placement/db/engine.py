"""Reads and writes, with their retries and the mapping of failures to errors.

A GET runs in one `Database.read()` block, which is one snapshot for the whole request. If the
revisions of trees can confirm the content, the GET runs in one `Database.read_trees()` block
instead. If a GET needs only one statement, it passes the statement to `Database.read_one`, because
a single statement reads one snapshot. Any other request passes a function to `Database.write`,
which runs the function in one transaction. If the engine or the function itself (`Restart`)
requires a retry, `Database.write` runs the whole function again. If the outcome of a COMMIT is
unknown, it determines the outcome with the function that `on_lost_commit` has registered.
"""

import logging
import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from threading import BoundedSemaphore
from typing import TypeVar

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.engine import Connection

from placement.config import DatabaseSettings
from placement.db import codes, compounds
from placement.db.dialects import Role, dialect_of, dialect_of_url
from placement.db.failures import permanent_fault, translate_read_errors, unusable_error
from placement.db.messages import masked_url, one_line, unreadable_files
from placement.db.pools import how_to_install, make_pool, parse_url
from placement.db.retries import Pauses, Retries, cause_of
from placement.db.statement import Contended, Restart, Unchanged, collecting, has_written, send
from placement.db.transactions import autocommit, reading, transaction
from placement.errors import (
    ConfigurationError,
    DatabaseUnavailable,
    DatabaseUnusable,
    OutcomeUnknown,
    StatementTooLong,
)
from placement.runtime import deadline, events, stopwatch
from placement.runtime.events import Event

LOG = logging.getLogger(__name__)

Result = TypeVar("Result")

# Function that returns whether an earlier transaction was committed, or None if this cannot be
# determined.
Verify = Callable[[Connection], bool | None]
_VERIFY = "verify"

COMMAND_PATIENCE = 30.0  # seconds that commands wait for a database that does not respond
MAX_WAITING_READS = 20  # in a process; the shipped servers have 32 threads
MAX_VIEWS = 3  # maximum number of views to compare if consecutive views differ


class _CommitLostError(Exception):
    """A COMMIT failed and its outcome is unknown."""

    def __init__(self, verify: Verify | None, error: exc.DBAPIError) -> None:
        super().__init__()
        # Function that determines whether the transaction was committed, or None if there is no
        # such function.
        self.verify = verify
        self.error = error


def on_lost_commit(conn: Connection, verify: Verify, *, is_final: bool = False) -> None:
    """Register how to determine whether this transaction was committed, for a lost COMMIT.

    Args:
        conn: the connection.
        verify: the function.
        is_final: whether the collected writes cannot be committed any more after `verify` has
            returned False. MariaDB continues a statement whose client has gone. If it could still
            wait for a lock, it must not contain the COMMIT.
    """
    conn.info[_VERIFY] = verify, is_final


class _Primary:
    """Connections for reads from the primary server. Copies of a database share the object.

    When a server refuses a write as read-only, another server is the primary, and reads from this
    one may be outdated. Until the address of the primary moves, new connections may reach the
    former primary again.
    """

    def __init__(self, reader: sa.Engine) -> None:
        self.reader = reader
        # Number of refused writes.
        self.refusals = 0
        # Number of refused writes that preceded the last confirmation.
        self._left = 0

    def refuse(self) -> None:
        """Close the connections after a refused write."""
        self.refusals += 1
        self.reader.dispose()

    def confirm(self, refusals: int) -> None:
        """Close connections to a former primary after a write of the present one.

        Args:
            refusals: the number of refusals when the write began. A write that began before a
                refusal may have been committed by the former primary.
        """
        if self._left < refusals:
            self._left = refusals
            self.reader.dispose()


class Database:
    """The engines of a process, for snapshots and for short write transactions."""

    def __init__(self, settings: DatabaseSettings) -> None:
        """Create the engines without connecting. Raises ConfigurationError for invalid URLs."""
        self._settings = settings
        # The error of the last write, if the database permanently refuses writes.
        self._writes_fail: DatabaseUnusable | None = None
        # Whether writes are rolled back after all of their work, so that they change nothing.
        self.rolls_back = False
        self.writer = self._pool(settings.connection, Role.WRITE)
        # Pool of connections for read transactions, which may use a replica.
        self.reader = self._pool(settings.slave_connection or settings.connection, Role.READ)
        # Held by each read that waits for the database.
        self._waiting_reads = BoundedSemaphore(MAX_WAITING_READS)
        self._primary = _Primary(
            self._pool(settings.connection, Role.READ) if settings.slave_connection else self.reader
        )

    def _pool(self, url: str, role: Role) -> sa.Engine:
        try:
            return make_pool(parse_url(url), role, self._settings)
        except (exc.SQLAlchemyError, ImportError, TypeError, ValueError) as error:
            missing = getattr(error, "name", None)
            raise ConfigurationError(
                f"[placement_database] connection cannot be used: {one_line(error)}"
                f"{how_to_install(missing)}"
            ) from None

    def rehearsal(self) -> "Database":
        """Return this database for dry runs, with the same connections and writes that roll back.

        Dry runs do not detect errors that only a COMMIT can raise.
        """
        rehearsal = copy(self)
        rehearsal.rolls_back = True
        return rehearsal

    def primary(self) -> "Database":
        """Return this database for reads from the primary server, never from a replica."""
        primary = copy(self)
        primary.reader = self._primary.reader
        return primary

    def committing(self) -> "Database":
        """Return this database with writes that commit, even in a dry run."""
        if not self.rolls_back:
            return self
        database = copy(self)
        database.rolls_back = False
        return database

    @property
    def tears_views(self) -> bool:
        """Whether views may be torn, so that each statement of `read_trees` has a separate view."""
        return dialect_of_url(self.reader.url).tears_views

    def limit_statements(self) -> None:
        """Apply `statement_timeout` to all statements from now on, unless it is 0.

        Only the service calls this method, because migrations, checks and audits may take longer. A
        statement of a write may also wait up to `write_timeout` for locks.
        """
        limit = self._settings.statement_timeout
        if limit:
            for pool, seconds in (
                *((reader, limit) for reader in {self.reader, self._primary.reader}),
                (self.writer, limit + self._settings.write_timeout),
            ):
                dialect_of_url(pool.url).limit_statements(pool, seconds)
        self.dispose()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Enter a read-only snapshot.

        Raises:
            DatabaseUnavailable: the database fails.
            DatabaseUnusable: the database fails permanently.
            StatementTooLong: a statement took longer than `statement_timeout`.
            Unstorable: the database cannot represent a text of the request.
            DeadlineExceeded: the deadline of the request has passed.
        """
        with translate_read_errors(), reading(self.reader, one_view=True) as conn:
            yield conn

    @contextmanager
    def read_trees(self) -> Iterator[Connection]:
        """Enter a read-only transaction. The revisions of trees confirm the content that it reads.

        If views of the database may be torn (`objects/revisions.py`), each statement has a separate
        view, and two statements may see different states. Otherwise, the transaction is one
        snapshot. Raises the same errors as `read`.
        """
        with translate_read_errors(), reading(self.reader, one_view=False) as conn:
            yield conn

    def repeat_read(self, work: Callable[[], Result], *, insists: bool = False) -> Result:
        """Run `work`, which only reads, and return its result.

        If the database fails or no connection becomes available, run `work` again until the
        deadline of the request, which then includes waits. Without a deadline, run it once. A
        request that waits occupies a thread, so at most MAX_WAITING_READS requests of a process
        wait. Raises the same errors as `read`.

        Args:
            work: the function.
            insists: whether to wait regardless of other requests, and to run `work` again if a
                statement takes too long.
        """
        deadline.count_waits()
        errors = (DatabaseUnavailable, StatementTooLong) if insists else DatabaseUnavailable
        pauses, may_wait = Pauses(), insists
        try:
            while True:
                try:
                    return work()
                except errors as error:
                    may_wait = may_wait or self._waiting_reads.acquire(blocking=False)
                    if not may_wait or deadline.is_over() or not deadline.is_set():
                        raise
                    LOG.info("repeating a read: %s", error.complaint)
                pauses.wait()
        finally:
            if may_wait and not insists:
                self._waiting_reads.release()

    def read_one(self, work: Callable[[Connection], Result]) -> Result:
        """Run `work`, which executes one statement, and return its result.

        PERF: without a transaction this takes one round trip to the database instead of three.
        Raises the same errors as `read`.
        """
        with translate_read_errors():
            return autocommit(self.reader, work)

    def read_one_stable(self, work: Callable[[Connection], Result]) -> Result:
        """Run `work` like `read_one`. If views may be torn, repeat it until two views are equal.

        Each write of a consumer changes its generation. Therefore, two equal results contain either
        all or nothing of each write of the consumer.
        """
        views = 1 + MAX_VIEWS if self.tears_views else 1

        def read(conn: Connection) -> Result:
            result = work(conn)
            for _ in range(views - 1):
                before, result = result, work(conn)
                if result == before:
                    break
            return result

        with translate_read_errors():
            return autocommit(self.reader, read, most=views)

    def write(self, work: Callable[[Connection], Result]) -> Result:
        """Run `work` in one transaction, and return its result after the COMMIT.

        In a rehearsal the transaction is rolled back instead of committed, with the same locks and
        retries.

        `work` may run several times and must have no effects outside of the connection. Its domain
        errors are raised after a rollback. If it raises Unchanged, nothing is committed and the
        result of the exception is returned.

        Raises:
            LostRace: other transactions keep changing what `work` depends on.
            DatabaseUnavailable: no COMMIT within `[placement_database] write_timeout` seconds.
            DatabaseUnusable: the database permanently refuses the write.
            StatementTooLong: a statement took longer than `statement_timeout`.
            Unstorable: the database cannot store a text of the request.
            DeadlineExceeded: the deadline of the request passed before the COMMIT.
            OutcomeUnknown: a COMMIT failed and its outcome cannot be determined.
        """
        retries, pauses = Retries(self._settings), Pauses()
        contended = False
        while True:
            try:
                return self._attempt(work, retries.deadline, contended=contended)
            except (Restart, exc.DBAPIError, exc.TimeoutError) as error:
                if isinstance(error, Contended) and not contended:
                    contended = True  # the next attempt cannot fail for the same reason
                    continue
                if isinstance(error, exc.DBAPIError):
                    self._writes_fail = unusable_error(error)
                    if codes.is_read_only(error):
                        self._primary.refuse()
                retries.allow(error)
                events.emit(Event.RETRY, attempt=pauses.attempts + 1, cause=cause_of(error))
            with deadline.waiting():
                pauses.wait()

    def _attempt(
        self, work: Callable[[Connection], Result], until: float, *, contended: bool
    ) -> Result:
        """Run `work` once. Raise the error of a COMMIT only if the COMMIT did not take effect."""
        refusals = self._primary.refusals
        try:
            with transaction(self.writer) as conn, collecting(conn, contended=contended):
                # An earlier write on the pooled connection may have left a function.
                conn.info.pop(_VERIFY, None)
                result = work(conn)
                deadline.check()
                if self.rolls_back:
                    send(conn)
                else:
                    _commit(conn)
                    if has_written(conn):  # a server that is read-only also commits reads
                        self._primary.confirm(refusals)
        except _CommitLostError as lost:
            # The transaction must have ended, because the verification needs a connection from the
            # pool.
            with deadline.waiting():
                if not self._happened(lost.verify, until):
                    raise lost.error from None
            self._primary.confirm(refusals)
        except Unchanged as unchanged:
            result = unchanged.result
        self._writes_fail = None
        deadline.lift()  # the request must not fail after the COMMIT
        return result

    def _happened(self, verify: Verify | None, until: float) -> bool:
        """Return whether a transaction took effect although its COMMIT was lost.

        Raises:
            OutcomeUnknown: this cannot be determined.
        """
        pauses = Pauses()
        while verify is not None and time.monotonic() < until:
            try:
                committed = self._run_replicated(verify)
            except (exc.DBAPIError, exc.TimeoutError, Restart) as error:
                # The database is restarting. The outcome is unknown until it is available again.
                LOG.info("the outcome of a lost COMMIT is still unknown: %s", one_line(error))
                pauses.wait()
                continue
            if committed is None:
                break
            LOG.info("a lost COMMIT %s", "took effect" if committed else "did not take effect")
            events.emit(Event.LOST_COMMIT, happened=committed)
            return committed
        events.emit(Event.LOST_COMMIT, happened=None)
        raise OutcomeUnknown

    def read_replicated(self, work: Callable[[Connection], Result]) -> Result:
        """Run `work`, which reads, after this node has applied the commits of other nodes.

        Raises the same errors as `read`.
        """
        with translate_read_errors():
            return self._run_replicated(work)

    def _run_replicated(self, work: Callable[[Connection], Result]) -> Result:
        with transaction(self.writer) as conn:
            try:
                dialect_of(conn).wait_for_replication(conn)
                result = work(conn)
                conn.commit()
            finally:
                conn.invalidate()  # the wait for replication changes settings of the session
        return result

    def refuse_if_writes_fail(self) -> None:
        """Raise DatabaseUnusable if the last write of this process failed permanently."""
        if self._writes_fail is not None:
            raise DatabaseUnusable(*self._writes_fail.arguments)

    def connect_first(self, *, patience: float | None = None) -> None:
        """Open the first connection. Retry `max_retries` times, at intervals of `retry_interval`.

        No retry begins after `patience` seconds, unless it is None. Raises ConfigurationError.
        """
        retries, pause = self._settings.max_retries, self._settings.retry_interval
        until = math.inf
        if patience is not None:
            until = time.monotonic() + patience
            in_time = int(patience // max(pause, 1))
            retries = in_time if retries < 0 else min(retries, in_time)
        of_all = f" of {retries + 1}" if retries >= 0 else ""
        attempt = 1
        while True:
            try:
                with self.writer.connect():
                    return
            except exc.DBAPIError as error:
                self._refuse_unreadable_files()  # mysqlclient does not name the file
                complaint = one_line(error)
                fault = permanent_fault(error)
                if fault is not None:
                    raise self._unusable(f"{complaint}; {fault.remedy}") from None
                is_last = attempt == retries + 1 or time.monotonic() + pause > until
                if is_last or dialect_of_url(self.writer.url).is_file:
                    raise self._unusable(complaint) from None
            except (OSError, TypeError, ValueError, RuntimeError) as error:
                # The URL contains options that the driver does not support, or names a file that
                # does not exist, or PyMySQL needs the module cryptography for the account.
                self._refuse_unreadable_files()
                raise self._unusable(one_line(error)) from None
            LOG.warning("attempt %s%s to open the database failed: %s", attempt, of_all, complaint)
            attempt += 1
            time.sleep(pause)

    def _refuse_unreadable_files(self) -> None:
        unreadable = unreadable_files(self.writer.url)
        if unreadable:
            raise self._unusable(f"cannot read {unreadable}") from None

    def _unusable(self, complaint: str) -> ConfigurationError:
        url, path = masked_url(self.writer.url), self.writer.url.database or "/"
        if complaint.startswith("unable to open") and not path.startswith("/"):
            complaint += (
                f" {os.path.abspath(path)}: after three slashes, the path is relative to the "
                f"working directory; for an absolute one, write sqlite:////{path}"
            )
        return ConfigurationError(f"cannot open the database {url}: {complaint}")

    def dispose(self) -> None:
        """Close all pooled connections, before a fork and at the end of the process."""
        for pool in {self.writer, self.reader, self._primary.reader}:
            pool.dispose()


def _commit(conn: Connection) -> None:
    """Send the collected writes and commit.  Raises _CommitLostError if the outcome is unknown."""
    verify, is_final = conn.info.pop(_VERIFY, (None, False))
    # Without a final verification, only the COMMIT itself may be lost.
    if not send(conn, committing=_committing(conn, verify) if is_final else None):
        with _committing(conn, verify):
            conn.commit()


@contextmanager
def _committing(conn: Connection, verify: Verify | None) -> Iterator[None]:
    """Commit within the block.  Raises _CommitLostError if the outcome is unknown."""
    try:
        with stopwatch.COMMIT:
            yield
    except exc.DBAPIError as error:
        if not codes.is_outcome_unknown(error) or compounds.is_open(conn):
            raise
        LOG.warning("a COMMIT was lost: %s", one_line(error))
        raise _CommitLostError(verify, error) from error
