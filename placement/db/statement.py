"""Statements: SQL with parameters. The reader or the writer executes them.

A `Query` returns rows, and a `Write` declares how many rows it must match. The functions in
`db.statements` create them. Callers do not see how the SQL was built, whether it is cached, how
rows are transferred, and into how many chunks a long list is split.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from placement.db import texts
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

    def execute(self, conn: Connection) -> None:
        """Execute the statement.

        Raises:
            Unmatched: another number of rows matched; the transaction starts again.
            DeadlineExceeded: the deadline of the request passed before the statement was sent.
        """
        deadline.check()
        with stopwatch.STATEMENT, deadline.waiting():
            matched = texts.write(conn, self.sql, self.params)
        self._check(conn, matched)

    def insert(self, conn: Connection) -> int:
        """Execute an INSERT of one row like `execute`, and return the id of the row."""
        assert isinstance(self.sql, sa.Insert)
        deadline.check()
        with stopwatch.STATEMENT, deadline.waiting():
            matched, row_id = texts.insert(conn, self.sql, self.params)
        self._check(conn, matched)
        assert row_id is not None
        return row_id

    def _check(self, conn: Connection, matched: int) -> None:
        if not self._accepts(matched):
            # EXECUTE may have been sent instead of the statement.
            sql = self.sql.compile(dialect=conn.dialect)
            raise Unmatched(f"{matched} rows instead of {self.matches}: {sql}")

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
