"""Claim records: the holds, spread groups and stored requests of consumers."""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from placement.db import bulk
from placement.db import tables as t
from placement.db.constructs import Clock, any_text, same_identifier, same_text
from placement.db.fragments import (
    NOW,
    Selection,
    Union,
    belongs_to,
    has_row,
    is_hold,
    is_member,
    shares,
    tagged_json_row,
)
from placement.db.json_rows import parse_each
from placement.db.statement import Queries, Query, Write, Writes, mapping_chunks

_record, _consumer, _allocation = t.claim_records, t.consumers, t.allocations
_provider = t.resource_providers
_named = _provider.alias("named")

# -- creation ----------------------------------------------------------------------------------


_NEW_CONSUMERS = tagged_json_row(
    "consumer",
    _consumer.c.uuid,
    _consumer.c.id,
    _consumer.c.created_at,
    _consumer.c.project_id,
    Clock(),
).where(bulk.in_list(_consumer.c.uuid, "consumers"))

_with_consumer = _record.join(_consumer, belongs_to(_record, _consumer))
_of_projects = _record.c.project_id.in_(
    sa.select(_consumer.c.project_id)
    .where(bulk.in_list(_consumer.c.uuid, "consumers"))
    .correlate(None)
)
_MEMBERS = (
    tagged_json_row(
        "members",
        _named.c.uuid,
        _record.c.project_id,
        _record.c.spread_group,
        sa.func.count(sa.distinct(_record.c.id)),
    )
    .select_from(
        _named.join(_provider, _provider.c.root_provider_id == _named.c.root_provider_id)
        .join(_allocation, _allocation.c.resource_provider_id == _provider.c.id)
        .join(_consumer, same_identifier(_consumer.c.uuid, _allocation.c.consumer_id))
        .join(_record, belongs_to(_record, _consumer))
    )
    .where(
        bulk.in_list(_named.c.uuid, "hosts"),
        bulk.in_list(_record.c.spread_group, "groups"),
        _of_projects,
        is_member(_record, _consumer),
        ~shares(_named.c.root_provider_id),
    )
    .group_by(_named.c.uuid, _record.c.project_id, _record.c.spread_group)
)
_HOLDS = (
    tagged_json_row("holds", _record.c.project_id, sa.func.count())
    .select_from(_with_consumer)
    .where(_of_projects, is_hold(_record, _consumer), _record.c.expires_at > NOW)
    .group_by(_record.c.project_id)
)


def before_creation(
    consumers: Collection[str], hosts: Collection[str], groups: Collection[str], with_holds: bool
) -> Query:
    """Select lists that start with a tag, for creating records.

    "consumer": uuid, id, time of creation, project id, and the time in milliseconds since 1970.
    "members": the uuid of a provider, project id, spread group, and the number of its members that
    use the tree of the provider. "holds": project id, and its number of holds that have not
    expired.

    Args:
        consumers: uuids of at most 1,000 new consumers.
        hosts: uuids of providers; trees of sharing providers are omitted.
        groups: names of spread groups.
        with_holds: whether to count the holds of the consumers' projects.
    """
    params: dict[str, Any] = {"consumers": sorted(consumers)}
    if hosts:
        params |= {"hosts": sorted(hosts), "groups": sorted(groups)}
    return Query(_before_creation(bool(hosts), with_holds), params, parse_each)


@lru_cache(maxsize=4)
def _before_creation(with_members: bool, with_holds: bool) -> Union:
    parts = [_NEW_CONSUMERS]
    parts += [_MEMBERS] if with_members else []
    parts += [_HOLDS] if with_holds else []
    return sa.union_all(*parts)


def create(rows: Sequence[Mapping[str, object]]) -> Writes:
    """Insert records. All rows have the same columns. `consumer_created_at` may be None."""
    created_at = t.now()
    return bulk.insert(
        _record,
        [
            {
                **row,
                "consumer_created_at": row["consumer_created_at"] or t.UNDATED,
                "created_at": created_at,
            }
            for row in rows
        ],
    )


# -- members of a spread group -----------------------------------------------------------------

# Tag of the rows that `MEMBERS_BY_HOST` selects.
KIND = "spread"
# Parameters of `MEMBERS_BY_HOST`.
PROJECT, GROUP = "spread_project", "spread_group"
_root = _provider.alias("root")
# Rows (KIND, root id, root uuid, number of members) of the hosts that members of a group use. They
# have the same columns as the rows of `names`.
MEMBERS_BY_HOST: Selection = (
    sa.select(
        sa.literal(KIND).label("kind"),
        _root.c.id,
        any_text(_root.c.uuid).label("text"),
        sa.func.count(sa.distinct(_record.c.id)).label("number"),
    )
    .select_from(
        _record.join(_consumer, belongs_to(_record, _consumer))
        .join(t.projects, t.projects.c.id == _consumer.c.project_id)
        .join(_allocation, same_identifier(_allocation.c.consumer_id, _consumer.c.uuid))
        .join(_provider, _provider.c.id == _allocation.c.resource_provider_id)
        .join(_root, _root.c.id == _provider.c.root_provider_id)
    )
    .where(
        same_text(
            t.projects.c.external_id, sa.bindparam(PROJECT, type_=t.projects.c.external_id.type)
        ),
        _record.c.spread_group == sa.bindparam(GROUP, type_=_record.c.spread_group.type),
        is_member(_record, _consumer),
        ~shares(_root.c.id),
    )
    .group_by(_root.c.id, _root.c.uuid)
)

# -- reading -----------------------------------------------------------------------------------

_BY_CONSUMER = (
    sa.select(
        _consumer.c.uuid,
        _record.c.id,
        sa.case((is_member(_record, _consumer), _record.c.spread_group)).label("spread_group"),
        _record.c.max_per_host,
        _record.c.project_id,
        sa.case((is_hold(_record, _consumer), _record.c.expires_at)).label("expires_at"),
        _record.c.held_since,
        _record.c.mappings,
        _record.c.request,
        Clock().label("clock"),
    )
    .select_from(_with_consumer)
    .where(bulk.in_list(_consumer.c.uuid))
)


def for_consumers(uuids: Collection[str]) -> Queries:
    """Select the records of consumers, and the current time in milliseconds.

    The spread group is null unless the consumer is a member. The end of the hold is null unless the
    consumer is a hold.
    """
    return bulk.select_by(_BY_CONSUMER, uuids)


_GROUPS_OF_PROJECTS = (
    sa.select(
        _consumer.c.uuid,
        t.projects.c.external_id.label("project"),
        _record.c.spread_group,
        _record.c.max_per_host,
    )
    .select_from(_with_consumer.join(t.projects, t.projects.c.id == _consumer.c.project_id))
    .where(is_member(_record, _consumer))
)


def members() -> Query:
    """Select (consumer uuid, project, spread group, number) of all members of spread groups."""
    return Query(_GROUPS_OF_PROJECTS)


_LOCK_CONSUMERS = (
    sa.select(_consumer.c.id, _consumer.c.uuid, _consumer.c.created_at, _consumer.c.project_id)
    .where(
        bulk.in_list(_consumer.c.uuid),
        has_row(_allocation, same_identifier(_allocation.c.consumer_id, _consumer.c.uuid)),
    )
    .with_for_update()
)


def lock_consumers(uuids: Collection[str]) -> Queries:
    """Select (id, uuid, time of creation, project id) of consumers with allocations. Lock them."""
    return bulk.select_by(_LOCK_CONSUMERS, uuids, locks=True)


_EXPIRED = (
    sa.select(_record.c.id, _record.c.consumer_uuid, Clock().label("clock"))
    .where(_record.c.expires_at <= NOW)
    .order_by(_record.c.expires_at)
    .limit(sa.bindparam("size"))
)


def expired(size: int) -> Query:
    """Select (id, consumer uuid, time in milliseconds) of the records whose holds ended first."""
    return Query(_EXPIRED, {"size": size})


# -- changes -----------------------------------------------------------------------------------

_NO_END = 0  # stands for `expires_at` in comparisons, if a record has no hold
_end = sa.func.coalesce(_record.c.expires_at, sa.literal_column("0", sa.BigInteger()))


_DELETE = sa.delete(_record)
_CLEAR = sa.update(_record).values(
    hold_generation=None, held_since=None, expires_at=None, mappings=None
)


def delete(ends: Mapping[int, int | None]) -> Writes:
    """Delete records (id -> `expires_at` as read) whose holds have not been extended since then."""
    return _unless_extended(_DELETE, ends)


def clear_holds(ends: Mapping[int, int | None]) -> Writes:
    """Remove the holds from records (id -> `expires_at` as read). The records remain."""
    return _unless_extended(_CLEAR, ends)


def _unless_extended(statement: sa.Delete | sa.Update, ends: Mapping[int, int | None]) -> Writes:
    writes = []
    for chunk in mapping_chunks(ends):
        end = {row_id: end or _NO_END for row_id, end in chunk.items()}
        guarded = _with_ends(statement, size=len(chunk))
        writes.append(Write(guarded, bulk.case_params(chunk, end=end), matches=len(chunk)))
    return Writes(writes)


@bulk.cached_by_size
def _with_ends(statement: sa.Delete | sa.Update, size: int) -> sa.Delete | sa.Update:
    as_read = bulk.case_by_id(_record.c.expires_at, size, "end")
    return statement.where(bulk.in_list(_record.c.id), _end == as_read)


_LEAVE = (
    sa.update(_record)
    .where(bulk.in_list(_record.c.id))
    .values(spread_group=None, max_per_host=None)
)


def leave_groups(row_ids: Collection[int]) -> Writes:
    """Remove consumers from their spread groups, by the ids of their records."""
    return bulk.write_by(_LEAVE, row_ids)


def update(row_id: int, columns: Mapping[str, object]) -> Write:
    """Set columns of a record. The caller has locked its consumer."""
    row = sa.update(_record).where(_record.c.id == row_id)
    return Write(row.values(**columns, updated_at=t.now()), matches=1)


# -- rows without a consumer -------------------------------------------------------------------

_WITHOUT_CONSUMER = sa.select(_record.c.id, _record.c.expires_at).where(
    ~has_row(_consumer, belongs_to(_record, _consumer))
)


def without_consumer(size: int) -> Query:
    """Select (id, expires_at) of the first records that belong to no consumer."""
    return Query(_WITHOUT_CONSUMER.order_by(_record.c.id).limit(size))


def without_consumer_of(row_ids: Collection[int]) -> Queries:
    """Select (id, expires_at) of the given records that belong to no consumer."""
    return bulk.select_by(_WITHOUT_CONSUMER.where(bulk.in_list(_record.c.id)), row_ids)
