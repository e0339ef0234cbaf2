"""Simulated torn views, which show a transaction without one that it has waited for.

Engines sometimes produce such views while transactions end. Here the tables themselves change:
directly before a statement they are set to the content of a torn view, and directly after it to the
true content. A transaction with one view for all its statements keeps the torn one.
"""

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from placement.db import tables as t
from placement.db.engine import Database
from tests.kit.engines import ENGINE
from tests.kit.rows import UNCHECKED
from tests.kit.statements import text_of

# Tables that requests of these tests do not change.
_NAMES = {"traits", "resource_classes"}
_TABLES = [table for table in t.metadata.sorted_tables if table.name not in _NAMES]
# Seconds, the least. Rows that the transaction has locked cannot have been changed by others.
LOCK_WAIT = 1 if ENGINE == "mysql" else 0

# (table, primary key) -> row
Rows = Mapping[tuple[str, tuple[Any, ...]], Mapping[str, Any]]


def rows(database: Database) -> Rows:
    """Return all rows of the tables that requests of these tests change."""
    found = {}
    with database.read() as conn:
        for table in _TABLES:
            key = [column.name for column in table.primary_key]
            for row in conn.execute(sa.select(table)).mappings():
                found[table.name, tuple(row[name] for name in key)] = dict(row)
    return found


def torn(before: Rows, between: Rows, after: Rows) -> Rows:
    """Return the content of a view that has the second of two transactions without the first.

    A row has its newest version in the view: that of the second transaction, which is based on the
    first, or the one before both.
    """
    shown = dict(after)
    for key in before.keys() | between.keys():
        if before.get(key) == between.get(key) or between.get(key) != after.get(key):
            continue
        if key in before:
            shown[key] = before[key]
        else:
            shown.pop(key, None)
    return shown


def become(engine: sa.Engine, present: Rows, wanted: Rows) -> None:
    """Set the tables to the wanted content, in one transaction."""
    tables = {table.name: table for table in _TABLES}
    with engine.begin() as conn:
        if conn.dialect.name == "mysql":
            conn.exec_driver_sql(f"SET SESSION innodb_lock_wait_timeout = {LOCK_WAIT}")
        conn.exec_driver_sql(UNCHECKED[conn.dialect.name])
        # Deletions first, because other rows may have the same unique keys.
        for name, key in sorted(present.keys() | wanted.keys(), key=lambda row: row in wanted):
            old, new = present.get((name, key)), wanted.get((name, key))
            if old == new:
                continue
            columns = list(tables[name].primary_key)
            this = sa.and_(*(column == value for column, value in zip(columns, key, strict=True)))
            if new is None:
                conn.execute(sa.delete(tables[name]).where(this))
            elif old is None:
                conn.execute(sa.insert(tables[name]).values(**new))
            else:
                conn.execute(sa.update(tables[name]).where(this).values(**new))


@dataclass
class Tear:
    """A change of the tables at one statement. done: whether the change was possible."""

    engine: sa.Engine
    before: Rows
    shown: Rows
    after: Rows
    statement: int
    seen: int = 0
    done: bool = False
    torn: bool = False

    def start(self, text: str) -> None:
        """Tear the view of a statement if it is the selected one."""
        if not _VIEWS.match(text) or _LOCKS.search(text):
            return
        if self.seen == self.statement:
            try:
                become(self.engine, self.before, self.shown)
            except (sa.exc.OperationalError, sa.exc.IntegrityError):
                pass  # the request has locked or written the rows to change
            else:
                self.done = self.torn = True
        self.seen += 1

    def end(self) -> None:
        """Restore the true content after the statement."""
        if self.torn:
            become(self.engine, self.shown, self.after)
        self.torn = False


# A statement that has a view: writes of other transactions are visible to it.
_VIEWS = re.compile(r"\s*\(?(SELECT|WITH)\b", re.IGNORECASE)
_LOCKS = re.compile(r"\b(FOR UPDATE|IN SHARE MODE|FOR SHARE)\b", re.IGNORECASE)


@functools.lru_cache(maxsize=1)
def _other(url: sa.URL) -> sa.Engine:
    """Return an engine for other transactions, which no test watches."""
    return sa.create_engine(url, poolclass=sa.NullPool)


@contextmanager
def tearing(
    database: Database, before: Rows, between: Rows, after: Rows, statement: int
) -> Iterator[Tear]:
    """Simulate two transactions at the given statement, whose view is torn.

    before, between, after: the rows before, between and after the transactions.
    """
    tear = Tear(_other(database.writer.url), before, torn(before, between, after), after, statement)
    with _watching(database, tear.start, tear.end):
        yield tear


@contextmanager
def moving(database: Database, states: Sequence[Rows]) -> Iterator[None]:
    """Simulate transactions that commit between the statements.

    The n-th statement finds the n-th state, or the last one.
    """
    changes = pairwise(states)

    def move(text: str) -> None:
        change = next(changes, None) if _VIEWS.match(text) else None
        if change is not None:
            become(_other(database.writer.url), *change)

    with _watching(database, move, lambda: None):
        yield


@contextmanager
def _watching(
    database: Database, before: Callable[[str], None], after: Callable[[], None]
) -> Iterator[None]:
    """Call functions before each statement, with its text, and after it."""

    def start(conn: Connection, _cursor: Any, text: str, *_rest: Any) -> None:
        before(text_of(conn, text))

    def end(*_details: Any) -> None:
        after()

    listeners = (
        ("before_cursor_execute", start),
        ("after_cursor_execute", end),
        ("handle_error", end),
    )
    listened = [
        (watched, event, listener)
        for watched in (database.reader, database.writer)
        for event, listener in listeners
    ]
    for each in listened:
        sa.event.listen(*each)
    try:
        yield
    finally:
        for each in listened:
            sa.event.remove(*each)
