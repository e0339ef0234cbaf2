"""The numbers of changes of trees, and the comparison of revisions that finds the changes."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement

from placement.db import bulk, constructs
from placement.db import tables as t
from placement.db.constructs import Clock
from placement.db.statement import Queries, Query, Write, Writes
from placement.vocabulary import MAX_INTEGER

# The id of the only row of `change_feed`.
FEED_ID = 1
# In place of a root's id, for deleted trees.
NO_PROVIDER = 0
# Maximum number of rows of `change_batches` that one numbering examines.
MAX_EXAMINED = 100

_provider, _change, _batch, _feed = (
    t.resource_providers,
    t.tree_changes,
    t.change_batches,
    t.change_feed,
)
_is_root = _provider.c.parent_provider_id.is_(None)
_is_known = _change.c.provider_id != NO_PROVIDER

# -- the feed ----------------------------------------------------------------------------------


def _sum(table: sa.Table) -> ColumnElement[int]:
    # PERF: one sum takes half the time of two. The upper 41 bits suffice: two states have equal
    # sums with a probability of one in 2^41, and the next change then makes them different. The sum
    # of all bits would exceed SQLite's integers.
    upper = table.c.revision.bitwise_rshift(sa.literal(22, sa.Integer()))
    return sa.func.coalesce(sa.func.sum(upper), 0).label("revision_sum")


# PERF: most providers are roots, so an index is slower than the table.
_roots = (
    sa.select(_sum(_provider))
    .where(constructs.without_index(_provider.c.parent_provider_id).is_(None))
    .subquery("roots")
)
_moved = _roots.c.revision_sum != _feed.c.revision_sum
_FEED_COLUMNS = (_feed.c.position, _feed.c.token, _feed.c.numbered_at, Clock().label("clock"))
_STATE = sa.select(*_FEED_COLUMNS, sa.case((_moved, 1), else_=0).label("moved")).select_from(
    _roots.outerjoin(_feed, _feed.c.id == FEED_ID)
)


def state() -> Query:
    """Select one row: (position, token, numbered_at, clock, moved) of the feed.

    `moved` is whether the revisions of roots differ from the numbered ones. Before the first
    numbering, everything but the clock is null or has no meaning.
    """
    return Query(_STATE)


_FEED = sa.select(*_FEED_COLUMNS).where(_feed.c.id == FEED_ID)
_LOCKED_FEED = _FEED.with_for_update()


def feed(*, lock: bool = False) -> Query:
    """Select (position, token, numbered_at, clock) of the feed, if it exists."""
    return Query(_LOCKED_FEED if lock else _FEED, locks=lock)


_CLOCK = sa.select(Clock())


def clock() -> Query:
    """Select the time of the database."""
    return Query(_CLOCK)


# -- reading changes ---------------------------------------------------------------------------

_PAGE = (
    sa.select(_change.c.position, _change.c.uuid, _change.c.provider_id)
    .where(
        _change.c.position > sa.bindparam("after", type_=_change.c.position.type),
        _change.c.position <= sa.bindparam("until", type_=_change.c.position.type),
    )
    .order_by(_change.c.position)
    .limit(sa.bindparam("size", type_=sa.Integer))
)


def page(after: int, until: int, size: int) -> Query:
    """Select (position, uuid, provider_id) of the first changes after a position."""
    return Query(_PAGE, {"after": after, "until": until, "size": size})


_ROOTS = sa.select(_provider.c.id, _provider.c.uuid, _provider.c.revision).where(
    bulk.in_list(_provider.c.uuid, "ids"), _is_root
)


def roots(uuids: Collection[str]) -> Queries:
    """Select (id, uuid, revision) of the roots that have these UUIDs now."""
    return bulk.select_by(_ROOTS, uuids)


_TOKEN = (
    sa.select(_batch.c.token)
    .where(_batch.c.position >= sa.bindparam("position", type_=_batch.c.position.type))
    .order_by(_batch.c.position)
    .limit(1)
)


def token(position: int) -> Query:
    """Select the token of the numbering that has given a number, if it is still known."""
    return Query(_TOKEN, {"position": position})


# -- numbering ---------------------------------------------------------------------------------

_CHANGED = (
    sa.select(_provider.c.id, _provider.c.uuid, _provider.c.revision, _change.c.uuid.label("known"))
    .select_from(_provider.outerjoin(_change, _change.c.provider_id == _provider.c.id))
    .where(
        _is_root,
        sa.or_(_change.c.revision.is_(None), _change.c.revision != _provider.c.revision),
    )
    .limit(sa.bindparam("size", type_=sa.Integer))
)


def changed(size: int) -> Query:
    """Select (id, uuid, revision, known) of roots whose revision has not been numbered.

    `known` is the numbered UUID of the same id, or null.
    """
    return Query(_CHANGED, {"size": size})


_root = sa.select(_provider.c.id).where(_is_root, _provider.c.id == _change.c.provider_id)
_GONE = (
    sa.select(_change.c.provider_id, _change.c.uuid)
    .where(_is_known, ~_root.exists())
    .limit(sa.bindparam("size", type_=sa.Integer))
)


def gone(size: int) -> Query:
    """Select (provider_id, uuid) of numbered trees whose root no longer exists."""
    return Query(_GONE, {"size": size})


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


def insert(rows: Sequence[Mapping[str, Any]]) -> Writes:
    """Insert numbers: provider_id, uuid, revision, position."""
    return bulk.insert(_change, rows)


_KNOWN_SUM = sa.select(_sum(_change))


def known_sum() -> Query:
    """Select the sum of the numbered revisions. Deleted trees have revision 0."""
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
    """Select one row with the number of numbers and the number of numberings."""
    return Query(_SIZES)


def delete_all(changes: int, batches: int) -> Writes:
    """Delete all numbers and all records of numberings; the arguments are their counts."""
    sizes = {_change: changes, _batch: batches}
    return Writes(Write(sa.delete(table), matches=size) for table, size in sizes.items() if size)


def insert_roots(position: int) -> Write:
    """Give all roots one number. The caller checks afterwards whether there are any roots."""
    values = sa.select(_provider.c.id, _provider.c.uuid, _provider.c.revision, sa.literal(position))
    insert = sa.insert(_change).from_select(
        ["provider_id", "uuid", "revision", "position"], values.where(_is_root)
    )
    return Write(insert, matches=MAX_INTEGER, allow_fewer=True)


_OLDEST = (
    sa.select(_batch.c.position, _batch.c.numbered_at)
    .order_by(_batch.c.position)
    .limit(MAX_EXAMINED)
)


def oldest_batches() -> Query:
    """Select (position, numbered_at) of the oldest records of numberings, in order."""
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
    """Select the UUIDs of deleted trees whose deletion has at most this number."""
    return Query(_OLD_TOMBSTONES, {"position": position})
