"""Allocations: writing those of consumers, and reading them.

All allocations of a consumer are written together. A write takes three steps: `allocation_state`
reads what the write decides on, `allocation_change` checks the claims and works out the change,
`_carry_out` writes it. The number of statements is the same for one consumer and for a thousand.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy.engine import Connection

from placement.db.statements import allocations as statements
from placement.db.statements import inventories as inventory_statements
from placement.errors import AllocationsNotFound
from placement.objects import allocation_state, catalog, identifiers, locking, providers
from placement.objects.allocation_change import (
    AllocationChange,
    AllocationState,
    allocation_change,
    check_consumer_generations,
    release,
)
from placement.objects.allocation_state import Concern
from placement.objects.catalog import Ids
from placement.objects.claims import Claim, owner_names
from placement.objects.consumers import Consumer, ConsumerChange
from placement.objects.inventory_rows import InventoryKey
from placement.objects.providers import Provider

# -- writing --------------------------------------------------------------------------------


def replace(conn: Connection, claims: Sequence[Claim]) -> None:
    """Give every consumer exactly the allocations of its claim, all or none.

    Raises ConsumerGenerationConflict and what `allocation_change` raises.
    """
    state = allocation_state.read(conn, allocation_state.of_claims(claims))
    check_consumer_generations(state, claims)
    _replace(conn, state, claims)


def delete_if(
    conn: Connection, consumer_uuids: Collection[str], condition: Callable[[Consumer], bool]
) -> int:
    """Delete those of the consumers that meet a condition.

    Does what replacing their allocations with none does; returns how many there were.
    """
    claims = [Claim(uuid, {}, project="", user="") for uuid in consumer_uuids]
    state = allocation_state.read(conn, allocation_state.of_claims(claims))
    deletions = [
        claim
        for claim in claims
        if claim.consumer in state.consumers and condition(state.consumers[claim.consumer])
    ]
    if deletions:
        _replace(conn, state, deletions)
    return len(deletions)


def _replace(conn: Connection, state: AllocationState, claims: Sequence[Claim]) -> None:
    _carry_out(conn, allocation_change(state, claims, state.stocks()), state)


def delete(conn: Connection, consumer_uuid: str) -> None:
    """Delete all allocations of a consumer, and the consumer; provider generations stay.

    Raises AllocationsNotFound.
    """
    state = allocation_state.read(conn, Concern(consumers=[consumer_uuid]))
    consumer = state.consumers.get(consumer_uuid)
    if consumer is None or not consumer.allocations:
        raise AllocationsNotFound(consumer_uuid)
    _carry_out(conn, release(consumer), state)


def _carry_out(conn: Connection, change: AllocationChange, state: AllocationState) -> None:
    """Write a change of a state that need not be locked.

    The lock comes late, for others wait for it: what follows are one statement and the COMMIT. All
    that the change was made for is guarded. Generations of consumers are those that were read, or
    there is no row; providers are in the trees that they were in; inventories have the room, and
    their units allow the amounts. Raises Unmatched or IntegrityError where that is not so.
    """
    write_rows(conn, change)
    revisions = {root_id: state.revisions[root_id] for root_id in change.root_ids.values()}
    locking.lock_seen(conn, revisions, change.root_ids, change.provider_ids)
    inventory_statements.move_used(change.moves()).execute(conn)


def write_rows(conn: Connection, change: AllocationChange) -> None:
    """Write the consumers and allocations of a change.

    Raises Unmatched when a consumer is at another generation than the change was made for.
    """
    # Consumers come first: their generations guard all that follows.
    owner_ids = ensure_owners(conn, change.consumers, change.ids)
    change.consumers.write(conn, owner_ids)
    deleted_ids = [row.id for row in change.deleted_rows]
    statements.delete(deleted_ids).execute(conn)
    amounts = [(each.consumer_uuid, each.key, each.amount) for each in change.amounts]
    create_rows(conn, amounts)


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
    rows_by_uuid: dict[str, list[Any]] = {}
    for row in statements.consumers_in_tree(provider_uuid).rows(conn):
        rows_by_uuid[row.consumer_id] = []
    # PERF: in one statement with this one PostgreSQL looks through all allocations of the cloud.
    for row in statements.show(list(rows_by_uuid)).rows(conn):
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
    conn: Connection, uuid: str, seen: Callable[[Provider], object]
) -> tuple[Provider, Mapping[str, Holding], datetime | None]:
    """Return a provider, what each consumer has on it, and when that last changed.

    As `providers.get_with` does.
    """

    def read(provider: Provider) -> Sequence[Any]:
        return statements.on_provider(provider.id).rows(conn)

    provider, rows = providers.get_with(conn, uuid, read, seen)
    by_consumer: dict[str, Holding] = {}
    for row in rows:
        if row.uuid not in by_consumer:
            by_consumer[row.uuid] = Holding({}, row.generation)
        by_consumer[row.uuid].resources[row.class_name] = row.used
    return provider, by_consumer, _last_change(rows)


def _last_change(rows: Sequence[Any]) -> datetime | None:
    """Return the latest time at which a row changed; rows of old databases may have none."""
    return max((row.changed_at for row in rows if row.changed_at is not None), default=None)
