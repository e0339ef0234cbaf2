"""A tree with its allocations during the transformation, before any write."""

import copy
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from falcon_placement_client.consumers import AllocationRecord, AllocationRecords
from falcon_placement_client.errors import ProviderTreeError
from falcon_placement_client.inventory import units_allow
from falcon_placement_client.provider_data import ProviderData
from falcon_placement_client.provider_tree import ProviderTree
from falcon_placement_client.tree_difference import InventoryChanged

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
        # Other roots are sharing providers that the tree uses.
        self._root = tree.roots()[0].uuid
        # Consumer UUID -> current allocations, for all consumers of the tree.
        self.records: AllocationRecords = dict(records)
        # Consumer UUID -> current allocations, for the consumers that change.
        self.written: AllocationRecords = {}
        # Provider UUID -> class -> units in use before the transformation.
        self.used_before = usage(records)

    @property
    def own(self) -> Sequence[ProviderData]:
        """The providers of the tree in their current state."""
        return [self.tree.data(uuid) for uuid in self.tree.get_provider_uuids(self._root)]

    def child(self, name: str, parent: ProviderData) -> ProviderData:
        """Return the child with this name. If it is missing, create it.  Raises Misfit."""
        child = self.tree.find(name)
        if child is None:
            try:
                return self.tree.data(self.tree.new_child(name, parent.uuid))
            except ProviderTreeError as error:  # the name is too long
                raise Misfit(parent.name, str(error)) from None
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

    def has_changed(self) -> bool:
        """Return whether there are changes to write."""
        return bool(self.written or self.tree.changes())

    def shift(self, consumer: str, amounts: Mapping[str, int], source: str, target: str) -> None:
        """Move amounts of a consumer from one provider to another."""
        allocations = self._to_write(consumer)["allocations"]
        old = Counter(allocations.pop(source)["resources"])
        new = Counter(allocations.get(target, {"resources": {}})["resources"])
        allocations[target] = {"resources": dict(new + Counter(amounts))}
        if remaining := dict(old - Counter(amounts)):
            allocations[source] = {"resources": remaining}

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
        used = usage(self.records)
        changes = self.tree.changes()
        written = {change.uuid for change in changes if isinstance(change, InventoryChanged)}
        for record in self.written.values():
            written |= record["allocations"].keys()
        for provider in filter(lambda provider: provider.uuid in written, self.tree):
            for name, amount in used[provider.uuid].items():
                stock = provider.inventory.get(name)
                if stock is None:
                    text = f"{amount} {name} are allocated, but no inventory is left"
                    raise Misfit(provider.name, text)
                if amount > max(stock.capacity, self.used_before[provider.uuid][name]):
                    text = f"{amount} {name} are allocated, but the capacity is {stock.capacity}"
                    raise Misfit(provider.name, text)
            self._check_units(provider)

    def _check_units(self, provider: ProviderData) -> None:
        for consumer, record in self.written.items():
            holding = record["allocations"].get(provider.uuid, {"resources": {}})
            for name, amount in holding["resources"].items():
                stock = provider.inventory[name]
                if not units_allow(stock, amount):
                    units = f"{stock.min_unit} to {stock.max_unit} in steps of {stock.step_size}"
                    what = f"consumer {consumer} holds {amount} {name}"
                    raise Misfit(provider.name, f"{what}, but units are {units}")

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
