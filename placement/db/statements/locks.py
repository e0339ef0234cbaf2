"""Locks on trees. An update of the root's revision holds the lock until the transaction ends."""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement

from placement.db import bulk, constructs
from placement.db import tables as t
from placement.db.statement import Queries, Write, Writes, sorted_chunks

_provider = t.resource_providers
NOTHING: Mapping[int, Any] = MappingProxyType({})

_RENEW = (
    sa.update(_provider)
    .where(bulk.in_list(_provider.c.id))
    .values(revision=sa.bindparam("new_revision", type_=_provider.c.revision.type))
)


def renew_revisions(root_ids: Collection[int], revision: int) -> Writes:
    """Set a new revision of trees. This locks the trees until the transaction ends."""
    return bulk.write_by(_RENEW, root_ids, {"new_revision": revision})


_REVISIONS = (
    sa.select(_provider.c.id, _provider.c.revision)
    .where(bulk.in_list(_provider.c.id))
    .with_for_update()
)


def revisions(root_ids: Collection[int]) -> Queries:
    """Select (id, revision) of trees and lock the trees."""
    return bulk.select_by(_REVISIONS, root_ids, locks=True)


def renew_where_seen(root_ids: Mapping[int, int], bumped: Collection[int], revision: int) -> Writes:
    """Set a new revision of trees, and increment the generations of some of their providers.

    If a provider has moved to another tree, it does not match.

    Args:
        root_ids: provider id -> root id, as read.
        bumped: ids of the providers whose generation is incremented.
    """
    row_ids = {*root_ids, *root_ids.values()}
    return Writes(
        _renew_where_seen(chunk, root_ids, bumped, revision) for chunk in sorted_chunks(row_ids)
    )


def _renew_where_seen(
    row_ids: Sequence[int], root_ids: Mapping[int, int], bumped: Collection[int], revision: int
) -> Write:
    params: dict[str, object] = {
        "ids": row_ids,
        "roots": sorted({root_ids.get(row_id, row_id) for row_id in row_ids}),
        "new_revision": revision,
    }
    if bumped:
        params["bumped"] = [row_id for row_id in row_ids if row_id in bumped]
        params["now"] = t.now()
    update = _renewing_where_seen(bump=bool(bumped), several=len(row_ids) > 1)
    return Write(update, params, matches=len(row_ids))


def _renewed(is_root: ColumnElement[bool]) -> Mapping[str, ColumnElement[Any]]:
    """Return the values that set a new revision of roots."""
    column = _provider.c.revision
    revision = sa.bindparam("new_revision", type_=column.type)
    return {"revision": sa.case((is_root, revision), else_=column)}


def _bumped(is_root: ColumnElement[bool]) -> Mapping[str, ColumnElement[Any]]:
    """Return the values that set a new revision of roots and increment the bumped generations."""
    column = _provider.c
    bumped = bulk.in_list(column.id, "bumped")
    now = sa.bindparam("now", type_=column.updated_at.type)
    return {
        **_renewed(is_root),
        "generation": column.generation + sa.case((bumped, 1), else_=0),
        "updated_at": sa.case((bumped, now), else_=column.updated_at),
    }


_locked = _provider.alias("locked")
_IN_ORDER = constructs.locked_in_order(
    _provider.c.id,
    sa.bindparam("ids", expanding=True, type_=_provider.c.id.type),
    sa.select(_locked.c.id)
    .where(bulk.in_list(_locked.c.id))
    .order_by(sa.desc(_locked.c.id == _locked.c.root_provider_id), _locked.c.id)
    .with_for_update(key_share=True),
)
# This is an expression, because MariaDB would use the index of the column and lock other rows in
# the index before the root.
_ROOT_ID = _provider.c.root_provider_id + sa.literal_column("0", sa.Integer())


@lru_cache(maxsize=4)
def _renewing_where_seen(*, bump: bool, several: bool) -> sa.Update:
    is_root = _provider.c.id == _provider.c.root_provider_id
    return (
        sa.update(_provider)
        .where(
            _IN_ORDER if several else bulk.in_list(_provider.c.id),
            bulk.in_list(_ROOT_ID, "roots"),
        )
        .values(**(_bumped(is_root) if bump else _renewed(is_root)))
    )


def renew_and_bump(
    revisions: Mapping[int, int],
    provider_ids: Collection[int],
    revision: int,
    generations: Mapping[int, int] = NOTHING,
    shared: Mapping[int, tuple[str, int]] = NOTHING,
) -> Write:
    """Set a new revision of a few trees, and increment the generations of some of their providers.

    Args:
        revisions: root id -> revision as read. A tree with another revision does not match.
        provider_ids: the providers whose generation is incremented.
        generations: provider id -> generation as read. A provider with a different generation does
            not match.
        shared: provider id -> (uuid, root id) as read, of providers in other trees, which may have
            any revision. Their trees are locked too. A provider that is in another tree does not
            match, nor does another provider that has got the same id.
    """
    shared_roots = {root_id for _uuid, root_id in shared.values()}
    root_ids = sorted({*revisions, *shared_roots})
    row_ids = sorted({*root_ids, *provider_ids})
    params: dict[str, object] = {"ids": row_ids, "roots": root_ids, "new_revision": revision}
    if provider_ids:
        params["bumped"] = sorted(provider_ids)
        params["now"] = t.now()
    for index, root_id in enumerate(sorted(revisions)):
        params[f"root_{index}"] = root_id
        params[f"revision_{index}"] = revisions[root_id]
    for index, provider_id in enumerate(sorted(generations)):
        params[f"provider_{index}"] = provider_id
        params[f"generation_{index}"] = generations[provider_id]
    if shared:
        params["shared_roots"] = sorted(shared_roots)
    for index, provider_id in enumerate(sorted(shared)):
        params[f"shared_{index}"] = provider_id
        params[f"uuid_{index}"], params[f"shared_root_{index}"] = shared[provider_id]
    update = _renew_and_bump(
        size=len(revisions),
        bump=bool(provider_ids),
        generations=len(generations),
        shared=len(shared),
    )
    return Write(update, params, matches=len(row_ids))


@bulk.cached_by_size
def _renew_and_bump(size: int, *, bump: bool, generations: int, shared: int) -> sa.Update:
    column = _provider.c
    is_root = bulk.in_list(column.id, "roots")
    unchanged = [
        sa.and_(
            column.id == sa.bindparam(f"root_{index}", type_=column.id.type),
            column.revision == sa.bindparam(f"revision_{index}", type_=column.revision.type),
        )
        for index in range(size)
    ]
    as_read = [
        sa.or_(
            column.id != sa.bindparam(f"provider_{index}", type_=column.id.type),
            column.generation == sa.bindparam(f"generation_{index}", type_=column.generation.type),
        )
        for index in range(generations)
    ]
    as_read += [
        sa.or_(
            column.id != sa.bindparam(f"shared_{index}", type_=column.id.type),
            sa.and_(
                column.uuid == sa.bindparam(f"uuid_{index}", type_=column.uuid.type),
                sa.bindparam(f"shared_root_{index}", type_=column.id.type) == _ROOT_ID,
            ),
        )
        for index in range(shared)
    ]
    if shared:
        unchanged.append(bulk.in_list(column.id, "shared_roots"))
    return (
        sa.update(_provider)
        .where(_IN_ORDER, sa.or_(~is_root, *unchanged), *as_read)
        .values(**(_bumped(is_root) if bump else _renewed(is_root)))
    )
