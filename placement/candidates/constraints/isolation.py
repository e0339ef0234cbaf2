"""`group_policy=isolate`: suffixed groups use pairwise different providers."""

from collections.abc import Mapping, Sequence
from typing import Self

from placement.candidates.budget import Spend, free
from placement.candidates.constraints.base import Constraint, Undo
from placement.candidates.constraints.matching import Matching, all_providers
from placement.candidates.model import Options, Pool
from placement.candidates.plan import SearchPlan
from placement.candidates.trace import Refusal


class Isolation(Constraint):
    """No provider serves two of the slots: each has one seat, which a placement takes.

    options: slot -> providers that may serve it.
    """

    code = Refusal.ISOLATE

    def __init__(self, options: Mapping[int, Sequence[int]], spend: Spend = free) -> None:
        self.slots = frozenset(options)
        self._matching = Matching(options, dict.fromkeys(all_providers(options), 1), spend)

    @classmethod
    def applies(cls, plan: SearchPlan) -> bool:
        """Whether several groups must use different providers."""
        return len(plan.isolated_slots) > 1

    @classmethod
    def build(cls, plan: SearchPlan, pool: Pool, options: Options, spend: Spend) -> Sequence[Self]:
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
