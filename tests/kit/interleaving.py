"""Two writers of one database, whose statements are executed in a chosen order.

Each writer has a thread and a service. It stops before each of its statements, and before COMMIT,
until it is its turn. If a writer waits for a lock of the other one, the order ends: both writers
run freely to their ends. Two reads have the same result in both orders, so only one is tried.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from threading import Condition, Thread, current_thread
from typing import Any

import sqlalchemy as sa

from placement.db.engine import Database
from tests.kit.statements import text_of

# Seconds between two questions whether a writer waits for a lock. InnoDB refreshes its view of
# transactions only after 0.1 s without a query of it.
INTERVAL = 0.12
# Seconds after which a writer counts as hanging.
PATIENCE = 300
WAITING = {
    "mysql": "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'",
    "postgresql": "SELECT COUNT(*) FROM pg_stat_activity"
    " WHERE datname = current_database() AND wait_event_type = 'Lock'",
}

_READS = re.compile(r"\s*\(?(SELECT|WITH|START|BEGIN|SET)\b", re.IGNORECASE)
_LOCKS = re.compile(r"\b(FOR UPDATE|IN SHARE MODE|FOR SHARE|FOR NO KEY UPDATE)\b", re.IGNORECASE)

# Returns the index of the writer whose turn it is. Both writers are at a statement.
Choose = Callable[[], int]


@dataclass
class Order:
    """The order in which the statements of one run were executed."""

    # The choices while both writers were at a statement, and one of the statements writes or locks.
    choices: list[int] = field(default_factory=list)
    # Index of the writer and text of each statement until the order ended.
    statements: list[tuple[int, str]] = field(default_factory=list)
    # Whether a writer waited for the other one.
    waited: bool = False


class _Writer(Thread):
    """A thread that executes one write."""

    def __init__(self, work: Callable[[], Any], changed: Condition) -> None:
        super().__init__(daemon=True)
        self._work = work
        self._changed = changed
        # The statement before which the writer stops, or None if it runs or has ended.
        self.statement: str | None = None
        # Whether the statement only reads.
        self.reads = False
        # Whether the writer stops before its statements.
        self.stops = True
        self.ended = False
        # The result of the write or, if it failed, its error.
        self.result: Any = None

    @property
    def stopped(self) -> bool:
        return self.ended or self.statement is not None

    def run(self) -> None:
        try:
            self.result = self._work()
        except BaseException as error:  # the test compares it with the expected results
            self.result = error
        finally:
            with self._changed:
                self.ended = True
                self._changed.notify_all()

    def stop_before(self, statement: str, *, reads: bool) -> None:
        """Stop until it is this writer's turn. Called in the thread of the writer."""
        with self._changed:
            if not self.stops:
                return
            self.statement, self.reads = statement, reads
            self._changed.notify_all()
            self._changed.wait_for(lambda: self.statement is None)

    def proceed(self) -> None:
        """Execute the next statement. The condition must be locked."""
        self.statement = None
        self._changed.notify_all()


def is_waiting(conn: sa.Connection) -> bool:
    """Return whether any transaction waits for a lock."""
    return bool(conn.exec_driver_sql(WAITING[conn.dialect.name]).scalar_one())


def interleave(
    works: Sequence[Callable[[], Any]],
    databases: Sequence[Database],
    choose: Choose,
    waits: Callable[[], bool],
    between: Callable[[], object],
) -> tuple[Sequence[Any], Order]:
    """Run two writers, each in a thread of its own, and return their results.

    Args:
        works: the writes.
        databases: the databases whose statements are ordered.
        choose: chooses the writer whose statement is executed next.
        waits: returns whether a writer waits for a lock.
        between: called when the first writer has ended, unless a writer has waited for a lock.
    """
    changed = Condition()
    writers = [_Writer(work, changed) for work in works]
    order = Order()
    with _stopping(databases):
        for writer in writers:
            writer.start()
        with changed:
            for writer in writers:
                _wait(changed, writer, PATIENCE)
            while not any(writer.ended for writer in writers):
                _execute_next(changed, writers, choose, waits, order)
            if not order.waited:
                between()
            while not all(writer.ended for writer in writers):
                _execute_next(changed, writers, choose, waits, order)
        for writer in writers:
            writer.join()
    return [writer.result for writer in writers], order


def _execute_next(
    changed: Condition,
    writers: Sequence[_Writer],
    choose: Choose,
    waits: Callable[[], bool],
    order: Order,
) -> None:
    ready = [number for number, writer in enumerate(writers) if writer.statement is not None]
    chosen = ready[0]
    if len(ready) > 1 and not all(writer.reads for writer in writers):
        chosen = choose()
        order.choices.append(chosen)
    writer = writers[chosen]
    order.statements.append((chosen, str(writer.statement)))
    writer.proceed()
    while not _wait(changed, writer, INTERVAL):
        if waits():
            break
    else:
        return
    order.waited = True
    for each in writers:
        each.stops = False
        each.proceed()
    for each in writers:
        assert _wait(changed, each, PATIENCE), order


def _wait(changed: Condition, writer: _Writer, seconds: float) -> bool:
    """Wait until a writer is at a statement or has ended, and return whether this is the case."""
    return changed.wait_for(lambda: writer.stopped, seconds)


@contextmanager
def _stopping(databases: Sequence[Database]) -> Iterator[None]:
    """Stop writers before statements and COMMIT."""

    def execute(conn: sa.Connection, _cursor: Any, text: str, *_rest: Any) -> None:
        statement = text_of(conn, text)
        stop(statement, reads=bool(_READS.match(statement)) and not _LOCKS.search(statement))

    def commit(_conn: sa.Connection) -> None:
        stop("COMMIT", reads=False)

    def end_reading(_conn: sa.Connection) -> None:
        stop("COMMIT", reads=True)

    def stop(statement: str, *, reads: bool) -> None:
        writer = current_thread()
        if isinstance(writer, _Writer):
            writer.stop_before(statement, reads=reads)

    with ExitStack() as stack:
        for database in databases:
            for listened in (
                (database.reader, "before_cursor_execute", execute),
                (database.reader, "commit", end_reading),
                (database.writer, "before_cursor_execute", execute),
                (database.writer, "commit", commit),
            ):
                sa.event.listen(*listened)
                stack.callback(sa.event.remove, *listened)
        yield


def orders(run: Callable[[Choose], Order]) -> Iterator[Order]:
    """Run writers in each order once, and yield the orders."""
    prefix: list[int] = []
    while True:
        rest = iter(prefix)
        order = run(lambda rest=rest: next(rest, 0))  # type: ignore[misc]
        yield order
        choices = order.choices
        while choices and choices[-1] == 1:
            choices.pop()
        if not choices:
            return
        prefix = [*choices[:-1], 1]
