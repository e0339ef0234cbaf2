"""An amount served in parts: the sets of providers that can, of which none can do without a member.

Providers that are alike, in the sizes of their parts and in what they bring, are a *kind*. What
decides whether a set can serve is how many of each kind it has. So these counts are searched, the
kind with the largest parts first, and a set is picked only when its counts are known to be right.
The search steps back where what is left of the providers cannot complete the amount, and where
some of those chosen could serve alone. Where all parts have the same steps and the same minimum,
it meets no dead end: the last provider taken is the smallest, and without it there is too little.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations
from math import gcd
from typing import NamedTuple

from placement.candidates.budget import Spend, free
from placement.candidates.model import Split
from placement.candidates.search.sums import NOTHING, Sums, largest_first


class Giver(NamedTuple):
    """A provider that may serve a part: its position in a pool, and the units that it may be.

    brings: bits of what the providers have to have together.
    """

    position: int
    sizes: range
    brings: int = 0


class _Kind(NamedTuple):
    """Givers that are alike, by their places in the order of givers."""

    sizes: range
    brings: int
    members: list[int]


class _Count(NamedTuple):
    """How many of a kind are chosen. earlier: sums of any of those chosen of earlier kinds."""

    kind: _Kind
    times: int
    earlier: Sums


# What it takes to name one part of a split: to choose it, to spell it out, and to render it.
LOOKS_PER_PART = 24

# What it takes to try a size for a part of a set, or to go back to the part before it.
LOOKS_PER_TRIAL = 4


class _State(NamedTuple):
    """How many of each of the first kinds are chosen."""

    # How many kinds were looked at, and those with a count.
    depth: int = 0
    counts: tuple[_Count, ...] = ()
    # What all that are chosen can add up to, and what any of them can.
    sums: Sums = NOTHING
    any_sums: Sums = NOTHING
    # What those that are chosen bring.
    brings: int = 0


class Splits:
    """The ways to serve an amount in parts.

    givers: in the order in which they take their parts; each takes the largest that the others can
    complete. Those that could serve the amount alone are part of no split.
    """

    def __init__(self, amount: int, givers: Sequence[Giver], spend: Spend = free) -> None:
        self.givers = [giver for giver in givers if amount not in giver.sizes]
        # Amounts in units of the common step, so that like steps make runs of amounts.
        all_sizes = [giver.sizes for giver in self.givers]
        steps = [sizes.step if len(sizes) > 1 else sizes[0] for sizes in all_sizes]
        self._unit = gcd(*steps) or 1
        self._amount, rest = divmod(amount, self._unit)
        self._spend = spend
        self.exist = not rest and self._within_reach()

    def _within_reach(self) -> bool:
        """Whether some of the givers may serve the amount together."""
        largest = sum(giver.sizes[-1] for giver in self.givers)
        self._spend(len(self.givers))
        if len(self.givers) < 2 or largest < self._amount * self._unit:
            return False
        sums, _brings = self._rests(self._kinds(0, {}))[0]
        return sums.has(self._amount)

    def sets(self, needed: int = 0, crowds: Mapping[int, float] | None = None) -> Iterator[Split]:
        """Yield the parts of each set whose members bring what is needed between them.

        crowds: position -> how much others are likely to take there. Of givers that are alike
        those with little of it come first.
        """
        if not self.exist:
            return
        kinds = self._kinds(needed, crowds or {})
        rests = self._rests(kinds)
        states = [_State()]
        while states:
            state = states.pop()
            if state.depth == len(kinds) or self._is_dead_end(state, rests[state.depth], needed):
                continue
            # None of the next kind, then one, two and so on; the most, pushed last, go on first.
            states.append(state._replace(depth=state.depth + 1))
            for more in self._with_next(state, kinds[state.depth]):
                if more.any_sums.has(self._amount):
                    # Some of these may serve already. If they can without one, so can they with
                    # more; if all of them do, whoever joins them is one too many.
                    if self._can_do_with_less(more.counts):
                        break
                    if self._complete(_sizes(more.counts), optional=False) is not None:
                        if not needed & ~more.brings:
                            yield from self._sets_of(more.counts)
                        break
                states.append(more)

    def _is_dead_end(self, state: _State, rest: tuple[Sums, int], needed: int) -> bool:
        """Whether the other kinds cannot complete the amount, or what is to be brought."""
        sums, brings = rest
        self._spend(1 + len(state.sums.runs) + len(sums.runs))
        lacks = needed & ~(state.brings | brings)
        return bool(lacks) or not state.sums.completes(sums, self._amount)

    def _with_next(self, state: _State, kind: _Kind) -> Iterator[_State]:
        """Yield the states with one of the next kind, with two and so on, while there is room."""
        sums, any_sums = state.sums, state.any_sums
        for times in range(1, len(kind.members) + 1):
            sums = self._with_part(sums, kind.sizes)
            if not sums.runs:
                return
            any_sums = self._with_optional(any_sums, kind.sizes)
            counts = (*state.counts, _Count(kind, times, state.any_sums))
            yield _State(state.depth + 1, counts, sums, any_sums, state.brings | kind.brings)

    def _kinds(self, needed: int, crowds: Mapping[int, float]) -> list[_Kind]:
        """Return the kinds, those with the largest parts first; sizes in units."""
        kinds: dict[tuple[range, int], _Kind] = {}
        for place, giver in enumerate(self.givers):
            key = giver.sizes, giver.brings & needed
            kind = kinds.get(key)
            if kind is None:
                sizes = giver.sizes
                step = max(1, sizes.step // self._unit)
                units = range(sizes[0] // self._unit, sizes[-1] // self._unit + 1, step)
                kind = kinds[key] = _Kind(units, key[1], [])
            kind.members.append(place)
        if crowds:
            for kind in kinds.values():
                kind.members.sort(key=lambda place: crowds.get(self.givers[place].position, 0))
        return sorted(kinds.values(), key=lambda kind: (-kind.sizes[-1], kind.sizes[0]))

    def _rests(self, kinds: Sequence[_Kind]) -> list[tuple[Sums, int]]:
        """Return for each kind what it and those after it can give together, and bring."""
        rests = [(NOTHING, 0)]
        for kind in reversed(kinds):
            sums, brings = rests[-1]
            for _member in kind.members:
                sums = self._with_optional(sums, kind.sizes)
            rests.append((sums, brings | kind.brings))
        return rests[::-1]

    # The work of sums is counted where they are made, whatever they are made for.

    def _with_part(self, sums: Sums, sizes: range) -> Sums:
        """Return the sums with one more part."""
        sums = sums.plus(sizes, self._amount)
        self._spend(sums.looks)
        return sums

    def _with_optional(self, sums: Sums, sizes: range) -> Sums:
        """Return the sums with one more part or without."""
        sums = sums.maybe(sizes, self._amount)
        self._spend(2 * sums.looks)
        return sums

    def _can_do_with_less(self, counts: Sequence[_Count]) -> bool:
        """Whether the amount can be served without some provider of those chosen.

        It cannot without the one chosen last.
        """
        later = NOTHING
        for place in range(len(counts) - 1, -1, -1):
            kind, count, earlier = counts[place]
            if place < len(counts) - 1:
                # With one less of this kind: any of those before it, and any of those after it.
                others = earlier
                for _member in range(count - 1):
                    others = self._with_optional(others, kind.sizes)
                self._spend(len(others.runs) + len(later.runs))
                if others.completes(later, self._amount):
                    less = [*counts[:place], _Count(kind, count - 1, earlier), *counts[place + 1 :]]
                    exact = others.exact and later.exact
                    if exact or self._complete(_sizes(less), optional=True) is not None:
                        return True
            for _member in range(count):
                later = self._with_optional(later, kind.sizes)
        return False

    def _complete(self, sizes: Sequence[range], *, optional: bool) -> tuple[int, ...] | None:
        """Return a part of each of the sizes, the largest first, that add up to the amount.

        optional: parts may be left out, and are 0. None where there are no such parts.
        """
        add = self._with_optional if optional else self._with_part
        # What each part and those after it can add up to.
        rests = [NOTHING]
        for part_sizes in reversed(sizes):
            rests.append(add(rests[-1], part_sizes))
        rests.reverse()
        if not rests[0].has(self._amount):
            return None
        # Each part is the largest that the others can complete. Where sums are not exact, one may
        # turn out to be one that they cannot, and the next smaller one is tried.
        remainder = self._amount
        parts: list[int] = []
        trials: list[Iterator[int]] = []
        while True:
            if len(parts) == len(sizes):
                return tuple(parts)
            if len(trials) == len(parts):
                rest = rests[len(parts) + 1]
                trial = largest_first(sizes[len(parts)], remainder, rest, self._spend)
                trials.append(chain(trial, (0,) if optional and rest.has(remainder) else ()))
            part = next(trials[-1], None)
            self._spend(LOOKS_PER_TRIAL)
            if part is not None:
                parts.append(part)
                remainder -= part
                continue
            trials.pop()
            if not parts:
                return None
            remainder += parts.pop()

    def _sets_of(self, counts: Sequence[_Count]) -> Iterator[Split]:
        """Yield the parts of each set with so many of each kind."""
        kind_of: dict[int, int] = {}
        for place, count in enumerate(counts):
            kind_of |= dict.fromkeys(count.kind.members, place)
        sizes = [count.kind.sizes for count in counts]
        # Sets whose members come in like order have like parts.
        parts_by_order: dict[tuple[int, ...], tuple[int, ...] | None] = {}
        for members in _selections(counts):
            self._spend(LOOKS_PER_PART * len(members))
            order = tuple([kind_of[member] for member in members])
            if order not in parts_by_order:
                ordered_sizes = [sizes[place] for place in order]
                parts_by_order[order] = self._complete(ordered_sizes, optional=False)
            parts = parts_by_order[order]
            if parts is not None:
                yield tuple(
                    [
                        (self.givers[member].position, part * self._unit)
                        for member, part in zip(members, parts, strict=True)
                    ]
                )


def _sizes(counts: Sequence[_Count]) -> list[range]:
    return list(chain.from_iterable([count.kind.sizes] * count.times for count in counts))


def _selections(counts: Sequence[_Count]) -> Iterator[list[int]]:
    """Yield every choice of so many members of each kind, in their order."""
    iterators = [combinations(counts[0].kind.members, counts[0].times)]
    chosen: list[tuple[int, ...]] = []
    while iterators:
        members = next(iterators[-1], None)
        if members is None:
            iterators.pop()
            if chosen:
                chosen.pop()
        elif len(iterators) == len(counts):
            yield sorted(chain(*chosen, members))
        else:
            chosen.append(members)
            following = counts[len(iterators)]
            iterators.append(combinations(following.kind.members, following.times))
