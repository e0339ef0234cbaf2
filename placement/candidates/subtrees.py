"""Groups joined by `same_subtree`: one of those that serve is above all the others.

A pool is a forest. What is worked out of it, once for a search and shared by all constraints:
who is above whom in constant time, how many providers that may serve a group stand below each,
and which providers could be the one above all for a set of groups.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from placement.candidates import trail
from placement.candidates.matching import Matching, Spend, free
from placement.candidates.model import Pool

NOBODY = -1


def parents(pool: Pool) -> list[int]:
    """For each member the nearest one above it that is in the pool too, or NOBODY."""
    above = [member.parent for member in pool.members[: pool.local]]
    at = {
        (lent.tree.id, lent.position): index
        for index, lent in enumerate(pool.lent, start=pool.local)
    }
    for lent in pool.lent:
        members, position = lent.tree.members, lent.member.parent
        while position >= 0 and (lent.tree.id, position) not in at:
            position = members[position].parent
        above.append(at.get((lent.tree.id, position), NOBODY))
    return above


class Forest:
    """The providers of a pool by their parents, who come before their children."""

    def __init__(self, parents: Sequence[int], spend: Spend = free) -> None:
        spend(4 * len(parents))
        self.parents = parents
        self._spend = spend
        sizes = [1] * len(parents)
        for provider in range(len(parents) - 1, -1, -1):
            if parents[provider] >= 0:
                sizes[parents[provider]] += sizes[provider]
        # Numbered so that a subtree is a run: provider -> its number, the first one after it.
        self._first = [0] * len(parents)
        self._end = [0] * len(parents)
        begin = list(self._first)  # provider -> where its next child's run begins
        roots = 0
        for provider, parent in enumerate(parents):
            if parent >= 0:
                first = begin[parent]
                begin[parent] += sizes[provider]
            else:
                first = roots
                roots += sizes[provider]
            self._first[provider] = first
            self._end[provider] = first + sizes[provider]
            begin[provider] = first + 1
        # By the identity of options, which are shared by the groups that ask the same.
        self._counts: dict[int, list[int]] = {}
        self._hosts: dict[tuple[bool, tuple[int, ...]], Hosts] = {}

    def covers(self, top: int, provider: int) -> bool:
        """Whether the provider is `top` or below it."""
        return self._first[top] <= self._first[provider] < self._end[top]

    def counts(self, options: Sequence[int]) -> list[int]:
        """How many of the options are in the subtree of each provider."""
        known = self._counts.get(id(options))
        if known is None:
            self._spend(2 * len(self.parents))
            known = [0] * len(self.parents)
            for provider in options:
                known[provider] = 1
            for provider in range(len(known) - 1, -1, -1):
                if known[provider] and self.parents[provider] >= 0:
                    known[self.parents[provider]] += known[provider]
            self._counts[id(options)] = known
        return known

    def hosts(self, of_slots: Sequence[Sequence[int]], isolated: bool) -> "Hosts":
        """Who could be above all that serve these slots, given the options of each.

        isolated: the slots use different providers. The lists must live as long as the forest.
        """
        key = isolated, tuple(sorted(map(id, of_slots)))
        known = self._hosts.get(key)
        if known is None:
            known = self._hosts[key] = Hosts(self, of_slots, isolated, self._spend)
        return known


class Hosts:
    """Providers that may serve one of some slots, and with all slots' options below them.

    nearest: provider -> the lowest host at or above it, or NOBODY.
    """

    def __init__(
        self, forest: Forest, of_slots: Sequence[Sequence[int]], isolated: bool, spend: Spend
    ) -> None:
        self.forest = forest
        self._spend = spend
        self._serving: dict[int, list[bool]] = {}
        number = Counter(map(id, of_slots))
        lists = {id(options): options for options in of_slots}
        needs = [
            (forest.counts(options), number[key] if isolated else 1)
            for key, options in lists.items()
        ]
        hosts: set[int] = set()
        able: set[int] = set()  # above a host: what can be placed there can be placed here
        serving = sorted({each for options in lists.values() for each in options}, reverse=True)
        spend(len(serving) * len(needs))
        for provider in serving:  # children before parents
            if any(counts[provider] < least for counts, least in needs):
                continue
            if provider not in able:
                if isolated and len(lists) > 1 and not self._seats_all(provider, of_slots):
                    continue
                above = provider
                while above >= 0 and above not in able:
                    able.add(above)
                    above = forest.parents[above]
            hosts.add(provider)
        spend(2 * len(forest.parents))
        self.nearest: list[int] = []
        for provider, parent in enumerate(forest.parents):
            if provider in hosts:
                self.nearest.append(provider)
            else:
                self.nearest.append(self.nearest[parent] if parent >= 0 else NOBODY)
        self.exist = bool(hosts)

    def _seats_all(self, top: int, of_slots: Sequence[Sequence[int]]) -> bool:
        """Whether the subtree has a provider of its own for every slot."""
        inside: dict[int, list[int]] = {}
        for options in of_slots:
            if id(options) not in inside:
                self._spend(len(options))
                inside[id(options)] = [each for each in options if self.forest.covers(top, each)]
        within = {slot: inside[id(options)] for slot, options in enumerate(of_slots)}
        return Matching(within, lambda _provider: 1, self._spend).complete()

    def above(self, host: int) -> int:
        """The next host above a host, or NOBODY."""
        parent = self.forest.parents[host]
        return self.nearest[parent] if parent >= 0 else NOBODY

    def serving(self, options: Sequence[int]) -> list[bool]:
        """Of each host: whether it or one above it is among the options."""
        known = self._serving.get(id(options))
        if known is None:
            self._spend(2 * len(self.nearest))
            known = [False] * len(self.nearest)
            for provider in options:
                known[provider] = self.nearest[provider] == provider
            for provider in range(len(known)):
                if self.nearest[provider] == provider and not known[provider]:
                    above = self.above(provider)
                    known[provider] = above >= 0 and known[above]
            self._serving[id(options)] = known
        return known


class SameSubtree:
    """One of the providers serving these slots is ancestor-or-self of all of them.

    options: slot -> providers that may serve it; equal lists are best the same list.
    """

    reason = trail.SUBTREE

    def __init__(
        self,
        options: Mapping[int, Sequence[int]],
        forest: Forest,
        isolated: bool = False,
        spend: Spend = free,
    ) -> None:
        self.slots = frozenset(options)
        self._forest = forest
        self._spend = spend
        self._hosts = forest.hosts(list(options.values()), isolated)
        self._serving = {slot: self._hosts.serving(each) for slot, each in options.items()}
        self._open = Counter(map(id, self._serving.values()))
        self._distinct = {id(serving): serving for serving in self._serving.values()}
        self._placed: Counter[int] = Counter()
        self._tops: list[int] = []  # with each placement: the lowest host above all placed

    def feasible(self) -> bool:
        return self._hosts.exist

    def add(self, slot: int, provider: int) -> bool:
        if self._tops:
            top, climbed = self._tops[-1], 0
            while top >= 0 and not self._forest.covers(top, provider):
                top = self._hosts.above(top)
                climbed += 1
            self._spend(climbed)
        else:
            top = self._hosts.nearest[provider]
        if top < 0:
            return False
        kind = id(self._serving[slot])
        self._open[kind] -= 1
        if top == provider or self._placed[top] or self._still_possible(top):
            self._placed[provider] += 1
            self._tops.append(top)
            return True
        self._open[kind] += 1
        return False

    def _still_possible(self, top: int) -> bool:
        """Whether an open slot may be served by a host at or above `top`."""
        self._spend(len(self._distinct))
        return any(self._open[kind] and serving[top] for kind, serving in self._distinct.items())

    def remove(self, slot: int, provider: int) -> None:
        self._tops.pop()
        self._placed[provider] -= 1
        self._open[id(self._serving[slot])] += 1
