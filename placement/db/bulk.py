"""Statements on many rows at once.

The SQL is built once for each number of rows; what differs from call to call are parameters.
SQLAlchemy takes several times as long to build a statement as an engine to run it.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import wraps
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement

from placement.bounded import Bounded
from placement.db.fragments import Selection
from placement.db.statement import (
    Key,
    Queries,
    Query,
    Write,
    Writes,
    chunks,
    mapping_chunks,
    sorted_chunks,
)

Statement = TypeVar("Statement")

# Rows of all statements that are kept. One of a thousand rows takes megabytes: a kilobyte and more
# for each parameter.
MOST_ROWS = 5000

# -- statements that are built once for each number of rows --------------------------------------

_built: Bounded[tuple[int, Any]] = Bounded(MOST_ROWS, itemgetter(0))


def by_size(build: Callable[..., Statement]) -> Callable[..., Statement]:
    """Keep the statements that `build` makes for each `size`, as long as there is room for all."""

    @wraps(build)
    def built(*what: Any, size: int, **options: Any) -> Statement:
        key = (build, size, what, *options.values())
        kept = _built.get(key)
        if kept is None:
            kept = _built[key] = (size, build(*what, size=size, **options))
        statement: Statement = kept[1]
        return statement

    return built


# -- lists of ids or names ---------------------------------------------------------------------


def in_list(column: ColumnElement[Any], name: str = "ids") -> ColumnElement[bool]:
    """The column is one of the values of a parameter."""
    return column.in_(sa.bindparam(name, expanding=True, type_=column.type))


def select_by(
    rows: Selection,
    keys: Collection[Key],
    parse: Callable[[Sequence[Any]], Sequence[Any]] | None = None,
    *,
    locks: bool = False,
) -> Queries:
    """Select rows whose condition is `in_list` of the keys; locks: as of `Query`."""
    return Queries(Query(rows, {"ids": chunk}, parse, locks=locks) for chunk in sorted_chunks(keys))


def write_by(
    statement: sa.Update | sa.Delete, keys: Collection[Key], params: Mapping[str, Any] | None = None
) -> Writes:
    """Write the rows whose condition is `in_list` of the keys, one row for each."""
    return Writes(
        Write(statement, {"ids": chunk, **(params or {})}, matches=len(chunk))
        for chunk in sorted_chunks(keys)
    )


# -- names of several kinds --------------------------------------------------------------------


def kinds_and_names(names: Mapping[str, Collection[str]]) -> list[tuple[str, str]]:
    """Return (kind, name) of all names, each once, those of one kind together."""
    pairs: list[tuple[str, str]] = []
    for kind, names_of_kind in names.items():
        pairs += [(kind, name) for name in sorted(set(names_of_kind))]
    return pairs


def params_by_kind(pairs: Iterable[tuple[str, str]]) -> dict[str, Sequence[str]]:
    """Return the parameters of `in_list` of the names, one for each kind, which it is called by."""
    return {
        kind: [name for _kind, name in of_kind]
        for kind, of_kind in groupby(pairs, key=itemgetter(0))
    }


# -- values by id ------------------------------------------------------------------------------


def case_by_id(column: sa.Column[Any], size: int, name: str = "value") -> ColumnElement[Any]:
    """`CASE id WHEN … THEN … END`: what `size` rows of the column's table are given, each its own.

    Ids and values are the parameters of `case_params`. They have the column's type, which engines
    cannot tell from a null.
    """
    row_id = column.table.c.id
    values = {}
    for place in range(size):
        key = sa.bindparam(f"id_{place}", type_=row_id.type)
        values[key] = sa.bindparam(f"{name}_{place}", type_=column.type)
    return sa.case(values, value=row_id)


def case_params(row_ids: Collection[int], **values: Mapping[int, object]) -> dict[str, Any]:
    """Return the parameters of `in_list` of the ids, and of `case_by_id` of each of the values."""
    params: dict[str, Any] = {"ids": list(row_ids)}
    for place, row_id in enumerate(row_ids):
        params[f"id_{place}"] = row_id
        for name, values_by_id in values.items():
            params[f"{name}_{place}"] = values_by_id[row_id]
    return params


def set_by_id(column: sa.Column[int], values: Mapping[int, int]) -> Writes:
    """Set a column of the rows with these ids, each to its own value."""
    return Writes(
        Write(
            _set_column(column, size=len(chunk)),
            case_params(chunk, value=chunk),
            matches=len(chunk),
        )
        for chunk in mapping_chunks(values)
    )


@by_size
def _set_column(column: sa.Column[int], size: int) -> sa.Update:
    update = sa.update(column.table).where(in_list(column.table.c.id))
    return update.values({column.name: case_by_id(column, size)})


# -- new rows ----------------------------------------------------------------------------------


def insert(
    table: sa.Table, rows: Sequence[Mapping[str, Any]], computed: tuple[tuple[str, str], ...] = ()
) -> Writes:
    """Insert rows that have the same columns.

    computed: (column, SQL) pairs of further columns; the SQL may name a row's own values, as
    `:column_{place}`.
    """
    return Writes(_insert_chunk(table, chunk, computed) for chunk in chunks(rows))


def _insert_chunk(
    table: sa.Table, rows: Sequence[Mapping[str, Any]], computed: tuple[tuple[str, str], ...]
) -> Write:
    columns = tuple(rows[0])
    statement, params = _insert(table, columns, computed, size=len(rows))
    values: list[Any] = []
    for row in rows:
        values += [row[column] for column in columns]
    # Names of parameters are those of the statement: of a thousand rows they take more than values.
    return Write(statement, dict(zip(params, values, strict=True)), matches=len(rows))


@by_size
def _insert(
    table: sa.Table, columns: tuple[str, ...], computed: tuple[tuple[str, str], ...], size: int
) -> tuple[sa.TextClause, Sequence[str]]:
    """Return a statement, and its parameters in the order of rows and columns."""
    # As text, for SQLAlchemy compiles an INSERT of several rows again each time.
    names = [*columns]
    values = [f":{column}_{{place}}" for column in columns]
    for name, sql in computed:
        names.append(name)
        values.append(sql)
    row = f"({', '.join(values)})"
    rows = ", ".join(row.replace("{place}", str(place)) for place in range(size))
    text = f"INSERT INTO {table.name} ({', '.join(names)}) VALUES {rows}"  # noqa: S608

    params = []
    for place in range(size):
        for column in columns:
            params.append(sa.bindparam(f"{column}_{place}", type_=table.c[column].type))
    return sa.text(text).bindparams(*params), [param.key for param in params]
