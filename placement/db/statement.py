"""Statements: SQL with parameters. The reader or the writer executes them.

A `Query` returns rows, and a `Write` declares how many rows it must match. The functions in
`db.statements` create them. Callers do not see how the SQL was built, whether it is cached, how
rows are transferred, and into how many chunks a long list is split.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from placement.db import compounds, texts
from placement.db.compounds import CompoundPart, PartUnmatched
from placement.db.texts import StatementText
from placement.runtime import deadline, stopwatch

Item = TypeVar("Item")
Key = TypeVar("Key", int, str)
Value = TypeVar("Value")

# Maximum number of items in one statement. With a dozen values for each item, the number of
# parameters is far below the limit of every engine (the lowest is 32,766, of SQLite).
CHUNK_SIZE = 1000


class Restart(Exception):
    """Raised inside of a write to repeat it, because the state on which it is based has changed."""


class Unchanged(Exception):
    """Raised inside of a write that changes nothing and must not renew any revision."""

    def __init__(self, result: Any = None) -> None:
        super().__init__()
        # The value that the write returns.
        self.result = result


class Contended(Restart):
    """Raised inside of a write whose next attempt should lock what it reads (`is_contended`)."""


class Unmatched(Restart):
    """A statement did not match the expected number of rows."""


@dataclass(frozen=True, slots=True)
class Query:
    """A statement that reads."""

    # The statement. It does not contain the values of `params`.
    sql: sa.Select[*tuple[Any, ...]] | sa.CompoundSelect[*tuple[Any, ...]]
    params: Mapping[str, Any] = field(default_factory=dict)
    # Function that converts the rows of the driver, which are tuples without names. None if the
    # rows need no conversion.
    parse: Callable[[Sequence[Any]], Sequence[Any]] | None = None
    # Whether the statement locks its rows. It may then have to wait for other transactions.
    locks: bool = field(default=False, kw_only=True)

    def rows(self, conn: Connection) -> Sequence[Any]:
        """Return all rows. The function that created the statement documents their columns.

        Raises:
            DeadlineExceeded: the deadline of the request has passed.
        """
        deadline.check()
        send(conn)
        with stopwatch.STATEMENT:
            if self.locks:
                with deadline.waiting():
                    return texts.read_named(conn, self.sql, self.params)
            if self.parse is None:
                return texts.read_named(conn, self.sql, self.params)
            return self.parse(texts.read(conn, self.sql, self.params))

    def row(self, conn: Connection) -> Any:
        """Return the only row."""
        (row,) = self.rows(conn)
        return row

    def value(self, conn: Connection) -> Any:
        """Return the only column of the only row."""
        (value,) = self.row(conn)
        return value


class Queries(tuple[Query, ...]):
    """The queries for a list that may be too long for one statement. Empty for an empty list."""

    __slots__ = ()

    def rows(self, conn: Connection) -> Sequence[Any]:
        """Return the rows of all queries."""
        if len(self) == 1:
            return self[0].rows(conn)
        return [row for query in self for row in query.rows(conn)]


@dataclass(frozen=True, slots=True)
class Write:
    """A statement that writes, with the number of rows that it must match.

    The number is checked because a database may report success for a statement that it did not
    execute. MariaDB does so for about one in twenty interrupted DELETE statements.
    """

    sql: sa.Insert | sa.Update | sa.Delete | sa.TextClause
    params: Mapping[str, Any] = field(default_factory=dict)
    matches: int = field(kw_only=True)
    # Whether fewer rows are accepted because some rows may already exist. The caller then reads the
    # rows.
    allow_fewer: bool = field(default=False, kw_only=True)

    def execute(self, conn: Connection, failure: type[Exception] | None = None) -> None:
        """Execute the statement, or collect it to be sent with the next ones (`collecting`).

        Args:
            conn: the connection.
            failure: raised instead of Unmatched.

        Raises:
            Unmatched: another number of rows matched; the transaction starts again.
            DeadlineExceeded: the deadline of the request passed before the statement was sent.
        """
        deadline.check()
        conn.info[_WRITES] = True
        text = texts.find(conn, self.sql, self.params)
        collected: list[_Collected] | None = conn.info.get(_COLLECTED)
        if collected is not None and text is not None:
            collected.append(_Collected(self, text, failure))
            return
        send(conn)
        self._send(conn, text, failure)

    def _send(
        self, conn: Connection, text: StatementText | None, failure: type[Exception] | None
    ) -> None:
        with stopwatch.STATEMENT, deadline.waiting():
            matched = texts.write(conn, self.sql, self.params, text)
        if not self._accepts(matched):
            raise self._unmatched(conn, matched, failure)

    def insert(self, conn: Connection) -> int:
        """Execute an INSERT of one row like `execute`, and return the id of the row."""
        assert isinstance(self.sql, sa.Insert)
        deadline.check()
        conn.info[_WRITES] = True
        send(conn)
        with stopwatch.STATEMENT, deadline.waiting():
            matched, row_id = texts.insert(conn, self.sql, self.params)
        if not self._accepts(matched):
            raise self._unmatched(conn, matched)
        assert row_id is not None
        return row_id

    def _unmatched(
        self, conn: Connection, matched: int | None, failure: type[Exception] | None = None
    ) -> Exception:
        """Return the error for a number of rows that is not accepted. None: it is not known."""
        # EXECUTE may have been sent instead of the statement.
        sql = self.sql.compile(dialect=conn.dialect)
        actual = "other" if matched is None else matched
        return (failure or Unmatched)(f"{actual} rows instead of {self.matches}: {sql}")

    def _accepts(self, matched: int) -> bool:
        """Return whether a number of matched rows is accepted.

        Drivers return -1 if it is unknown.
        """
        return matched == self.matches or (self.allow_fewer and 0 <= matched < self.matches)


class Writes(tuple[Write, ...]):
    """Writes that are executed in order. Empty if there is nothing to write."""

    __slots__ = ()

    def execute(self, conn: Connection) -> None:
        """Execute all of them. For errors, see `Write.execute`."""
        for write in self:
            write.execute(conn)


@dataclass(frozen=True, slots=True)
class _Collected:
    """A write that has not been sent yet."""

    write: Write
    text: StatementText
    # The error if another number of rows matches. None: Unmatched.
    failure: type[Exception] | None


# Key of `Connection.info` with the collected writes of a transaction. Without it, each write is
# sent at once.
_COLLECTED = "collected writes"


# Key of `Connection.info`: whether the previous attempt of a write was contended.
_CONTENDED = "contended"


# Key of `Connection.info`: whether the transaction has executed or collected a write.
_WRITES = "writes"


def has_written(conn: Connection) -> bool:
    """Return whether this transaction has executed a write."""
    return bool(conn.info.get(_WRITES))


def is_contended(conn: Connection) -> bool:
    """Return whether the previous attempt of this write has raised Contended."""
    return bool(conn.info.get(_CONTENDED))


@contextmanager
def collecting(conn: Connection, *, contended: bool = False) -> Iterator[None]:
    """Collect the writes within the block, if the database can execute several as one statement.

    They are sent before the transaction reads, and by `send`, which the block has to call at its
    end.
    """
    info = conn.info  # remains usable if the connection is lost
    if compounds.are_supported(conn):
        info[_COLLECTED] = []
    info[_CONTENDED] = contended
    try:
        yield
    finally:
        info.pop(_COLLECTED, None)
        info.pop(_CONTENDED, None)
        info.pop(_WRITES, None)


def send(conn: Connection, committing: AbstractContextManager[None] | None = None) -> bool:
    """Send the collected writes, as one statement if it is prepared.

    Args:
        conn: the connection.
        committing: the block in which the statement also commits. None: it does not commit.

    Returns:
        Whether the transaction was committed.

    Raises:
        See `Write.execute`.
    """
    collected: list[_Collected] | None = conn.info.get(_COLLECTED)
    if not collected:
        return False
    sent = collected.copy()
    collected.clear()
    commits = committing is not None
    if commits or len(sent) > 1:
        parts = [
            CompoundPart(each.text, each.write.params, each.write.matches, each.write.allow_fewer)
            for each in sent
        ]
        call = compounds.prepare(conn, parts, commits=commits)
        if call is not None:
            try:
                with committing or nullcontext(), stopwatch.STATEMENT, deadline.waiting():
                    executed = compounds.execute(conn, call, parts, commits=commits)
            except PartUnmatched as error:
                failed = sent[error.index]
                raise failed.write._unmatched(conn, None, failed.failure) from None
            if executed:
                return commits
    for each in sent:
        each.write._send(conn, each.text, each.failure)
    return False


def chunks(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Split a list into chunks, one for each statement."""
    for start in range(0, len(items), CHUNK_SIZE):
        yield items[start : start + CHUNK_SIZE]


def sorted_chunks(keys: Collection[Key]) -> Iterator[Sequence[Key]]:
    """Sort ids or names so that all transactions lock rows in the same order.

    Return chunks of them.
    """
    return chunks(sorted(keys))


def mapping_chunks(by_key: Mapping[Key, Value]) -> Iterator[dict[Key, Value]]:
    """Split a mapping by ids or names into chunks, in the order of the keys."""
    for keys in sorted_chunks(by_key):
        yield {key: by_key[key] for key in keys}
