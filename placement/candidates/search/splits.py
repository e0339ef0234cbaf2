"""Splits of an amount: minimal sets of providers that serve the amount together.

Providers with equal part sizes and equal trait bits form a *kind*. Whether a set can serve the
amount depends only on the number of providers of each kind. Therefore, the search enumerates these
counts, starting with the kind that has the largest parts, and selects providers only for valid
counts. It backtracks if the remaining providers cannot complete the amount, or if some of the
chosen providers are sufficient without the others. If all parts have the same step and minimum, the
search has no dead ends: the provider that is chosen last is the smallest one, and the amount is not
reached without it.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations
from math import gcd
from typing import NamedTuple

from placement.candidates.budget import Charge, uncharged
from placement.candidates.model import Split
from placement.candidates.search.sums import NOTHING, ReachableSums, largest_first


class PartProvider(NamedTuple):
    """A provider that may serve a part."""

    # Position in the pool.
    position: int
    # Possible sizes of the part, in units of the resource class.
    sizes: range
    # Bits of the collective trait sets that the provider satisfies.
    trait_bits: int = 0


class _Kind(NamedTuple):
    """Interchangeable providers."""

    # Possible sizes of a part, in multiples of the common unit.
    sizes: range
    # Bits of the needed trait sets that each of the providers satisfies.
    trait_bits: int
    # Indexes of these providers in `Splits.providers`.
    members: list[int]


class _Count(NamedTuple):
    """The number of chosen providers of a kind."""

    # The kind of the providers.
    kind: _Kind
    # The number of providers, each of which serves a part.
    times: int
    # Sums of any of the chosen providers of earlier kinds.
    earlier: ReachableSums


# Cost of one part of a split: selecting, expanding and rendering it.
COST_PER_PART = 24

# Cost of trying a size for a part, or of backtracking to the previous part.
COST_PER_TRIAL = 4


class _State(NamedTuple):
    """A state of the search: the counts of the first kinds."""

    # Number of kinds whose count is decided.
    depth: int = 0
    # Counts above 0.
    counts: tuple[_Count, ...] = ()
    # Sums of parts of all chosen providers.
    sums: ReachableSums = NOTHING
    # Sums of parts of any chosen providers.
    any_sums: ReachableSums = NOTHING
    # Trait bits of the chosen providers together.
    trait_bits: int = 0


class Splits:
    """The splits of an amount."""

    def __init__(
        self, amount: int, providers: Sequence[PartProvider], spend: Charge = uncharged
    ) -> None:
        """providers: in the order of preference. Each provider serves the largest possible part."""
        # The providers that cannot serve the amount alone. Other providers are in no split.
        self.providers = [provider for provider in providers if amount not in provider.sizes]
        # Divide all amounts by the common step, so that equal steps result in contiguous runs.
        all_sizes = [provider.sizes for provider in self.providers]
        steps = [sizes.step if len(sizes) > 1 else sizes[0] for sizes in all_sizes]
        # The common step of all sizes, in units of the resource class.
        self._unit = gcd(*steps) or 1
        # The amount, in multiples of `_unit`.
        self._amount, rest = divmod(amount, self._unit)
        self._spend = spend
        # Whether several providers together may serve the amount.
        self.exist = not rest and self._within_reach()

    def _within_reach(self) -> bool:
        """Return whether several providers together may serve the amount."""
        largest = sum(provider.sizes[-1] for provider in self.providers)
        self._spend(len(self.providers))
        if len(self.providers) < 2 or largest < self._amount * self._unit:
            return False
        sums, _brings = self._rests(self._kinds(0, {}))[0]
        return sums.has(self._amount)

    def sets(
        self, needed: int = 0, expected_load: Mapping[int, float] | None = None
    ) -> Iterator[Split]:
        """Yield the splits whose providers together satisfy the needed trait sets.

        Args:
            needed: bits of the trait sets.
            expected_load: position -> load from other slots. Among interchangeable providers,
                the ones with less load come first.
        """
        if not self.exist:
            return
        kinds = self._kinds(needed, expected_load or {})
        rests = self._rests(kinds)
        states = [_State()]
        while states:
            state = states.pop()
            if state.depth == len(kinds) or self._is_dead_end(state, rests[state.depth], needed):
                continue
            # Push one state for each number of providers (zero, one, two, …) of the next kind, and
            # continue with the highest number.
            states.append(state._replace(depth=state.depth + 1))
            for more in self._with_next(state, kinds[state.depth]):
                if more.any_sums.has(self._amount):
                    # The chosen providers may now serve the amount. A redundant provider remains
                    # redundant if more providers are added. If no provider is redundant, every
                    # additional provider is.
                    if self._is_redundant(more.counts):
                        break
                    if self._complete(_sizes(more.counts), optional=False) is not None:
                        if not needed & ~more.trait_bits:
                            yield from self._sets_of(more.counts)
                        break
                states.append(more)

    def _is_dead_end(self, state: _State, rest: tuple[ReachableSums, int], needed: int) -> bool:
        """Return whether the remaining kinds cannot complete the amount or the trait sets."""
        sums, trait_bits = rest
        self._spend(1 + len(state.sums.runs) + len(sums.runs))
        lacks = needed & ~(state.trait_bits | trait_bits)
        return bool(lacks) or not state.sums.can_complete(sums, self._amount)

    def _with_next(self, state: _State, kind: _Kind) -> Iterator[_State]:
        """Yield the states with one, two, … providers of the next kind, up to the amount."""
        sums, any_sums = state.sums, state.any_sums
        for times in range(1, len(kind.members) + 1):
            sums = self._with_part(sums, kind.sizes)
            if not sums.runs:
                return
            any_sums = self._with_optional(any_sums, kind.sizes)
            counts = (*state.counts, _Count(kind, times, state.any_sums))
            yield _State(
                state.depth + 1, counts, sums, any_sums, state.trait_bits | kind.trait_bits
            )

    def _kinds(self, needed: int, expected_load: Mapping[int, float]) -> list[_Kind]:
        """Return the kinds, sorted by their largest part in descending order."""
        kinds: dict[tuple[range, int], _Kind] = {}
        for place, provider in enumerate(self.providers):
            key = provider.sizes, provider.trait_bits & needed
            kind = kinds.get(key)
            if kind is None:
                sizes = provider.sizes
                step = max(1, sizes.step // self._unit)
                units = range(sizes[0] // self._unit, sizes[-1] // self._unit + 1, step)
                kind = kinds[key] = _Kind(units, key[1], [])
            kind.members.append(place)
        if expected_load:
            for kind in kinds.values():
                kind.members.sort(
                    key=lambda place: expected_load.get(self.providers[place].position, 0)
                )
        return sorted(kinds.values(), key=lambda kind: (-kind.sizes[-1], kind.sizes[0]))

    def _rests(self, kinds: Sequence[_Kind]) -> list[tuple[ReachableSums, int]]:
        """Return for each kind the sums and the trait bits of this kind and all later kinds."""
        rests = [(NOTHING, 0)]
        for kind in reversed(kinds):
            sums, trait_bits = rests[-1]
            for _member in kind.members:
                sums = self._with_optional(sums, kind.sizes)
            rests.append((sums, trait_bits | kind.trait_bits))
        return rests[::-1]

    # The next two methods charge the work of computing the sums.

    def _with_part(self, sums: ReachableSums, sizes: range) -> ReachableSums:
        """Return the sums with one additional part."""
        sums = sums.with_part(sizes, self._amount)
        self._spend(sums.cost)
        return sums

    def _with_optional(self, sums: ReachableSums, sizes: range) -> ReachableSums:
        """Return the sums with or without one additional part."""
        sums = sums.with_optional(sizes, self._amount)
        self._spend(2 * sums.cost)
        return sums

    def _is_redundant(self, counts: Sequence[_Count]) -> bool:
        """Return whether the amount can be served without one of the chosen providers.

        The provider that was chosen last is never redundant.
        """
        later = NOTHING
        for place in range(len(counts) - 1, -1, -1):
            kind, count, earlier = counts[place]
            if place < len(counts) - 1:
                # Sums of any earlier and of any later providers, with one provider less of this
                # kind.
                others = earlier
                for _member in range(count - 1):
                    others = self._with_optional(others, kind.sizes)
                self._spend(len(others.runs) + len(later.runs))
                if others.can_complete(later, self._amount):
                    less = [*counts[:place], _Count(kind, count - 1, earlier), *counts[place + 1 :]]
                    exact = others.exact and later.exact
                    if exact or self._complete(_sizes(less), optional=True) is not None:
                        return True
            for _member in range(count):
                later = self._with_optional(later, kind.sizes)
        return False

    def _complete(self, sizes: Sequence[range], *, optional: bool) -> tuple[int, ...] | None:
        """Return parts of these sizes that add up to the amount, or None.

        The largest sizes come first.

        Args:
            optional: whether parts may be omitted. An omitted part is 0.
        """
        add = self._with_optional if optional else self._with_part
        # Sums of each part and all parts after it.
        rests = [NOTHING]
        for part_sizes in reversed(sizes):
            rests.append(add(rests[-1], part_sizes))
        rests.reverse()
        if not rests[0].has(self._amount):
            return None
        # Each part gets the largest size that the other parts can complete. If the sums are not
        # exact, a size may be a dead end, and the next smaller size is tried.
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
            self._spend(COST_PER_TRIAL)
            if part is not None:
                parts.append(part)
                remainder -= part
                continue
            trials.pop()
            if not parts:
                return None
            remainder += parts.pop()

    def _sets_of(self, counts: Sequence[_Count]) -> Iterator[Split]:
        """Yield a split for each selection of providers with these counts."""
        kind_of: dict[int, int] = {}
        for place, count in enumerate(counts):
            kind_of |= dict.fromkeys(count.kind.members, place)
        sizes = [count.kind.sizes for count in counts]
        # Selections with the same order of kinds have the same parts.
        parts_by_order: dict[tuple[int, ...], tuple[int, ...] | None] = {}
        for members in _selections(counts):
            self._spend(COST_PER_PART * len(members))
            order = tuple([kind_of[member] for member in members])
            if order not in parts_by_order:
                ordered_sizes = [sizes[place] for place in order]
                parts_by_order[order] = self._complete(ordered_sizes, optional=False)
            parts = parts_by_order[order]
            if parts is not None:
                yield tuple(
                    [
                        (self.providers[member].position, part * self._unit)
                        for member, part in zip(members, parts, strict=True)
                    ]
                )


def _sizes(counts: Sequence[_Count]) -> list[range]:
    return list(chain.from_iterable([count.kind.sizes] * count.times for count in counts))


def _selections(counts: Sequence[_Count]) -> Iterator[list[int]]:
    """Yield the selections of providers with these counts, each in the order of preference."""
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
