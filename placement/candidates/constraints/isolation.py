"""Which slots may have one provider or one tree: isolated groups, and answers without trees."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Self

from placement.candidates.budget import Spend, free
from placement.candidates.constraints.base import Constraint, Undo
from placement.candidates.constraints.matching import Matching, all_providers
from placement.candidates.model import OptionList, Pool
from placement.candidates.plan import SearchPlan
from placement.candidates.trace import Refusal


class Isolation(Constraint):
    """No provider serves two of the slots: each has one seat, which a placement takes.

    options: slot -> providers that may serve it.
    """

    code = Refusal.ISOLATE

    def __init__(self, options: Mapping[int, OptionList], spend: Spend = free) -> None:
        self.slots = frozenset(options)
        self._matching = Matching(options, dict.fromkeys(all_providers(options.values()), 1), spend)

    @classmethod
    def applies(cls, plan: SearchPlan) -> bool:
        """Whether all suffixed groups must use different providers."""
        return len(plan.isolated_slots) > 1 and not plan.shared_slots

    @classmethod
    def build(
        cls, plan: SearchPlan, pool: Pool, options: Sequence[OptionList], spend: Spend
    ) -> Sequence[Self]:
        """Make one condition for all suffixed groups."""
        return (cls({slot: options[slot] for slot in plan.isolated_slots}, spend),)

    def feasible(self) -> bool:
        """Whether every slot can have a provider of its own."""
        return self._matching.complete()

    def add(self, slot: int, provider: int) -> Undo | None:
        """Take the provider for the slot alone."""
        if self._matching.seats(provider) == 0:
            return None
        return self._matching.place(slot, provider, 0)


class PartialIsolation(Constraint):
    """Providers of isolated slots serve no other slot; the other slots may share theirs.

    The look-ahead is a matching for each list of options that other slots have: every isolated
    slot has a provider of its own, and one is left for the slots of that list, which may all share
    it. isolated, shared: slot -> providers that may serve it; equal ones are one object.
    """

    code = Refusal.ISOLATE

    def __init__(
        self,
        isolated: Mapping[int, OptionList],
        shared: Mapping[int, OptionList],
        spend: Spend = free,
    ) -> None:
        self.slots = frozenset(isolated) | frozenset(shared)
        self._isolated = frozenset(isolated)
        # One slot of each list stands for all that have it: they may share its provider.
        standing = {providers: slot for slot, providers in shared.items()}
        self._matchings: dict[int, Matching] = {}
        for slot in standing.values():
            options = {**isolated, slot: shared[slot]}
            seats = dict.fromkeys(all_providers(options.values()), 1)
            self._matchings[slot] = Matching(options, seats, spend)
        self._shared = {slot: frozenset(shared[slot]) for slot in standing.values()}
        self._spend = spend
        self._open = set(self._matchings)  # standing slots that no placement serves yet
        self._alone: set[int] = set()  # providers of isolated slots
        self._times_shared: Counter[int] = Counter()

    @classmethod
    def applies(cls, plan: SearchPlan) -> bool:
        """Whether some suffixed groups are isolated and others are not."""
        return bool(plan.isolated_slots and plan.shared_slots)

    @classmethod
    def build(
        cls, plan: SearchPlan, pool: Pool, options: Sequence[OptionList], spend: Spend
    ) -> Sequence[Self]:
        """Make one condition for all suffixed groups."""
        isolated = {slot: options[slot] for slot in plan.isolated_slots}
        shared = {slot: options[slot] for slot in plan.shared_slots}
        return (cls(isolated, shared, spend),)

    def feasible(self) -> bool:
        """Whether every isolated slot can have a provider of its own, beside any other slot."""
        return all(matching.complete() for matching in self._matchings.values())

    def add(self, slot: int, provider: int) -> Undo | None:
        """Take the provider for the slot alone, or for slots that may share it."""
        isolated = slot in self._isolated
        if provider in self._alone or (isolated and self._times_shared[provider]):
            return None
        steps: list[Undo] = []
        self._spend(len(self._matchings))
        for standing_slot, matching in self._matchings.items():
            if isolated:
                step = matching.place(slot, provider, 0)
            elif standing_slot in self._open and provider in self._shared[standing_slot]:
                step = matching.place(standing_slot, provider, 0)
                if step is not None:
                    self._open.discard(standing_slot)
                    steps.append(partial(self._open.add, standing_slot))
            else:
                step = matching.shrink(provider, 0)
            if step is None:
                _take_back(steps)
                return None
            steps.append(step)
        if isolated:
            self._alone.add(provider)
            steps.append(partial(self._alone.discard, provider))
        else:
            self._times_shared[provider] += 1
            steps.append(partial(self._times_shared.subtract, (provider,)))
        return partial(_take_back, steps)


def _take_back(steps: list[Undo]) -> None:
    for step in reversed(steps):
        step()


class OnePerTree(Constraint):
    """No two providers of one tree serve, in answers that know no trees.

    tree_of: provider -> a number for its tree.
    """

    code = Refusal.ONE_PER_TREE

    def __init__(self, slots: Iterable[int], tree_of: Sequence[int]) -> None:
        self.slots = frozenset(slots)
        self._tree_of = tree_of
        self._placed: dict[int, list[int]] = {}  # tree -> its provider, once for each slot
        self._order: list[list[int]] = []

    @classmethod
    def applies(cls, plan: SearchPlan) -> bool:
        """Whether the answer knows no trees, and several slots could meet in one."""
        return not plan.request.nested and len(plan.slots) > 1

    @classmethod
    def build(
        cls, plan: SearchPlan, pool: Pool, options: Sequence[OptionList], spend: Spend
    ) -> Sequence[Self]:
        """Make one condition for all slots."""
        trees = [pool.tree(position).id for position in range(len(pool.members))]
        return (cls(range(len(plan.slots)), trees),)

    def add(self, slot: int, provider: int) -> Undo | None:
        """Let the provider be the one of its tree, unless another is."""
        placed = self._placed.setdefault(self._tree_of[provider], [])
        if placed and placed[-1] != provider:
            return None
        placed.append(provider)
        self._order.append(placed)
        return self._undo

    def _undo(self) -> None:
        self._order.pop().pop()
