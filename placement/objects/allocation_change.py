"""Validate claims and determine the changes that they make, without access to the database.

A write reads an `AllocationState`, passes it with the claims to `allocation_change`, and executes
the resulting `AllocationChange`.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import gcd
from types import MappingProxyType
from typing import NamedTuple

from placement.errors import (
    CapacityExceeded,
    ConsumerGenerationConflict,
    NoInventory,
    UnitsViolated,
    UnknownProviders,
    UnknownResourceClasses,
)
from placement.inventory import Stock, units_allow
from placement.objects.catalog import STANDARD_CLASSES, Ids
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
from placement.runtime.suggestions import did_you_mean, nearest
from placement.vocabulary import MAX_INTEGER

NO_IDS: Mapping[InventoryKey, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class AllocationState:
    """The state on which a write is based. The checks use no other data."""

    # Existing providers of the request, by the identifiers in the request.
    providers: Mapping[str, LockedProvider]
    # Provider id -> class -> inventory, for these providers.
    inventories: Mapping[int, Mapping[str, Inventory]]
    # Existing consumers of the request, by the identifiers in the request.
    consumers: Mapping[str, Consumer]
    # Root id -> revision, for the trees of these providers and of all providers that the consumers
    # use.
    revisions: Mapping[int, int]
    # Kind -> name -> id, for the names in the request.
    ids: Ids
    # Allocations without a consumer's row, by the identifiers in the request. Only changes by SQL
    # leave such allocations.
    unrecorded: Mapping[str, Sequence[AllocationRow]] = field(default_factory=dict)

    def stocks(self) -> dict[InventoryKey, Stock]:
        """Return the stock of each inventory."""
        return {row.key: row.stock for row in self.inventory_rows()}

    def inventory_rows(self) -> Iterable[Inventory]:
        """Yield all inventories."""
        for inventories in self.inventories.values():
            yield from inventories.values()


class ClaimedAmount(NamedTuple):
    """An amount of one class that a consumer claims from one provider."""

    # UUID of the consumer.
    consumer_uuid: str
    # The provider, with the generation that was read.
    provider: LockedProvider
    # Name of the resource class.
    class_name: str
    # Provider id and class id.
    key: InventoryKey
    # Amount in units of the class.
    amount: int


class MovedAmount(NamedTuple):
    """An amount of one class that moves from one consumer to another."""

    # UUID of the consumer that receives the amount.
    consumer_uuid: str
    # Provider id and class id.
    key: InventoryKey
    # Amount in units of the class.
    amount: int


class UsageMove(NamedTuple):
    """A change of `used` of an inventory, and the amounts that its units must allow.

    The defaults describe an empty set of amounts, which any units allow.
    """

    # Difference to add to `used`.
    delta: int
    # Smallest amount of a consumer.
    least: int = MAX_INTEGER
    # Largest amount of a consumer.
    most: int = 0
    # Greatest common divisor of the amounts.
    divisor: int = 0

    @classmethod
    def of(cls, delta: int, amounts: Sequence[int]) -> "UsageMove":
        """Return the change for the new amounts of an inventory, at least one."""
        return cls(delta, min(amounts), max(amounts), gcd(*amounts))


@dataclass(frozen=True, slots=True)
class AllocationChange:
    """The rows that are changed by writing allocations."""

    # Changes of the rows of consumers.
    consumers: ConsumerChange
    # Existing allocations that the write deletes.
    deleted_rows: Sequence[AllocationRow]
    # Allocations that the write inserts.
    amounts: Sequence[ClaimedAmount | MovedAmount]
    # Changes of `used`.
    deltas: Mapping[InventoryKey, int]
    # Ids of the inventories that existed when the state was read.
    inventory_ids: Mapping[InventoryKey, int]
    # Provider id -> root id, for all affected providers.
    root_ids: Mapping[int, int]
    # Providers whose generation is incremented.
    provider_ids: frozenset[int]
    # Existing projects, users and types of consumers.
    ids: Ids

    def moves(self, new_inventory_ids: Mapping[InventoryKey, int] = NO_IDS) -> dict[int, UsageMove]:
        """Return inventory id -> change, for each inventory with claimed or released amounts.

        `new_inventory_ids` contains the inventories that this transaction has created.
        """
        inventory_ids = {**self.inventory_ids, **new_inventory_ids}
        amounts: dict[InventoryKey, list[int]] = defaultdict(list)
        for each in self.amounts:
            amounts[each.key].append(each.amount)
        moves: dict[int, UsageMove] = {}
        for key, delta in self.deltas.items():
            # Only an adopted database contains allocations without an inventory. Such allocations
            # can only be deleted.
            if key not in inventory_ids:
                continue
            # A delta of 0 does not change `used`, but the units must allow the amounts.
            if key in amounts:
                moves[inventory_ids[key]] = UsageMove.of(delta, amounts[key])
            elif delta:
                moves[inventory_ids[key]] = UsageMove(delta)
        return moves


def allocation_change(
    state: AllocationState, claims: Sequence[Claim], stocks: Mapping[InventoryKey, Stock]
) -> AllocationChange:
    """Check claims against the state, and return the changes that the claims make.

    `stocks` contains the inventories after the write, with their present usage.

    Raises:
        UnknownProviders, UnknownResourceClasses: in this order.
        NoInventory, UnitsViolated, CapacityExceeded: for the first amount that does not fit.
    """
    refuse_unknown_providers(state, claims)
    _refuse_unknown_classes(state, claims)
    amounts = _amounts(state, claims)

    # All claims are compared together, because a consumer may use resources that another consumer
    # releases.
    rows = _present_rows(state, claims)
    used_before = sums((row.key, row.used) for row in rows)
    used_after = sums((amount.key, amount.amount) for amount in amounts)
    _refuse_unfit(amounts, stocks, used_before)

    consumers = consumer_change(claims, state.consumers)
    return AllocationChange(
        consumers,
        deleted_rows=rows,
        amounts=amounts,
        deltas=deltas(used_before, used_after),
        inventory_ids=inventory_ids(rows) | {row.key: row.id for row in state.inventory_rows()},
        root_ids=root_ids(rows) | {each.id: each.root_id for each in _claimed(state, claims)},
        provider_ids=_changed_provider_ids(state, claims, consumers.deleted),
        ids=state.ids,
    )


# -- checks ---------------------------------------------------------------------------------


def check_consumer_generations(state: AllocationState, claims: Iterable[Claim]) -> None:
    """Raise ConsumerGenerationConflict for the first claim whose generation is outdated."""
    for claim in claims:
        if isinstance(claim.generation, Unset):
            continue
        consumer = state.consumers.get(claim.consumer)
        generation = consumer.generation if consumer else None
        if claim.generation != generation:
            raise ConsumerGenerationConflict(claim.consumer, claim.generation, generation)


def refuse_unknown_providers(state: AllocationState, claims: Iterable[Claim]) -> None:
    """Raise UnknownProviders with all missing providers."""
    unknown = claimed_providers(claims) - state.providers.keys()
    if unknown:
        raise UnknownProviders(unknown)


def _refuse_unknown_classes(state: AllocationState, claims: Iterable[Claim]) -> None:
    """Raise UnknownResourceClasses with all missing resource classes."""
    unknown = claimed_classes(claims) - state.ids["resource_class"].keys()
    if unknown:
        similar = [near for name in sorted(unknown) for near in nearest(name, STANDARD_CLASSES)]
        hint = did_you_mean(similar) or "; GET /resource_classes returns the existing ones"
        raise UnknownResourceClasses(unknown, hint=hint)


def _refuse_unfit(
    amounts: Iterable[ClaimedAmount],
    stocks: Mapping[InventoryKey, Stock],
    used_before: Mapping[InventoryKey, int],
) -> None:
    """Raise the error of the first amount that its inventory cannot provide.

    The claims replace the present allocations of the consumers, so these allocations count as free.
    A request may always reduce its total, even if the inventory is overcommitted.
    """
    claimed: dict[InventoryKey, int] = defaultdict(int)  # sums of the amounts checked so far
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


# -- changes --------------------------------------------------------------------------------


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
    """Return the present allocations of the consumers. The write replaces all of them."""
    rows: list[AllocationRow] = []
    for claim in claims:
        consumer = state.consumers.get(claim.consumer)
        if consumer:
            rows += consumer.allocations
        rows += state.unrecorded.get(claim.consumer, ())
    return rows


def sums(amounts: Iterable[tuple[InventoryKey, int]]) -> dict[InventoryKey, int]:
    """Return inventory -> sum of its amounts."""
    totals: dict[InventoryKey, int] = defaultdict(int)
    for key, amount in amounts:
        totals[key] += amount
    return totals


def deltas(
    used_before: Mapping[InventoryKey, int], used_after: Mapping[InventoryKey, int]
) -> dict[InventoryKey, int]:
    """Return inventory -> change of its usage."""
    keys = used_before.keys() | used_after.keys()
    return {key: used_after.get(key, 0) - used_before.get(key, 0) for key in keys}


def inventory_ids(rows: Iterable[AllocationRow]) -> dict[InventoryKey, int]:
    """Return inventory -> id, of the existing inventories of allocations."""
    return {row.key: row.inventory_id for row in rows if row.inventory_id is not None}


def root_ids(rows: Iterable[AllocationRow]) -> dict[int, int]:
    """Return provider id -> root id, of the existing providers of allocations."""
    return {row.provider_id: row.root_id for row in rows if row.root_id is not None}


def _claimed(state: AllocationState, claims: Iterable[Claim]) -> list[LockedProvider]:
    return [state.providers[uuid] for uuid in claimed_providers(claims)]


def _changed_provider_ids(
    state: AllocationState, claims: Iterable[Claim], deleted: Iterable[Consumer]
) -> frozenset[int]:
    """Return the providers in the claims, and the providers of deleted consumers."""
    provider_ids = {provider.id for provider in _claimed(state, claims)}
    for consumer in deleted:
        for row in consumer.allocations:
            # In an adopted database, the provider may not exist.
            if row.root_id is not None:
                provider_ids.add(row.provider_id)
    return frozenset(provider_ids)
