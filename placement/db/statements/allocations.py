"""Consumers and their allocations."""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

import sqlalchemy as sa

from placement.db import fragments
from placement.db import tables as t
from placement.db.statement import (
    Queries,
    Query,
    Write,
    Writes,
    mapping_chunks,
    sorted_chunks,
)

consumer = t.consumers
allocation = t.allocations


_OF_CONSUMERS = (
    sa.select(
        consumer.c.id,
        consumer.c.uuid,
        consumer.c.generation,
        consumer.c.project_id,
        consumer.c.user_id,
        consumer.c.consumer_type_id.label("type_id"),
        allocation.c.id.label("allocation_id"),
        allocation.c.resource_provider_id.label("provider_id"),
        allocation.c.resource_class_id.label("class_id"),
        allocation.c.used,
        t.resource_providers.c.root_provider_id.label("root_id"),
        t.inventories.c.id.label("inventory_id"),
    )
    .select_from(
        consumer.outerjoin(allocation, allocation.c.consumer_id == consumer.c.uuid)
        .outerjoin(
            t.resource_providers, t.resource_providers.c.id == allocation.c.resource_provider_id
        )
        .outerjoin(
            t.inventories,
            sa.and_(
                t.inventories.c.resource_provider_id == allocation.c.resource_provider_id,
                t.inventories.c.resource_class_id == allocation.c.resource_class_id,
            ),
        )
    )
    .where(consumer.c.uuid.in_(fragments.many("uuids", consumer.c.uuid)))
    .order_by(consumer.c.id, allocation.c.id)
)


def of_consumers(uuids: Collection[str]) -> Queries:
    """Select the consumers, each with its allocations: one row an allocation, or one bare row.

    With an allocation come the root of its provider and its inventory, null where there is none.
    """
    return Queries(Query(_OF_CONSUMERS, {"uuids": chunk}) for chunk in sorted_chunks(uuids))


def show(uuids: Collection[str]) -> Query:
    """Select a consumer's allocations as the API shows them: one row an allocation."""
    provider = t.resource_providers
    return Query(
        sa.select(
            consumer.c.uuid,
            consumer.c.generation,
            t.projects.c.external_id.label("project"),
            t.users.c.external_id.label("user"),
            t.consumer_types.c.name.label("type"),
            provider.c.uuid.label("provider_uuid"),
            provider.c.generation.label("provider_generation"),
            t.resource_classes.c.name.label("class_name"),
            allocation.c.used,
            sa.func.coalesce(allocation.c.updated_at, allocation.c.created_at).label("changed_at"),
        )
        .select_from(
            allocation.join(consumer, consumer.c.uuid == allocation.c.consumer_id)
            .join(provider, provider.c.id == allocation.c.resource_provider_id)
            .join(t.resource_classes, t.resource_classes.c.id == allocation.c.resource_class_id)
            .outerjoin(t.projects, t.projects.c.id == consumer.c.project_id)
            .outerjoin(t.users, t.users.c.id == consumer.c.user_id)
            .outerjoin(t.consumer_types, t.consumer_types.c.id == consumer.c.consumer_type_id)
        )
        .where(allocation.c.consumer_id.in_(sorted(uuids)))
        .order_by(allocation.c.id)
    )


def on_provider(provider_id: int) -> Query:
    """Select what is allocated on a provider: consumer, its generation, class, amount."""
    return Query(
        sa.select(
            consumer.c.uuid,
            consumer.c.generation,
            t.resource_classes.c.name.label("class_name"),
            allocation.c.used,
            sa.func.coalesce(allocation.c.updated_at, allocation.c.created_at).label("changed_at"),
        )
        .select_from(
            allocation.join(consumer, consumer.c.uuid == allocation.c.consumer_id).join(
                t.resource_classes, t.resource_classes.c.id == allocation.c.resource_class_id
            )
        )
        .where(allocation.c.resource_provider_id == provider_id)
        .order_by(consumer.c.id, allocation.c.id)
    )


def create_consumers(rows: Sequence[Mapping[str, object]]) -> Writes:
    """Insert consumers (uuid, project_id, user_id, consumer_type_id) at generation 1."""
    created = t.now()
    return fragments.insert(
        consumer, [{**row, "generation": 1, "created_at": created} for row in rows]
    )


OWNER = ("project_id", "user_id", "consumer_type_id")


def update_consumers(rows: Mapping[int, Mapping[str, int | None]]) -> Writes:
    """Add 1 to the generations of consumers and set their owners, by id.

    A row has `generation` (as read), `project_id`, `user_id` and `consumer_type_id`. A consumer
    whose generation has moved since is not matched.
    """
    return Writes(_update_consumers(chunk) for chunk in mapping_chunks(rows))


def _update_consumers(rows: Mapping[int, Mapping[str, int | None]]) -> Write:
    values = {}
    for field in ("generation", *OWNER):
        values[f"new_{field}"] = {key: row[field] for key, row in rows.items()}
    params = {**fragments.placed(rows, **values), "now": t.now()}
    return Write(_consumers_update(len(rows)), params, matches=len(rows))


@lru_cache(maxsize=16)
def _consumers_update(size: int) -> sa.Update:
    column = consumer.c
    given = {
        field: fragments.by_place(column.id, size, f"new_{field}", column[field])
        for field in ("generation", *OWNER)
    }
    return (
        sa.update(consumer)
        .where(
            column.id.in_(fragments.many("ids", column.id)),
            column.generation == given.pop("generation"),
        )
        .values(
            generation=column.generation + 1,
            updated_at=sa.bindparam("now", type_=column.updated_at.type),
            **given,
        )
    )


def delete_consumers(generations: Mapping[int, int]) -> Writes:
    """Delete consumers that are still at the generation that was read (id -> generation)."""
    return Writes(
        Write(
            _consumers_delete(len(chunk)),
            fragments.placed(chunk, generation=chunk),
            matches=len(chunk),
        )
        for chunk in mapping_chunks(generations)
    )


@lru_cache(maxsize=16)
def _consumers_delete(size: int) -> sa.Delete:
    column = consumer.c
    read = fragments.by_place(column.id, size, "generation", column.generation)
    return sa.delete(consumer).where(
        column.id.in_(fragments.many("ids", column.id)), column.generation == read
    )


_DELETE = sa.delete(allocation).where(allocation.c.id.in_(fragments.many("ids", allocation.c.id)))


def delete(ids: Collection[int]) -> Writes:
    """Delete allocations by id."""
    return Writes(
        Write(_DELETE, {"ids": chunk}, matches=len(chunk)) for chunk in sorted_chunks(ids)
    )


def create(rows: Sequence[Mapping[str, object]]) -> Writes:
    """Insert allocations (consumer_id, resource_provider_id, resource_class_id, used)."""
    created = t.now()
    return fragments.insert(allocation, [{**row, "created_at": created} for row in rows])
