"""The rows, trees and generations of resource providers."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from placement.db import bulk
from placement.db import tables as t
from placement.db.fragments import Selection, changed_at
from placement.db.json_rows import JsonRow, parse_each, parse_time
from placement.db.statement import Queries, Query, Write, Writes, mapping_chunks

_provider = t.resource_providers
_parent, _root = _provider.alias("parent"), _provider.alias("root")

# -- trees -------------------------------------------------------------------------------------


def members_of_tree(root_id: int) -> Query:
    """Select (id, parent id) of the members of a tree."""
    columns = _provider.c.id, _provider.c.parent_provider_id
    return Query(sa.select(*columns).where(_provider.c.root_provider_id == root_id))


def consumers_of(provider_ids: Collection[int]) -> Queries:
    """Select (uuid, number of consumers) of the providers with allocations."""
    return bulk.select_by(_CONSUMERS_OF, provider_ids)


_CONSUMERS_OF = (
    sa.select(
        _provider.c.uuid, sa.func.count(t.allocations.c.consumer_id.distinct()).label("consumers")
    )
    .join(t.allocations, t.allocations.c.resource_provider_id == _provider.c.id)
    .where(bulk.in_list(_provider.c.id))
    .group_by(_provider.c.id, _provider.c.uuid)
    .order_by(_provider.c.id)
)


def roots_using_class(class_id: int) -> Query:
    """Select (id, revision) of the roots whose trees use a class, in inventories or allocations.

    In an adopted database, allocations may exist without an inventory.
    """
    return Query(sa.union(*(_roots_of(rows, class_id) for rows in (t.inventories, t.allocations))))


def _roots_of(rows: sa.Table, class_id: int) -> Selection:
    return (
        sa.select(_root.c.id, _root.c.revision)
        .select_from(_root)
        .join(_provider, _provider.c.root_provider_id == _root.c.id)
        .join(rows, rows.c.resource_provider_id == _provider.c.id)
        .where(rows.c.resource_class_id == class_id)
    )


_SET_ROOT = (
    sa.update(_provider)
    .where(bulk.in_list(_provider.c.id))
    .values(root_provider_id=sa.bindparam("root_id", type_=_provider.c.id.type))
)


def set_root(ids: Collection[int], root_id: int) -> Writes:
    """Move providers to the tree of a root."""
    return bulk.write_by(_SET_ROOT, ids, {"root_id": root_id})


# -- rows --------------------------------------------------------------------------------------

# PERF: for PyMySQL, one column takes longer than the rest of the row.
_ALL_FIELDS = (
    sa.select(
        JsonRow(
            _provider.c.uuid,
            _provider.c.name,
            _provider.c.generation,
            _parent.c.uuid,
            _root.c.uuid,
            changed_at(_provider),
            _provider.c.id,
            sa.func.coalesce(_root.c.revision, 0),
        )
    )
    .select_from(
        _provider.outerjoin(_parent, _parent.c.id == _provider.c.parent_provider_id).outerjoin(
            _root, _root.c.id == _provider.c.root_provider_id
        )
    )
    .where(bulk.in_list(_provider.c.uuid))
    .order_by(_provider.c.id)
)


def with_all_fields(uuids: Collection[str]) -> Queries:
    """Select providers with all fields of `Provider`."""
    return bulk.select_by(_ALL_FIELDS, uuids, _parse_all_fields)


def _parse_all_fields(texts: Sequence[Any]) -> Sequence[Any]:
    return [
        (uuid, name, generation, parent_uuid, root_uuid, parse_time(changed), row_id, revision)
        for uuid, name, generation, parent_uuid, root_uuid, changed, row_id, revision in parse_each(
            texts
        )
    ]


_IDS = sa.select(_provider.c.uuid, _provider.c.id, _provider.c.root_provider_id).where(
    bulk.in_list(_provider.c.uuid)
)


def ids(uuids: Collection[str]) -> Queries:
    """Select (uuid, id, root id) of providers."""
    return bulk.select_by(_IDS, uuids)


_CREATE = sa.insert(_provider)


def create(
    uuid: str,
    name: str,
    parent_id: int | None,
    root_id: int | None,
    revision: int,
    generation: int = 0,
) -> Write:
    """Insert a provider."""
    params = {
        "uuid": uuid,
        "name": name,
        "generation": generation,
        "parent_provider_id": parent_id,
        "root_provider_id": root_id,
        "revision": revision,
        "created_at": t.now(),
    }
    return Write(_CREATE, params, matches=1)


def bump_generations(increments: Mapping[int, int], generations: Mapping[int, int]) -> Writes:
    """Add numbers to the generations of providers.

    Args:
        increments: provider id -> number to add.
        generations: provider id -> generation as read, for some of the providers. A provider with
            another generation does not match.
    """
    guarded = {row_id: number for row_id, number in increments.items() if row_id in generations}
    others = {row_id: number for row_id, number in increments.items() if row_id not in generations}
    return Writes(
        [
            *(_bump(chunk, generations) for chunk in mapping_chunks(guarded)),
            *(_bump(chunk) for chunk in mapping_chunks(others)),
        ]
    )


def _bump(increments: Mapping[int, int], generations: Mapping[int, int] | None = None) -> Write:
    values = {"increment": increments}
    if generations is not None:
        values["generation"] = generations
    params = {**bulk.case_params(increments, **values), "now": t.now()}
    update = _generations_update(size=len(increments), guarded=generations is not None)
    return Write(update, params, matches=len(increments))


@bulk.cached_by_size
def _generations_update(size: int, *, guarded: bool) -> sa.Update:
    column = _provider.c
    increment = bulk.case_by_id(column.generation, size, "increment")
    now = sa.bindparam("now", type_=column.updated_at.type)
    update = sa.update(_provider).where(bulk.in_list(column.id))
    if guarded:
        as_read = bulk.case_by_id(column.generation, size, "generation")
        update = update.where(column.generation == as_read)
    return update.values(generation=column.generation + increment, updated_at=now)


# -- deletion ----------------------------------------------------------------------------------

# Tables whose rows belong to a single provider and are deleted with it.
_OWNED_TABLES: Mapping[str, sa.Table] = {
    "inventories": t.inventories,
    "traits": t.resource_provider_traits,
    "aggregates": t.resource_provider_aggregates,
}


def delete(counts: Mapping[int, Mapping[str, int]], *, is_root: bool = False) -> Writes:
    """Delete providers and the rows that belong to them.

    Args:
        counts: provider id -> number of its `inventories`, `traits` and `aggregates`.
        is_root: whether the only provider is the root of its tree.
    """
    writes = []
    for chunk in mapping_chunks(counts):
        params = {"ids": list(chunk)}
        for name, table in _OWNED_TABLES.items():
            matches = sum(of_provider[name] for of_provider in chunk.values())
            if matches:
                rows = sa.delete(table).where(bulk.in_list(table.c.resource_provider_id))
                writes.append(Write(rows, params, matches=matches))
        row = bulk.in_list(_provider.c.id)
        if is_root:
            # MariaDB does not delete a row to which its own foreign key refers.
            detach = sa.update(_provider).where(row).values(root_provider_id=None)
            writes.append(Write(detach, params, matches=len(chunk)))
        writes.append(Write(sa.delete(_provider).where(row), params, matches=len(chunk)))
    return Writes(writes)
