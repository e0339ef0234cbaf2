"""The list of consumers, with their owners and claim records."""

from collections.abc import Collection
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement

from placement.db import tables as t
from placement.db.constructs import same_identifier, same_text, straight_join
from placement.db.fragments import (
    OWNER_COLUMNS,
    Selection,
    belongs_to,
    is_hold,
    is_member,
    with_owners,
)
from placement.db.statement import Query
from placement.vocabulary import UNKNOWN_CONSUMER_TYPE

_consumer, _record, _allocation = t.consumers, t.claim_records, t.allocations
_provider = t.resource_providers
_named = _provider.alias("named")
_user = _consumer.alias("user_of_tree")


@dataclass(frozen=True, slots=True)
class ConsumerFilter:
    """The conditions on listed consumers. A consumer must satisfy all of them."""

    # Exact name of the project, or None for any project.
    project: str | None = None
    # Exact name of the user, or None for any user. Only valid with a project.
    user: str | None = None
    # Name of the type, UNKNOWN_CONSUMER_TYPE for consumers without a type, or None for any type.
    consumer_type: str | None = None
    # Stored forms of the uuid of a provider whose tree the consumers use, or None for any tree.
    in_tree: Collection[str] | None = None
    # Name of a spread group of the project, or None for any group.
    spread_group: str | None = None
    # Whether only holds are listed.
    held: bool = False
    # Stored forms of the uuids of consumers, or None for any consumer.
    uuids: Collection[str] | None = None


# PERF: this is not an EXISTS, for which MariaDB joins all allocations before it sorts and returns
# the first consumers.
_HAS_ALLOCATIONS = (
    sa.select(_allocation.c.id)
    .where(same_identifier(_allocation.c.consumer_id, _consumer.c.uuid))
    .limit(sa.literal_column("1"))
    .scalar_subquery()
    .is_not(None)
)
_IDS = sa.select(_consumer.c.id).where(_HAS_ALLOCATIONS).order_by(_consumer.c.uuid)
_RECORDED_IDS = _IDS.select_from(_consumer.join(_record, belongs_to(_record, _consumer)))
# PERF: otherwise, planners would search for holds among all consumers, in the order of the list.
_MAY_BE_HELD = sa.select(_record.c.consumer_id).where(_record.c.expires_at.is_not(None))


def page(condition: ConsumerFilter, after: str, size: int) -> Query:
    """Select up to `size` consumers with allocations and with a uuid after `after`, by uuid.

    The columns are the uuid, the names of project, user and type, the generation, the spread group
    with its number, the end of the hold, and the remembered request. Columns without a value are
    null.
    """
    ids = _RECORDED_IDS if condition.held or condition.spread_group is not None else _IDS
    ids = ids.where(*_clauses(condition), _consumer.c.uuid > after).limit(size)
    # PERF: if all tables were in a single join, MariaDB would join all consumers before it returns
    # the first ones.
    listed = ids.subquery("listed")
    rows = (
        sa.select(
            _consumer.c.uuid,
            *OWNER_COLUMNS,
            _consumer.c.generation,
            sa.case((is_member(_record, _consumer), _record.c.spread_group)).label("spread_group"),
            _record.c.max_per_host,
            sa.case((is_hold(_record, _consumer), _record.c.expires_at)).label("expires_at"),
            _record.c.request,
        )
        .select_from(
            with_owners(listed.join(_consumer, _consumer.c.id == listed.c.id)).outerjoin(
                _record, belongs_to(_record, _consumer)
            )
        )
        .order_by(_consumer.c.uuid)
    )
    return Query(straight_join(rows))


def _clauses(condition: ConsumerFilter) -> list[ColumnElement[bool]]:
    where: list[ColumnElement[bool]] = []
    if condition.uuids is not None:
        where.append(_consumer.c.uuid.in_(sorted(condition.uuids)))
    untyped = condition.consumer_type == UNKNOWN_CONSUMER_TYPE
    type_name = None if untyped else condition.consumer_type
    names = (
        (_consumer.c.project_id, t.projects.c.external_id, condition.project),
        (_consumer.c.user_id, t.users.c.external_id, condition.user),
        (_consumer.c.consumer_type_id, t.consumer_types.c.name, type_name),
    )
    where += [
        reference.in_(sa.select(column.table.c.id).where(same_text(column, name)))
        for reference, column, name in names
        if name is not None
    ]
    if untyped:
        where.append(_consumer.c.consumer_type_id.is_(None))
    if condition.in_tree is not None:
        where.append(_consumer.c.id.in_(_using_tree(condition.in_tree)))
    if condition.spread_group is not None:
        where.append(_record.c.spread_group == condition.spread_group)
        where.append(is_member(_record, _consumer))
    if condition.held:
        where += [_consumer.c.id.in_(_MAY_BE_HELD), is_hold(_record, _consumer)]
    return where


def _using_tree(provider_uuids: Collection[str]) -> Selection:
    """Select the ids of the consumers that use the tree of a provider."""
    return (
        sa.select(_user.c.id)
        .select_from(
            _named.join(_provider, _provider.c.root_provider_id == _named.c.root_provider_id)
            .join(_allocation, _allocation.c.resource_provider_id == _provider.c.id)
            .join(_user, same_identifier(_user.c.uuid, _allocation.c.consumer_id))
        )
        .where(_named.c.uuid.in_(sorted(provider_uuids)))
    )
