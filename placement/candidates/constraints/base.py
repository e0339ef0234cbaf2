"""The base class of constraints, which are conditions on the providers of several slots.

The solver places providers on slots one after the other. A constraint accepts or refuses each
placement, and undoes placements in reverse order when the search backtracks.

A constraint is a subclass in a module of this package, with its name in `CONSTRAINTS`.
CONTRIBUTING.rst lists the other modules that it needs.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import ClassVar, Protocol

from placement.candidates.model import OptionList, Pool, Refusal
from placement.candidates.plan import SearchPlan
from placement.candidates.request import CandidateRequest, StatedTerm
from placement.runtime.budget import Charge

Undo = Callable[[], object]


class PlanPart(Protocol):
    """Function that returns a part of a plan."""

    def __call__(self, plan: SearchPlan, /) -> object:
        """Return the part."""


class Constraint(ABC):
    """A condition on several slots. Slots and providers are identified by position."""

    # Code of rejections, for counting.
    code: ClassVar[Refusal]
    # Returns the part of a plan that creates such conditions. It is empty or false if a request has
    # none.
    applies: ClassVar[PlanPart]
    # Whether its slots often are dead ends. The search should begin with such slots.
    decides_early: ClassVar[bool] = False
    # Whether it depends on capacities or usages, except for the options of slots.
    reads_stocks: ClassVar[bool] = False
    # The slots that the condition depends on.
    slots: frozenset[int]

    @classmethod
    def signature(cls, plan: SearchPlan, pool: Pool) -> Hashable:
        """Return what `build` reads from the anchor's own members, except for options."""
        return None

    @classmethod
    def stated(cls, request: CandidateRequest) -> Sequence[StatedTerm]:
        """Return the rules of a request that create such conditions.

        Empty if the condition follows from other parts of the request.
        """
        return ()

    @classmethod
    def without(cls, request: CandidateRequest, rule: StatedTerm) -> CandidateRequest:
        """Return the request without one of its rules, for explanations."""
        raise NotImplementedError

    @classmethod
    def build(
        cls, plan: SearchPlan, pool: Pool, options: Sequence[OptionList], spend: Charge
    ) -> "Sequence[Constraint]":
        """Make the constraints of this kind for a pool.

        Args:
            plan: plan of the request.
            pool: the providers.
            options: slot -> providers that may serve it. Equal lists are the same object.
            spend: function that receives the cost of expensive work, now and later.
        """
        raise NotImplementedError

    def narrow(self, options: Sequence[OptionList]) -> Sequence[OptionList]:
        """Return the options without providers that cannot be part of any assignment."""
        return options

    def feasible(self) -> bool:
        """Return whether the condition can be satisfied. No provider is placed at this point."""
        return True

    @abstractmethod
    def add(self, slot: int, provider: int) -> Undo | None:
        """Place a provider on one of `slots`, and return a function that undoes it.

        Returns None, without a change, if the placement makes the condition impossible.
        """


# Classes of constraints, in the order of construction.
Kinds = Sequence[type[Constraint]]
