"""Statements on many rows at once.

The SQL is built only once for each number of rows, and later calls only supply parameters.
SQLAlchemy takes several times longer to build a statement than the database takes to execute it.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import wraps
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement

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
from placement.runtime.bounded import SizeLimitedDict

Statement = TypeVar("Statement")

# Maximum total number of rows of the cached statements. A statement for a thousand rows uses
# megabytes of memory: at least a kilobyte for each parameter.
MAX_CACHED_ROWS = 5000

# -- statements that are built once for each number of rows --------------------------------------

_cached_statements: SizeLimitedDict[tuple[int, Any]] = SizeLimitedDict(
    MAX_CACHED_ROWS, itemgetter(0)
)


def cached_by_size(build: Callable[..., Statement]) -> Callable[..., Statement]:
    """Cache the statements that `build` returns by `size`, up to MAX_CACHED_ROWS rows in total."""

    @wraps(build)
    def built(*what: Any, size: int, **options: Any) -> Statement:
        key = (build, size, what, *options.values())
        kept = _cached_statements.get(key)
        if kept is None:
            kept = _cached_statements[key] = (size, build(*what, size=size, **options))
        statement: Statement = kept[1]
        return statement

    return built


# -- lists of ids or names ---------------------------------------------------------------------


def in_list(column: ColumnElement[Any], name: str = "ids") -> ColumnElement[bool]:
    """Return the condition that the column has one of the values in a list parameter."""
    return column.in_(sa.bindparam(name, expanding=True, type_=column.type))


def select_by(
    rows: Selection,
    keys: Collection[Key],
    parse: Callable[[Sequence[Any]], Sequence[Any]] | None = None,
    *,
    locks: bool = False,
) -> Queries:
    """Select the rows that match one of the keys, with the condition `in_list`.

    The list parameter of `rows` is `ids`. For `parse` and `locks`, see `Query`.
    """
    return Queries(Query(rows, {"ids": chunk}, parse, locks=locks) for chunk in sorted_chunks(keys))


def write_by(
    statement: sa.Update | sa.Delete, keys: Collection[Key], params: Mapping[str, Any] | None = None
) -> Writes:
    """Write the rows that match the keys, with the condition `in_list`.

    Each key matches one row.
    """
    return Writes(
        Write(statement, {"ids": chunk, **(params or {})}, matches=len(chunk))
        for chunk in sorted_chunks(keys)
    )


# -- names of several kinds --------------------------------------------------------------------


def kinds_and_names(names: Mapping[str, Collection[str]]) -> list[tuple[str, str]]:
    """Return the distinct (kind, name) pairs, grouped by kind and sorted by name."""
    pairs: list[tuple[str, str]] = []
    for kind, names_of_kind in names.items():
        pairs += [(kind, name) for name in sorted(set(names_of_kind))]
    return pairs


def params_by_kind(pairs: Iterable[tuple[str, str]]) -> dict[str, Sequence[str]]:
    """Return the values of the `in_list` parameters. Each parameter has the name of its kind."""
    return {
        kind: [name for _kind, name in of_kind]
        for kind, of_kind in groupby(pairs, key=itemgetter(0))
    }


# -- values by id ------------------------------------------------------------------------------


def case_by_id(column: sa.Column[Any], size: int, name: str = "value") -> ColumnElement[Any]:
    """Return `CASE id WHEN … THEN … END`, which assigns a value to each of `size` rows.

    `case_params` returns the ids and values as parameters. They are bound with the type of the
    column, because an engine cannot infer a type from a null.
    """
    row_id = column.table.c.id
    values = {}
    for index in range(size):
        key = sa.bindparam(f"id_{index}", type_=row_id.type)
        values[key] = sa.bindparam(f"{name}_{index}", type_=column.type)
    return sa.case(values, value=row_id)


def case_params(row_ids: Collection[int], **values: Mapping[int, object]) -> dict[str, Any]:
    """Return the parameters for `in_list` of the ids, and for a `case_by_id` of each value."""
    params: dict[str, Any] = {"ids": list(row_ids)}
    for index, row_id in enumerate(row_ids):
        params[f"id_{index}"] = row_id
        for name, values_by_id in values.items():
            params[f"{name}_{index}"] = values_by_id[row_id]
    return params


def set_by_id(
    column: sa.Column[Any], values: Mapping[int, Any], *, updated_at: datetime | None = None
) -> Writes:
    """Set a column of the rows with these ids. Each row gets its own value.

    With `updated_at`, the rows also record the time.
    """
    same = {} if updated_at is None else {"updated_at": updated_at}
    return Writes(
        Write(
            _set_column(column, tuple(same), size=len(chunk)),
            {**case_params(chunk, value=chunk), **same},
            matches=len(chunk),
        )
        for chunk in mapping_chunks(values)
    )


@cached_by_size
def _set_column(column: sa.Column[Any], same: tuple[str, ...], size: int) -> sa.Update:
    """Return the statement. `same` contains the columns that get the same value in all rows."""
    update = sa.update(column.table).where(in_list(column.table.c.id))
    values = {name: sa.bindparam(name, type_=column.table.c[name].type) for name in same}
    return update.values({column.name: case_by_id(column, size), **values})


# -- new rows ----------------------------------------------------------------------------------


def insert(
    table: sa.Table, rows: Sequence[Mapping[str, Any]], computed: tuple[tuple[str, str], ...] = ()
) -> Writes:
    """Insert rows that have the same columns.

    `computed` contains (column, SQL) pairs of further columns. The SQL may refer to a value of its
    own row as `:column_{index}`.
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
    # The statement shares the names of its parameters. For a thousand rows, the names use more
    # memory than the values.
    return Write(statement, dict(zip(params, values, strict=True)), matches=len(rows))


@cached_by_size
def _insert(
    table: sa.Table, columns: tuple[str, ...], computed: tuple[tuple[str, str], ...], size: int
) -> tuple[sa.TextClause, Sequence[str]]:
    """Return the statement and the names of its parameters, row by row."""
    # The statement is text, because SQLAlchemy compiles an INSERT of several rows again on each
    # call.
    names = [*columns]
    values = [f":{column}_{{index}}" for column in columns]
    for name, sql in computed:
        names.append(name)
        values.append(sql)
    row = f"({', '.join(values)})"
    rows = ", ".join(row.replace("{index}", str(index)) for index in range(size))
    text = f"INSERT INTO {table.name} ({', '.join(names)}) VALUES {rows}"  # noqa: S608

    params = []
    for index in range(size):
        for column in columns:
            params.append(sa.bindparam(f"{column}_{index}", type_=table.c[column].type))
    return sa.text(text).bindparams(*params), [param.key for param in params]
