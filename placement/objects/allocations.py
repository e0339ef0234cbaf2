"""Allocations: writing those of consumers, and reading them.

All allocations of a consumer are written together. A write takes three steps: `lock` locks the
trees and reads what the write decides on, `allocation_change` checks the claims and works out the
change, `apply` carries it out. The number of statements is the same for one consumer and for a
thousand.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple

from sqlalchemy.engine import Connection

from placement.db.statement import Restart
from placement.db.statements import allocations as statements
from placement.db.statements import inventories as inventory_statements
from placement.errors import AllocationsNotFound
from placement.objects import catalog, consumers, identifiers, inventory_rows, locking, providers
from placement.objects.allocation_change import (
    AllocationChange,
    LockedState,
    allocation_change,
    check_consumer_generations,
    release,
)
from placement.objects.catalog import NO_NAMES, Ids, Names
from placement.objects.claims import Claim, claimed_classes, claimed_providers, owner_names
from placement.objects.consumers import Consumer, ConsumerChange
from placement.objects.inventory_rows import Inventory, InventoryKey
from placement.objects.locking import LockedTrees
from placement.objects.providers import Provider

NO_IDS: Mapping[InventoryKey, int] = MappingProxyType({})

# -- writing --------------------------------------------------------------------------------


def replace(conn: Connection, claims: Sequence[Claim]) -> None:
    """Give every consumer exactly the allocations of its claim, all or none.

    Raises ConsumerGenerationConflict and what `allocation_change` raises.
    """
    state = lock(conn, claims)
    check_consumer_generations(state, claims)
    _carry_out(conn, state, claims)


def delete_if(
    conn: Connection, consumer_uuids: Collection[str], condition: Callable[[Consumer], bool]
) -> int:
    """Delete those of the consumers that meet a condition once they are locked.

    Does what replacing their allocations with none does; returns how many there were.
    """
    claims = [Claim(uuid, {}, project="", user="") for uuid in consumer_uuids]
    state = lock(conn, claims)
    deletions = [
        claim
        for claim in claims
        if claim.consumer in state.consumers and condition(state.consumers[claim.consumer])
    ]
    if deletions:
        _carry_out(conn, state, deletions)
    return len(deletions)


def _carry_out(conn: Connection, state: LockedState, claims: Sequence[Claim]) -> None:
    change = allocation_change(state, claims, state.stocks())
    apply(conn, change)
    providers.bump_generations(conn, dict.fromkeys(change.provider_ids, 1))


def delete(conn: Connection, consumer_uuid: str) -> None:
    """Delete all allocations of a consumer, and the consumer; provider generations stay.

    Raises AllocationsNotFound.
    """
    _trees, consumers_by_uuid = _lock_consumers(conn, [consumer_uuid])
    consumer = consumers_by_uuid.get(consumer_uuid)
    if consumer is None or not consumer.allocations:
        raise AllocationsNotFound(consumer_uuid)
    apply(conn, release(consumer))


def lock(
    conn: Connection,
    claims: Sequence[Claim],
    provider_uuids: Collection[str] = (),
    class_names: Collection[str] = (),
) -> LockedState:
    """Lock the trees of the claims and of further providers, and read what a write decides on.

    Looks up all names of the claims, and further classes. Raises Restart when the consumers'
    allocations have moved to other trees between the first look and the lock.
    """
    uuids = claimed_providers(claims).union(provider_uuids)
    # A consumer that is deleted needs no owner.
    names = owner_names([claim for claim in claims if claim.allocations])
    names["resource_class"] = claimed_classes(claims).union(class_names)
    trees, consumers_by_uuid = _lock_consumers(
        conn, [claim.consumer for claim in claims], uuids, names
    )

    # Without providers to claim from, no inventory is looked at.
    inventories: dict[int, dict[str, Inventory]] = {}
    if uuids:
        provider_ids = {provider.id for provider in trees.providers.values()}
        for consumer in consumers_by_uuid.values():
            provider_ids.update(row.provider_id for row in consumer.allocations)
        inventories = inventory_rows.read(conn, provider_ids)
    return LockedState(trees.providers, inventories, consumers_by_uuid, trees.ids)


def _lock_consumers(
    conn: Connection,
    consumer_uuids: Collection[str],
    provider_uuids: Collection[str] = (),
    names: Names = NO_NAMES,
) -> tuple[LockedTrees, dict[str, Consumer]]:
    """Lock the trees of providers and of all that consumers use; read the consumers."""
    trees = locking.lock_trees(conn, provider_uuids, consumer_uuids, names)
    consumers_by_uuid = consumers.read(conn, consumer_uuids)
    for consumer in consumers_by_uuid.values():
        for row in consumer.allocations:
            # Since the first look the consumer has got allocations in a tree that is not locked.
            if row.root_id is not None and row.root_id not in trees.root_ids:
                raise Restart
    return trees, consumers_by_uuid


def apply(
    conn: Connection,
    change: AllocationChange,
    new_inventory_ids: Mapping[InventoryKey, int] = NO_IDS,
) -> None:
    """Write the rows of a change: consumers, allocations, and `used` of the inventories.

    new_inventory_ids: of inventories that the transaction has created. Generations of providers
    are left to the caller. Raises Unmatched when a guard in a statement meets another state than
    the change was made for.
    """
    # Consumers come first: their generations guard all that follows.
    change.consumers.write(conn, ensure_owners(conn, change.consumers, change.ids))
    statements.delete([row.id for row in change.deleted_rows]).execute(conn)
    create_rows(conn, [(each.consumer_uuid, each.key, each.amount) for each in change.amounts])
    # The last guard: `used` does not grow beyond the capacity, whatever was read before.
    inventory_statements.move_used(change.moves(new_inventory_ids)).execute(conn)


def create_rows(conn: Connection, amounts: Iterable[tuple[str, InventoryKey, int]]) -> None:
    """Insert the allocations of consumers: (consumer uuid, provider and class, units)."""
    rows = [
        {
            "consumer_id": consumer_uuid,
            "resource_provider_id": provider_id,
            "resource_class_id": class_id,
            "used": amount,
        }
        for consumer_uuid, (provider_id, class_id), amount in amounts
    ]
    statements.create(rows).execute(conn)


def ensure_owners(conn: Connection, change: ConsumerChange, ids: Ids) -> Ids:
    """Return the ids of all owners of consumers, creating projects, users and types.

    ids: of those that exist.
    """
    names = owner_names(change.claims())
    missing = {kind: names[kind] - ids.get(kind, {}).keys() for kind in names}
    if not any(missing.values()):
        return ids
    new_ids = catalog.create(conn, missing)
    return {kind: {**ids[kind], **new_ids[kind]} for kind in names}


# -- reading --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ProviderAllocations:
    """What a consumer has on one provider (class -> amount), and the provider's generation."""

    generation: int
    resources: dict[str, int]


class Holding(NamedTuple):
    """What a consumer has on one provider (class -> amount), and the consumer's generation."""

    resources: dict[str, int]
    generation: int


@dataclass(frozen=True, slots=True)
class ConsumerAllocations:
    """A consumer as the API shows it.

    by_provider: provider uuid -> allocations; empty for a consumer that does not exist.
    """

    by_provider: Mapping[str, ProviderAllocations]
    generation: int = 0
    project: str | None = None
    user: str | None = None
    consumer_type: str | None = None
    changed_at: datetime | None = None


def of_consumer(conn: Connection, uuid: str) -> ConsumerAllocations:
    """Return the allocations of a consumer."""
    rows = statements.show(identifiers.stored_forms(uuid)).rows(conn)
    return _of_rows(rows) if rows else ConsumerAllocations({})


def of_tree(conn: Connection, provider_uuid: str) -> Mapping[str, ConsumerAllocations]:
    """Return all allocations of each consumer that has one in the tree of a provider, by uuid.

    There are none if there is no such provider.
    """
    uuids = [row.consumer_id for row in statements.consumers_in_tree(provider_uuid).rows(conn)]
    # PERF: in one statement with this one PostgreSQL looks through all allocations of the cloud.
    rows_by_uuid: dict[str, list[Any]] = {uuid: [] for uuid in uuids}
    for row in statements.show(uuids).rows(conn):
        rows_by_uuid[row.uuid].append(row)
    return {uuid: _of_rows(rows) for uuid, rows in rows_by_uuid.items() if rows}


def _of_rows(rows: Sequence[Any]) -> ConsumerAllocations:
    """Return a consumer of its rows, of which there is at least one."""
    by_provider: dict[str, ProviderAllocations] = {}
    for row in rows:
        on_provider = by_provider.get(row.provider_uuid)
        if on_provider is None:
            on_provider = ProviderAllocations(row.provider_generation, {})
            by_provider[row.provider_uuid] = on_provider
        on_provider.resources[row.class_name] = row.used
    row = rows[-1]
    return ConsumerAllocations(
        by_provider, row.generation, row.project, row.user, row.type, _last_change(rows)
    )


def of_provider(
    conn: Connection, uuid: str
) -> tuple[Provider, Mapping[str, Holding], datetime | None]:
    """Return a provider, what each consumer has on it, and when that last changed.

    Raises ProviderNotFound.
    """
    provider = providers.get(conn, uuid)
    rows = statements.on_provider(provider.id).rows(conn)
    by_consumer: dict[str, Holding] = {}
    for row in rows:
        if row.uuid not in by_consumer:
            by_consumer[row.uuid] = Holding({}, row.generation)
        by_consumer[row.uuid].resources[row.class_name] = row.used
    return provider, by_consumer, _last_change(rows)


def _last_change(rows: Sequence[Any]) -> datetime | None:
    """Return the latest time at which a row changed; rows of old databases may have none."""
    return max((row.changed_at for row in rows if row.changed_at is not None), default=None)
