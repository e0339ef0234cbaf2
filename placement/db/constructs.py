"""SQL that each engine spells in its own way."""

from typing import Any, Self, TypeVar

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import ColumnElement, visitors
from sqlalchemy.sql.functions import FunctionElement

from placement.db.dialects import DIALECTS, dialect_named

Rows = TypeVar("Rows", bound=sa.Select[*tuple[Any, ...]])


class _UnlessPresent(sa.Insert):
    """An INSERT that leaves out rows whose unique key is taken."""

    inherit_cache = False


@compiles(_UnlessPresent)
def _insert(statement: sa.Insert, compiler: Any, **options: Any) -> str:
    dialect = dialect_named(compiler.dialect.name)
    return f"{compiler.visit_insert(statement, **options)} {dialect.unless_present}"


def insert_unless_present(table: sa.Table) -> sa.Insert:
    """Begin an INSERT of several rows that leaves out those whose unique key is taken."""
    return _UnlessPresent(table)


def in_written_order(rows: Rows) -> Rows:
    """Have tables joined in the order of FROM where the engine would begin elsewhere.

    MySQL and MariaDB do, for they do not know how many rows a derived table will have.
    """
    for dialect in DIALECTS:
        if dialect.in_written_order:
            for name in dialect.names:
                rows = rows.prefix_with(dialect.in_written_order, dialect=name)
    return rows


class _ByNoIndex(FunctionElement[Any]):
    """A column that an engine would wrongly begin with."""

    inherit_cache = True


@compiles(_ByNoIndex)
def _column(element: _ByNoIndex, compiler: Any, **options: Any) -> str:
    prefix = dialect_named(compiler.dialect.name).by_no_index
    return f"{prefix}{compiler.process(element.clauses, **options)}"


def by_no_index(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """Keep an engine from looking rows up by the column first, which it wrongly takes for few.

    The others judge by the plain column, of which they have statistics.
    """
    return _ByNoIndex(column)


class _SameText(FunctionElement[bool]):
    """A column of text and a value that it equals in every character."""

    type = sa.Boolean()
    inherit_cache = True

    def self_group(self, against: Any = None) -> Self:
        """Return itself: engines without booleans would compare it with 1, and use no index."""
        return self


@compiles(_SameText)
def _same_text(element: _SameText, compiler: Any, **options: Any) -> str:
    column, value = (compiler.process(each, **options) for each in element.clauses)
    bytes_of_text = dialect_named(compiler.dialect.name).bytes_of_text
    if not bytes_of_text:
        return f"{column} = {value}"
    same_bytes = f"{bytes_of_text.format(column)} = {bytes_of_text.format(value)}"
    # The first condition finds the row by the column's index.
    return f"({column} = {value} AND {same_bytes})"


def same_text(column: ColumnElement[Any], value: str) -> ColumnElement[bool]:
    """The column is the value in Python's sense, also where the database ignores differences.

    The collations of MySQL and MariaDB usually ignore case, accents and trailing spaces.
    """
    return _SameText(column, sa.literal(value, type_=column.type))


def with_numbers(rows: Rows) -> Rows:
    """Have the numbers that a statement was built with stand in its text.

    Where it is prepared, PostgreSQL has a plan for these numbers: for parameters it would soon have
    one for all values. How rare a trait is decides where to begin.
    """

    def show(parameter: sa.BindParameter[Any]) -> None:
        if parameter.value is not None and isinstance(parameter.type, sa.Integer):
            parameter.literal_execute = True

    return visitors.cloned_traverse(rows, {}, {"bindparam": show})


class _InOrder(FunctionElement[bool]):
    """Two forms of a condition: the plain one, and that which locks rows first."""

    type = sa.Boolean()
    inherit_cache = True

    def self_group(self, against: Any = None) -> Self:
        """Return itself: engines without booleans would compare it with 1, and use no index."""
        return self


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
    """Have an UPDATE of the rows with these ids lock them in an order that all writes have.

    in_order: selects the ids of these rows in that order, and locks them. PostgreSQL needs it: it
    updates rows as it comes upon them, which may be in the order in which they lie, and each update
    moves a row. So two writes of the same rows may each wait for the other, which is noticed a
    second later. An array is made before any row is updated.
    """
    array = sa.func.array(in_order.scalar_subquery())
    return _InOrder(row_id.in_(ids), row_id == sa.any_(array))
