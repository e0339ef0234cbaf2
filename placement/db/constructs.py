"""SQL constructs that compile to different SQL on each engine."""

from typing import Any, Self, TypeVar

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import ColumnElement
from sqlalchemy.sql.functions import FunctionElement

from placement.db.dialects import DIALECTS, dialect_named

Rows = TypeVar("Rows", bound=sa.Select[*tuple[Any, ...]])


class _UnlessPresent(sa.Insert):
    """An INSERT that skips rows whose unique key already exists."""

    inherit_cache = False


@compiles(_UnlessPresent)
def _insert(statement: sa.Insert, compiler: Any, **options: Any) -> str:
    dialect = dialect_named(compiler.dialect.name)
    return f"{compiler.visit_insert(statement, **options)} {dialect.unless_present}"


def insert_unless_present(table: sa.Table) -> sa.Insert:
    """Return an INSERT that skips rows whose unique key already exists."""
    return _UnlessPresent(table)


def straight_join(rows: Rows) -> Rows:
    """Force a join in the order of the FROM clause.

    MySQL and MariaDB cannot estimate the size of a derived table, and would often start with
    another table. Other engines ignore this construct.
    """
    for dialect in DIALECTS:
        if dialect.straight_join:
            for name in dialect.names:
                rows = rows.prefix_with(dialect.straight_join, dialect=name)
    return rows


def force_index(rows: Rows, table: sa.Table, index: str) -> Rows:
    """Force the lookup of the rows of a table in an index.

    The statistics of MariaDB may not contain the rows of a table that was filled just before. Then
    it would scan the table, in a subquery for each row of the statement. Other engines ignore this
    construct.
    """
    for dialect in DIALECTS:
        if dialect.force_index:
            for name in dialect.names:
                rows = rows.with_hint(table, dialect.force_index.format(index), name)
    return rows


class Clock(FunctionElement[int]):
    """The current time of the database, in milliseconds since 1970."""

    type = sa.BigInteger()
    inherit_cache = True


@compiles(Clock)
def _clock(_element: Clock, compiler: Any, **_options: Any) -> str:
    return dialect_named(compiler.dialect.name).clock


class _WithoutIndex(FunctionElement[Any]):
    """A column whose index the planner must not use."""

    inherit_cache = True


@compiles(_WithoutIndex)
def _column(element: _WithoutIndex, compiler: Any, **options: Any) -> str:
    prefix = dialect_named(compiler.dialect.name).without_index
    return f"{prefix}{compiler.process(element.clauses, **options)}"


def without_index(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """Prevent the planner from using this column's index, because it underestimates the matches.

    This construct only affects SQLite. The other engines keep statistics and receive the plain
    column.
    """
    return _WithoutIndex(column)


class _Condition(FunctionElement[bool]):
    """A condition whose SQL depends on the engine."""

    type = sa.Boolean()
    inherit_cache = True

    def self_group(self, against: Any = None) -> Self:
        """Return self.

        Engines without booleans would compare with 1, which would not use an index.
        """
        return self


class _SameText(_Condition):
    """A condition that a text column is equal to a value in every character."""

    inherit_cache = True


@compiles(_SameText)
def _same_text(element: _SameText, compiler: Any, **options: Any) -> str:
    column, value = (compiler.process(each, **options) for each in element.clauses)
    bytes_of_text = dialect_named(compiler.dialect.name).bytes_of_text
    if not bytes_of_text:
        return f"{column} = {value}"
    same_bytes = f"{bytes_of_text.format(column)} = {bytes_of_text.format(value)}"
    # The first condition allows the engine to find the row with the index of the column.
    return f"({column} = {value} AND {same_bytes})"


def same_text(
    column: ColumnElement[Any], value: str | sa.BindParameter[str]
) -> ColumnElement[bool]:
    """Compare a text column with a value or parameter exactly, character by character.

    The default collations of MySQL and MariaDB ignore case, accents and trailing spaces.
    """
    if isinstance(value, str):
        value = sa.literal(value, type_=column.type)
    return _SameText(column, value)


class _AnyText(FunctionElement[str]):
    """A text in a character set that the texts of all columns share."""

    type = sa.String()
    inherit_cache = True


@compiles(_AnyText)
def _any_text(element: _AnyText, compiler: Any, **options: Any) -> str:
    text = str(compiler.process(element.clauses, **options))
    form = dialect_named(compiler.dialect.name).any_text
    return form.format(text) if form else text


def any_text(column: ColumnElement[Any]) -> ColumnElement[str]:
    """Return the text of a column, for a UNION with other texts.

    The columns of a MySQL or MariaDB database may have different collations, which a UNION cannot
    combine.
    """
    return _AnyText(column)


class _SameIdentifier(_Condition):
    """A condition that two columns contain the same identifier."""

    inherit_cache = True


@compiles(_SameIdentifier)
def _same_identifier(element: _SameIdentifier, compiler: Any, **options: Any) -> str:
    (equality,) = element.clauses
    # This also tells SQLAlchemy that the condition joins the two tables.
    plain = str(compiler.process(equality, **options))
    ascii_text = dialect_named(compiler.dialect.name).ascii_text
    if not ascii_text:
        return plain
    one, other = (str(compiler.process(each, **options)) for each in equality.get_children())
    # Each condition allows the engine to use the index of the column that is not converted.
    return f"({one} = {ascii_text.format(other)} AND {other} = {ascii_text.format(one)})"


def same_identifier(one: ColumnElement[Any], other: ColumnElement[Any]) -> ColumnElement[bool]:
    """Compare the identifiers in columns of two tables. Identifiers contain only ASCII characters.

    The columns of a MySQL or MariaDB database may have different collations. The database cannot
    compare some of them, and reads the whole table to compare others. ASCII texts can be compared
    with every column, with its index.
    """
    return _SameIdentifier(one == other)


class Planned(sa.BindParameter[Any]):
    """A parameter on whose value the best plan of the statement depends.

    PostgreSQL soon switches to one generic plan for all values of the parameters of a prepared
    statement, so the value becomes part of the text. The other engines plan each execution.
    """

    inherit_cache = True


for _dialect in DIALECTS:
    if _dialect.generic_plans:

        @compiles(Planned, *_dialect.names)
        def _planned(element: Planned, compiler: Any, **options: Any) -> str:
            return str(compiler.visit_bindparam(element, **{**options, "literal_execute": True}))


class _InOrder(_Condition):
    """Two forms of a condition. The second form locks the rows first."""

    inherit_cache = True


@compiles(_InOrder)
def _plain(element: _InOrder, compiler: Any, **options: Any) -> str:
    plain, _locking = element.clauses
    return str(compiler.process(plain, **options))


def _locking(element: _InOrder, compiler: Any, **options: Any) -> str:
    _plain, locking = element.clauses
    return str(compiler.process(locking, **options))


for _dialect in DIALECTS:
    if _dialect.locks_before_update:
        compiles(_InOrder, *_dialect.names)(_locking)


def locked_in_order(
    row_id: ColumnElement[int], ids: sa.BindParameter[Any], in_order: sa.Select[tuple[int]]
) -> ColumnElement[bool]:
    """Make an UPDATE lock the rows with these ids in the order of `in_order`, a locking SELECT.

    PostgreSQL updates rows in the order in which it finds them, and each update moves a row. Two
    transactions that update the same rows could wait for each other, and the server detects such a
    deadlock only after a second. Therefore, the statement locks the rows and collects their ids
    into an array before it updates the first row. The other engines receive a plain list of ids.
    """
    array = sa.func.array(in_order.scalar_subquery())
    return _InOrder(row_id.in_(ids), row_id == sa.any_(array))
