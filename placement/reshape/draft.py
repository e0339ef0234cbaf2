"""A tree with its allocations while it is transformed; nothing is written yet."""

import copy
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from falcon_placement_client.allocation_records import AllocationRecord, AllocationRecords
from falcon_placement_client.errors import ProviderTreeError
from falcon_placement_client.inventory import units_allow
from falcon_placement_client.provider_data import ProviderData
from falcon_placement_client.provider_tree import ProviderTree
from placement.reshape.transformation import ProviderSelector

Usage = defaultdict[str, Counter[str]]  # provider -> class -> amount


class Misfit(Exception):
    """A tree cannot be transformed; the text names the provider and says why.

    line: of the step in the file, None where the result as a whole does not fit.
    """

    def __init__(self, provider: str, text: str, line: int | None = None) -> None:
        self.line = line
        super().__init__(f"{provider}: {text}")


class Draft:
    """A tree that is edited, with what consumers hold of it.

    base: what the tree was. own: UUIDs of its providers, without sharing ones of other trees.
    records: of all consumers of the tree. written: of those whose allocations change. used_before:
    as `usage` returns it.
    """

    def __init__(self, tree: ProviderTree, records: Mapping[str, AllocationRecord]) -> None:
        self.tree = tree
        self.base = tree.base
        # Other roots are those of sharing providers that the tree uses.
        self.own = tree.get_provider_uuids(tree.roots()[0].uuid)
        self.records: AllocationRecords = dict(records)
        self.written: AllocationRecords = {}
        self.used_before = usage(records)

    def matching(self, provider_filter: ProviderSelector) -> Sequence[ProviderData]:
        """Return the providers of the tree that a filter chooses, as they are now."""
        providers = map(self.tree.data, self.own)
        return [provider for provider in providers if provider_filter.matches(provider)]

    def child(self, name: str, parent: ProviderData) -> ProviderData:
        """Return the child of that name, made if there is none.

        Raises Misfit if the name is that of another provider of the tree, or can be none.
        """
        child = self.tree.find(name)
        if child is None:
            try:
                self.own.append(self.tree.new_child(name, parent.uuid))
            except ProviderTreeError as error:  # too long, with the name of the provider in it
                raise Misfit(parent.name, str(error)) from None
            return self.tree.data(name)
        if child.name != name or child.parent_uuid != parent.uuid:
            raise Misfit(parent.name, f"the tree has a provider {name} that is not below it")
        return child

    def holdings(self, provider: str) -> dict[str, dict[str, int]]:
        """Return what consumers hold of a provider: consumer -> class -> amount."""
        return {
            consumer: record["allocations"][provider]["resources"]
            for consumer, record in self.records.items()
            if provider in record["allocations"]
        }

    def new_providers(self) -> Iterator[ProviderData]:
        """Yield the providers that were not there before."""
        return (self.tree.data(uuid) for uuid in self.own if not self.base.exists(uuid))

    def has_changed(self) -> bool:
        """Return whether there is anything to write."""
        return bool(self.written) or self.tree.snapshot() != self.base

    def used(self) -> Usage:
        """Return what all consumers together hold, as the draft is now."""
        return usage(self.records)

    def shift(self, consumer: str, amounts: Mapping[str, int], source: str, target: str) -> None:
        """Let a consumer hold amounts of another provider than before."""
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
        """Let what a consumer holds of a provider be of classes of other names."""
        holding = self._to_write(consumer)["allocations"][provider]
        holding["resources"] = {
            names.get(name, name): amount for name, amount in holding["resources"].items()
        }

    def check(self) -> None:
        """Raise Misfit where the service would refuse the result.

        All that a consumer holds is written anew, so all of it has to be as units and room allow.
        """
        used = self.used()
        for uuid in self._touched():
            provider = self.tree.data(uuid)
            for name, amount in used[uuid].items():
                stock = provider.inventory.get(name)
                if stock is None:
                    raise Misfit(provider.name, f"{amount} {name} are held, and no inventory left")
                most = stock.capacity
                if amount > most and amount > self.used_before[uuid][name]:
                    raise Misfit(provider.name, f"{amount} {name} are held, its room is {most}")
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
                    raise Misfit(provider.name, f"{what}, which are given from {units}")

    def _touched(self) -> list[str]:
        """Return the providers of the tree whose inventory or allocations are to be written."""
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
    """Return what consumers together hold: provider -> class -> amount."""
    used: Usage = defaultdict(Counter)
    for record in records.values():
        for provider, holding in record["allocations"].items():
            used[provider].update(holding["resources"])
    return used
