"""A service whose database has one random world at a time, written row by row."""

import random
import uuid as uuids
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import falcon.testing
import sqlalchemy as sa

from placement.db import tables as t
from placement.objects import catalog, derived
from tests.kit.cloud import Cloud, Provider, Stock, ensure_classes, write
from tests.kit.service import NEWEST, Service
from tests.properties.oracle import Inventory, World
from tests.properties.strategies import CLASSES, TRAITS

EMPTIED = (
    t.claim_records,
    t.allocations,
    t.consumers,
    t.inventories,
    t.resource_provider_traits,
    t.resource_provider_aggregates,
    t.placement_aggregates,
)


class WorldService(Service):
    """A service with one world at a time."""

    def search(
        self, path: str, params: Sequence[tuple[str, object]], version: str = NEWEST
    ) -> falcon.testing.Result:
        """Send a GET with these query parameters, in this order."""
        return self.send("GET", path, version=version, query_string=urlencode(params))

    def claim(self, candidate: Mapping[str, Any], project: str = "p") -> str:
        """Claim a candidate for a new consumer; returns the consumer's uuid."""
        consumer = str(uuids.uuid4())
        owner = {"project_id": project, "user_id": "u", "consumer_type": "INSTANCE"}
        body = {**candidate, **owner, "consumer_generation": None}
        self.expect(204, "PUT", f"/allocations/{consumer}", body)
        return consumer

    def unclaim(self, consumer: str) -> None:
        """Delete a consumer's allocations."""
        self.expect(204, "DELETE", f"/allocations/{consumer}")

    def record(self, consumer: str, **columns: object) -> None:
        """Record a spread group, a hold or a request of a consumer, as a claim does."""
        each = t.consumers.c
        with self.database.writer.begin() as conn:
            row = conn.execute(
                sa.select(
                    each.id.label("consumer_id"),
                    each.uuid.label("consumer_uuid"),
                    each.created_at.label("consumer_created_at"),
                    each.project_id,
                ).where(each.uuid == consumer)
            ).one()
            conn.execute(sa.insert(t.claim_records).values(**row._mapping, **columns))

    def renew(self, rng: random.Random) -> None:
        """Give every tree a revision; trees without one are not cached."""
        provider = t.resource_providers
        with self.database.writer.begin() as conn:
            for row_id in conn.execute(sa.select(provider.c.id)).scalars().all():
                revision = rng.randrange(1, 2**63)
                conn.execute(
                    sa.update(provider).where(provider.c.id == row_id).values(revision=revision)
                )

    def load(self, world: World) -> None:
        """Replace the content of the database by this world; one consumer has all allocations."""
        with self.database.writer.begin() as conn:
            _empty(conn)
            write(conn, _cloud(world))
            _use(conn, world)
            last: int | None = -1
            while last is not None:
                last, _corrections = derived.heal_next(conn, last)


def _empty(conn: sa.Connection) -> None:
    provider = t.resource_providers
    for table in EMPTIED:
        conn.execute(sa.delete(table))
    conn.execute(sa.update(provider).values(parent_provider_id=None, root_provider_id=None))
    conn.execute(sa.delete(provider))


def _cloud(world: World) -> Cloud:
    """Return the world as a cloud to write."""
    ids = {uuid: number for number, uuid in enumerate(world, 1)}
    providers = [
        Provider(
            {name: _stock(inventory) for name, inventory in provider.inventories.items()},
            provider.traits,
            ids[provider.parent] if provider.parent else None,
            provider.aggregates,
            name=provider.name,
            uuid=provider.uuid,
        )
        for provider in world.values()
    ]
    return Cloud("world", lambda: providers)


def _stock(inventory: Inventory) -> Stock:
    return Stock(
        inventory.total,
        inventory.reserved,
        inventory.min_unit,
        inventory.max_unit,
        inventory.step_size,
        inventory.allocation_ratio,
    )


def _use(conn: sa.Connection, world: World) -> None:
    """Write the usage as one consumer's, and create all names that queries may use."""
    owners = catalog.ensure(conn, {"project": ["world"], "user": ["world"], "trait": TRAITS})
    consumer = str(uuids.uuid4())
    project_id, user_id = owners["project"]["world"], owners["user"]["world"]
    row = {"uuid": consumer, "generation": 1, "project_id": project_id, "user_id": user_id}
    conn.execute(sa.insert(t.consumers).values(row))
    names = {name for provider in world.values() for name in provider.inventories}
    class_ids = ensure_classes(conn, {*CLASSES, *names})
    allocations = [
        {
            "resource_provider_id": number,
            "resource_class_id": class_ids[name],
            "consumer_id": consumer,
            "used": inventory.used,
        }
        for number, provider in enumerate(world.values(), 1)
        for name, inventory in provider.inventories.items()
        if inventory.used
    ]
    if allocations:
        conn.execute(sa.insert(t.allocations), allocations)
