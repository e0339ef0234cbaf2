"""A tree with its allocations during the transformation, before any write."""

import copy
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from falcon_placement_client.allocation_records import AllocationRecord, AllocationRecords
from falcon_placement_client.errors import ProviderTreeError
from falcon_placement_client.inventory import units_allow
from falcon_placement_client.provider_data import ProviderData
from falcon_placement_client.provider_tree import ProviderTree
from falcon_placement_client.reshape.transformation import ProviderSelector

Usage = defaultdict[str, Counter[str]]  # provider -> class -> amount


class Misfit(Exception):
    """A tree cannot be transformed. The text contains the provider and the reason."""

    def __init__(self, provider: str, text: str, line: int | None = None) -> None:
        # Line of the step in the file, or None if no single step is the cause.
        self.line = line
        super().__init__(f"{provider}: {text}")


class Draft:
    """A tree during the transformation, with the allocations of its consumers."""

    def __init__(self, tree: ProviderTree, records: Mapping[str, AllocationRecord]) -> None:
        # The tree in its current state. The steps change it.
        self.tree = tree
        # The tree before the transformation.
        self.base = tree.base
        # Uuids of the providers of the tree. Other roots are sharing providers that the tree uses.
        self.own = tree.get_provider_uuids(tree.roots()[0].uuid)
        # Consumer UUID -> current allocations, for all consumers of the tree.
        self.records: AllocationRecords = dict(records)
        # Consumer UUID -> current allocations, for the consumers that change.
        self.written: AllocationRecords = {}
        # Provider UUID -> class -> units in use before the transformation.
        self.used_before = usage(records)

    def matching(self, provider_filter: ProviderSelector) -> Sequence[ProviderData]:
        """Return the tree's providers that match a filter in their current state."""
        providers = map(self.tree.data, self.own)
        return [provider for provider in providers if provider_filter.matches(provider)]

    def child(self, name: str, parent: ProviderData) -> ProviderData:
        """Return the child with this name. If it is missing, create it.

        Raises:
            Misfit: the name is not valid, or belongs to another provider of the tree.
        """
        child = self.tree.find(name)
        if child is None:
            try:
                self.own.append(self.tree.new_child(name, parent.uuid))
            except ProviderTreeError as error:  # the name is too long
                raise Misfit(parent.name, str(error)) from None
            return self.tree.data(name)
        if child.name != name or child.parent_uuid != parent.uuid:
            raise Misfit(parent.name, f"the tree has a provider {name} that is not below it")
        return child

    def holdings(self, provider: str) -> dict[str, dict[str, int]]:
        """Return consumer -> class -> amount, for the allocations from a provider."""
        return {
            consumer: record["allocations"][provider]["resources"]
            for consumer, record in self.records.items()
            if provider in record["allocations"]
        }

    def new_providers(self) -> Iterator[ProviderData]:
        """Yield the providers that the transformation has created."""
        return (self.tree.data(uuid) for uuid in self.own if not self.base.exists(uuid))

    def has_changed(self) -> bool:
        """Return whether there are changes to write."""
        return bool(self.written) or self.tree.snapshot() != self.base

    def used(self) -> Usage:
        """Return the current usage by all consumers."""
        return usage(self.records)

    def shift(self, consumer: str, amounts: Mapping[str, int], source: str, target: str) -> None:
        """Move amounts of a consumer from one provider to another."""
        record = self._to_write(consumer)
        allocations = record["allocations"]
        old = allocations[source]["resources"]
        new = allocations.setdefault(target, {"resources": {}})["resources"]
        for name, amount in amounts.items():
            new[name] = new.get(name, 0) + amount
            old[name] -= amount
            if not old[name]:
                del old[name]
        if not old:
            del allocations[source]

    def rename(self, consumer: str, provider: str, names: Mapping[str, str]) -> None:
        """Rename the classes of a consumer's allocations from a provider."""
        holding = self._to_write(consumer)["allocations"][provider]
        holding["resources"] = {
            names.get(name, name): amount for name, amount in holding["resources"].items()
        }

    def check(self) -> None:
        """Raise Misfit if the service would reject the result.

        The allocations of a changed consumer are written as a whole, so all of them must fit.
        """
        used = self.used()
        for uuid in self._providers_to_write():
            provider = self.tree.data(uuid)
            for name, amount in used[uuid].items():
                stock = provider.inventory.get(name)
                if stock is None:
                    text = f"{amount} {name} are allocated, but no inventory is left"
                    raise Misfit(provider.name, text)
                most = stock.capacity
                if amount > most and amount > self.used_before[uuid][name]:
                    text = f"{amount} {name} are allocated, but the capacity is {most}"
                    raise Misfit(provider.name, text)
            self._check_units(provider)

    def _check_units(self, provider: ProviderData) -> None:
        for consumer, record in self.written.items():
            holding = record["allocations"].get(provider.uuid)
            if holding is None:
                continue
            for name, amount in holding["resources"].items():
                stock = provider.inventory[name]
                if not units_allow(stock, amount):
                    units = f"{stock.min_unit} to {stock.max_unit} in steps of {stock.step_size}"
                    what = f"consumer {consumer} holds {amount} {name}"
                    raise Misfit(provider.name, f"{what}, but units are {units}")

    def _providers_to_write(self) -> list[str]:
        """Return the providers of the tree whose inventories or allocations must be written."""
        touched: list[str] = []
        for provider in self.tree:
            old = self.base.find(provider.uuid)
            old_inventory = {} if old is None else old.inventory
            if provider.inventory != old_inventory:
                touched.append(provider.uuid)
        allocated: set[str] = set()
        for record in self.written.values():
            allocated |= record["allocations"].keys()
        touched += filter(self.tree.exists, allocated)
        return touched

    def _to_write(self, consumer: str) -> AllocationRecord:
        if consumer not in self.written:
            self.written[consumer] = self.records[consumer] = copy.deepcopy(self.records[consumer])
        return self.written[consumer]


def usage(records: Mapping[str, AllocationRecord]) -> Usage:
    """Return the usage by all consumers: provider -> class -> amount."""
    used: Usage = defaultdict(Counter)
    for record in records.values():
        for provider, holding in record["allocations"].items():
            used[provider].update(holding["resources"])
    return used
