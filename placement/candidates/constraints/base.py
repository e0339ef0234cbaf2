"""What a constraint is: a condition on the providers of several slots at once.

The solver places providers on slots one after the other. A constraint accepts a placement or
refuses it, and gives it back when the search steps back, in the reverse order.

To add one: a subclass in a module of this package, and its name in `CONSTRAINTS`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import ClassVar, Self

from placement.candidates.budget import LOOKS_PER_STEP, Spend
from placement.candidates.model import OptionList, Options, Pool
from placement.candidates.plan import SearchPlan
from placement.candidates.trace import Refusal

Undo = Callable[[], object]

# What it takes to make a constraint, besides its slots and what is looked at in the pool.
LOOKS_PER_CONSTRAINT = 8 * LOOKS_PER_STEP

# Options of slots that are compared in the time of a look.
OPTIONS_PER_LOOK = 4


class Constraint(ABC):
    """A condition on several slots; slots and providers are given by position.

    code: what a refusal is counted as. decides_early: its slots can be dead ends, and are searched
    before others. slots: those that it looks at.
    """

    code: ClassVar[Refusal]
    decides_early: ClassVar[bool] = False
    slots: frozenset[int]

    @classmethod
    @abstractmethod
    def applies(cls, plan: SearchPlan) -> bool:
        """Whether the request can have such a condition at all."""

    @classmethod
    def signature(cls, plan: SearchPlan, pool: Pool) -> Hashable:
        """Return all that `build` reads of the anchor's own members, but its options.

        Pools with equal signatures and options, and the same sharing providers, have the same
        assignments: only one is searched.
        """
        return None

    @classmethod
    @abstractmethod
    def build(
        cls, plan: SearchPlan, pool: Pool, options: Sequence[OptionList], spend: Spend
    ) -> Sequence[Self]:
        """Make the conditions of this kind that the pool has to meet.

        options: equal ones are one object. spend: is told of work that takes more than a few looks
        at providers, here and later.
        """

    def narrow(self, options: Sequence[OptionList]) -> Sequence[OptionList]:
        """Return the options without those that can be part of no answer."""
        return options

    def feasible(self) -> bool:
        """Whether the condition can hold with nothing placed yet."""
        return True

    def needs(self, slot: int) -> int:
        """Return what only this open slot can still bring, in bits that the split of it knows."""
        return 0

    @abstractmethod
    def add(self, slot: int, provider: int) -> Undo | None:
        """Place a provider on one of `slots` and return what undoes it.

        None, with nothing changed, when the placement makes the condition impossible.
        """


def build_constraints(
    kinds: Iterable[type[Constraint]], plan: SearchPlan, pool: Pool, options: Options, spend: Spend
) -> tuple[list[Constraint], Sequence[OptionList]]:
    """Return the conditions of these kinds on a pool, and the options that they leave."""
    narrowed: Sequence[OptionList] = _shared(options, spend)
    constraints: list[Constraint] = []
    for kind in kinds:
        for constraint in kind.build(plan, pool, narrowed, spend):
            spend(LOOKS_PER_CONSTRAINT + 5 * len(constraint.slots))
            narrowed = constraint.narrow(narrowed)
            constraints.append(constraint)
    return constraints, narrowed


def _shared(options: Options, spend: Spend) -> list[OptionList]:
    """Return the options, of which equal ones are one object."""
    distinct: dict[tuple[int, ...], OptionList] = {}
    shared: list[OptionList] = []
    latest: Sequence[int] | None = None
    for providers in options:
        if providers is latest:  # PERF: slots that ask the same have one list already
            shared.append(shared[-1])
            continue
        spend(len(providers) // OPTIONS_PER_LOOK)
        latest, key = providers, tuple(providers)
        if key not in distinct:
            distinct[key] = OptionList(key)
        shared.append(distinct[key])
    return shared
