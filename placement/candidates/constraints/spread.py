"""Spread groups: a host with the maximum number of members cannot serve another member."""

from collections.abc import Collection, Hashable, Sequence
from operator import attrgetter
from typing import Self

from placement.candidates.constraints.base import Constraint, Undo
from placement.candidates.model import OptionList, Pool, Refusal
from placement.candidates.plan import SearchPlan
from placement.runtime.budget import Charge


class Spread(Constraint):
    """The slots with resources use no provider of the anchor's own tree.

    Args:
        slots: the slots with resources.
        local: number of leading members of the pool that belong to the anchor.
    """

    code = Refusal.SPREAD
    applies = attrgetter("request.full_hosts")
    decides_early = True

    def __init__(self, slots: Collection[int], local: int) -> None:
        self.slots = frozenset(slots)
        self._local = local
        # Whether each slot has a provider outside of the anchor's tree.
        self._feasible = True

    @classmethod
    def signature(cls, plan: SearchPlan, pool: Pool) -> Hashable:
        """Return whether the host is full, and the number of its own members."""
        return pool.root in plan.request.full_hosts, pool.local

    @classmethod
    def build(
        cls, plan: SearchPlan, pool: Pool, options: Sequence[OptionList], spend: Charge
    ) -> Sequence[Self]:
        """Make one constraint if the host is full."""
        if pool.root not in plan.request.full_hosts:
            return ()
        slots = [index for index, slot in enumerate(plan.slots) if slot.resources]
        return (cls(slots, pool.local),)

    def narrow(self, options: Sequence[OptionList]) -> Sequence[OptionList]:
        """Keep only sharing providers of other trees."""
        narrowed = list(options)
        for slot in self.slots:
            others = [provider for provider in options[slot] if provider >= self._local]
            self._feasible &= bool(others)
            narrowed[slot] = OptionList(others)
        return narrowed

    def feasible(self) -> bool:
        """Return whether each slot has a sharing provider."""
        return self._feasible

    def add(self, slot: int, provider: int) -> Undo | None:
        """Refuse providers of the anchor."""
        return None if provider < self._local else _nothing


def _nothing() -> None:
    """Do nothing: there is nothing to undo."""
