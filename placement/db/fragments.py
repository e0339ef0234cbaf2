"""Pieces of SQL that several statements share, each rule written once."""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement, FromClause

from placement.db import tables as t
from placement.db.statement import Write, Writes, chunks
from placement.vocabulary import MAX_INTEGER

# What statements return: rows whose columns the docstring names.
Rows = sa.Select[*tuple[Any, ...]]
Union = sa.CompoundSelect[*tuple[Any, ...]]

# In the order of `Stock`, the value that is made of them.
STOCK_COLUMNS = tuple(
    t.inventories.c[name] for name in ("capacity", "used", "min_unit", "max_unit", "step_size")
)


def fits(inventory: FromClause, amount: int) -> ColumnElement[bool]:
    """The inventory row has room for `amount` (contract candidates.md section 4).

    The Python twin is `placement.objects.capacity.fits`; a property test holds them equal.
    """
    if amount > MAX_INTEGER:
        return sa.false()
    column = inventory.c
    return sa.and_(
        column.used + amount <= column.capacity,
        column.min_unit <= amount,
        column.max_unit >= amount,
        sa.literal(amount) % column.step_size == 0,
    )


def any_trait(provider_id: ColumnElement[int], traits: Collection[int]) -> Rows:
    """Select a row if the provider has at least one of the traits (ids)."""
    link = t.resource_provider_traits
    return (
        sa.select(sa.literal(1))
        .select_from(link)
        .where(link.c.resource_provider_id == provider_id, link.c.trait_id.in_(sorted(traits)))
    )


def has_any_trait(provider_id: ColumnElement[int], traits: Collection[int]) -> ColumnElement[bool]:
    """The provider has at least one of the traits (ids)."""
    return any_trait(provider_id, traits).exists()


def has_all_traits(provider_id: ColumnElement[int], traits: Collection[int]) -> ColumnElement[bool]:
    """The provider has every one of the traits (ids): one condition, however many they are."""
    link = t.resource_provider_traits
    count = (
        sa.select(sa.func.count())
        .select_from(link)
        .where(link.c.resource_provider_id == provider_id, link.c.trait_id.in_(sorted(traits)))
        .scalar_subquery()
    )
    return count == len(set(traits))


def any_aggregate(provider_id: ColumnElement[int], aggregates: Collection[int]) -> Rows:
    """Select a row if the provider is directly in at least one of the aggregates (ids)."""
    link = t.resource_provider_aggregates
    return (
        sa.select(sa.literal(1))
        .select_from(link)
        .where(
            link.c.resource_provider_id == provider_id, link.c.aggregate_id.in_(sorted(aggregates))
        )
    )


def in_any_aggregate(
    provider_id: ColumnElement[int], aggregates: Collection[int]
) -> ColumnElement[bool]:
    """The provider is directly in at least one of the aggregates (ids)."""
    return any_aggregate(provider_id, aggregates).exists()


def many(name: str, like: ColumnElement[Any]) -> sa.BindParameter[Any]:
    """A parameter for the list of an `IN`."""
    return sa.bindparam(name, expanding=True, type_=like.type)


def by_place(
    key: ColumnElement[int], size: int, name: str, like: ColumnElement[Any]
) -> ColumnElement[Any]:
    """`by_key` for so many rows, whose keys and values are the parameters of `placed`."""
    return sa.case(
        {
            sa.bindparam(f"key_{place}", type_=key.type): sa.bindparam(
                f"{name}_{place}", type_=like.type
            )
            for place in range(size)
        },
        value=key,
    )


def placed(keys: Collection[int], **values: Mapping[int, object]) -> dict[str, Any]:
    """The parameters of `by_place`, and `ids` for the list of all keys."""
    params: dict[str, Any] = {"ids": list(keys)}
    for place, key in enumerate(keys):
        params[f"key_{place}"] = key
        for name, of_key in values.items():
            params[f"{name}_{place}"] = of_key[key]
    return params


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
    params = {}
    for place, row in enumerate(rows):
        for column in columns:
            params[f"{column}_{place}"] = row[column]
    return Write(_insert(table, columns, computed, len(rows)), params, matches=len(rows))


@lru_cache(maxsize=64)
def _insert(
    table: sa.Table, columns: tuple[str, ...], computed: tuple[tuple[str, str], ...], size: int
) -> sa.TextClause:
    # As text, for SQLAlchemy compiles an INSERT of several rows anew each time.
    names = [*columns, *(name for name, _sql in computed)]
    values = [*(f":{column}_{{place}}" for column in columns), *(sql for _name, sql in computed)]
    row = f"({', '.join(values)})"
    rows = ", ".join(row.replace("{place}", str(place)) for place in range(size))
    text = f"INSERT INTO {table.name} ({', '.join(names)}) VALUES {rows}"  # noqa: S608
    return sa.text(text).bindparams(
        *(
            sa.bindparam(f"{column}_{place}", type_=table.c[column].type)
            for place in range(size)
            for column in columns
        )
    )


def set_by_id(column: sa.Column[int], values: Mapping[int, int]) -> Write:
    """Set a column of the rows with these ids, each to its own value."""
    row_id = column.table.c.id
    update = sa.update(column.table).where(row_id.in_(sorted(values)))
    values_by_id = {column.name: by_key(row_id, values, column)}
    return Write(update.values(values_by_id), matches=len(values))


def by_key(
    key: ColumnElement[int], values: Mapping[int, object], like: ColumnElement[Any]
) -> ColumnElement[Any]:
    """`CASE key WHEN … THEN value …`: one UPDATE for rows that get different values.

    The values are of the type of the column `like`, which engines cannot tell from a null.
    """
    return sa.case({one: sa.literal(value, like.type) for one, value in values.items()}, value=key)
