"""Allocations and the consumers that hold them (contract allocations.md).

All allocations of a consumer are written together. PUT and POST of allocations and the reshaper
run the same steps: `Scene.lock` owns the trees and reads what the write decides on, `plan`
checks it against the claims without touching anything, `Plan.write` carries it out. The number
of statements is the same for one consumer and for a thousand.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy.engine import Connection

from placement.db.statement import Restart
from placement.db.statements import allocations as statements
from placement.db.statements import inventories as inventory_statements
from placement.errors import (
    AllocationsNotFound,
    CapacityExceeded,
    ConsumerGenerationConflict,
    NoInventory,
    UnitsViolated,
    UnknownProviders,
    UnknownResourceClasses,
)
from placement.objects import capacity, catalog, identifiers, inventories, locking, providers
from placement.objects.capacity import Stock
from placement.objects.inventories import Inventory
from placement.objects.locking import LockedProvider
from placement.objects.providers import Provider
from placement.objects.unset import UNSET, Unset

Spot = tuple[int, int]  # (provider id, resource class id)


@dataclass(frozen=True, slots=True)
class Claim:
    """The complete allocations that a consumer shall have.

    allocations: provider uuid -> class -> amount; empty: none, and the consumer goes.
    generation: as the client stated it; None: "there is no such consumer"; UNSET: not stated.
    consumer_type: UNSET keeps the type of a known consumer and gives a new one none.
    """

    consumer: str
    allocations: Mapping[str, Mapping[str, int]]
    project: str
    user: str
    generation: int | Unset | None = UNSET
    consumer_type: str | Unset = UNSET


@dataclass(frozen=True, slots=True)
class Held:
    """One allocation row of a consumer.

    root_id: of the tree; None where the provider is gone, as may be in an adopted database. So
    may the inventory.
    """

    id: int
    spot: Spot
    used: int
    root_id: int | None
    inventory_id: int | None


@dataclass(frozen=True, slots=True)
class Consumer:
    """A consumer's row with its allocations."""

    id: int
    uuid: str
    generation: int
    project_id: int
    user_id: int
    type_id: int | None
    held: tuple[Held, ...]


@dataclass(frozen=True, slots=True)
class Scene:
    """What a write of allocations decides on, read while owning every tree that it touches.

    providers: by the identifiers that the request gave. present: provider id -> class ->
    inventory, for all these and for those that the consumers use now; nothing when the request
    names no provider, for then nothing is claimed. consumers: by the identifiers given. ids:
    kind -> name -> id. exist: ids of the providers that there are.
    """

    providers: Mapping[str, LockedProvider]
    present: Mapping[int, Mapping[str, Inventory]]
    consumers: Mapping[str, Consumer]
    ids: Mapping[str, Mapping[str, int]]
    exist: Collection[int]

    @property
    def class_names(self) -> Mapping[int, str]:
        """Names of the classes of all inventories here, as they are now."""
        return {
            row.class_id: row.class_name for rows in self.present.values() for row in rows.values()
        }

    @property
    def inventory_ids(self) -> dict[Spot, int]:
        """Where `used` is kept."""
        held = (each for consumer in self.consumers.values() for each in consumer.held)
        ids = {each.spot: each.inventory_id for each in held if each.inventory_id is not None}
        rows = (row for of_provider in self.present.values() for row in of_provider.values())
        return ids | {(row.provider_id, row.class_id): row.id for row in rows}

    @classmethod
    def lock(
        cls,
        conn: Connection,
        claims: Sequence[Claim],
        provider_uuids: Collection[str] = (),
        class_names: Collection[str] = (),
    ) -> "Scene":
        """Own the trees of the claims, of what their consumers use, and of further providers.

        Projects, users, types are looked up, and those of the classes named besides. Raises
        Restart when the world moved between the first look and the lock.
        """
        named = set(provider_uuids).union(*(claim.allocations for claim in claims))
        uuids = [claim.consumer for claim in claims]
        owned = locking.lock_trees(conn, named, uuids, _names(claims, class_names))
        consumers = _read_consumers(conn, uuids)
        held = [held for consumer in consumers.values() for held in consumer.held]
        if {each.root_id for each in held} - owned.root_ids - {None}:
            raise Restart
        exist = {each.spot[0] for each in held if each.root_id is not None}
        exist.update(provider.id for provider in owned.providers.values())
        used = exist.union(each.spot[0] for each in held)
        present = inventories.of_providers(conn, used) if named else {}
        return cls(owned.providers, present, consumers, owned.ids, exist)


def _names(claims: Sequence[Claim], class_names: Collection[str]) -> dict[str, set[str]]:
    claims = [claim for claim in claims if claim.allocations]
    amounts = [amounts for claim in claims for amounts in claim.allocations.values()]
    return {
        "project": {claim.project for claim in claims},
        "user": {claim.user for claim in claims},
        "consumer_type": {
            claim.consumer_type for claim in claims if not isinstance(claim.consumer_type, Unset)
        },
        "resource_class": set(class_names).union(*amounts),
    }


def _read_consumers(conn: Connection, given: Sequence[str]) -> dict[str, Consumer]:
    rows: dict[str, list[Any]] = defaultdict(list)
    for row in statements.of_consumers(identifiers.stored_forms(*given)).rows(conn):
        rows[row.uuid].append(row)
    found = {
        uuid: Consumer(
            first.id,
            uuid,
            first.generation,
            first.project_id,
            first.user_id,
            first.type_id,
            tuple(
                Held(
                    row.allocation_id,
                    (row.provider_id, row.class_id),
                    row.used,
                    row.root_id,
                    row.inventory_id,
                )
                for row in of_one
                if row.allocation_id is not None
            ),
        )
        for uuid, of_one in rows.items()
        for first in of_one[:1]
    }
    return identifiers.match(given, found)


def check_consumers(scene: Scene, claims: Iterable[Claim]) -> None:
    """Raise ConsumerGenerationConflict for the first stated generation that does not hold."""
    for claim in claims:
        if isinstance(claim.generation, Unset):
            continue
        consumer = scene.consumers.get(claim.consumer)
        present = consumer.generation if consumer else None
        if claim.generation != present:
            raise ConsumerGenerationConflict(claim.consumer, claim.generation, present)


def check_providers(scene: Scene, claims: Iterable[Claim]) -> None:
    """Raise UnknownProviders, naming all that do not exist."""
    unknown = {uuid for claim in claims for uuid in claim.allocations} - scene.providers.keys()
    if unknown:
        raise UnknownProviders(unknown)


@dataclass(slots=True)
class Plan:
    """What a write will do, worked out before it does anything.

    amounts: claim -> spot -> amount. deltas: spot -> change of what is used there.
    placed_on, left: ids of providers that get an amount, or lose a consumer that is emptied.
    """

    scene: Scene
    claims: Sequence[Claim]
    amounts: list[dict[Spot, int]] = field(default_factory=list)
    deltas: dict[Spot, int] = field(default_factory=dict)
    placed_on: set[int] = field(default_factory=set)
    left: set[int] = field(default_factory=set)

    def write(self, conn: Connection, inventory_ids: Mapping[Spot, int]) -> None:
        """Replace the allocations, move `used` and the consumers.

        Provider generations are left to the caller. Raises Unmatched when a guard in a statement
        finds another state than the plan was made for.
        """
        ids = self._ensure_names(conn)
        owners = self._write_consumers(conn, ids)
        held = [held.id for consumer in self._known() for held in consumer.held]
        statements.delete(held).execute(conn)
        rows = [
            {
                "consumer_id": owner,
                "resource_provider_id": provider_id,
                "resource_class_id": class_id,
                "used": amount,
            }
            for owner, amounts in zip(owners, self.amounts, strict=True)
            for (provider_id, class_id), amount in amounts.items()
        ]
        statements.create(rows).execute(conn)
        self._move_used(conn, inventory_ids)

    def _known(self) -> list[Consumer]:
        found = (self.scene.consumers.get(claim.consumer) for claim in self.claims)
        return [consumer for consumer in found if consumer is not None]

    def _ensure_names(self, conn: Connection) -> Mapping[str, Mapping[str, int]]:
        wanted = _names(self.claims, ())
        del wanted["resource_class"]
        ids = self.scene.ids
        missing = {kind: names - ids[kind].keys() for kind, names in wanted.items()}
        if not any(missing.values()):
            return ids
        created = catalog.create(conn, missing)
        return {kind: {**ids[kind], **created.get(kind, {})} for kind in ids}

    def _write_consumers(self, conn: Connection, ids: Mapping[str, Mapping[str, int]]) -> list[str]:
        """Create, move and delete consumers; return the uuid of each claim's consumer."""
        owners: list[str] = []
        created: list[dict[str, object]] = []
        updated: dict[int, dict[str, int | None]] = {}
        deleted: dict[int, int] = {}
        for claim in self.claims:
            consumer = self.scene.consumers.get(claim.consumer)
            uuid = consumer.uuid if consumer else identifiers.canonical(claim.consumer)
            owners.append(uuid or claim.consumer)
            if not claim.allocations:
                if consumer:
                    deleted[consumer.id] = consumer.generation
                continue
            if isinstance(claim.consumer_type, Unset):
                type_id = consumer.type_id if consumer else None
            else:
                type_id = ids["consumer_type"][claim.consumer_type]
            owner = {
                "project_id": ids["project"][claim.project],
                "user_id": ids["user"][claim.user],
                "consumer_type_id": type_id,
            }
            if consumer:
                updated[consumer.id] = {"generation": consumer.generation, **owner}
            else:
                created.append({"uuid": owners[-1], **owner})
        statements.create_consumers(created).execute(conn)
        statements.update_consumers(updated).execute(conn)
        statements.delete_consumers(deleted).execute(conn)
        return owners

    def _move_used(self, conn: Connection, inventory_ids: Mapping[Spot, int]) -> None:
        # An allocation without inventory can only stand in an adopted database, and only go.
        moves = {
            inventory_ids[spot]: delta
            for spot, delta in self.deltas.items()
            if delta and spot in inventory_ids
        }
        inventory_statements.move_used(moves).execute(conn)


def plan(scene: Scene, claims: Sequence[Claim], stocks: Mapping[Spot, Stock]) -> Plan:
    """Check the claims against what there is and work out the write.

    `stocks` holds what each provider has of each class as it will be, with the `used` of now.
    Raises UnknownProviders, UnknownResourceClasses, NoInventory, UnitsViolated and
    CapacityExceeded, in the order of contract allocations.md section 5.1.
    """
    check_providers(scene, claims)
    class_ids = scene.ids["resource_class"]
    asked = {name for claim in claims for amounts in claim.allocations.values() for name in amounts}
    if asked - class_ids.keys():
        raise UnknownResourceClasses(asked - class_ids.keys())

    made = Plan(scene, claims)
    now_named = scene.class_names
    before: dict[Spot, int] = defaultdict(int)  # what the consumers of the request use now
    for claim in claims:
        consumer = scene.consumers.get(claim.consumer)
        for held in consumer.held if consumer else ():
            before[held.spot] += held.used
            if not claim.allocations and held.spot[0] in scene.exist:
                made.left.add(held.spot[0])
    after: dict[Spot, int] = defaultdict(int)
    for claim in claims:
        amounts: dict[Spot, int] = {}
        for uuid, resources in claim.allocations.items():
            provider = scene.providers[uuid]
            made.placed_on.add(provider.id)
            for name, amount in resources.items():
                spot = (provider.id, class_ids[name])
                if now_named.get(spot[1], name) != name:
                    raise Restart  # the id has come back with another name
                amounts[spot] = amount
                after[spot] += amount
                _check(stocks.get(spot), name, provider.uuid, amount, after[spot], before[spot])
        made.amounts.append(amounts)
    for spot in before.keys() | after.keys():
        made.deltas[spot] = after.get(spot, 0) - before.get(spot, 0)
    return made


def _check(stock: Stock | None, name: str, uuid: str, amount: int, total: int, before: int) -> None:
    """Check one amount of one consumer; `total` is the request's running sum on that spot."""
    if stock is None:
        raise NoInventory(name, uuid)
    if not capacity.units_allow(stock, amount):
        raise UnitsViolated(name, uuid, amount, stock.min_unit, stock.max_unit, stock.step_size)
    others = stock.used - before
    if others + total > stock.capacity and total > before:
        raise CapacityExceeded(name, uuid, amount, others, stock.capacity)


def replace(conn: Connection, claims: Sequence[Claim]) -> None:
    """Give every consumer exactly the allocations of its claim, all or none.

    Raises ConsumerGenerationConflict and what `plan` raises.
    """
    scene = Scene.lock(conn, claims)
    check_consumers(scene, claims)
    rows = [row for of_provider in scene.present.values() for row in of_provider.values()]
    made = plan(scene, claims, {_spot(row): row.stock for row in rows})
    made.write(conn, scene.inventory_ids)
    providers.bump_generations(conn, dict.fromkeys(made.placed_on | made.left, 1))


def _spot(row: Inventory) -> Spot:
    return (row.provider_id, row.class_id)


def delete(conn: Connection, consumer: str) -> None:
    """Take all allocations from a consumer, which is gone then; provider generations stay.

    Raises AllocationsNotFound.
    """
    empty = Claim(consumer, {}, "", "")
    scene = Scene.lock(conn, [empty])
    known = scene.consumers.get(consumer)
    if known is None or not known.held:
        raise AllocationsNotFound(consumer)
    made = plan(scene, [empty], {})
    made.write(conn, scene.inventory_ids)


# -- reading --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OnProvider:
    """What a consumer has on one provider, and that provider's generation."""

    generation: int
    resources: dict[str, int]


@dataclass(frozen=True, slots=True)
class Holding:
    """A consumer as the API shows it; `by_provider` is empty for one that does not exist."""

    by_provider: Mapping[str, OnProvider]
    generation: int = 0
    project: str | None = None
    user: str | None = None
    consumer_type: str | None = None
    changed_at: datetime | None = None


def of_consumer(conn: Connection, consumer: str) -> Holding:
    """Return what a consumer holds."""
    by_provider: dict[str, OnProvider] = {}
    changed_at: datetime | None = None
    row = None
    for row in statements.show(identifiers.stored_forms(consumer)).rows(conn):
        entry = by_provider.setdefault(row.provider_uuid, OnProvider(row.provider_generation, {}))
        entry.resources[row.class_name] = row.used
        changed_at = max(filter(None, (changed_at, row.changed_at)), default=None)
    if row is None:
        return Holding({})
    return Holding(by_provider, row.generation, row.project, row.user, row.type, changed_at)


def of_provider(
    conn: Connection, uuid: str
) -> tuple[Provider, Mapping[str, Holding], datetime | None]:
    """Return a provider, what each consumer holds on it, and when that last changed.

    Raises ProviderNotFound.
    """
    provider = providers.get(conn, uuid)
    found: dict[str, Holding] = {}
    changed_at: datetime | None = None
    for row in statements.on_provider(provider.id).rows(conn):
        holding = found.setdefault(
            row.uuid,
            Holding(
                {provider.uuid: OnProvider(provider.generation, {})}, generation=row.generation
            ),
        )
        holding.by_provider[provider.uuid].resources[row.class_name] = row.used
        changed_at = max(filter(None, (changed_at, row.changed_at)), default=None)
    return provider, found, changed_at
