"""Statements as text. They are rendered once and passed to the driver with the values of each call.

SQLAlchemy looks up each statement in its compiled cache and processes the parameters. This takes 20
to 50 µs, which is half the time in which a database finds a row. Therefore, an engine caches the
text of each statement that is used in several calls, as a module constant or as an entry of a
cache. SQLAlchemy executes all other statements: statements that are built for a single call, and
statements that need its features, such as the conversion of result values or named values in a row.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.engine import Connection, Dialect, Row

from placement.compat.sqlalchemy import execute_text, expand
from placement.db import prepared
from placement.db.dialects import dialect_of
from placement.db.dialects.errors import codes_of
from placement.db.prepared import Result, Send

Sql = (
    sa.Select[*tuple[Any, ...]]
    | sa.CompoundSelect[*tuple[Any, ...]]
    | sa.Insert
    | sa.Update
    | sa.Delete
    | sa.TextClause
)
Params = Mapping[str, Any]

OPTION = "texts"  # execution option of an engine that contains its `Texts`

# Execution options of a write. The cursor of an INSERT does not keep the number of its rows.
COUNTED = {"preserve_rowcount": True}

# Types whose result values SQLAlchemy returns without conversion.
UNCONVERTED_TYPES = (sa.Integer, sa.String, sa.types.NullType)

# Maximum number of values of a text. For more values, SQLAlchemy's lookup is faster.
MAX_VALUES = 128
# Maximum number of texts of one statement.
MAX_TEXTS = 64


class StatementText(NamedTuple):
    """The text of a statement for the driver, for lists of a certain length."""

    # The text, with placeholders in the style of the driver.
    sql: str
    # Values in the statement that are not parameters.
    fixed: Params
    # Parameter whose value is a list -> the names of its items in the text.
    lists: Mapping[str, Sequence[str]]
    # Name -> the function that converts its value for the driver.
    converters: Mapping[str, Callable[[Any], Any]]
    # All names in order, if the driver takes a sequence. None if it takes a mapping.
    order: Sequence[str] | None
    prepared: bool

    def values(self, params: Params) -> dict[str, Any] | tuple[Any, ...]:
        """Return the values of the parameters in the form that the driver expects."""
        values = {**self.fixed, **params}
        for param, names in self.lists.items():
            values.update(zip(names, values.pop(param), strict=True))
        for name, convert in self.converters.items():
            values[name] = convert(values[name])
        return values if self.order is None else tuple([values[name] for name in self.order])


class _Variants(NamedTuple):
    """The texts of a statement."""

    # The parameters whose values are lists, or None if SQLAlchemy has to execute the statement.
    lists: tuple[str, ...] | None
    # Lengths of the lists -> the text.
    texts: dict[tuple[int, ...], StatementText]


class Texts:
    """The texts of the statements of one engine. The class is thread-safe."""

    def __init__(self, *, prepared: bool = False) -> None:
        """prepared: whether long queries are prepared if the database is MariaDB."""
        # Whether long queries are prepared if the database is MariaDB.
        self.prepared = prepared
        # The references are weak, so that the texts are removed with their statement.
        self._by_statement: WeakKeyDictionary[Sql, _Variants] = WeakKeyDictionary()

    def find(self, dialect: Dialect, sql: Sql, params: Params) -> StatementText | None:
        """Return the text of a statement, or None if SQLAlchemy has to execute it."""
        variants = self._by_statement.get(sql)
        if variants is None:
            # This is the first execution. The statement may have been built for this execution
            # only.
            self._by_statement[sql] = _Variants(_lists(sql, params), {})
            return None
        if variants.lists is None:
            return None
        lengths = tuple([len(params[name]) for name in variants.lists])
        text = variants.texts.get(lengths)
        if text is None and len(variants.texts) < MAX_TEXTS:
            if len(params) + sum(lengths) > MAX_VALUES:
                return None
            text = _make_text(dialect, sql, params)
            if text is None:
                self._by_statement[sql] = _Variants(None, {})
                return None
            if self.prepared and prepared.should_prepare(dialect, text.sql):
                text = text._replace(prepared=True)
            variants.texts[lengths] = text
        return text


def read(conn: Connection, sql: Sql, params: Params) -> Sequence[Sequence[Any]]:
    """Execute a statement and return its rows. The values in the rows may have no names."""
    text = find(conn, sql, params)
    try:
        if text is None:
            return conn.execute(sql, params).all()
        return _execute(conn, text, params, execute_text).rows
    except exc.DBAPIError as error:
        return _read_comparable(conn, error)


def read_named(conn: Connection, sql: Sql, params: Params) -> Sequence[Row[Any]]:
    """Execute a statement and return its rows.

    The values in the rows have the names of the columns.
    """
    text = find(conn, sql, params)
    try:
        if text is None:
            return conn.execute(sql, params).all()
        return _execute(conn, text, params, Connection.exec_driver_sql).all()
    except exc.DBAPIError as error:
        return _read_comparable(conn, error)


def _read_comparable(conn: Connection, error: exc.DBAPIError) -> Sequence[Row[Any]]:
    """Execute a query again if it failed because a column cannot contain a text.

    Such a text matches no row, like the null that replaces it. The error does not name the text, so
    null replaces all texts with other characters than ASCII. The result is the same: either all
    conditions must hold, and the query selects nothing, or the caller is going to write all texts
    of a list, and the write is refused.

    Raises:
        DBAPIError: the query failed for another reason, or failed again.
    """
    values = error.params
    # A statement that could not be prepared has no values.
    if not values or dialect_of(conn).errors.incomparable.isdisjoint(codes_of(error.orig)):
        raise error
    if isinstance(values, Mapping):
        comparable: Any = {name: _comparable(value) for name, value in values.items()}
    else:
        comparable = tuple(map(_comparable, values))
    if comparable == values:
        raise error
    return conn.exec_driver_sql(str(error.statement), comparable).all()


def _comparable(value: Any) -> Any:
    """Return a value, or None if it is a text that a column may not be able to contain."""
    return None if isinstance(value, str) and not value.isascii() else value


def write(conn: Connection, sql: Sql, params: Params, text: StatementText | None) -> int:
    """Execute a statement and return how many rows it matched, or -1 if the number is unknown.

    `text` is the result of `find`.
    """
    if text is None:
        return conn.execute(sql, params, execution_options=COUNTED).rowcount
    return _execute(conn, text, params, execute_text).matched


def insert(conn: Connection, sql: sa.Insert, params: Params) -> tuple[int, int | None]:
    """Insert a row whose id the database generates. Return the number of rows and the id."""
    text = find(conn, sql, params)
    if text is None:
        result = conn.execute(sql, params, execution_options=COUNTED)
        (row_id,) = result.inserted_primary_key or (None,)
        return result.rowcount, row_id
    rows, matched, row_id = _execute(conn, text, params, execute_text)
    # PostgreSQL returns the id as a row.
    return matched, rows[0][0] if rows else row_id


def are_prepared(conn: Connection) -> bool:
    """Return whether long statements are prepared if the database is MariaDB."""
    texts: Texts | None = conn.get_execution_options().get(OPTION)
    return texts is not None and texts.prepared


def find(conn: Connection, sql: Sql, params: Params) -> StatementText | None:
    """Return the text of a statement, or None if SQLAlchemy has to execute it."""
    texts: Texts | None = conn.get_execution_options().get(OPTION)
    return None if texts is None else texts.find(conn.dialect, sql, params)


def _execute(conn: Connection, text: StatementText, params: Params, send: Send[Result]) -> Result:
    values = text.values(params)
    if text.prepared:
        return prepared.execute(conn, text.sql, values, send)
    return send(conn, text.sql, values)


def _lists(sql: Sql, params: Params) -> tuple[str, ...] | None:
    """Return the parameters whose values are lists, or None if the statement needs SQLAlchemy."""
    if isinstance(sql, sa.Select | sa.CompoundSelect):
        for column in sql.selected_columns:
            if not isinstance(column.type, UNCONVERTED_TYPES):
                return None
    return tuple(name for name, value in params.items() if isinstance(value, list | tuple))


def _make_text(dialect: Dialect, sql: Sql, params: Params) -> StatementText | None:
    """Return the text, or None if it contains values of parameters."""
    expanded = expand(dialect, sql, params)
    if not expanded.inlined.isdisjoint(params):
        return None
    # Lists that are not parameters remain among the fixed values.
    lists = {param: expanded.lists[param] for param in params if param in expanded.lists}
    fixed = dict(expanded.parameters)
    for param in params:
        for name in lists.get(param, [param]):
            fixed.pop(name, None)
    return StatementText(
        expanded.sql, fixed, lists, expanded.converters, expanded.order, prepared=False
    )
