"""Select states that the API allows but that an operator should review."""

import sqlalchemy as sa

from placement.db import tables as t
from placement.db.constructs import same_identifier
from placement.db.fragments import belongs_to, has_row, has_trait, is_member, shares, with_owners
from placement.db.statement import Query
from placement.vocabulary import HOST_CLASSES, NOVA_TRAIT

_record = t.claim_records
_provider, _inventory, _allocation, _consumer = (
    t.resource_providers,
    t.inventories,
    t.allocations,
    t.consumers,
)

_stocks = _inventory.join(_provider, _provider.c.id == _inventory.c.resource_provider_id).join(
    t.resource_classes, t.resource_classes.c.id == _inventory.c.resource_class_id
)


def over_capacity() -> Query:
    """Select (provider, name, class, used, capacity, excess) of overcommitted inventories."""
    rows = (
        sa.select(
            _provider.c.uuid.label("provider"),
            _provider.c.name,
            t.resource_classes.c.name.label("resource_class"),
            _inventory.c.used,
            _inventory.c.capacity,
            (_inventory.c.used - _inventory.c.capacity).label("excess"),
        )
        .select_from(_stocks)
        .where(_inventory.c.used > _inventory.c.capacity)
        .order_by(_provider.c.name, t.resource_classes.c.name)
    )
    return Query(rows)


def consumers(after: int, size: int) -> Query:
    """Select the next consumers by id, with their generation, type, project, user and time."""
    rows = (
        sa.select(
            _consumer.c.uuid.label("consumer"),
            t.consumer_types.c.name.label("type"),
            t.projects.c.external_id.label("project"),
            t.users.c.external_id.label("user"),
            _consumer.c.created_at.label("created"),
            _consumer.c.generation,
            _consumer.c.id,
        )
        .select_from(with_owners(_consumer))
        .where(_consumer.c.id > sa.bindparam("after"))
        .order_by(_consumer.c.id)
        .limit(sa.bindparam("size"))
    )
    return Query(rows, {"after": after, "size": size})


_used_tree = (
    sa.select(_allocation.c.consumer_id, _provider.c.root_provider_id.label("root_id"))
    .select_from(_allocation.join(_provider, _provider.c.id == _allocation.c.resource_provider_id))
    .where(~shares(_provider.c.id))
    .distinct()
    .cte("used_tree")
)
_scattered = (
    sa.select(_used_tree.c.consumer_id)
    .group_by(_used_tree.c.consumer_id)
    .having(sa.func.count() > 1)
    .cte("scattered")
)


def on_several_trees() -> Query:
    """Select (consumer, root, name) of consumers with allocations in several trees, by tree.

    Allocations from sharing providers do not count, regardless of the tree of the provider.
    """
    rows = (
        sa.select(
            _used_tree.c.consumer_id.label("consumer"),
            _provider.c.uuid.label("root"),
            _provider.c.name,
        )
        .select_from(
            _used_tree.join(_scattered, _scattered.c.consumer_id == _used_tree.c.consumer_id).join(
                _provider, _provider.c.id == _used_tree.c.root_id
            )
        )
        .order_by(_used_tree.c.consumer_id, _provider.c.name)
    )
    return Query(rows)


_used_host = (
    sa.select(_consumer.c.id.label("consumer_id"), _provider.c.root_provider_id.label("root_id"))
    .select_from(
        _consumer.join(
            _allocation, same_identifier(_allocation.c.consumer_id, _consumer.c.uuid)
        ).join(_provider, _provider.c.id == _allocation.c.resource_provider_id)
    )
    .distinct()
    .subquery("used_host")
)


def crowded_hosts() -> Query:
    """Select (project, group, host, name, members, max_per_host) of hosts with too many members.

    The number of members of a spread group on such a host exceeds the lowest maximum of these
    members.
    """
    rows = (
        sa.select(
            t.projects.c.external_id.label("project"),
            _record.c.spread_group.label("group"),
            _provider.c.uuid.label("host"),
            _provider.c.name,
            sa.func.count().label("members"),
            sa.func.min(_record.c.max_per_host).label("max_per_host"),
        )
        .select_from(
            _record.join(_consumer, belongs_to(_record, _consumer))
            .join(t.projects, t.projects.c.id == _consumer.c.project_id)
            .join(_used_host, _used_host.c.consumer_id == _consumer.c.id)
            .join(_provider, _provider.c.id == _used_host.c.root_id)
        )
        .where(is_member(_record, _consumer), ~shares(_provider.c.id))
        .group_by(
            t.projects.c.external_id, _record.c.spread_group, _provider.c.uuid, _provider.c.name
        )
        .having(sa.func.count() > sa.func.min(_record.c.max_per_host))
        .order_by(t.projects.c.external_id, _record.c.spread_group, _provider.c.name)
    )
    return Query(rows)


_host = _provider.alias("host")
_nova_host = _provider.alias("nova_host")


def hosts_without_nova() -> Query:
    """Select (host, name) of hosts that lack nova's trait, if other hosts have it."""
    computes = sa.and_(
        _provider.c.root_provider_id == _host.c.id,
        t.resource_classes.c.name.in_(sorted(HOST_CLASSES)),
    )
    rows = (
        sa.select(_host.c.uuid.label("host"), _host.c.name)
        .where(
            _host.c.parent_provider_id.is_(None),
            ~has_trait(_host.c.id, NOVA_TRAIT),
            has_row(_stocks, computes),
            has_row(_nova_host, has_trait(_nova_host.c.id, NOVA_TRAIT)),
        )
        .order_by(_host.c.name)
    )
    return Query(rows)


def empty_projects() -> Query:
    """Select projects that have no consumers."""
    rows = (
        sa.select(t.projects.c.external_id.label("project"))
        .where(~has_row(_consumer, _consumer.c.project_id == t.projects.c.id))
        .order_by(t.projects.c.external_id)
    )
    return Query(rows)
