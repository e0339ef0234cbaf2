"""A service whose database holds one random world at a time, put there row by row."""

import random
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import falcon.testing
import sqlalchemy as sa

from placement import app
from placement.candidates import DEFAULT_TUNING, SearchTuning
from placement.db import tables as t
from placement.objects import catalog, derived
from tests.kit.builders import make_database
from tests.properties.oracle import World
from tests.properties.strategies import CLASSES, TRAITS

HEADERS = {"X-Auth-Token": "admin", "OpenStack-API-Version": "placement 1.39"}
EMPTIED = (
    t.allocations,
    t.consumers,
    t.inventories,
    t.resource_provider_traits,
    t.resource_provider_aggregates,
    t.placement_aggregates,
)


class Service:
    """An application on a database of its own, asked in process."""

    def __init__(self, directory: Path, **overrides: dict[str, object]) -> None:
        self._settings, self.database = make_database(directory, **overrides)
        self.tune(DEFAULT_TUNING)

    def tune(self, tuning: SearchTuning) -> None:
        """Search in pieces of these sizes from now on."""
        application = app.create_app(self._settings, self.database, tuning)
        self._client = falcon.testing.TestClient(application)

    def get(self, path: str, params: Sequence[tuple[str, object]], version: str = "1.39") -> Any:
        """Send a GET with these query parameters, in this order."""
        headers = {**HEADERS, "OpenStack-API-Version": f"placement {version}"}
        return self._client.simulate_get(path, query_string=urlencode(params), headers=headers)

    def send(self, method: str, path: str, body: object = None) -> Any:
        """Send a request with a JSON body."""
        return self._client.simulate_request(method, path, json=body, headers=HEADERS)

    def claim(self, candidate: Mapping[str, Any]) -> str:
        """Claim a candidate as it was given, for a new consumer, whose uuid is returned."""
        consumer = str(uuid.uuid4())
        answer = self.send(
            "PUT",
            f"/allocations/{consumer}",
            {
                **candidate,
                "project_id": "p",
                "user_id": "u",
                "consumer_generation": None,
                "consumer_type": "INSTANCE",
            },
        )
        assert answer.status_code == 204, answer.text
        return consumer

    def unclaim(self, consumer: str) -> None:
        """Delete a consumer's allocations."""
        assert self.send("DELETE", f"/allocations/{consumer}").status_code == 204

    def renew(self, rng: random.Random) -> None:
        """Give every tree a revision, without which none is kept in memory."""
        provider = t.resource_providers
        with self.database.writer.begin() as conn:
            for row_id in conn.execute(sa.select(provider.c.id)).scalars().all():
                revision = rng.randrange(1, 2**63)
                conn.execute(
                    sa.update(provider).where(provider.c.id == row_id).values(revision=revision)
                )

    def check_used(self) -> None:
        """Every `used` is the sum of its allocations."""
        with self.database.read() as conn:
            derived.refuse_incorrect(conn)

    def load(self, world: World) -> None:
        """Make the database hold exactly this world; what is used belongs to one consumer."""
        with self.database.writer.begin() as conn:
            _empty(conn)
            _fill(conn, world)
            derived.recompute(conn)


def _empty(conn: sa.Connection) -> None:
    provider = t.resource_providers
    for table in EMPTIED:
        conn.execute(sa.delete(table))
    conn.execute(sa.update(provider).values(parent_provider_id=None, root_provider_id=None))
    conn.execute(sa.delete(provider))


def _fill(conn: sa.Connection, world: World) -> None:
    names = {*CLASSES, *(name for each in world.values() for name in each.inventories)}
    known = catalog.find_ids(conn, {"resource_class": names})["resource_class"]
    for position, name in enumerate(sorted(names - known.keys())):
        row = {"id": 20000 + len(known) + position, "name": name}
        conn.execute(sa.insert(t.resource_classes).values(row))
    classes = catalog.find_ids(conn, {"resource_class": names})["resource_class"]
    had = {name for each in world.values() for name in each.traits}
    traits = catalog.ensure(conn, {"trait": {*TRAITS, *had}})
    aggregates = catalog.ensure(
        conn, {"aggregate": {n for each in world.values() for n in each.aggregates}}
    )
    owners = catalog.ensure(conn, {"project": ["world"], "user": ["world"]})
    consumer = str(uuid.uuid4())
    conn.execute(
        sa.insert(t.consumers).values(
            uuid=consumer,
            generation=1,
            project_id=owners["project"]["world"],
            user_id=owners["user"]["world"],
        )
    )
    ids: dict[str, int] = {}
    roots: dict[str, int] = {}
    for number, (uuid_, provider) in enumerate(world.items(), start=1):
        parent = provider.parent
        ids[uuid_] = number
        roots[uuid_] = roots[parent] if parent else number
        conn.execute(
            sa.insert(t.resource_providers).values(
                id=number,
                uuid=uuid_,
                name=provider.name,
                generation=0,
                parent_provider_id=ids[parent] if parent else None,
                root_provider_id=roots[uuid_],
            )
        )
        for name, stock in provider.inventories.items():
            spot = {"resource_provider_id": number, "resource_class_id": classes[name]}
            conn.execute(
                sa.insert(t.inventories).values(
                    **spot,
                    total=stock.total,
                    reserved=stock.reserved,
                    min_unit=stock.min_unit,
                    max_unit=stock.max_unit,
                    step_size=stock.step_size,
                    allocation_ratio=stock.allocation_ratio,
                )
            )
            if stock.used:
                conn.execute(
                    sa.insert(t.allocations).values(**spot, consumer_id=consumer, used=stock.used)
                )
        for name in provider.traits:
            link = {"resource_provider_id": number, "trait_id": traits["trait"][name]}
            conn.execute(sa.insert(t.resource_provider_traits).values(link))
        for name in provider.aggregates:
            link = {
                "resource_provider_id": number,
                "aggregate_id": aggregates["aggregate"][name],
            }
            conn.execute(sa.insert(t.resource_provider_aggregates).values(link))
