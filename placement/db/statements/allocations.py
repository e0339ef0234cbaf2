"""Consumers and their allocations."""

from collections.abc import Collection, Mapping, Sequence

import sqlalchemy as sa

from placement.db import fragments
from placement.db import tables as t
from placement.db.fragments import Rows

consumer = t.consumers
allocation = t.allocations


def of_consumers(uuids: Collection[str]) -> Rows:
    """Select the consumers, each with its allocations: one row an allocation, or one bare row."""
    return (
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
        )
        .select_from(consumer.outerjoin(allocation, allocation.c.consumer_id == consumer.c.uuid))
        .where(consumer.c.uuid.in_(sorted(uuids)))
        .order_by(consumer.c.id, allocation.c.id)
    )


def show(uuids: Collection[str]) -> Rows:
    """Select a consumer's allocations as the API shows them: one row an allocation."""
    provider = t.resource_providers
    return (
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


def on_provider(provider_id: int) -> Rows:
    """Select what is allocated on a provider: consumer, its generation, class, amount."""
    return (
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


def create_consumers(rows: Sequence[Mapping[str, object]]) -> sa.Insert:
    """Insert consumers (uuid, project_id, user_id, consumer_type_id) at generation 1."""
    created = t.now()
    return sa.insert(consumer).values(
        [{**row, "generation": 1, "created_at": created} for row in rows]
    )


def update_consumers(rows: Mapping[int, Mapping[str, int | None]]) -> sa.Update:
    """Add 1 to the generations of consumers and set their owners, by id.

    A row has `generation` (as read), `project_id`, `user_id` and `consumer_type_id`. A consumer
    whose generation has moved since is left alone: the caller compares the number of rows.
    """
    column = consumer.c
    return (
        sa.update(consumer)
        .where(
            column.id.in_(sorted(rows)),
            column.generation
            == fragments.by_key(
                column.id,
                {key: row["generation"] for key, row in rows.items()},
                column.generation,
            ),
        )
        .values(
            generation=column.generation + 1,
            updated_at=t.now(),
            **{
                field: fragments.by_key(
                    column.id, {key: row[field] for key, row in rows.items()}, column[field]
                )
                for field in ("project_id", "user_id", "consumer_type_id")
            },
        )
    )


def delete_consumers(generations: Mapping[int, int]) -> sa.Delete:
    """Delete consumers that are still at the generation that was read (id -> generation)."""
    return sa.delete(consumer).where(
        consumer.c.id.in_(sorted(generations)),
        consumer.c.generation
        == fragments.by_key(consumer.c.id, generations, consumer.c.generation),
    )


def delete(ids: Collection[int]) -> sa.Delete:
    """Delete allocations by id."""
    return sa.delete(allocation).where(allocation.c.id.in_(sorted(ids)))


def create(rows: Sequence[Mapping[str, object]]) -> sa.Insert:
    """Insert allocations (consumer_id, resource_provider_id, resource_class_id, used)."""
    created = t.now()
    return sa.insert(allocation).values([{**row, "created_at": created} for row in rows])
