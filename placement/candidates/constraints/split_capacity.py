"""The capacity constraint for a slot that several providers may serve in parts."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Self

from placement.candidates.budget import Charge, uncharged
from placement.candidates.constraints.base import Undo
from placement.candidates.constraints.capacity import Capacity, by_least_amount, room_of
from placement.candidates.constraints.matching import all_providers
from placement.candidates.model import OptionList, Pool, Split
from placement.candidates.plan import SearchPlan

# Returns the split that has a certain number.
SplitOf = Callable[[int], Split]


class SplitCapacity(Capacity):
    """The amounts of one class, including parts, must not exceed the free capacity of a provider.

    A provider that serves a part can serve other slots as well. The look-ahead therefore contains
    only the other slots, and each part reduces their free capacity.

    Args:
        splittable: the slot that may be split.
        split: returns the split with a number.
        options: slot -> providers that may serve it, of the other slots.
        amounts: slot -> units, of all slots.
        room: provider -> free units.
        spend: function that receives the cost of expensive work.
    """

    def __init__(
        self,
        splittable: int,
        split: SplitOf,
        options: Mapping[int, OptionList],
        amounts: Mapping[int, int],
        room: Mapping[int, int],
        spend: Charge = uncharged,
    ) -> None:
        super().__init__(options, {slot: amounts[slot] for slot in options}, room, spend)
        self.slots |= {splittable}
        self._splittable = splittable
        # Units that the splittable slot requests.
        self._amount = amounts[splittable]
        self._split = split
        self._spend = spend
        # Whether all providers together have enough units.
        self._together = sum(amounts.values()) <= sum(room.values())

    @classmethod
    def applies(cls, plan: SearchPlan) -> bool:
        """Return whether other slots request a class that can be split."""
        return bool(plan.contended_splits)

    @classmethod
    def signature(cls, plan: SearchPlan, pool: Pool) -> Hashable:
        """Return each member's free capacity of each contended class that can be split."""
        names = [plan.slots[slot].resources[0][0] for slot in plan.contended_splits]
        return tuple(
            [tuple([stock and stock.room for stock in pool.stocks(name)]) for name in names]
        )

    @classmethod
    def conditions(
        cls,
        plan: SearchPlan,
        pool: Pool,
        options: Sequence[OptionList],
        part_providers: Mapping[int, Iterable[int]],
        split: SplitOf,
        spend: Charge,
    ) -> list[Self]:
        """Create constraints for each class that can be split and that other slots also request.

        `part_providers`: slot -> positions of the providers that may serve a part of it.
        """
        constraints = []
        for slot in plan.contended_splits:
            name, amount = plan.slots[slot].resources[0]
            others = dict(plan.amounts_of(name))
            del others[slot]
            for amounts in list(by_least_amount(others)) or [others]:
                servers = {other: options[other] for other in amounts}
                room = room_of(
                    name,
                    pool,
                    all_providers(servers.values()).union(options[slot], part_providers[slot]),
                )
                spend(2 * len(room) + len(amounts))
                units = {slot: amount, **amounts}
                constraints.append(cls(slot, split, servers, units, room, spend))
        return constraints

    def feasible(self) -> bool:
        """Return whether the total free capacity is at least the sum of all amounts."""
        return self._together and super().feasible()

    def add(self, slot: int, provider: int) -> Undo | None:
        """Subtract the amount of the slot, or the parts of a split, from the free capacity."""
        if slot != self._splittable:
            return super().add(slot, provider)
        parts = self._split(provider) if provider < 0 else ((provider, self._amount),)
        self._spend(2 * len(parts))
        steps: list[tuple[int, int, Undo]] = []

        def undo() -> None:
            while steps:
                position, units, step = steps.pop()
                self._room[position] += units
                step()

        for position, units in parts:
            left = self._room[position] - units
            step = None if left < 0 else self._matching.shrink(position, left // self._least)
            if step is None:
                undo()
                return None
            self._room[position] = left
            steps.append((position, units, step))
        return undo
