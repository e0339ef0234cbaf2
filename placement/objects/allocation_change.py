"""How claims change allocations, and whether they may: nothing here reads or writes.

A write reads an `AllocationState`, has `allocation_change` compare the claims with it, and carries
out the `AllocationChange` that results.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import gcd
from types import MappingProxyType
from typing import NamedTuple

from falcon_placement_client.inventory import Stock, units_allow
from placement.errors import (
    CapacityExceeded,
    ConsumerGenerationConflict,
    NoInventory,
    UnitsViolated,
    UnknownProviders,
    UnknownResourceClasses,
)
from placement.objects.catalog import Ids
from placement.objects.claims import Claim, claimed_classes, claimed_providers
from placement.objects.consumers import (
    AllocationRow,
    Consumer,
    ConsumerChange,
    consumer_change,
    stored_uuid,
)
from placement.objects.inventory_rows import Inventory, InventoryKey
from placement.objects.locking import LockedProvider
from placement.objects.unset import Unset
from placement.vocabulary import MAX_INTEGER

NO_IDS: Mapping[InventoryKey, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class AllocationState:
    """What a write decides on; every check uses only this.

    providers, consumers: those that the request names and that exist, by its identifiers.
    inventories: provider id -> class -> inventory of all these providers. revisions: root id ->
    revision, of the trees of these providers and of all that the consumers use. ids: kind -> name
    -> id, of the names of the request.
    """

    providers: Mapping[str, LockedProvider]
    inventories: Mapping[int, Mapping[str, Inventory]]
    consumers: Mapping[str, Consumer]
    revisions: Mapping[int, int]
    ids: Ids

    def stocks(self) -> dict[InventoryKey, Stock]:
        """Return what each inventory has."""
        return {row.key: row.stock for row in self.inventory_rows()}

    def inventory_rows(self) -> Iterable[Inventory]:
        """Yield all inventories."""
        for inventories in self.inventories.values():
            yield from inventories.values()


class ClaimedAmount(NamedTuple):
    """An amount of one class that a consumer gets from one provider."""

    consumer_uuid: str
    provider: LockedProvider
    class_name: str
    key: InventoryKey
    amount: int


class UsageMove(NamedTuple):
    """How `used` of an inventory changes, and what its units are to allow for it.

    least, most: the smallest and the largest amount that consumers get. divisor: the largest number
    that all these amounts are multiples of. Units allow what gives everything back.
    """

    delta: int
    least: int = MAX_INTEGER
    most: int = 0
    divisor: int = 0


@dataclass(frozen=True, slots=True)
class AllocationChange:
    """The rows that a write of allocations changes.

    deltas: change of `used`, by inventory. inventory_ids: of those inventories that existed when
    the state was read. root_ids: provider id -> root id, of all providers concerned. provider_ids:
    those of them whose generation moves. ids: of the projects, users and types of consumers, as
    far as they exist.
    """

    consumers: ConsumerChange
    deleted_rows: Sequence[AllocationRow]
    amounts: Sequence[ClaimedAmount]
    deltas: Mapping[InventoryKey, int]
    inventory_ids: Mapping[InventoryKey, int]
    root_ids: Mapping[int, int]
    provider_ids: frozenset[int]
    ids: Ids

    def moves(self, new_inventory_ids: Mapping[InventoryKey, int] = NO_IDS) -> dict[int, UsageMove]:
        """Return inventory id -> move, of all inventories that give or get back anything.

        new_inventory_ids: of those that the transaction has created.
        """
        inventory_ids = {**self.inventory_ids, **new_inventory_ids}
        amounts: dict[InventoryKey, list[int]] = defaultdict(list)
        for each in self.amounts:
            amounts[each.key].append(each.amount)
        moves: dict[int, UsageMove] = {}
        for key, delta in self.deltas.items():
            # An allocation without inventory can only stand in an adopted database, and only go.
            if key not in inventory_ids:
                continue
            # What a consumer keeps is no change, but the units have to allow it.
            if key in amounts:
                units = min(amounts[key]), max(amounts[key]), gcd(*amounts[key])
                moves[inventory_ids[key]] = UsageMove(delta, *units)
            elif delta:
                moves[inventory_ids[key]] = UsageMove(delta)
        return moves


def allocation_change(
    state: AllocationState, claims: Sequence[Claim], stocks: Mapping[InventoryKey, Stock]
) -> AllocationChange:
    """Check claims against the state, and work out how they change it.

    stocks: what each provider will have of each class, with what is used now. Raises, in this
    order: UnknownProviders, UnknownResourceClasses; then for the first amount that is refused
    NoInventory, UnitsViolated or CapacityExceeded.
    """
    refuse_unknown_providers(state, claims)
    _refuse_unknown_classes(state, claims)
    amounts = _amounts(state, claims)

    # All claims are compared at once: one consumer may take what another one gives back.
    rows = _present_rows(state, claims)
    used_before = _sums((row.key, row.used) for row in rows)
    used_after = _sums((amount.key, amount.amount) for amount in amounts)
    _refuse_unfit(amounts, stocks, used_before)

    consumers = consumer_change(claims, state.consumers)
    return AllocationChange(
        consumers,
        deleted_rows=rows,
        amounts=amounts,
        deltas=_deltas(used_before, used_after),
        inventory_ids=_inventory_ids(rows) | {row.key: row.id for row in state.inventory_rows()},
        root_ids=_root_ids(rows) | {each.id: each.root_id for each in _claimed(state, claims)},
        provider_ids=_changed_provider_ids(state, claims, consumers.deleted),
        ids=state.ids,
    )


def release(consumer: Consumer) -> AllocationChange:
    """Return the change that deletes a consumer with all its allocations.

    Generations of providers stay.
    """
    rows = consumer.allocations
    return AllocationChange(
        ConsumerChange(created={}, updated=(), deleted=(consumer,)),
        deleted_rows=rows,
        amounts=(),
        deltas=_deltas(_sums((row.key, row.used) for row in rows), {}),
        inventory_ids=_inventory_ids(rows),
        root_ids=_root_ids(rows),
        provider_ids=frozenset(),
        ids={},
    )


# -- checks ---------------------------------------------------------------------------------


def check_consumer_generations(state: AllocationState, claims: Iterable[Claim]) -> None:
    """Raise ConsumerGenerationConflict for the first stated generation that is not the present."""
    for claim in claims:
        if isinstance(claim.generation, Unset):
            continue
        consumer = state.consumers.get(claim.consumer)
        generation = consumer.generation if consumer else None
        if claim.generation != generation:
            raise ConsumerGenerationConflict(claim.consumer, claim.generation, generation)


def refuse_unknown_providers(state: AllocationState, claims: Iterable[Claim]) -> None:
    """Raise UnknownProviders, naming all that do not exist."""
    unknown = claimed_providers(claims) - state.providers.keys()
    if unknown:
        raise UnknownProviders(unknown)


def _refuse_unknown_classes(state: AllocationState, claims: Iterable[Claim]) -> None:
    """Raise UnknownResourceClasses, naming all that do not exist."""
    unknown = claimed_classes(claims) - state.ids["resource_class"].keys()
    if unknown:
        raise UnknownResourceClasses(unknown)


def _refuse_unfit(
    amounts: Iterable[ClaimedAmount],
    stocks: Mapping[InventoryKey, Stock],
    used_before: Mapping[InventoryKey, int],
) -> None:
    """Raise for the first amount that its inventory cannot give.

    What the consumers of the request have now is theirs to use again, and a request may always
    lower what it uses, even of an inventory that is over-committed.
    """
    claimed: dict[InventoryKey, int] = defaultdict(int)  # by the amounts so far
    for _consumer, provider, class_name, key, amount in amounts:
        stock = stocks.get(key)
        if stock is None:
            raise NoInventory(class_name, provider.uuid)
        if not units_allow(stock, amount):
            raise UnitsViolated(
                class_name, provider.uuid, amount, stock.min_unit, stock.max_unit, stock.step_size
            )
        claimed[key] += amount
        own_use = used_before.get(key, 0)
        others = stock.used - own_use
        if claimed[key] > own_use and others + claimed[key] > stock.capacity:
            raise CapacityExceeded(class_name, provider.uuid, amount, others, stock.capacity)


# -- what changes ---------------------------------------------------------------------------


def _amounts(state: AllocationState, claims: Iterable[Claim]) -> list[ClaimedAmount]:
    """Return all amounts, in the order of the request."""
    class_ids = state.ids["resource_class"]
    amounts: list[ClaimedAmount] = []
    for claim in claims:
        consumer_uuid = stored_uuid(claim.consumer, state.consumers)
        for provider_uuid, resources in claim.allocations.items():
            provider = state.providers[provider_uuid]
            for name, amount in resources.items():
                key = (provider.id, class_ids[name])
                amounts.append(ClaimedAmount(consumer_uuid, provider, name, key, amount))
    return amounts


def _present_rows(state: AllocationState, claims: Iterable[Claim]) -> list[AllocationRow]:
    """Return the allocations that the consumers have now: all of them are replaced."""
    rows: list[AllocationRow] = []
    for claim in claims:
        consumer = state.consumers.get(claim.consumer)
        if consumer:
            rows += consumer.allocations
    return rows


def _sums(amounts: Iterable[tuple[InventoryKey, int]]) -> dict[InventoryKey, int]:
    sums: dict[InventoryKey, int] = defaultdict(int)
    for key, amount in amounts:
        sums[key] += amount
    return sums


def _deltas(
    used_before: Mapping[InventoryKey, int], used_after: Mapping[InventoryKey, int]
) -> dict[InventoryKey, int]:
    keys = used_before.keys() | used_after.keys()
    return {key: used_after.get(key, 0) - used_before.get(key, 0) for key in keys}


def _inventory_ids(rows: Iterable[AllocationRow]) -> dict[InventoryKey, int]:
    return {row.key: row.inventory_id for row in rows if row.inventory_id is not None}


def _root_ids(rows: Iterable[AllocationRow]) -> dict[int, int]:
    return {row.provider_id: row.root_id for row in rows if row.root_id is not None}


def _claimed(state: AllocationState, claims: Iterable[Claim]) -> list[LockedProvider]:
    return [state.providers[uuid] for uuid in claimed_providers(claims)]


def _changed_provider_ids(
    state: AllocationState, claims: Iterable[Claim], deleted: Iterable[Consumer]
) -> frozenset[int]:
    """Return the providers that claims name, and those that deleted consumers leave."""
    provider_ids = {provider.id for provider in _claimed(state, claims)}
    for consumer in deleted:
        for row in consumer.allocations:
            # In an adopted database the provider may not exist any more.
            if row.root_id is not None:
                provider_ids.add(row.provider_id)
    return frozenset(provider_ids)
