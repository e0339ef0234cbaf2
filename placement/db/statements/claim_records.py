"""Claim records: the holds, spread groups and stored requests of consumers."""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement

from placement.db import bulk
from placement.db import tables as t
from placement.db.constructs import Clock, any_text, same_identifier, same_text
from placement.db.fragments import (
    Selection,
    Union,
    belongs_to,
    is_hold,
    is_member,
    tagged_json_row,
)
from placement.db.json_rows import parse_each
from placement.db.statement import Queries, Query, Write, Writes, mapping_chunks
from placement.vocabulary import SHARING_TRAIT

_record, _consumer, _allocation = t.claim_records, t.consumers, t.allocations
_provider = t.resource_providers
_named = _provider.alias("named")
# The time in seconds. On some engines, it has a fraction.
_now = Clock().op("/")(sa.literal_column("1000", sa.BigInteger()))

# -- creation ----------------------------------------------------------------------------------


def _is_host(root_id: ColumnElement[int]) -> ColumnElement[bool]:
    """Return whether a tree counts as a host. If its root is a sharing provider, it does not."""
    link = t.resource_provider_traits
    return ~(
        sa.select(sa.literal(1))
        .select_from(link.join(t.traits, t.traits.c.id == link.c.trait_id))
        .where(link.c.resource_provider_id == root_id, t.traits.c.name == SHARING_TRAIT)
        .exists()
    )


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
        _is_host(_named.c.root_provider_id),
    )
    .group_by(_named.c.uuid, _record.c.project_id, _record.c.spread_group)
)
_HOLDS = (
    tagged_json_row("holds", _record.c.project_id, sa.func.count())
    .select_from(_with_consumer)
    .where(_of_projects, is_hold(_record, _consumer), _record.c.expires_at > _now)
    .group_by(_record.c.project_id)
)


def before_creation(
    consumers: Collection[str],
    hosts: Collection[str],
    groups: Collection[str],
    with_holds: bool,
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
    """Insert records. A row contains all columns except `id`, `created_at` and `updated_at`.

    `consumer_created_at` may be None.
    """
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
        _is_host(_root.c.id),
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
        sa.select(sa.literal(1))
        .select_from(_allocation)
        .where(same_identifier(_allocation.c.consumer_id, _consumer.c.uuid))
        .exists(),
    )
    .with_for_update()
)


def lock_consumers(uuids: Collection[str]) -> Queries:
    """Select (id, uuid, time of creation, project id) of consumers with allocations. Lock them."""
    return bulk.select_by(_LOCK_CONSUMERS, uuids, locks=True)


_EXPIRED = (
    sa.select(_record.c.id, _record.c.consumer_uuid, Clock().label("clock"))
    .where(_record.c.expires_at <= _now)
    .order_by(_record.c.expires_at)
    .limit(sa.bindparam("size"))
)


def expired(size: int) -> Query:
    """Select (id, consumer uuid, time in milliseconds) of the records whose holds ended first."""
    return Query(_EXPIRED, {"size": size})


# -- changes -----------------------------------------------------------------------------------

_NO_END = 0  # stands for `expires_at` in comparisons, if a record has no hold
_end = sa.func.coalesce(_record.c.expires_at, sa.literal_column("0", sa.BigInteger()))


def delete(ends: Mapping[int, int | None]) -> Writes:
    """Delete records (id -> `expires_at` as read) whose holds have not been extended since then."""
    return Writes(
        Write(_delete(size=len(chunk)), _end_params(chunk), matches=len(chunk))
        for chunk in mapping_chunks(ends)
    )


def _end_params(ends: Mapping[int, int | None]) -> dict[str, Any]:
    return bulk.case_params(ends, end={row_id: end or _NO_END for row_id, end in ends.items()})


@bulk.cached_by_size
def _delete(size: int) -> sa.Delete:
    as_read = bulk.case_by_id(_record.c.expires_at, size, "end")
    return sa.delete(_record).where(bulk.in_list(_record.c.id), _end == as_read)


@bulk.cached_by_size
def _clear_holds(size: int) -> sa.Update:
    as_read = bulk.case_by_id(_record.c.expires_at, size, "end")
    return (
        sa.update(_record)
        .where(bulk.in_list(_record.c.id), _end == as_read)
        .values(hold_generation=None, held_since=None, expires_at=None, mappings=None)
    )


def clear_holds(ends: Mapping[int, int | None]) -> Writes:
    """Remove the holds from records (id -> `expires_at` as read). The records remain."""
    return Writes(
        Write(_clear_holds(size=len(chunk)), _end_params(chunk), matches=len(chunk))
        for chunk in mapping_chunks(ends)
    )


_LEAVE = (
    sa.update(_record)
    .where(bulk.in_list(_record.c.id))
    .values(spread_group=None, max_per_host=None)
)


def leave_groups(row_ids: Collection[int]) -> Writes:
    """Remove consumers from their spread groups, by the ids of their records."""
    return bulk.write_by(_LEAVE, row_ids)


_EXTEND = (
    sa.update(_record)
    .where(
        _record.c.id == sa.bindparam("row_id"),
        _record.c.expires_at == sa.bindparam("old", type_=_record.c.expires_at.type),
    )
    .values(
        expires_at=sa.bindparam("new", type_=_record.c.expires_at.type),
        updated_at=sa.bindparam("now", type_=_record.c.updated_at.type),
    )
)


def extend(row_id: int, old: int, new: int) -> Write:
    """Set the end of a hold, unless the end has changed since it was read."""
    params = {"row_id": row_id, "old": old, "new": new, "now": t.now()}
    return Write(_EXTEND, params, matches=1)


_JOIN = (
    sa.update(_record)
    .where(_record.c.id == sa.bindparam("row_id"))
    .values(
        {
            column.name: sa.bindparam(f"new_{column.name}", type_=column.type)
            for column in (_record.c.project_id, _record.c.spread_group, _record.c.max_per_host)
        }
        | {"updated_at": sa.bindparam("now", type_=_record.c.updated_at.type)}
    )
)


def join_group(row_id: int, project_id: int, group: str, max_per_host: int) -> Write:
    """Set the spread group of a record. The group belongs to the project of the consumer."""
    params = {
        "row_id": row_id,
        "new_project_id": project_id,
        "new_spread_group": group,
        "new_max_per_host": max_per_host,
        "now": t.now(),
    }
    return Write(_JOIN, params, matches=1)


_REMEMBER = (
    sa.update(_record)
    .where(_record.c.id == sa.bindparam("row_id"))
    .values(
        request=sa.bindparam("text", type_=_record.c.request.type),
        updated_at=sa.bindparam("now", type_=_record.c.updated_at.type),
    )
)


def remember(row_id: int, request: str) -> Write:
    """Set the stored request of a record."""
    return Write(_REMEMBER, {"row_id": row_id, "text": request, "now": t.now()}, matches=1)


# -- rows without a consumer -------------------------------------------------------------------

_MEANINGLESS = ~(
    sa.select(sa.literal(1)).select_from(_consumer).where(belongs_to(_record, _consumer)).exists()
)
_WITHOUT_CONSUMER = sa.select(_record.c.id, _record.c.expires_at).where(_MEANINGLESS)


def without_consumer(size: int) -> Query:
    """Select (id, expires_at) of the first records that belong to no consumer."""
    return Query(_WITHOUT_CONSUMER.order_by(_record.c.id).limit(size))


def without_consumer_of(row_ids: Collection[int]) -> Queries:
    """Select (id, expires_at) of the given records that belong to no consumer."""
    return bulk.select_by(_WITHOUT_CONSUMER.where(bulk.in_list(_record.c.id)), row_ids)
