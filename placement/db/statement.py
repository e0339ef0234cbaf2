"""The one form of a statement: SQL with its parameters, which its reader or writer runs.

A `Query` has rows, a `Write` says how many rows it must match. How the SQL was built, whether that
happened once or for this call, in which form the rows come, and into how many pieces a long list
is cut, are secrets of `db`. The functions of `db.statements` make them.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection, CursorResult

from placement import deadline, stopwatch
from placement.db import texts

Item = TypeVar("Item")
Key = TypeVar("Key", int, str)
Value = TypeVar("Value")

# Items of one statement: far below every engine's limit of parameters (SQLite's is the tightest:
# 32,766) with a dozen values for each item.
CHUNK = 1000


class Restart(Exception):
    """Raised inside a write: what it decided on has changed, begin again from a fresh look."""


class Unchanged(Exception):
    """Raised inside a write: there is nothing to change, so not even a revision is to be renewed.

    result: what the write returns.
    """

    def __init__(self, result: Any = None) -> None:
        super().__init__()
        self.result = result


class Unmatched(Restart):
    """A statement has not matched the rows that it must match."""


@dataclass(frozen=True, slots=True)
class Query:
    """A statement that reads.

    parse: makes the rows of what the database returns, where that takes more than the driver.
    locks: it locks the rows, for which it may have to wait.
    """

    sql: sa.Select[*tuple[Any, ...]] | sa.CompoundSelect[*tuple[Any, ...]]
    params: Mapping[str, Any] = field(default_factory=dict)
    parse: Callable[[Sequence[Any]], Sequence[Any]] | None = None
    locks: bool = field(default=False, kw_only=True)

    def rows(self, conn: Connection) -> Sequence[Any]:
        """Return all rows; their columns are those that the maker of the statement names.

        Raises DeadlineExceeded.
        """
        deadline.check()
        with stopwatch.STATEMENT:
            if self.locks:
                with deadline.waiting():
                    return texts.execute(conn, self.sql, self.params).all()
            rows = texts.execute(conn, self.sql, self.params).all()
            return rows if self.parse is None else self.parse(rows)

    def row(self, conn: Connection) -> Any:
        """Return the only row."""
        (row,) = self.rows(conn)
        return row

    def value(self, conn: Connection) -> Any:
        """Return the only column of the only row."""
        (value,) = self.row(conn)
        return value


class Queries(tuple[Query, ...]):
    """Queries of one form, for a list that is too long for one statement; none if it is empty."""

    __slots__ = ()

    def rows(self, conn: Connection) -> Sequence[Any]:
        """Return the rows of all."""
        if len(self) == 1:
            return self[0].rows(conn)
        return [row for query in self for row in query.rows(conn)]


@dataclass(frozen=True, slots=True)
class Write:
    """A statement that writes, and the number of rows that it must match.

    A database may answer OK to a statement that it has not carried out: MariaDB does to one
    DELETE in some twenty that are interrupted. or_fewer: some rows may be there already; the
    caller reads afterwards what there is.
    """

    sql: sa.Insert | sa.Update | sa.Delete | sa.TextClause
    params: Mapping[str, Any] = field(default_factory=dict)
    matches: int = field(kw_only=True)
    or_fewer: bool = field(default=False, kw_only=True)

    def execute(self, conn: Connection) -> None:
        """Raise Unmatched, on which the transaction begins again, for any other number of rows.

        Raises DeadlineExceeded before it is sent.
        """
        self._execute(conn)

    def insert(self, conn: Connection) -> int:
        """Execute an INSERT of one row as `execute` does; return the row's id."""
        key = self._execute(conn).inserted_primary_key
        assert key is not None
        (row_id,) = key
        return int(row_id)

    def _execute(self, conn: Connection) -> CursorResult[Any]:
        # For an INSERT, the number cannot be had from the cursor later.
        deadline.check()
        with stopwatch.STATEMENT, deadline.waiting():
            result = texts.execute(conn, self.sql, self.params, preserve_rowcount=True)
        if not self._is_met_by(result.rowcount):
            sql = result.context.statement  # as it was sent: each engine spells it in its own way
            raise Unmatched(f"{result.rowcount} rows instead of {self.matches}: {sql}")
        return result

    def _is_met_by(self, matched: int) -> bool:
        """Whether this many rows may have been matched; a driver says -1 for "not known"."""
        return matched == self.matches or (self.or_fewer and 0 <= matched < self.matches)


class Writes(tuple[Write, ...]):
    """Writes that belong together, in their order; none where nothing is to be written."""

    __slots__ = ()

    def execute(self, conn: Connection) -> None:
        """Execute all.  Raises Unmatched."""
        for write in self:
            write.execute(conn)


def chunks(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Cut a list into pieces that one statement can carry."""
    for start in range(0, len(items), CHUNK):
        yield items[start : start + CHUNK]


def sorted_chunks(keys: Collection[Key]) -> Iterator[Sequence[Key]]:
    """Sort ids or names, so that all lock rows in one order, and cut them into pieces."""
    return chunks(sorted(keys))


def mapping_chunks(by_key: Mapping[Key, Value]) -> Iterator[dict[Key, Value]]:
    """Cut what is mapped by ids or names into pieces, in the order of the keys."""
    for keys in sorted_chunks(by_key):
        yield {key: by_key[key] for key in keys}
