"""The list of consumers with their owners and claim records."""

from collections.abc import Collection
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement

from placement.db import tables as t
from placement.db.constructs import same_text
from placement.db.fragments import Selection, belongs_to, is_hold, is_member
from placement.db.statement import Query

_consumer, _record, _allocation = t.consumers, t.claim_records, t.allocations
_provider, _type = t.resource_providers, t.consumer_types
_named = _provider.alias("named")


@dataclass(frozen=True, slots=True)
class ConsumerCondition:
    """The conditions on listed consumers; a consumer must satisfy all of them."""

    # Stored forms of the uuids of consumers; None for any.
    uuids: Collection[str] | None = None
    # Exact name of the project; None for any.
    project: str | None = None
    # Exact name of the user; None for any.
    user: str | None = None
    # Exact name of the type; None for any.
    consumer_type: str | None = None
    # Whether only consumers without a type are listed.
    untyped: bool = False
    # Stored forms of the uuid of a provider whose tree the consumers use; None for any.
    in_tree: Collection[str] | None = None
    # Name of the spread group; None for any.
    spread_group: str | None = None
    # Whether only holds are listed.
    held: bool = False


_ROWS = (
    sa.select(
        _consumer.c.uuid,
        t.projects.c.external_id.label("project"),
        t.users.c.external_id.label("user"),
        _type.c.name.label("type"),
        _consumer.c.generation,
        sa.case((is_member(_record, _consumer), _record.c.spread_group)).label("spread_group"),
        _record.c.max_per_host,
        sa.case((is_hold(_record, _consumer), _record.c.expires_at)).label("expires_at"),
        _record.c.request,
    )
    .select_from(
        _consumer.outerjoin(t.projects, t.projects.c.id == _consumer.c.project_id)
        .outerjoin(t.users, t.users.c.id == _consumer.c.user_id)
        .outerjoin(_type, _type.c.id == _consumer.c.consumer_type_id)
        .outerjoin(_record, belongs_to(_record, _consumer))
    )
    .where(
        sa.select(sa.literal(1))
        .select_from(_allocation)
        .where(_allocation.c.consumer_id == _consumer.c.uuid)
        .exists()
    )
    .order_by(_consumer.c.uuid)
)


def page(condition: ConsumerCondition, after: str, size: int) -> Query:
    """Select at most `size` consumers with allocations and a uuid after `after`, by uuid.

    The columns are the uuid, the names of project, user and type, the generation, the spread group
    with its number, the end of the hold, and the remembered request. Columns without a value are
    null.
    """
    rows = _ROWS.where(*_clauses(condition), _consumer.c.uuid > after).limit(size)
    return Query(rows)


def _clauses(condition: ConsumerCondition) -> list[ColumnElement[bool]]:
    where: list[ColumnElement[bool]] = []
    if condition.uuids is not None:
        where.append(_consumer.c.uuid.in_(sorted(condition.uuids)))
    names = (
        (t.projects.c.external_id, condition.project),
        (t.users.c.external_id, condition.user),
        (_type.c.name, condition.consumer_type),
    )
    where += [same_text(column, name) for column, name in names if name is not None]
    if condition.untyped:
        where.append(_consumer.c.consumer_type_id.is_(None))
    if condition.in_tree is not None:
        where.append(_consumer.c.uuid.in_(_using_tree(condition.in_tree)))
    if condition.spread_group is not None:
        where.append(_record.c.spread_group == condition.spread_group)
        where.append(is_member(_record, _consumer))
    if condition.held:
        where.append(is_hold(_record, _consumer))
    return where


def _using_tree(provider_uuids: Collection[str]) -> Selection:
    """Select the consumers that use the tree of a provider."""
    return (
        sa.select(_allocation.c.consumer_id)
        .select_from(
            _named.join(_provider, _provider.c.root_provider_id == _named.c.root_provider_id).join(
                _allocation, _allocation.c.resource_provider_id == _provider.c.id
            )
        )
        .where(_named.c.uuid.in_(sorted(provider_uuids)))
    )
