"""The forest of a pool, and the possible common ancestors of the providers of several slots.

All constraints about subtrees of a pool share it.
"""

from collections import Counter
from collections.abc import Sequence

from placement.candidates.constraints.matching import Matching, all_providers
from placement.candidates.model import OptionList, Pool
from placement.runtime.budget import COST_PER_PROVIDER, Charge, uncharged

NO_PROVIDER = -1


def pool_parents(pool: Pool) -> list[int]:
    """Return each member's nearest ancestor in the pool, or NO_PROVIDER."""
    parents = [member.parent for member in pool.members[: pool.local]]
    positions = {
        (sharing.tree.id, sharing.position): position
        for position, sharing in enumerate(pool.sharing, start=pool.local)
    }
    for sharing in pool.sharing:
        members, above = sharing.tree.members, sharing.member.parent
        while above >= 0 and (sharing.tree.id, above) not in positions:
            above = members[above].parent
        parents.append(positions.get((sharing.tree.id, above), NO_PROVIDER))
    return parents


class Forest:
    """The providers of a pool with their parents. Parents come before their children."""

    def __init__(self, parents: Sequence[int], spend: Charge = uncharged) -> None:
        # Provider -> its parent, which has a lower number, or a negative number for a root.
        self.parents = parents
        self._spend = spend
        # Preorder numbers of each provider, and of the first provider after its subtree.
        self._first, self._end = _number(parents)
        # Options -> for each provider the number of options in its subtree.
        self._counts: dict[OptionList, Sequence[int]] = {}
        # The key consists of whether slots are isolated, and the options with the number of their
        # slots.
        self._hosts: dict[tuple[bool, frozenset[tuple[OptionList, int]]], CommonAncestors] = {}

    def covers(self, top: int, provider: int) -> bool:
        """Return whether the provider is `top` or a descendant of it."""
        return self._first[top] <= self._first[provider] < self._end[top]

    def counts(self, options: OptionList) -> Sequence[int]:
        """Return how many of the options are in the subtree of each provider."""
        counts = self._counts.get(options)
        if counts is None:
            counts = self._counts[options] = self._count(options)
        return counts

    def _count(self, options: Sequence[int]) -> Sequence[int]:
        counts = [0] * len(self.parents)
        for provider in options:
            counts[provider] = 1
        for provider in range(len(counts) - 1, -1, -1):  # children before parents
            parent = self.parents[provider]
            if parent >= 0:
                counts[parent] += counts[provider]
        return counts

    def hosts(self, options: Sequence[OptionList], *, isolated: bool) -> "CommonAncestors":
        """Return the possible common ancestors of the providers of some slots.

        Args:
            options: options of each slot.
            isolated: whether the slots use different providers.
        """
        key = isolated, frozenset(Counter(options).items())
        hosts = self._hosts.get(key)
        if hosts is None:
            hosts = self._hosts[key] = CommonAncestors(self, options, isolated, self._spend)
        return hosts


def _number(parents: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
    """Number the providers so that each subtree is a range, and return the starts and ends.

    A provider is a descendant of another one if its number is in the range of the other one.
    """
    sizes = [1] * len(parents)
    for provider in range(len(parents) - 1, -1, -1):
        if parents[provider] >= 0:
            sizes[parents[provider]] += sizes[provider]
    first = [0] * len(parents)
    end = [0] * len(parents)
    next_child = [0] * len(parents)  # start of the range of the next child
    next_root = 0
    for provider, parent in enumerate(parents):
        if parent >= 0:
            first[provider] = next_child[parent]
            next_child[parent] += sizes[provider]
        else:
            first[provider] = next_root
            next_root += sizes[provider]
        end[provider] = first[provider] + sizes[provider]
        next_child[provider] = first[provider] + 1
    return first, end


class CommonAncestors:
    """Hosts: providers that may serve a slot and whose subtree has options for all slots.

    Attributes:
        exist: whether there are any hosts.
        nearest: provider -> lowest host at or above it, or NO_PROVIDER.
    """

    def __init__(
        self, forest: Forest, options: Sequence[OptionList], isolated: bool, spend: Charge
    ) -> None:
        self._forest = forest
        self._spend = spend
        # Options -> for each provider whether it, or a host above it, is one of them.
        self._serving: dict[OptionList, Sequence[bool]] = {}
        hosts = self._find(options, isolated)
        self.exist = bool(hosts)
        self.nearest: list[int] = []
        for provider, parent in enumerate(forest.parents):
            nearest_above = self.nearest[parent] if parent >= 0 else NO_PROVIDER
            self.nearest.append(provider if provider in hosts else nearest_above)

    def _find(self, options: Sequence[OptionList], isolated: bool) -> set[int]:
        """Find the hosts. Children are checked before parents.

        If slots can share providers, a subtree must have at least one option from each list.
        Otherwise, it must have one option for each slot. If slots have different lists, counting is
        not sufficient, and a matching decides. The ancestors of a host are not checked, because
        their subtrees contain the subtree of the host.
        """
        slots_by_options = Counter(options)
        needed = [
            (self._forest.counts(providers), number if isolated else 1)
            for providers, number in slots_by_options.items()
        ]
        needs_matching = isolated and len(slots_by_options) > 1
        hosts: set[int] = set()
        above_hosts: set[int] = set()
        candidates = sorted(all_providers(slots_by_options), reverse=True)
        self._spend(COST_PER_PROVIDER * len(needed) * len(self._forest.parents))
        for provider in candidates:
            if any(counts[provider] < least for counts, least in needed):
                continue
            if provider not in above_hosts:
                if needs_matching and not self._has_complete_matching(provider, options):
                    continue
                self._add_ancestors(provider, above_hosts)
            hosts.add(provider)
        return hosts

    def _add_ancestors(self, provider: int, ancestors: set[int]) -> None:
        """Add the provider and its ancestors."""
        while provider >= 0 and provider not in ancestors:
            ancestors.add(provider)
            provider = self._forest.parents[provider]

    def _has_complete_matching(self, top: int, options: Sequence[OptionList]) -> bool:
        """Return whether the subtree has a different provider for every slot."""
        covers = self._forest.covers
        inside: dict[OptionList, OptionList] = {}
        for providers in set(options):
            self._spend(len(providers))
            below = [provider for provider in providers if covers(top, provider)]
            inside[providers] = OptionList(below)
        by_slot = {slot: inside[providers] for slot, providers in enumerate(options)}
        seats = dict.fromkeys(all_providers(inside.values()), 1)
        return Matching(by_slot, seats, self._spend).complete()

    def above(self, host: int) -> int:
        """Return the next host above a host, or NO_PROVIDER."""
        parent = self._forest.parents[host]
        return self.nearest[parent] if parent >= 0 else NO_PROVIDER

    def serving(self, options: OptionList) -> Sequence[bool]:
        """Return for each host whether the host or an ancestor host is among the options."""
        serving = self._serving.get(options)
        if serving is None:
            serving = self._serving[options] = self._find_serving(options)
        return serving

    def _find_serving(self, options: Sequence[int]) -> Sequence[bool]:
        serving = [False] * len(self.nearest)
        for provider in options:
            serving[provider] = self.nearest[provider] == provider
        for provider, nearest in enumerate(self.nearest):  # parents before children
            if nearest == provider and not serving[provider]:
                above = self.above(provider)
                serving[provider] = above >= 0 and serving[above]
        return serving
