"""Numbering the changes of trees, which a comparison of revisions finds."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement.db import bulk
from placement.db import tables as t
from placement.db.fragments import FEED_ID, IS_ROOT, NO_PROVIDER, sum_revisions
from placement.db.json_rows import JsonRows, parse_rows
from placement.db.statement import CHUNK_SIZE, Queries, Query, Write, Writes, sorted_chunks
from placement.vocabulary import MAX_INTEGER

# Maximum number of rows of `change_batches` that one numbering checks.
MAX_EXAMINED = 100

_provider, _change, _batch, _feed = (
    t.resource_providers,
    t.tree_changes,
    t.change_batches,
    t.change_feed,
)
_is_known = _change.c.provider_id != NO_PROVIDER

# -- new changes -------------------------------------------------------------------------------

# PERF: a condition that no index of MariaDB can find, because most providers are roots. The join is
# then in the order of both primary keys.
_is_any_root = sa.func.coalesce(_provider.c.parent_provider_id, 0) == 0
_changed = (
    sa.select(_provider.c.id, _provider.c.uuid, _change.c.uuid.label("known"))
    .select_from(_provider.outerjoin(_change, _change.c.provider_id == _provider.c.id))
    .where(
        _is_any_root,
        sa.or_(_change.c.revision.is_(None), _change.c.revision != _provider.c.revision),
    )
    .limit(sa.bindparam("size", type_=sa.Integer))
    .subquery("changed")
)
_CHANGED = sa.select(JsonRows(*_changed.c))


class ChangedTree(NamedTuple):
    """A root whose revision has not been numbered."""

    # Id of the root.
    id: int
    # UUID of the root.
    uuid: str
    # The numbered UUID of the same id, or None.
    known: str | None


def changed(size: int) -> Query:
    """Select roots whose revision has not been numbered, each a `ChangedTree`."""
    return Query(_CHANGED, {"size": size}, _parse_changed)


def _parse_changed(rows: Sequence[Any]) -> list[ChangedTree]:
    return [ChangedTree(*row) for row in parse_rows(rows)]


_root = sa.select(_provider.c.id).where(IS_ROOT, _provider.c.id == _change.c.provider_id)
_GONE = (
    sa.select(_change.c.provider_id, _change.c.uuid)
    .where(_is_known, ~_root.exists())
    .limit(sa.bindparam("size", type_=sa.Integer))
)


def gone(size: int) -> Query:
    """Select (provider_id, uuid) of numbered trees whose root no longer exists."""
    return Query(_GONE, {"size": size})


_ROOTS = sa.select(_provider.c.uuid).where(bulk.in_list(_provider.c.uuid), IS_ROOT)


def roots(uuids: Collection[str]) -> Queries:
    """Select those of the UUIDs that a root has now."""
    return bulk.select_by(_ROOTS, uuids)


_DELETE_KNOWN = sa.delete(_change).where(bulk.in_list(_change.c.provider_id))


def delete_known(provider_ids: Collection[int]) -> Writes:
    """Delete the numbers of these roots."""
    return bulk.write_by(_DELETE_KNOWN, provider_ids)


_is_tombstone = sa.and_(_change.c.provider_id == NO_PROVIDER, bulk.in_list(_change.c.uuid))
_TOMBSTONES = sa.select(_change.c.uuid).where(_is_tombstone)


def tombstones(uuids: Collection[str]) -> Queries:
    """Select the UUIDs of numbered deletions."""
    return bulk.select_by(_TOMBSTONES, uuids)


_DELETE_TOMBSTONES = sa.delete(_change).where(_is_tombstone)


def delete_tombstones(uuids: Collection[str]) -> Writes:
    """Delete the numbers of the deletions of trees with these UUIDs."""
    return bulk.write_by(_DELETE_TOMBSTONES, uuids)


_number = sa.func.row_number().over(order_by=_provider.c.id)
_INSERT_CHANGED = sa.insert(_change).from_select(
    ["provider_id", "uuid", "revision", "position"],
    sa.select(
        _provider.c.id,
        _provider.c.uuid,
        _provider.c.revision,
        sa.bindparam("position", type_=_change.c.position.type) + _number,
    ).where(bulk.in_list(_provider.c.id), IS_ROOT),
)


def insert_changed(provider_ids: Collection[int], position: int) -> Writes:
    """Give numbers after `position` to the present revisions of roots."""
    chunks = enumerate(sorted_chunks(provider_ids))
    return Writes(
        Write(
            _INSERT_CHANGED,
            {"ids": chunk, "position": position + index * CHUNK_SIZE},
            matches=len(chunk),
        )
        for index, chunk in chunks
    )


def insert_deleted(uuids: Sequence[str], position: int) -> Writes:
    """Give numbers after `position` to the deletions of trees."""
    rows = [
        {"provider_id": NO_PROVIDER, "uuid": uuid, "revision": 0, "position": number}
        for number, uuid in enumerate(uuids, position + 1)
    ]
    return bulk.insert(_change, rows)


_KNOWN_SUM = sa.select(sum_revisions(_change))


def known_sum() -> Query:
    """Select the sum of the numbered revisions. Deleted trees count as 0."""
    return Query(_KNOWN_SUM)


_NEW_VALUES = {
    column.name: sa.bindparam(column.name, type_=column.type)
    for column in _feed.c
    if column is not _feed.c.id
}
_UPDATE_FEED = sa.update(_feed).where(_feed.c.id == FEED_ID).values(_NEW_VALUES)


def update_feed(values: Mapping[str, int]) -> Write:
    """Set all columns of the feed."""
    return Write(_UPDATE_FEED, values, matches=1)


def insert_feed(values: Mapping[str, int]) -> Writes:
    """Insert the feed."""
    return bulk.insert(_feed, [{"id": FEED_ID, **values}])


def insert_batch(position: int, token: int, numbered_at: int) -> Writes:
    """Insert the record of a numbering."""
    return bulk.insert(_batch, [{"position": position, "token": token, "numbered_at": numbered_at}])


# -- the beginning and the end of a history --------------------------------------------------


_SIZES = sa.select(
    sa.select(sa.func.count()).select_from(_change).scalar_subquery().label("changes"),
    sa.select(sa.func.count()).select_from(_batch).scalar_subquery().label("batches"),
)


def sizes() -> Query:
    """Select one row: the number of rows of `tree_changes`, and that of `change_batches`."""
    return Query(_SIZES)


def delete_all(changes: int, batches: int) -> Writes:
    """Delete all numbers and all records of numberings.

    The arguments are the numbers of their rows.
    """
    sizes = {_change: changes, _batch: batches}
    return Writes(Write(sa.delete(table), matches=size) for table, size in sizes.items() if size)


def insert_roots(position: int) -> Write:
    """Assign one number to all roots. The caller checks afterwards whether there are any roots."""
    values = sa.select(_provider.c.id, _provider.c.uuid, _provider.c.revision, sa.literal(position))
    insert = sa.insert(_change).from_select(
        ["provider_id", "uuid", "revision", "position"], values.where(IS_ROOT)
    )
    return Write(insert, matches=MAX_INTEGER, allow_fewer=True)


_OLDEST = (
    sa.select(_batch.c.position, _batch.c.numbered_at)
    .order_by(_batch.c.position)
    .limit(MAX_EXAMINED)
)


def oldest_batches() -> Query:
    """Select (position, numbered_at) of the oldest numberings, in order."""
    return Query(_OLDEST)


_DELETE_BATCHES = sa.delete(_batch).where(bulk.in_list(_batch.c.position))


def delete_batches(positions: Collection[int]) -> Writes:
    """Delete the records of numberings."""
    return bulk.write_by(_DELETE_BATCHES, positions)


_OLD_TOMBSTONES = sa.select(_change.c.uuid).where(
    _change.c.provider_id == NO_PROVIDER,
    _change.c.position <= sa.bindparam("position", type_=_change.c.position.type),
)


def old_tombstones(position: int) -> Query:
    """Select the UUIDs of deleted trees whose deletion has this number or a lower one."""
    return Query(_OLD_TOMBSTONES, {"position": position})
