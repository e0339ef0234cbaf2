"""SQL fragments that several statements share."""

from collections.abc import Collection
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement, FromClause

from placement.db import tables as t
from placement.db.constructs import Clock, force_index, same_identifier
from placement.db.json_rows import JsonRow, JsonRows
from placement.vocabulary import SHARING_TRAIT

# The maximum value of the column max_unit.
MAX_UNIT = 2**31 - 1
# The id of the only row of `change_feed`.
FEED_ID = 1
# Value that replaces a root's id in `tree_changes` for deleted trees.
NO_PROVIDER = 0

Selection = sa.Select[*tuple[Any, ...]]
Union = sa.CompoundSelect[*tuple[Any, ...]]

_provider, _inventory, _class = t.resource_providers, t.inventories, t.resource_classes

# Providers, joined with the root of their tree.
ROOT = _provider.alias("root")
PROVIDERS_WITH_ROOTS = _provider.join(ROOT, ROOT.c.id == _provider.c.root_provider_id)

# The provider is the root of its tree.
IS_ROOT = _provider.c.parent_provider_id.is_(None)

# The time in seconds since 1970. On some engines, it has a fraction.
NOW = Clock().op("/")(sa.literal_column("1000", sa.BigInteger()))

# The columns of a stock, in the order of the fields of `Stock`.
STOCK_COLUMNS = tuple(
    _inventory.c[name] for name in ("capacity", "used", "min_unit", "max_unit", "step_size")
)

# The columns of a record, in the order of the fields of `InventoryRecord`.
RECORD_COLUMNS = tuple(
    _inventory.c[name]
    for name in ("total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio")
)

# Inventories with their resource class, in the order that `inventory_rows.from_list` expects.
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


def stocks_of(provider_id: ColumnElement[int], class_column: sa.Column[Any]) -> Selection:
    """Select one text with the stocks of a provider of the enclosing statement.

    The text is a list, which contains for each class its id or name, and the fields of `Stock`.

    Args:
        class_column: the column of `inventories` or `resource_classes` that identifies the class.
    """
    source: FromClause = _inventory
    if class_column.table is _class:
        source = _inventory.join(_class, _class.c.id == _inventory.c.resource_class_id)
    rows = sa.select(JsonRows(class_column, *STOCK_COLUMNS)).select_from(source)
    rows = rows.where(_inventory.c.resource_provider_id == provider_id)
    return force_index(rows, _inventory, t.STOCKS_INDEX)


def tagged_json_row(tag: str, *columns: Any) -> Selection:
    """Select one text: a JSON list that contains the tag and the columns.

    With such texts, a single statement can return rows of several kinds. PyMySQL would take 10 µs
    for each additional column.
    """
    return sa.select(JsonRow(sa.literal_column(f"'{tag}'", sa.String()), *columns))


def changed_at(table: sa.Table) -> ColumnElement[Any]:
    """The time of the last change of a row, or null in rows of very old databases."""
    return sa.func.coalesce(table.c.updated_at, table.c.created_at).label("changed_at")


def has_row(table: FromClause, condition: ColumnElement[bool]) -> ColumnElement[bool]:
    """A row of the table satisfies the condition."""
    return sa.select(sa.literal(1)).select_from(table).where(condition).exists()


def has_trait(provider_id: ColumnElement[int], name: str) -> ColumnElement[bool]:
    """The provider has the trait."""
    link = t.resource_provider_traits
    is_trait = sa.and_(link.c.resource_provider_id == provider_id, t.traits.c.name == name)
    return has_row(link.join(t.traits, t.traits.c.id == link.c.trait_id), is_trait)


def shares(provider_id: ColumnElement[int]) -> ColumnElement[bool]:
    """The provider is a sharing provider."""
    return has_trait(provider_id, SHARING_TRAIT)


# The names of the owners and types of consumers.
OWNER_COLUMNS = (
    t.projects.c.external_id.label("project"),
    t.users.c.external_id.label("user"),
    t.consumer_types.c.name.label("type"),
)


def with_owners(consumers: FromClause) -> FromClause:
    """Add the projects, users and types of consumers, which may be missing."""
    column = t.consumers.c
    return (
        consumers.outerjoin(t.projects, t.projects.c.id == column.project_id)
        .outerjoin(t.users, t.users.c.id == column.user_id)
        .outerjoin(t.consumer_types, t.consumer_types.c.id == column.consumer_type_id)
    )


def revision_of_root(root: FromClause) -> ColumnElement[int | None]:
    """The revision, or null if the row is not a root."""
    # This is not a WHERE condition, because PostgreSQL would estimate it to be rare and sort all
    # roots first.
    return sa.case((root.c.root_provider_id == root.c.id, root.c.revision)).label("revision")


def fits(inventory: FromClause, amount: int) -> ColumnElement[bool]:
    """The inventory has room for the amount, and its units allow the amount.

    `placement.inventory.fits` implements the same rule in Python. A property test compares the two
    implementations.
    """
    if amount > MAX_UNIT:
        return sa.false()
    column = inventory.c
    return sa.and_(
        column.used + amount <= column.capacity,
        column.min_unit <= amount,
        column.max_unit >= amount,
        sa.literal(amount, sa.Integer()) % column.step_size == 0,
    )


def allocated_amount(inventory: FromClause) -> ColumnElement[int]:
    column = t.allocations.c
    amount = sa.func.coalesce(sa.func.sum(column.used), 0)
    return (
        sa.select(amount)
        .where(
            column.resource_provider_id == inventory.c.resource_provider_id,
            column.resource_class_id == inventory.c.resource_class_id,
        )
        .correlate(inventory)
        .scalar_subquery()
    )


def has_free_capacity(inventory: FromClause) -> ColumnElement[bool]:
    used: ColumnElement[bool] = inventory.c.used < inventory.c.capacity
    return used


def any_trait(provider_id: ColumnElement[int], traits: Collection[int]) -> Selection:
    """Select a row if the provider has at least one of the traits (ids)."""
    return _linked(sa.literal(1), t.resource_provider_traits.c.trait_id, provider_id, traits)


def _linked(
    result: ColumnElement[int],
    column: sa.Column[int],
    provider_id: ColumnElement[int],
    ids: Collection[int],
) -> Selection:
    """Select from the rows that link a provider to one of the ids in the column."""
    link = column.table
    is_linked = link.c.resource_provider_id == provider_id, column.in_(sorted(ids))
    return sa.select(result).select_from(link).where(*is_linked)


def has_any_trait(provider_id: ColumnElement[int], traits: Collection[int]) -> ColumnElement[bool]:
    return any_trait(provider_id, traits).exists()


def has_all_traits(provider_id: ColumnElement[int], traits: Collection[int]) -> ColumnElement[bool]:
    """The provider has all of the traits (ids).

    This is a single condition for any number of traits.
    """
    column = t.resource_provider_traits.c.trait_id
    count = _linked(sa.func.count(), column, provider_id, traits).scalar_subquery()
    return count == len(set(traits))


def any_aggregate(provider_id: ColumnElement[int], aggregates: Collection[int]) -> Selection:
    """Select a row if the provider is directly in at least one of the aggregates (ids)."""
    column = t.resource_provider_aggregates.c.aggregate_id
    return _linked(sa.literal(1), column, provider_id, aggregates)


def in_any_aggregate(
    provider_id: ColumnElement[int], aggregates: Collection[int]
) -> ColumnElement[bool]:
    """The provider is directly in at least one of the aggregates (ids)."""
    return any_aggregate(provider_id, aggregates).exists()


def belongs_to(record: FromClause, consumer: FromClause) -> ColumnElement[bool]:
    """The claim record belongs to the row of this consumer, and not to a previous row."""
    return sa.and_(
        record.c.consumer_id == consumer.c.id,
        same_identifier(record.c.consumer_uuid, consumer.c.uuid),
        record.c.consumer_created_at == sa.func.coalesce(consumer.c.created_at, t.UNDATED),
    )


def is_hold(record: FromClause, consumer: FromClause) -> ColumnElement[bool]:
    """The consumer of the record is a hold. No other request has written it since the claim."""
    held: ColumnElement[bool] = record.c.hold_generation == consumer.c.generation
    return held


def is_member(record: FromClause, consumer: FromClause) -> ColumnElement[bool]:
    """The consumer of the record is a member of its spread group, which is one of its project."""
    return sa.and_(record.c.spread_group.is_not(None), record.c.project_id == consumer.c.project_id)


def sum_revisions(table: sa.Table) -> ColumnElement[int]:
    # PERF: one sum takes half the time of two sums. The upper 41 bits are sufficient: two different
    # states have equal sums with a probability of one in 2^41, and the next change makes the sums
    # different. The sum of all bits would exceed SQLite's integers.
    upper = table.c.revision.bitwise_rshift(sa.literal(22, sa.Integer()))
    return sa.func.coalesce(sa.func.sum(upper), 0).label("revision_sum")
