"""Rewriting inventories and the allocations on them at once (contract reshaper.md)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy.engine import Connection

from placement.errors import InventoryInUse, UnknownReshapedProvider
from placement.objects import allocations, inventories, providers
from placement.objects.allocations import Claim, Scene, Spot
from placement.objects.capacity import Stock
from placement.objects.inventories import Change, Record


@dataclass(frozen=True, slots=True)
class Reshaped:
    """The complete inventory that a provider shall have, and the generation it was read at."""

    generation: int
    records: Mapping[str, Record]


@dataclass(frozen=True, slots=True)
class Reshape:
    """Providers (by uuid) with their new inventories, consumers with their new allocations."""

    inventories: Mapping[str, Reshaped]
    claims: Sequence[Claim]


def reshape(conn: Connection, command: Reshape) -> None:
    """Carry out a reshape, all or nothing.

    The order: new and changed inventories are written while those that go stay, then all
    allocations are replaced, then what is not wanted any more goes. Raises, in this order:
    UnknownReshapedProvider, ProviderGenerationConflict, ConsumerGenerationConflict,
    UnknownProviders, BadCapacity, UnknownInventoryClasses, UnknownResourceClasses (of
    allocations), NoInventory, UnitsViolated, CapacityExceeded, InventoryInUse.
    """
    classes = {name for new in command.inventories.values() for name in new.records}
    scene = Scene.lock(conn, command.claims, list(command.inventories), classes)
    wanted: dict[int, Mapping[str, Record]] = {}
    for uuid, new in command.inventories.items():
        if uuid not in scene.providers:
            raise UnknownReshapedProvider(uuid)
        providers.check_generation(scene.providers[uuid], new.generation)
        wanted[scene.providers[uuid].id] = new.records
    allocations.check_consumers(scene, command.claims)
    allocations.check_providers(scene, command.claims)
    for new in command.inventories.values():
        inventories.check_capacity(new.records)

    steps = inventories.change(conn, scene.present, wanted, scene.ids["resource_class"])
    made = allocations.plan(scene, command.claims, _stocks(scene, steps))
    _refuse_in_use(scene, steps, made.deltas)

    steps.write_wanted(conn)
    if steps.created:
        scene = replace(scene, present=inventories.of_providers(conn, list(scene.present)))
    made.write(conn, scene.inventory_ids)
    steps.delete_unwanted(conn)
    providers.bump_generations(conn, _increments(wanted, made.placed_on, made.left))


def _stocks(scene: Scene, steps: Change) -> dict[Spot, Stock]:
    """What each provider has while the allocations move, with what is used now.

    What goes is still there: an allocation on it is refused for that reason, afterwards.
    """
    stocks: dict[Spot, Stock] = {}
    for of_provider in scene.present.values():
        for row in of_provider.values():
            record = steps.updated.get(row.id, row.record)
            stocks[row.provider_id, row.class_id] = inventories.stock(record, row.used)
    for provider_id, class_id, _name, record in steps.created:
        stocks[provider_id, class_id] = inventories.stock(record, 0)
    return stocks


def _refuse_in_use(scene: Scene, steps: Change, deltas: Mapping[Spot, int]) -> None:
    """Raise InventoryInUse for what goes and is still used by consumers that stay."""
    for uuid, provider in scene.providers.items():
        busy = [
            row.class_name
            for row in steps.removed
            if row.provider_id == provider.id
            and row.used + deltas.get((row.provider_id, row.class_id), 0)
        ]
        if busy:
            raise InventoryInUse(busy, uuid)


def _increments(
    wanted: Mapping[int, Mapping[str, Record]], placed_on: set[int], left: set[int]
) -> dict[int, int]:
    """How far each provider's generation moves (contract reshaper.md section 4)."""
    increments: dict[int, int] = {}
    for provider_id in wanted.keys() | placed_on | left:
        increments[provider_id] = 0
        if provider_id in wanted:
            increments[provider_id] += 2 if wanted[provider_id] else 1
        if provider_id in placed_on | left:
            increments[provider_id] += 1
    return increments
