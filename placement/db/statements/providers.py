"""Resource providers: rows, trees, revisions and generations."""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement

from placement.db import fragments
from placement.db import tables as t
from placement.db.fragments import Rows
from placement.db.json_rows import JsonRows, parse_rows, parse_time
from placement.db.statement import (
    Queries,
    Query,
    Write,
    Writes,
    mapping_chunks,
    sorted_chunks,
)

provider = t.resource_providers


_RENEW = (
    sa.update(provider)
    .where(provider.c.id.in_(fragments.many("ids", provider.c.id)))
    .values(revision=sa.bindparam("new_revision", type_=provider.c.revision.type))
)


def renew_revisions(root_ids: Collection[int], revision: int) -> Writes:
    """Give the trees a new revision; with it this transaction owns them until its end."""
    return Writes(
        Write(_RENEW, {"ids": chunk, "new_revision": revision}, matches=len(chunk))
        for chunk in sorted_chunks(root_ids)
    )


def revisions(root_ids: Collection[int]) -> Queries:
    """Select (id, revision) of trees, once no other transaction has them."""
    rows = sa.select(provider.c.id, provider.c.revision).with_for_update()
    return Queries(Query(rows.where(provider.c.id.in_(chunk))) for chunk in sorted_chunks(root_ids))


_parent, _root = provider.alias("parent"), provider.alias("root")
_changed_at = sa.func.coalesce(provider.c.updated_at, provider.c.created_at)
_ROWS = (
    sa.select(
        provider.c.uuid,
        provider.c.name,
        provider.c.generation,
        _parent.c.uuid.label("parent_uuid"),
        _root.c.uuid.label("root_uuid"),
        _changed_at.label("changed_at"),
        provider.c.id,
    )
    .select_from(
        provider.outerjoin(_parent, _parent.c.id == provider.c.parent_provider_id).outerjoin(
            _root, _root.c.id == provider.c.root_provider_id
        )
    )
    .order_by(provider.c.id)
)


_other = provider.alias("other")


def _uuid_of(row_id: ColumnElement[int]) -> Any:
    return sa.select(_other.c.uuid).where(_other.c.id == row_id).scalar_subquery()


# PERF: most of a large cloud are roots, for which nothing need be looked up.
_LISTED = sa.select(
    JsonRows(
        provider.c.id,
        provider.c.uuid,
        provider.c.name,
        provider.c.generation,
        sa.case(
            (provider.c.parent_provider_id.is_not(None), _uuid_of(provider.c.parent_provider_id))
        ),
        sa.case(
            (provider.c.root_provider_id == provider.c.id, provider.c.uuid),
            else_=_uuid_of(provider.c.root_provider_id),
        ),
        _changed_at,
    )
).group_by(provider.c.id.bitwise_rshift(8))


MOST_JOINED = 6


def listed(
    *where: ColumnElement[bool], some: Sequence[Rows] = (), none: Sequence[Rows] = ()
) -> Query:
    """Select the id and the other fields of `Provider`, in the order of ids.

    some: subqueries that must each have a row, the most telling ones first; none: that must not.
    """
    # Planners make a join of every EXISTS and try the orders of joins: for thirty of them MariaDB
    # takes 7 s, PostgreSQL minutes. What has a LIMIT they look up, provider by provider.
    rows = _LISTED.where(
        *where,
        *(rows.exists() for rows in some[:MOST_JOINED]),
        *(~rows.exists() for rows in none),
        *(rows.limit(1).scalar_subquery().is_not(None) for rows in some[MOST_JOINED:]),
    )
    return Query(rows, parse=_parse_listed)


def _parse_listed(texts: Sequence[Any]) -> list[list[Any]]:
    rows = parse_rows(texts)
    for row in rows:
        row[-1] = parse_time(row[-1])
    return rows


def named(uuids: Collection[str]) -> ColumnElement[bool]:
    """The provider has one of the uuids."""
    return provider.c.uuid.in_(sorted(uuids))


_NAMED = _ROWS.where(provider.c.uuid.in_(fragments.many("uuids", provider.c.uuid)))


def whole(uuids: Collection[str]) -> Query:
    """Select all of the providers named; a row is a `Provider`."""
    return Query(_NAMED, {"uuids": sorted(uuids)})


_LOCKED = sa.select(
    provider.c.uuid,
    provider.c.generation,
    provider.c.id,
    provider.c.root_provider_id,
    provider.c.parent_provider_id,
).where(provider.c.uuid.in_(fragments.many("uuids", provider.c.uuid)))


def locked(uuids: Collection[str]) -> Queries:
    """Select what writes look at of the providers named; a row is a `LockedProvider`."""
    return Queries(Query(_LOCKED, {"uuids": chunk}) for chunk in sorted_chunks(uuids))


_TAKEN = sa.select(provider.c.id, provider.c.uuid).where(
    sa.or_(
        provider.c.name == sa.bindparam("name", type_=provider.c.name.type),
        provider.c.uuid == sa.bindparam("uuid", type_=provider.c.uuid.type),
    )
)


def clashing(uuid: str, name: str) -> Query:
    """Select (id, uuid) of the providers that hold the uuid or the name."""
    return Query(_TAKEN, {"uuid": uuid, "name": name})


def members_of_tree(root_id: int) -> Query:
    """Select (id, parent id) of a tree's members."""
    columns = provider.c.id, provider.c.parent_provider_id
    return Query(sa.select(*columns).where(provider.c.root_provider_id == root_id))


_CREATE = sa.insert(provider)


def create(
    uuid: str, name: str, parent_id: int | None, root_id: int | None, revision: int
) -> Write:
    """Insert a provider; a root gets its root id afterwards by `set_root`."""
    params = {
        "uuid": uuid,
        "name": name,
        "generation": 0,
        "parent_provider_id": parent_id,
        "root_provider_id": root_id,
        "revision": revision,
        "created_at": t.now(),
    }
    return Write(_CREATE, params, matches=1)


_SET_ROOT = (
    sa.update(provider)
    .where(provider.c.id.in_(fragments.many("ids", provider.c.id)))
    .values(root_provider_id=sa.bindparam("root_id", type_=provider.c.id.type))
)


def set_root(ids: Collection[int], root_id: int) -> Writes:
    """Make the providers members of the root's tree."""
    return Writes(
        Write(_SET_ROOT, {"ids": chunk, "root_id": root_id}, matches=len(chunk))
        for chunk in sorted_chunks(ids)
    )


def rename(provider_id: int, name: str, parent_id: int | None) -> Write:
    """Set name and parent."""
    update = sa.update(provider).where(provider.c.id == provider_id)
    values = {"name": name, "parent_provider_id": parent_id, "updated_at": t.now()}
    return Write(update.values(values), matches=1)


# What belongs to a provider alone and goes with it, and where.
_BELONGINGS: Mapping[str, sa.Table] = {
    "inventories": t.inventories,
    "traits": t.resource_provider_traits,
    "aggregates": t.resource_provider_aggregates,
}


def dependants(provider_id: int) -> Query:
    """Select one row of what depends on a provider.

    How many `inventories`, `traits` and `aggregates` it has, and whether it has `children` and
    `allocations`.
    """

    def number(column: ColumnElement[Any]) -> Any:
        return sa.select(sa.func.count()).where(column == provider_id).scalar_subquery()

    def some(column: ColumnElement[Any]) -> Any:
        return sa.case((sa.exists().where(column == provider_id), 1), else_=0)

    columns = [
        number(table.c.resource_provider_id).label(what) for what, table in _BELONGINGS.items()
    ]
    columns.append(some(_other.c.parent_provider_id).label("children"))
    columns.append(some(t.allocations.c.resource_provider_id).label("allocations"))
    return Query(sa.select(*columns))


def delete(provider_id: int, belongings: Mapping[str, int]) -> Writes:
    """Delete a provider and what belongs to it alone, first what refers to it.

    belongings: how many inventories, traits and aggregates it has.
    """
    one = provider.c.id == provider_id
    writes = []
    for what, table in _BELONGINGS.items():
        delete_all = sa.delete(table).where(table.c.resource_provider_id == provider_id)
        writes.append(Write(delete_all, matches=belongings[what]))
    # MariaDB does not delete a row that its own foreign key holds.
    writes.append(Write(sa.update(provider).where(one).values(root_provider_id=None), matches=1))
    writes.append(Write(sa.delete(provider).where(one), matches=1))
    return Writes(writes)


def bump_generations(increments: Mapping[int, int]) -> Writes:
    """Add to the generations of providers, by id."""
    now = t.now()
    return Writes(
        Write(
            _bump_generations(len(chunk)),
            {**fragments.placed(chunk, step=chunk), "now": now},
            matches=len(chunk),
        )
        for chunk in mapping_chunks(increments)
    )


@lru_cache(maxsize=16)
def _bump_generations(size: int) -> sa.Update:
    step = fragments.by_place(provider.c.id, size, "step", provider.c.generation)
    return (
        sa.update(provider)
        .where(provider.c.id.in_(fragments.many("ids", provider.c.id)))
        .values(
            generation=provider.c.generation + step,
            updated_at=sa.bindparam("now", type_=provider.c.updated_at.type),
        )
    )


# -- conditions of the list (contract resources.md section 1.6) -----------------------------


def is_named(name: str) -> ColumnElement[bool]:
    """The provider has exactly this name."""
    return provider.c.name == name


def in_tree(root_id: int) -> ColumnElement[bool]:
    """The provider is a member of the root's tree."""
    return provider.c.root_provider_id == root_id


def any_trait(traits: Collection[int]) -> Rows:
    """Select a row if the provider has at least one of the traits (ids)."""
    return fragments.any_trait(provider.c.id, traits)


def has_all_traits(traits: Collection[int]) -> ColumnElement[bool]:
    """The provider has every one of the traits (ids)."""
    return fragments.has_all_traits(provider.c.id, traits)


def any_aggregate(aggregates: Collection[int]) -> Rows:
    """Select a row if the provider is directly in at least one of the aggregates (ids)."""
    return fragments.any_aggregate(provider.c.id, aggregates)


def room(resource_class_id: int, amount: int) -> Rows:
    """Select a row if the provider's own inventory has room for the amount."""
    inventory = t.inventories
    return (
        sa.select(sa.literal(1))
        .select_from(inventory)
        .where(
            inventory.c.resource_provider_id == provider.c.id,
            inventory.c.resource_class_id == resource_class_id,
            fragments.fits(inventory, amount),
        )
    )


def roots_stocking(class_name: str) -> Query:
    """Select (id, revision) of the roots of the trees that have an inventory of the class."""
    inventory, known = t.inventories, t.resource_classes
    return Query(
        sa.select(_root.c.id, _root.c.revision)
        .distinct()
        .select_from(_root)
        .join(provider, provider.c.root_provider_id == _root.c.id)
        .join(inventory, inventory.c.resource_provider_id == provider.c.id)
        .join(known, known.c.id == inventory.c.resource_class_id)
        .where(known.c.name == class_name)
    )
