"""The hosts of a simulation: copies of trees, in the order of the search.

The roots in the changes are checked before the first change is applied.
"""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from placement.candidates.model import SharingMember, Tree
from placement.candidates.request import Order, Rank, rank_by
from placement.candidates.trees import sharing_in
from placement.errors import BadBody, NotARoot
from placement.errors.base import at_member
from placement.foresight.hosts import MAX_BATCH
from placement.foresight.simulation.value import Add, Allocations, Change, ClaimOnCopies, Remove
from placement.objects import identifiers
from placement.runtime.bounded import SizeLimitedDict
from placement.runtime.budget import COST_PER_PROVIDER, Charge
from placement.vocabulary import SHARING_TRAIT

# Maximum number of hosts that all changes together add.
MAX_ADDED = 10_000

# Maximum number of classes for which the free units of each host are cached.
MAX_CLASSES = 16

# The prefix of the UUIDs of added hosts. A number, starting with 1, follows.
NEW = "new:"


class CopiedHosts:
    """The trees of a cloud in memory. Drained trees remain in memory but are not searched."""

    def __init__(self, trees: Iterable[Tree], order: Order) -> None:
        """Take the trees as they are before any change.

        Args:
            trees: all trees, in the order of their ids. They are not modified.
            order: the sort keys of hosts. Hosts with equal keys are sorted by the UUID of the root.
        """
        # Number of changes that may have increased the capacity of a host.
        self.gains = 0
        # Number of changes to trees with sharing providers.
        self.sharing_changes = 0
        # UUIDs of drained roots.
        self.drained: set[str] = set()
        # Returns the sort key of a tree.
        self._rank: Callable[[Tree], Rank] = rank_by(order) if order else lambda _tree: ()
        # UUID of the root -> tree.
        self._trees = {tree.uuid: tree for tree in trees}
        # Sort keys of the trees that are not drained.
        self._keys = {uuid: self._rank(tree) for uuid, tree in self._trees.items()}
        # Sort key and UUID of the root of each tree that is not drained, sorted.
        self._sorted = sorted((rank, uuid) for uuid, rank in self._keys.items())
        # UUIDs of roots of trees with sharing providers, in the order of their ids.
        self._sharing = dict.fromkeys(filter(self._shares, self._trees))
        # UUIDs of the roots of all trees, and of each tree that has changed, in order.
        self._changed = list(self._trees)
        # Class -> UUID of a root -> the most that a provider of the tree has free for one
        # allocation, and the length of `_changed` when these amounts were read.
        self._free: SizeLimitedDict[tuple[dict[str, int], int]] = SizeLimitedDict(
            MAX_CLASSES, lambda _: 1
        )
        # Number of hosts that were added.
        self._added = 0

    @property
    def changes(self) -> int:
        """A number that each change to a tree increases."""
        return len(self._changed)

    def __iter__(self) -> Iterator[Tree]:
        """Yield the trees that are not drained, in order."""
        return (self._trees[uuid] for _rank, uuid in self._sorted)

    def with_free(
        self, demands: Mapping[str, int], refused: Collection[str], spend: Charge
    ) -> Iterator[Tree]:
        """Yield the trees that are not drained and may serve a request, in order.

        Args:
            demands: class -> units that a provider of the tree must have free.
            refused: UUIDs of the roots of other trees that cannot serve it.
            spend: charges the work.
        """
        free = [(self._free_of(name, spend), units) for name, units in demands.items()]
        skipped = 0
        for _rank, uuid in self._sorted:
            # PERF: most hosts of a cloud may be full, so this loop does not call anything.
            for free_of_host, units in free:
                if free_of_host[uuid] < units:
                    skipped += 1
                    break
            else:
                if uuid not in refused:
                    spend(skipped)
                    skipped = 0
                    yield self._trees[uuid]
        spend(skipped)

    def _free_of(self, name: str, spend: Charge) -> Mapping[str, int]:
        """Return UUID of a root -> the most that one of its providers has free of a class."""
        free, read = self._free.get(name) or ({}, 0)
        for root in dict.fromkeys(self._changed[read:]):
            members = self._trees[root].members if root in self._keys else ()
            spend(COST_PER_PROVIDER * len(members))
            stocks = [each.stocks[name] for each in members if name in each.stocks]
            free[root] = max([stock.room for stock in stocks], default=0)
        self._free[name] = free, len(self._changed)
        return free

    def batches(self) -> Iterator[Sequence[Tree]]:
        """Yield the trees that are not drained in batches."""
        trees = list(self)
        for start in range(0, len(trees), MAX_BATCH):
            yield trees[start : start + MAX_BATCH]

    def get(self, root: str) -> Tree | None:
        """Return the tree of a root, drained or not, or None if it does not exist."""
        return self._trees.get(root)

    def sharing(self) -> list[SharingMember]:
        """Return the sharing providers of trees that are not drained."""
        return sharing_in([self._trees[uuid] for uuid in self._sharing if uuid in self._keys])

    def capacities(self) -> Counter[str]:
        """Return class -> sum of the capacities of all providers."""
        totals: Counter[str] = Counter()
        for tree in self._trees.values():
            for member in tree.members:
                for name, stock in member.stocks.items():
                    totals[name] += stock.capacity
        return totals

    def drain(self, root: str) -> None:
        """Exclude a tree from serving."""
        if root in self._keys:
            self._remove_key(root)
            self.drained.add(root)
            self._note_change(root)

    def remove(self, root: str) -> None:
        """Remove a tree."""
        self.drain(root)
        self.drained.discard(root)
        self._trees.pop(root, None)
        self._sharing.pop(root, None)

    def add_like(self, model: Tree) -> None:
        """Add an unused copy of a tree. The identifier of its root is `new:<number>`."""
        self._added += 1
        uuid = f"{NEW}{self._added}"
        members = [
            member.unused()._replace(uuid=f"{uuid}/{member.uuid}", id=0) for member in model.members
        ]
        members[0] = members[0]._replace(uuid=uuid)
        # Ids below 0 do not belong to any row in the database.
        self._trees[uuid] = replace(model, id=-self._added, uuid=uuid, members=tuple(members))
        if self._shares(uuid):
            self._sharing[uuid] = None
        self._insert_key(uuid)
        self._note_change(uuid)
        self.gains += 1

    def allocate(self, allocations: Allocations, root_of: Mapping[str, str]) -> None:
        """Add allocations to the usages.

        Args:
            allocations: amounts to add.
            root_of: provider UUID -> UUID of its root.
        """
        for root in {root_of[provider] for provider in allocations} & self._trees.keys():
            tree = self._trees[root]
            self._trees[root] = tree = tree.after(allocations)
            self._note_change(root)
            if root in self._keys and self._rank(tree) != self._keys[root]:
                self._remove_key(root)
                self._insert_key(root)

    def release(self, allocations: Allocations, root_of: Mapping[str, str]) -> None:
        """Subtract allocations from the usages. Allocations from removed trees are ignored."""
        negative = {
            provider: {name: -amount for name, amount in amounts.items()}
            for provider, amounts in allocations.items()
        }
        self.allocate(negative, root_of)
        self.gains += bool(allocations)

    def _shares(self, root: str) -> bool:
        return any(SHARING_TRAIT in member.traits for member in self._trees[root].members)

    def _note_change(self, root: str) -> None:
        self._changed.append(root)
        self.sharing_changes += root in self._sharing

    def _insert_key(self, root: str) -> None:
        self._keys[root] = self._rank(self._trees[root])
        insort(self._sorted, (self._keys[root], root))

    def _remove_key(self, root: str) -> None:
        rank = self._keys.pop(root)
        del self._sorted[bisect_left(self._sorted, (rank, root))]


def check_roots(changes: Iterable[Change], trees: Sequence[Tree]) -> list[Change]:
    """Return the changes, with their roots in the stored spelling.

    Raises:
        BadBody: a root does not exist when its change is applied, or too many hosts are added.
        NotARoot: a change names a child.
    """
    # Normalized UUID -> UUID as stored, for the roots that exist when a change is applied.
    roots = {_key(tree.uuid): tree.uuid for tree in trees}
    added = 0
    checked: list[Change] = []
    for number, change in enumerate(changes):
        path = f"changes[{number}]"
        if isinstance(change, Add):
            like = _stored(change.like, roots, trees, f"{path}.add.like")
            checked.append(replace(change, like=like))
            if added + change.count > MAX_ADDED:
                raise BadBody(f"{path}.add.count: a simulation may add {MAX_ADDED:,} hosts")
            names = [f"{NEW}{added + each}" for each in range(1, change.count + 1)]
            roots |= zip(names, names, strict=True)
            added += change.count
        elif isinstance(change, ClaimOnCopies):
            checked.append(change)
        else:
            is_removed = isinstance(change, Remove)
            stored: dict[str, None] = {}
            for position, root in enumerate(change.roots):
                where = f"{path}.{'remove' if is_removed else 'drain'}[{position}]"
                stored[_stored(root, roots, trees, where)] = None
                if is_removed:
                    del roots[_key(root)]
            checked.append(replace(change, roots=tuple(stored)))
    return checked


def _stored(name: str, roots: Mapping[str, str], trees: Iterable[Tree], path: str) -> str:
    """Return a root in the stored spelling."""
    key = _key(name)
    if key in roots:
        return roots[key]
    with at_member(path):
        for tree in trees:
            for member in tree.members[1:]:
                if _key(member.uuid) == key:
                    raise NotARoot(member.uuid, tree.uuid)
        raise BadBody(f"there is no host {name} at this change")


def _key(name: str) -> str:
    return identifiers.canonical(name) or name
