"""Pieces of SQL that several statements share, each rule written once."""

from collections.abc import Collection
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement, FromClause

from placement.db import tables as t
from placement.db.json_rows import JsonRow

LARGEST_UNIT = 2**31 - 1  # what the column max_unit holds

Selection = sa.Select[*tuple[Any, ...]]
Union = sa.CompoundSelect[*tuple[Any, ...]]

_provider, _inventory, _class = t.resource_providers, t.inventories, t.resource_classes

# Providers, each with the root of its tree.
ROOT = _provider.alias("root")
PROVIDERS_WITH_ROOTS = _provider.join(ROOT, ROOT.c.id == _provider.c.root_provider_id)

# In the order of `Stock`, the value that is made of them.
STOCK_COLUMNS = tuple(
    _inventory.c[name] for name in ("capacity", "used", "min_unit", "max_unit", "step_size")
)

# In the order of `InventoryRecord`.
RECORD_COLUMNS = tuple(
    _inventory.c[name]
    for name in ("total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio")
)

# What providers have of each class, in the order of `inventory_rows.of_list`.
PROVIDERS_WITH_INVENTORIES = _provider.join(
    _inventory, _inventory.c.resource_provider_id == _provider.c.id
).join(_class, _class.c.id == _inventory.c.resource_class_id)
INVENTORY_COLUMNS = (
    _inventory.c.resource_provider_id,
    _inventory.c.resource_class_id,
    _class.c.name,
    _inventory.c.id,
    _inventory.c.used,
    *RECORD_COLUMNS,
)


def row_of_sort(sort: str, *columns: Any) -> Selection:
    """Select one text: a JSON list of the sort's name and the columns.

    So one statement may have rows of several sorts. PyMySQL takes 10 µs for each further column.
    """
    return sa.select(JsonRow(sa.literal_column(f"'{sort}'", sa.String()), *columns))


def changed_at(table: sa.Table) -> ColumnElement[Any]:
    """When a row was last written, as `changed_at`; null in rows of very old databases."""
    return sa.func.coalesce(table.c.updated_at, table.c.created_at).label("changed_at")


def revision_of_root(root: FromClause) -> ColumnElement[int | None]:
    """The revision, null where the row names another root."""
    # Not as a condition: PostgreSQL would take it for a rare one, and sort all roots first.
    return sa.case((root.c.root_provider_id == root.c.id, root.c.revision)).label("revision")


def fits(inventory: FromClause, amount: int) -> ColumnElement[bool]:
    """The inventory has room for the amount, which lies between its units and is a step of them.

    The Python twin is `falcon_placement_client.inventory.fits`; a property test holds them equal.
    """
    if amount > LARGEST_UNIT:
        return sa.false()
    column = inventory.c
    return sa.and_(
        column.used + amount <= column.capacity,
        column.min_unit <= amount,
        column.max_unit >= amount,
        sa.literal(amount) % column.step_size == 0,
    )


def has_some(inventory: FromClause) -> ColumnElement[bool]:
    """The inventory has any room at all."""
    used: ColumnElement[bool] = inventory.c.used < inventory.c.capacity
    return used


def stock_with_room(provider_id: ColumnElement[int], class_id: int, amount: int) -> Selection:
    """Select a row if the provider's own inventory of a class has room for the amount."""
    return _stock(provider_id, class_id).where(fits(t.inventories, amount))


def stock_with_some(provider_id: ColumnElement[int], class_id: int) -> Selection:
    """Select a row if the provider's own inventory of a class has any room."""
    return _stock(provider_id, class_id).where(has_some(t.inventories))


def _stock(provider_id: ColumnElement[int], class_id: int) -> Selection:
    inventory = t.inventories
    return (
        sa.select(sa.literal(1))
        .select_from(inventory)
        .where(
            inventory.c.resource_provider_id == provider_id,
            inventory.c.resource_class_id == class_id,
        )
    )


def any_trait(provider_id: ColumnElement[int], traits: Collection[int]) -> Selection:
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


def any_aggregate(provider_id: ColumnElement[int], aggregates: Collection[int]) -> Selection:
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
