"""Replace inventories, and the allocations from them, in one transaction."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.engine import Connection

from placement.config import NO_TRAITS, SpecialTraits
from placement.db.statements import inventories as inventory_statements
from placement.errors import UnknownReshapedProvider
from placement.inventory import InventoryRecord
from placement.objects import allocation_state, allocations, providers
from placement.objects.allocation_change import (
    AllocationState,
    allocation_change,
    check_consumer_generations,
    refuse_unknown_providers,
)
from placement.objects.card_use import refuse_clashes
from placement.objects.claims import Claim
from placement.objects.inventory_change import inventory_change


@dataclass(frozen=True, slots=True)
class ProviderInventories:
    """The complete new inventories of a provider."""

    # The generation that the client read.
    generation: int
    # Records by resource class.
    records: Mapping[str, InventoryRecord]


@dataclass(frozen=True, slots=True)
class ReshapeCommand:
    """The new inventories of providers and the new allocations of consumers."""

    # Provider uuid -> inventories.
    inventories: Mapping[str, ProviderInventories]
    claims: Sequence[Claim]


def reshape(
    conn: Connection, command: ReshapeCommand, special_traits: SpecialTraits = NO_TRAITS
) -> None:
    """Execute a reshape in one transaction.

    Args:
        conn: the connection.
        command: the new inventories and allocations.
        special_traits: the traits with a special meaning.

    Raises:
        UnknownReshapedProvider, ProviderGenerationConflict, ConsumerGenerationConflict,
        UnknownProviders, BadCapacity, UnknownInventoryClasses, UnknownResourceClasses (of
        allocations), NoInventory, UnitsViolated, CapacityExceeded, InventoryInUse,
        DeviceInUse: in this order.
    """
    class_names: set[str] = set()
    for new in command.inventories.values():
        class_names |= new.records.keys()
    query = allocation_state.for_claims(command.claims, command.inventories, class_names)
    state = allocation_state.lock(conn, query)

    records = _records(state, command)
    check_consumer_generations(state, command.claims)
    refuse_unknown_providers(state, command.claims)

    # Determine and validate both changes before the first row is written.
    class_ids = state.ids["resource_class"]
    new_inventories = inventory_change(conn, state.inventories, records, class_ids)
    # The stocks include inventories that will be deleted. An allocation from such an inventory is
    # rejected because the inventory is in use.
    stocks = new_inventories.stocks(state.inventories)
    new_allocations = allocation_change(state, command.claims, stocks)
    uuids = {state.providers[uuid].id: uuid for uuid in command.inventories}
    new_inventories.refuse_in_use(uuids, new_allocations.deltas, "inventories.{}")

    # Move the allocations while both the old and the new inventories exist.
    new_inventories.insert_and_update(conn)
    allocations.write_rows(conn, new_allocations)
    moves = new_allocations.moves(new_inventories.created_ids(conn))
    inventory_statements.move_used(moves).execute(conn)
    new_inventories.delete(conn)
    root_ids = new_allocations.root_ids.values()
    refuse_clashes(conn, special_traits, root_ids, new_allocations.deltas)
    increments = _increments(records, new_allocations.provider_ids)
    providers.bump_generations(conn, increments, state.providers.values())


def _records(
    state: AllocationState, command: ReshapeCommand
) -> dict[int, Mapping[str, InventoryRecord]]:
    """Validate providers and generations. Return provider id -> class -> record."""
    records: dict[int, Mapping[str, InventoryRecord]] = {}
    for uuid, new in command.inventories.items():
        if uuid not in state.providers:
            raise UnknownReshapedProvider(uuid)
        provider = state.providers[uuid]
        providers.check_generation(provider, new.generation)
        records[provider.id] = new.records
    return records


def _increments(
    records: Mapping[int, Mapping[str, InventoryRecord]], allocated_ids: Collection[int]
) -> dict[int, int]:
    """Return the increment of each provider's generation.

    Clients rely on the increments of openstack-placement: one for a replaced set of inventories,
    one more if this set is not empty, and one for allocations.
    """
    increments = dict.fromkeys(allocated_ids, 1)
    for provider_id, records_by_class in records.items():
        steps = 2 if records_by_class else 1
        increments[provider_id] = increments.get(provider_id, 0) + steps
    return increments
