"""SQL fragments that several statements share."""

from collections.abc import Collection
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement, FromClause

from placement.db import tables as t
from placement.db.json_rows import JsonRow

# The largest value of the column max_unit.
MAX_UNIT = 2**31 - 1

Selection = sa.Select[*tuple[Any, ...]]
Union = sa.CompoundSelect[*tuple[Any, ...]]

_provider, _inventory, _class = t.resource_providers, t.inventories, t.resource_classes

# Providers joined with the root of their tree.
ROOT = _provider.alias("root")
PROVIDERS_WITH_ROOTS = _provider.join(ROOT, ROOT.c.id == _provider.c.root_provider_id)

# In the order of the fields of `Stock`.
STOCK_COLUMNS = tuple(
    _inventory.c[name] for name in ("capacity", "used", "min_unit", "max_unit", "step_size")
)

# In the order of the fields of `InventoryRecord`.
RECORD_COLUMNS = tuple(
    _inventory.c[name]
    for name in ("total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio")
)

# Inventories with their class, in the order that `inventory_rows.from_list` expects.
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


def tagged_json_row(tag: str, *columns: Any) -> Selection:
    """Select one text: a JSON list of the tag and the columns.

    With it, one statement can return rows of several kinds. PyMySQL takes 10 µs for each further
    column.
    """
    return sa.select(JsonRow(sa.literal_column(f"'{tag}'", sa.String()), *columns))


def changed_at(table: sa.Table) -> ColumnElement[Any]:
    """The time of the last change of a row; null in rows of very old databases."""
    return sa.func.coalesce(table.c.updated_at, table.c.created_at).label("changed_at")


def revision_of_root(root: FromClause) -> ColumnElement[int | None]:
    """The revision, or null if the row has another root."""
    # Not a WHERE condition: PostgreSQL would estimate it to be rare, and sort all roots first.
    return sa.case((root.c.root_provider_id == root.c.id, root.c.revision)).label("revision")


def fits(inventory: FromClause, amount: int) -> ColumnElement[bool]:
    """The inventory has room for the amount, and its units allow the amount.

    `falcon_placement_client.inventory.fits` is the same rule in Python; a property test compares
    the two.
    """
    if amount > MAX_UNIT:
        return sa.false()
    column = inventory.c
    return sa.and_(
        column.used + amount <= column.capacity,
        column.min_unit <= amount,
        column.max_unit >= amount,
        sa.literal(amount) % column.step_size == 0,
    )


def has_free_capacity(inventory: FromClause) -> ColumnElement[bool]:
    """The inventory has any free capacity."""
    used: ColumnElement[bool] = inventory.c.used < inventory.c.capacity
    return used


def stock_with_room(provider_id: ColumnElement[int], class_id: int, amount: int) -> Selection:
    """Select a row if the provider's own inventory of the class has room for the amount."""
    return _stock(provider_id, class_id).where(fits(t.inventories, amount))


def stock_with_free_capacity(provider_id: ColumnElement[int], class_id: int) -> Selection:
    """Select a row if the provider's own inventory of the class has any free capacity."""
    return _stock(provider_id, class_id).where(has_free_capacity(t.inventories))


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
    """The provider has all of the traits (ids); one condition for any number of traits."""
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


def belongs_to(record: FromClause, consumer: FromClause) -> ColumnElement[bool]:
    """The claim record belongs to the row of this consumer, and not to an earlier row."""
    return sa.and_(
        record.c.consumer_id == consumer.c.id,
        record.c.consumer_uuid == consumer.c.uuid,
        record.c.consumer_created_at == sa.func.coalesce(consumer.c.created_at, t.UNDATED),
    )


def is_hold(record: FromClause, consumer: FromClause) -> ColumnElement[bool]:
    """The consumer of the record is a hold, which no other request has written since."""
    held: ColumnElement[bool] = record.c.hold_generation == consumer.c.generation
    return held


def is_member(record: FromClause, consumer: FromClause) -> ColumnElement[bool]:
    """The consumer of the record is a member of its spread group, which belongs to its project."""
    return sa.and_(record.c.spread_group.is_not(None), record.c.project_id == consumer.c.project_id)
