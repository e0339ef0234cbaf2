"""Statements as text: made once, and handed to the driver with the values of each call.

SQLAlchemy looks for a statement among those that it has compiled, and puts its parameters in place.
That takes 20 to 50 µs each time, half as long as a database needs to find a row. So an engine keeps
the text of each statement that is kept itself: a module constant, or what a cache remembers. What
is built for a single call is executed by SQLAlchemy, and so is what it alone can do: to convert
values of rows, and to tell the id of a new one.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import sqlalchemy as sa
from sqlalchemy.engine import Connection, CursorResult, Dialect

from placement.compat.sqlalchemy import expand
from placement.db import prepared

Sql = (
    sa.Select[*tuple[Any, ...]]
    | sa.CompoundSelect[*tuple[Any, ...]]
    | sa.Insert
    | sa.Update
    | sa.Delete
    | sa.TextClause
)
Params = Mapping[str, Any]

OPTION = "texts"  # of an engine: its `Texts`

# Types whose values SQLAlchemy leaves as the driver has them.
AS_THEY_COME = (sa.Integer, sa.String, sa.types.NullType)

MOST_VALUES = 128  # of a text; of more, each costs more than the search for the statement
MOST_TEXTS = 64  # of one statement


class StatementText(NamedTuple):
    """A statement as the driver gets it, for lists of certain lengths.

    fixed: values that no parameter gives. lists: a parameter -> the names that its values have in
    the text. converters: functions that values have to pass. order: all names, for a driver that
    takes a sequence. prepared: connections keep it prepared.
    """

    sql: str
    fixed: Params
    lists: Mapping[str, Sequence[str]]
    converters: Mapping[str, Callable[[Any], Any]]
    order: Sequence[str] | None
    prepared: bool

    def values(self, params: Params) -> dict[str, Any] | tuple[Any, ...]:
        """Return the values of the parameters as the driver takes them."""
        values = {**self.fixed, **params}
        for param, names in self.lists.items():
            values.update(zip(names, values.pop(param), strict=True))
        for name, convert in self.converters.items():
            values[name] = convert(values[name])
        return values if self.order is None else tuple([values[name] for name in self.order])


class _Variants(NamedTuple):
    """A statement that was executed: its texts, by the lengths of those parameters that are lists.

    lists: None where SQLAlchemy has to execute it.
    """

    lists: tuple[str, ...] | None
    texts: dict[tuple[int, ...], StatementText]


class Texts:
    """The texts of one engine's statements, for any number of threads."""

    def __init__(self, *, prepared: bool = False) -> None:
        """prepared: long texts are prepared, where MariaDB is the database."""
        self.prepared = prepared
        # Those that nobody keeps any more are forgotten.
        self._by_statement: WeakKeyDictionary[Sql, _Variants] = WeakKeyDictionary()

    def find(self, dialect: Dialect, sql: Sql, params: Params) -> StatementText | None:
        """Return the text of a statement; None when SQLAlchemy has to execute it."""
        variants = self._by_statement.get(sql)
        if variants is None:
            # The first time; it may have been built for this call.
            self._by_statement[sql] = _Variants(_lists(sql, params), {})
            return None
        if variants.lists is None:
            return None
        lengths = tuple([len(params[name]) for name in variants.lists])
        text = variants.texts.get(lengths)
        if text is None and len(variants.texts) < MOST_TEXTS:
            if len(params) + sum(lengths) > MOST_VALUES:
                return None
            text = _make_text(dialect, sql, params)
            if self.prepared and prepared.pays(dialect, sql, text.sql):
                text = text._replace(prepared=True)
            variants.texts[lengths] = text
        return text


def execute(conn: Connection, sql: Sql, params: Params, **options: Any) -> CursorResult[Any]:
    """Execute a statement; options: those of SQLAlchemy."""
    texts = conn.get_execution_options().get(OPTION)
    text = None if texts is None else texts.find(conn.dialect, sql, params)
    if texts is None or text is None:
        return conn.execute(sql, params, execution_options=options)
    values = text.values(params)
    if text.prepared:
        return prepared.execute(conn, text.sql, values, **options)
    return conn.exec_driver_sql(text.sql, values, execution_options=options)


def _lists(sql: Sql, params: Params) -> tuple[str, ...] | None:
    """Return which parameters are lists; None for a statement that needs SQLAlchemy."""
    if isinstance(sql, sa.Insert):
        return None
    if isinstance(sql, sa.Select | sa.CompoundSelect):
        for column in sql.selected_columns:
            if not isinstance(column.type, AS_THEY_COME):
                return None
    return tuple(name for name, value in params.items() if isinstance(value, list | tuple))


def _make_text(dialect: Dialect, sql: Sql, params: Params) -> StatementText:
    expanded = expand(dialect, sql, params)
    # A statement may have lists of its own, too.
    lists = {param: expanded.lists[param] for param in params if param in expanded.lists}
    fixed = dict(expanded.parameters)
    for param in params:
        for name in lists.get(param, [param]):
            fixed.pop(name, None)
    return StatementText(
        expanded.sql, fixed, lists, expanded.converters, expanded.order, prepared=False
    )
