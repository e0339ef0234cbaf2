"""Torn views made on purpose: one view shows a transaction without one that it had waited for.

What engines do now and then, while transactions end, is done here by the tables: right before one
statement they become what a torn view shows, and right after it what there is. A transaction that
has one view for all its statements goes on with the torn one.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from placement.db import tables as t
from placement.db.engine import Database
from tests.kit.statements import text_of

_TABLES = (
    t.resource_providers,
    t.inventories,
    t.resource_provider_traits,
    t.resource_provider_aggregates,
    t.placement_aggregates,
    t.consumers,
    t.allocations,
    t.projects,
    t.users,
    t.consumer_types,
)
LOCK_WAIT = 0  # seconds; what the transaction has locked already, others cannot have changed

# (table, primary key) -> row
Rows = Mapping[tuple[str, tuple[Any, ...]], Mapping[str, Any]]


def rows(database: Database) -> Rows:
    """Return all rows of the tables that transactions of these tests change."""
    found = {}
    with database.read() as conn:
        for table in _TABLES:
            key = [column.name for column in table.primary_key]
            for row in conn.execute(sa.select(table)).mappings():
                found[table.name, tuple(row[name] for name in key)] = dict(row)
    return found


def torn(before: Rows, between: Rows, after: Rows) -> Rows:
    """Return what a view shows that has the second of two transactions without the first.

    A row is the newest version that the view has: the second transaction's, which was made of the
    first's, or that of before.
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
    """Make the tables what is wanted, in one transaction."""
    tables = {table.name: table for table in _TABLES}
    with engine.begin() as conn:
        conn.exec_driver_sql(f"SET SESSION innodb_lock_wait_timeout = {LOCK_WAIT}")
        conn.exec_driver_sql("SET SESSION foreign_key_checks = 0")
        # Rows that go come first, for others may have their unique keys.
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
    """What becomes of the tables at one statement; `done` tells whether they could become it."""

    engine: sa.Engine
    before: Rows
    shown: Rows
    after: Rows
    statement: int
    seen: int = 0
    done: bool = False
    torn: bool = False

    def start(self, text: str) -> None:
        """Tear the view of a statement that begins, if it is the one."""
        if not _VIEWS.match(text) or _LOCKS.search(text):
            return
        if self.seen == self.statement:
            try:
                become(self.engine, self.before, self.shown)
            except (sa.exc.OperationalError, sa.exc.IntegrityError):
                pass  # the request has locked, or written, what would have to change
            else:
                self.done = self.torn = True
        self.seen += 1

    def end(self) -> None:
        """Show all that there is once the statement has run."""
        if self.torn:
            become(self.engine, self.shown, self.after)
        self.torn = False


# A statement that has a view: others see what is there.
_VIEWS = re.compile(r"\s*\(?(SELECT|WITH)\b", re.IGNORECASE)
_LOCKS = re.compile(r"\b(FOR UPDATE|IN SHARE MODE|FOR SHARE)\b", re.IGNORECASE)


@contextmanager
def tearing(
    database: Database, before: Rows, between: Rows, after: Rows, statement: int
) -> Iterator[Tear]:
    """Have two transactions happen at the given statement from now on, whose view is torn.

    before, between, after: the rows before them, between them and after them.
    """
    engine = sa.create_engine(database.writer.url, poolclass=sa.NullPool)
    tear = Tear(engine, before, torn(before, between, after), after, statement)

    def start(conn: Connection, _cursor: Any, text: str, *_rest: Any) -> None:
        tear.start(text_of(conn, text))

    def end(*_details: Any) -> None:
        tear.end()

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
        yield tear
    finally:
        for each in listened:
            sa.event.remove(*each)
