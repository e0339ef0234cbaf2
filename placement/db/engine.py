"""Reads and writes: what is run again, and what failures become.

A GET runs in one `Database.read()` block: one snapshot of the whole request; or in one
`Database.read_trees()` block, if what it reads can be confirmed by the revisions of trees. One that
needs a single statement hands it to `Database.ask`, for that is a snapshot by itself. Any other
request hands one function to `Database.write`, which runs it in one transaction and runs all of it
again when the engine or the function itself (`Restart`) asks for that. When a COMMIT
fails, nobody may know yet whether it happened; the write then asks as `on_lost_commit` has said.
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.engine import Connection

from placement import deadline, events, stopwatch
from placement.config import DatabaseSettings
from placement.db import codes
from placement.db.dialects import DIALECTS, Role, dialect_of, dialect_of_url
from placement.db.failures import lasting_fault, refuse_hopeless, unusable
from placement.db.messages import masked_url, one_line
from placement.db.pools import make_pool, parse_url
from placement.db.retries import Pauses, Retries, cause_of
from placement.db.statement import Restart, Unchanged
from placement.db.transactions import alone, reading, transaction
from placement.errors import (
    ConfigurationError,
    DatabaseUnavailable,
    DatabaseUnusable,
    OutcomeUnknown,
)
from placement.events import Event

LOG = logging.getLogger(__name__)

Result = TypeVar("Result")

# Decides in a new transaction whether an earlier one has committed; None if undecidable.
Verify = Callable[[Connection], bool | None]
_VERIFY = "verify"

VIEWS = 3  # how many more are looked at, if what they show keeps changing


class _CommitLostError(Exception):
    """A COMMIT has failed and may have happened all the same."""

    def __init__(self, verify: Verify | None, error: exc.DBAPIError) -> None:
        super().__init__()
        self.verify = verify
        self.error = error


def on_lost_commit(conn: Connection, verify: Verify) -> None:
    """Say how to find out whether this transaction has committed, should its COMMIT be lost."""
    conn.info[_VERIFY] = verify


class Database:
    """The two engines of a process: snapshots for reads, short transactions for writes."""

    def __init__(self, settings: DatabaseSettings) -> None:
        """Raise ConfigurationError when a URL cannot be understood; nothing is connected yet."""
        self._settings = settings
        self._writes_fail: DatabaseUnusable | None = None  # what the latest write has met
        self.writer = self._pool(settings.connection, Role.WRITE)
        self.reader = self._pool(settings.slave_connection or settings.connection, Role.READ)

    def _pool(self, url: str, role: Role) -> sa.Engine:
        try:
            return make_pool(parse_url(url), role, self._settings)
        except (exc.SQLAlchemyError, ImportError, TypeError, ValueError) as error:
            missing = getattr(error, "name", None)
            raise ConfigurationError(
                f"[placement_database] connection cannot be used: {one_line(error)}"
                f"{_how_to_install(missing)}"
            ) from None

    @property
    def tears_views(self) -> bool:
        """Whether a view may be torn, so that each statement of `read_trees` has its own."""
        return dialect_of_url(self.reader.url).tears_views

    def limit_statements(self) -> None:
        """Let no statement take longer than `statement_timeout` from now on, unless that is 0.

        This is for a service: what migrates, counts or checks a database may take longer. A
        statement of a write may also wait for other writes, as long as `write_timeout`.
        """
        limit = self._settings.statement_timeout
        if limit:
            for pool, seconds in (
                (self.reader, limit),
                (self.writer, limit + self._settings.write_timeout),
            ):
                dialect_of_url(pool.url).limit_statements(pool, seconds)
        self.dispose()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Enter one read-only snapshot.

        Raises DatabaseUnavailable when the database fails, DatabaseUnusable when it will fail
        again, StatementTooLong, Unstorable, DeadlineExceeded.
        """
        with _failures_of_reads(), reading(self.reader, one_view=True) as conn:
            yield conn

    @contextmanager
    def read_trees(self) -> Iterator[Connection]:
        """Enter a read-only transaction in which content of trees is confirmed by revisions.

        Where a view of the database may be torn (`objects/revisions.py`), each statement has its
        own, and two statements may see two moments. Elsewhere it is one snapshot. Raises what
        `read` raises.
        """
        with _failures_of_reads(), reading(self.reader, one_view=False) as conn:
            yield conn

    def ask(self, work: Callable[[Connection], Result]) -> Result:
        """Run `work`, which executes one statement, and return what it returned.

        PERF: without a transaction this is one round trip to the database instead of three. Raises
        what `read` raises.
        """
        with _failures_of_reads():
            return alone(self.reader, work)

    def ask_twice(self, work: Callable[[Connection], Result]) -> Result:
        """Run `work` as `ask` does; where a view may be torn, until two views show the same.

        What an earlier view has shown, with the generation of a consumer, the later one shows
        whole: each write of a consumer moves its generation.
        """
        if not self.tears_views:
            return self.ask(work)
        with self.read_trees() as conn:
            result = work(conn)
            for _ in range(VIEWS):
                before, result = result, work(conn)
                if result == before:
                    break
        return result

    def write(self, work: Callable[[Connection], Result]) -> Result:
        """Run `work` in one transaction and return what it returned, once committed.

        `work` may be run several times and must not act outside of the connection. It may raise
        Unchanged with what is to be returned: then nothing is committed. Its domain errors pass
        through after a rollback. Raises LostRace when other writers keep changing what `work`
        depends on, DatabaseUnavailable when it cannot be committed within `[placement_database]
        write_timeout` seconds, DatabaseUnusable when it never can be, StatementTooLong, Unstorable,
        DeadlineExceeded before it is committed, and OutcomeUnknown when a COMMIT failed and it
        cannot be found out whether it happened.
        """
        retries, pauses = Retries(self._settings), Pauses()
        while True:
            try:
                return self._attempt(work, retries.deadline)
            except (Restart, exc.IntegrityError, exc.TimeoutError) as error:
                retries.allow(error)
                cause = cause_of(error)
            except exc.DBAPIError as error:
                self._writes_fail = unusable(error)
                retries.allow(error)
                cause = cause_of(error)
            events.tell(Event.RETRY, attempt=pauses.attempts + 1, cause=cause)
            with deadline.waiting():
                pauses.wait()

    def _attempt(self, work: Callable[[Connection], Result], until: float) -> Result:
        """Run `work` once.  Raises the error of a COMMIT only if that has not happened."""
        try:
            with transaction(self.writer) as conn:
                conn.info.pop(_VERIFY, None)  # of an earlier write on the pooled connection
                result = work(conn)
                deadline.check()
                _commit(conn)
        except _CommitLostError as lost:
            # The connection is given back first: finding out needs one.
            with deadline.waiting():
                if not self._happened(lost.verify, until):
                    raise lost.error from None
        except Unchanged as unchanged:
            result = unchanged.result
        self._writes_fail = None
        deadline.lift()  # it is done, so it is not to be answered as if it were not
        return result

    def _happened(self, verify: Verify | None, until: float) -> bool:
        """Whether a transaction whose COMMIT was lost did happen.  Raises OutcomeUnknown."""
        pauses = Pauses()
        while verify is not None and time.monotonic() < until:
            try:
                committed = self._verify(verify)
            except (exc.DBAPIError, exc.TimeoutError, Restart) as error:
                # A database on its way back: nothing else may be answered before it is there.
                LOG.info("a lost COMMIT is not settled yet: %s", one_line(error))
                pauses.wait()
                continue
            if committed is None:
                break
            LOG.info("a lost COMMIT had %s", "happened" if committed else "not happened")
            events.tell(Event.LOST_COMMIT, happened=committed)
            return committed
        events.tell(Event.LOST_COMMIT, happened=None)
        raise OutcomeUnknown

    def _verify(self, verify: Verify) -> bool | None:
        with transaction(self.writer) as conn:
            try:
                dialect_of(conn).wait_for_replication(conn)
                committed = verify(conn)
                conn.commit()
            finally:
                conn.invalidate()  # what waiting has set is no concern of later writes
        return committed

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
                complaint = one_line(error)
                no_server = dialect_of_url(self.writer.url).is_file
                if no_server or lasting_fault(error) or (tries >= 0 and attempt >= tries):
                    raise self._unusable(complaint) from None
            except (OSError, TypeError, ValueError) as error:
                # A driver has been given options that it does not understand.
                raise self._unusable(one_line(error)) from None
            attempt += 1
            LOG.warning("the database does not answer (%s); attempt %s", complaint, attempt)
            time.sleep(self._settings.retry_interval)

    def _unusable(self, complaint: str) -> ConfigurationError:
        url = masked_url(self.writer.url)
        return ConfigurationError(f"cannot open the database {url}: {complaint}")

    def dispose(self) -> None:
        """Close all pooled connections: before a fork, and at the end of a process."""
        self.writer.dispose()
        self.reader.dispose()


@contextmanager
def _failures_of_reads() -> Iterator[None]:
    try:
        yield
    except exc.DBAPIError as error:
        refuse_hopeless(error)
        if not codes.is_retriable(error) and not isinstance(error, exc.OperationalError):
            raise
        LOG.warning("a read failed: %s", one_line(error))
        raise DatabaseUnavailable from error
    except exc.TimeoutError as error:
        raise DatabaseUnavailable from error


def _commit(conn: Connection) -> None:
    """Commit.  Raises _CommitLostError if nobody knows whether it has happened."""
    verify = conn.info.pop(_VERIFY, None)
    try:
        with stopwatch.COMMIT:
            conn.commit()
    except exc.DBAPIError as error:
        if not codes.is_outcome_unknown(error):
            raise
        LOG.warning("a COMMIT was lost: %s", one_line(error))
        raise _CommitLostError(verify, error) from error


def _how_to_install(module: str | None) -> str:
    for dialect in DIALECTS:
        extra = dialect.extras.get(module or "")
        if extra:
            return f"; pip install 'falcon-placement[{extra}]' brings it"
    return ""
