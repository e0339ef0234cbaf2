"""Reads and writes of the allocations of consumers.

All allocations of a consumer are written together. A write has three steps: `allocation_state`
reads the state, `allocation_change` validates the claims and determines the change, and
`write_change` executes it. The number of statements does not depend on the number of consumers.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy.engine import Connection

from placement.config import NO_TRAITS, SpecialTraits
from placement.db.statements import allocations as statements
from placement.db.statements import inventories as inventory_statements
from placement.errors import AllocationsNotFound
from placement.objects import allocation_state, catalog, claim_records, identifiers, locking
from placement.objects.allocation_change import (
    AllocationChange,
    AllocationState,
    allocation_change,
    check_consumer_generations,
)
from placement.objects.allocation_release import release
from placement.objects.allocation_state import StateQuery
from placement.objects.card_use import refuse_clashes
from placement.objects.catalog import Ids
from placement.objects.claims import Claim, owner_names
from placement.objects.consumers import Consumer, ConsumerChange
from placement.objects.inventory_rows import InventoryKey
from placement.objects.providers import Provider

# -- writing --------------------------------------------------------------------------------


def replace(
    conn: Connection, claims: Sequence[Claim], special_traits: SpecialTraits = NO_TRAITS
) -> Mapping[str, int]:
    """Replace the allocations of the consumers of all claims, or of no consumer.

    Args:
        conn: the connection.
        claims: the new allocations.
        special_traits: the traits with a special meaning.

    Returns:
        Consumer uuid -> end of the hold in seconds since 1970, of new holds.

    Raises:
        ConsumerGenerationConflict, DeviceInUse, and the errors of `allocation_change`
    """
    state = allocation_state.read(conn, allocation_state.for_claims(claims))
    check_consumer_generations(state, claims)
    return _replace(conn, state, claims, special_traits)


def delete_if(
    conn: Connection, consumer_uuids: Collection[str], condition: Callable[[Consumer], bool]
) -> int:
    """Delete the consumers that satisfy a condition, with their allocations.

    The effect is the same as replacing their allocations with none. Returns the number of deleted
    consumers.
    """
    claims = [Claim(uuid, {}, project="", user="") for uuid in consumer_uuids]
    state = allocation_state.read(conn, allocation_state.for_claims(claims))
    deletions = [
        claim
        for claim in claims
        if claim.consumer in state.consumers and condition(state.consumers[claim.consumer])
    ]
    if deletions:
        _replace(conn, state, deletions)
    return len(deletions)


def _replace(
    conn: Connection,
    state: AllocationState,
    claims: Sequence[Claim],
    special_traits: SpecialTraits = NO_TRAITS,
) -> Mapping[str, int]:
    change = allocation_change(state, claims, state.stocks())
    ends = write_change(conn, change, state)
    refuse_clashes(conn, special_traits, change.root_ids.values(), change.deltas)
    return ends


def delete(conn: Connection, consumer_uuid: str) -> None:
    """Delete a consumer with its allocations. The generations of providers do not change.

    Raises:
        AllocationsNotFound: the consumer has no allocations.
    """
    state = allocation_state.read(conn, StateQuery(consumers=[consumer_uuid]))
    consumers = list(state.consumers.values())
    change = release(consumers, state.unrecorded.get(consumer_uuid, ()))
    if not change.deleted_rows:
        raise AllocationsNotFound(consumer_uuid)
    write_change(conn, change, state)


def write_change(
    conn: Connection, change: AllocationChange, state: AllocationState
) -> Mapping[str, int]:
    """Write a change that is based on a state that may not be locked.

    The trees are locked as late as possible, because other transactions wait for them. After the
    lock, only one statement and the COMMIT follow. The statements contain the following conditions:
    existing consumers have the generation that was read, new consumers have no row, providers are
    in the same trees, and the units and the free capacity of the inventories allow the amounts.

    Returns:
        Consumer uuid -> end of the hold in seconds since 1970, of new holds.

    Raises:
        Unmatched, IntegrityError: the state has changed.
        HostFull, TooManyHolds: see `claim_records.add`.
    """
    write_rows(conn, change)
    revisions = {root_id: state.revisions[root_id] for root_id in change.root_ids.values()}
    locking.lock_seen(conn, revisions, change.root_ids, change.provider_ids)
    ends = claim_records.add(conn, change.consumers.created)
    inventory_statements.move_used(change.moves()).execute(conn)
    return ends


def write_rows(conn: Connection, change: AllocationChange) -> None:
    """Write the consumers and allocations of a change.

    Raises:
        Unmatched: the generation of a consumer has changed.
    """
    # Write the consumers first, because the conditions on their generations protect the other
    # statements.
    owner_ids = ensure_owners(conn, change.consumers, change.ids)
    change.consumers.write(conn, owner_ids)
    deleted_ids = [row.id for row in change.deleted_rows]
    statements.delete(deleted_ids).execute(conn)
    amounts = [(each.consumer_uuid, each.key, each.amount) for each in change.amounts]
    create_rows(conn, amounts)


def create_rows(conn: Connection, amounts: Iterable[tuple[str, InventoryKey, int]]) -> None:
    """Insert allocations: (consumer uuid, (provider id, class id), amount)."""
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
    """Create missing projects, users and types. Return the ids of all of them.

    `ids` has the existing ones.
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
    """The allocations of a consumer on one provider."""

    # Generation of the provider.
    generation: int
    # Amounts by resource class.
    resources: dict[str, int]


class Holding(NamedTuple):
    """The allocations of a consumer on one provider."""

    # Amounts by resource class.
    resources: dict[str, int]
    # Generation of the consumer.
    generation: int


class Consumers(NamedTuple):
    """The consumers that use a provider."""

    # Consumer uuid -> its allocations on the provider.
    by_uuid: Mapping[str, Holding]
    # Time of the last change of an allocation, or None if unknown.
    changed_at: datetime | None


@dataclass(frozen=True, slots=True)
class ConsumerAllocations:
    """A consumer, as the API returns it."""

    # Provider uuid -> allocations, or empty if the consumer does not exist.
    by_provider: Mapping[str, ProviderAllocations]
    # Generation of the consumer, or 0 if it does not exist.
    generation: int = 0
    # External id of the project, or None if the consumer does not exist.
    project: str | None = None
    # External id of the user, or None if the consumer does not exist.
    user: str | None = None
    # None if the consumer has no type.
    consumer_type: str | None = None
    # Time of the last change, or None in rows of very old databases.
    changed_at: datetime | None = None


def get_for_consumer(conn: Connection, uuid: str) -> ConsumerAllocations:
    """Return the allocations of a consumer."""
    rows = statements.show(identifiers.stored_forms(uuid)).rows(conn)
    return _from_rows(rows) if rows else ConsumerAllocations({})


def get_for_tree(conn: Connection, provider_uuid: str) -> Mapping[str, ConsumerAllocations]:
    """Return uuid -> allocations of each consumer that uses a provider in the same tree.

    The mapping is empty if the provider does not exist.
    """
    uuids = [row.consumer_id for row in statements.consumers_in_tree(provider_uuid).rows(conn)]
    # PERF: this is a separate statement. In a combined statement, PostgreSQL would scan all
    # allocations.
    return {uuid: _from_rows(rows) for uuid, rows in _shown(conn, uuids).items() if rows}


def get_for_consumers(
    conn: Connection, uuids: Collection[str]
) -> dict[str, Mapping[str, ProviderAllocations]]:
    """Return uuid (as stored) -> provider uuid -> allocations of consumers."""
    return {uuid: _by_provider(rows) for uuid, rows in _shown(conn, uuids).items()}


def _shown(conn: Connection, uuids: Collection[str]) -> dict[str, list[Any]]:
    """Return uuid -> rows of each consumer."""
    rows_by_uuid: dict[str, list[Any]] = {uuid: [] for uuid in uuids}
    for row in statements.show(uuids).rows(conn):
        rows_by_uuid[row[0]].append(row)
    return rows_by_uuid


def _from_rows(rows: Sequence[Any]) -> ConsumerAllocations:
    """Return a consumer from its rows. There is at least one row."""
    _uuid, generation, project, user, consumer_type, *_ = rows[-1]
    owner = project, user, consumer_type
    changed_at = _last_change(row[-1] for row in rows)
    return ConsumerAllocations(_by_provider(rows), generation, *owner, changed_at)


def _by_provider(rows: Sequence[Any]) -> dict[str, ProviderAllocations]:
    """Return provider uuid -> allocations, from the rows of one consumer."""
    by_provider: dict[str, ProviderAllocations] = {}
    for *_consumer, uuid, generation, class_name, used, _time in rows:
        on_provider = by_provider.setdefault(uuid, ProviderAllocations(generation, {}))
        on_provider.resources[class_name] = used
    return by_provider


def read_consumers(conn: Connection, provider: Provider) -> Consumers:
    """Return the consumers of a provider."""
    rows = statements.on_provider(provider.id).rows(conn)
    by_consumer: dict[str, Holding] = {}
    for uuid, generation, class_name, used, _time in rows:
        holding = by_consumer.setdefault(uuid, Holding({}, generation))
        holding.resources[class_name] = used
    return Consumers(by_consumer, _last_change(row[-1] for row in rows))


def _last_change(times: Iterable[datetime | None]) -> datetime | None:
    """Return the latest time of change. Rows of very old databases may have no time."""
    return max(filter(None, times), default=None)
