"""The hosts of a simulation: copies of trees, in the order of the search."""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from placement.candidates.budget import Charge
from placement.candidates.model import Member, SharingMember, Stocks, Tree
from placement.candidates.order import Order, Rank, rank_by
from placement.candidates.trees.sharing import sharing_in
from placement.vocabulary import SHARING_TRAIT

# Cost of copying one provider. The cost is high because copies use memory. By default, the limit on
# work allows about 160,000 copies.
COST_PER_COPY = 1000

# Provider UUID -> class -> units.
Allocations = Mapping[str, Mapping[str, int]]


class SimulatedHosts:
    """The trees of a cloud in memory. Drained trees remain in memory but are not searched."""

    def __init__(self, trees: Iterable[Tree], order: Order, spend: Charge) -> None:
        """Take the trees as they are before any change.

        Args:
            trees: all trees, which are not modified.
            order: the sort keys of hosts. Hosts with equal keys are sorted by the UUID of the root.
            spend: charges the work.
        """
        # Number of changes that may have increased the capacity of a host.
        self.gains = 0
        # Number of changes to trees with sharing providers.
        self.sharing_changes = 0
        # UUIDs of drained roots.
        self.drained: set[str] = set()
        self._spend = spend
        # Returns the sort key of a tree.
        self._rank: Callable[[Tree], Rank] = rank_by(order) if order else lambda _tree: ()
        # UUID of the root -> tree.
        self._trees = {tree.uuid: tree for tree in trees}
        # Sort keys of the trees that are not drained.
        self._keys: dict[str, Rank] = {}
        # Sort key and UUID of the root of each tree that is not drained, sorted.
        self._sorted: list[tuple[Rank, str]] = []
        # UUIDs of roots of trees with sharing providers.
        self._sharing: set[str] = set()
        self._added = 0  # number of hosts that were added
        for uuid, tree in self._trees.items():
            self._keys[uuid] = self._rank(tree)
            if _shares(tree):
                self._sharing.add(uuid)
        self._sorted = sorted((rank, uuid) for uuid, rank in self._keys.items())

    def __len__(self) -> int:
        """Return the number of trees that are not drained."""
        return len(self._sorted)

    def __iter__(self) -> Iterator[Tree]:
        """Yield the trees that are not drained, in order."""
        for _rank, uuid in self._sorted:
            yield self._trees[uuid]

    def that_share(self) -> list[Tree]:
        """Return the trees with sharing providers that are not drained, in order."""
        keys = sorted((self._keys[uuid], uuid) for uuid in self._sharing - self.drained)
        return [self._trees[uuid] for _rank, uuid in keys]

    def uuids(self) -> Iterator[str]:
        """Yield the roots of the trees that are not drained, in order."""
        for _rank, uuid in self._sorted:
            yield uuid

    def all(self) -> Iterable[Tree]:
        """Return all trees, drained or not."""
        return self._trees.values()

    def get(self, root: str) -> Tree | None:
        """Return the tree of a root, drained or not, or None if it does not exist."""
        return self._trees.get(root)

    def sharing(self) -> list[SharingMember]:
        """Return the sharing providers of trees that are not drained."""
        return sharing_in([self._trees[uuid] for uuid in sorted(self._sharing - self.drained)])

    def drain(self, root: str) -> None:
        """Exclude a tree from serving."""
        if root not in self.drained:
            self._remove_key(root)
            self.drained.add(root)
            self._note_change(root)

    def remove(self, root: str) -> None:
        """Remove a tree."""
        if root in self.drained:
            self.drained.discard(root)
        else:
            self._remove_key(root)
        self._note_change(root)
        del self._trees[root]
        self._sharing.discard(root)

    def add_like(self, root: str) -> str:
        """Add an unused copy of a tree. Return the identifier of its root, `new:<number>`."""
        model = self._trees[root]
        self._spend(COST_PER_COPY * len(model.members))
        self._added += 1
        uuid = f"new:{self._added}"
        members = [_unused_copy(member, uuid) for member in model.members]
        members[0] = members[0]._replace(uuid=uuid)
        # Ids below 0 do not belong to any row in the database.
        tree = replace(model, id=-self._added, uuid=uuid, members=tuple(members))
        self._trees[uuid] = tree
        if _shares(tree):
            self._sharing.add(uuid)
        self._insert_key(tree)
        self._note_change(uuid)
        self.gains += 1
        return uuid

    def allocate(self, allocations: Allocations, root_of: Mapping[str, str]) -> None:
        """Add allocations to the usages.

        Args:
            allocations: amounts to add.
            root_of: provider UUID -> UUID of its root.
        """
        for root in {root_of[provider] for provider in allocations}:
            tree = self._trees[root]
            self._replace(tree.after(_of_inventories(tree, allocations)))

    def release(self, allocations: Allocations, root_of: Mapping[str, str]) -> None:
        """Subtract allocations from the usages.

        The method ignores allocations from removed trees.
        """
        negative = {
            provider: {name: -amount for name, amount in amounts.items()}
            for provider, amounts in allocations.items()
        }
        for root in {root_of[provider] for provider in allocations} & self._trees.keys():
            tree = self._trees[root]
            self._replace(tree.after(_of_inventories(tree, negative)))
            self.gains += 1

    def _replace(self, tree: Tree) -> None:
        self._spend(2 * len(tree.members))
        self._trees[tree.uuid] = tree
        self._note_change(tree.uuid)
        if tree.uuid in self._keys and self._rank(tree) != self._keys[tree.uuid]:
            self._remove_key(tree.uuid)
            self._insert_key(tree)

    def _note_change(self, root: str) -> None:
        if root in self._sharing:
            self.sharing_changes += 1

    def _insert_key(self, tree: Tree) -> None:
        self._keys[tree.uuid] = self._rank(tree)
        insort(self._sorted, (self._keys[tree.uuid], tree.uuid))

    def _remove_key(self, root: str) -> None:
        rank = self._keys.pop(root)
        del self._sorted[bisect_left(self._sorted, (rank, root))]


def capacities(trees: Iterable[Tree], names: Iterable[str]) -> dict[str, int]:
    """Return class -> sum of the capacities of all providers."""
    totals = dict.fromkeys(names, 0)
    for tree in trees:
        for member in tree.members:
            for name, stock in member.stocks.items():
                if name in totals:
                    totals[name] += stock.capacity
    return totals


def _of_inventories(tree: Tree, allocations: Allocations) -> Allocations:
    """Return the allocations for which the tree has an inventory.

    Other allocations use no capacity.
    """
    stocks = {member.uuid: member.stocks for member in tree.members}
    return {
        provider: {name: units for name, units in amounts.items() if name in stocks[provider]}
        for provider, amounts in allocations.items()
        if provider in stocks
    }


def _shares(tree: Tree) -> bool:
    return any(SHARING_TRAIT in member.traits for member in tree.members)


def _unused_copy(member: Member, root: str) -> Member:
    stocks = Stocks({name: stock._replace(used=0) for name, stock in member.stocks.items()})
    return member._replace(uuid=f"{root}/{member.uuid}", stocks=stocks, id=0)
