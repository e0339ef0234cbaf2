"""What can serve which slot of a host, alone and together, and why not."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property, reduce
from operator import and_
from typing import NamedTuple

from placement.candidates.constraints import Cards
from placement.candidates.model import Member, Options, Pool, Refusal
from placement.candidates.request import StatedTerm
from placement.candidates.terms import Masks, bits
from placement.foresight.explanation.causes import ORDER, Rejection, RejectionCause
from placement.foresight.explanation.explained_plan import ExplainedPlan
from placement.foresight.explanation.joint_causes import JointCauses
from placement.foresight.explanation.slot_causes import GroupCauses
from placement.foresight.explanation.solver import Solver


class Shortage(NamedTuple):
    """An amount that may be the only reason why a host cannot serve the request."""

    # Index of the slot.
    slot: int
    # Index of the class within the resources of the slot.
    resource_index: int
    # Name of the class.
    resource_class: str
    # Units that the slot requests.
    amount: int
    # Positions of the providers that would serve the slot with another amount of the class.
    providers: Sequence[int]


class Fit:
    """The result for all hosts of one class. Each part is computed on first use.

    Properties raise BudgetSpentError if the limit on work was reached before they were known.
    """

    def __init__(
        self, solver: Solver, causes: JointCauses, pool: Pool, root: int, masks: tuple[Masks, ...]
    ) -> None:
        self._solver = solver
        self._causes = causes
        # The providers of the first host of the class.
        self.pool = pool
        # The bits of the root terms that the root fails.
        self.root = root
        # The masks of the distinct requirements.
        self.masks = masks
        # Whether the root fails several terms. In this case, no other term has any effect, because
        # no single change helps.
        self.is_lost = root & (root - 1) != 0
        # The indexes of the changes of the request that help. None until they are found.
        self.helping: Sequence[int] | None = None
        requirements = zip(self._plan.requirements, masks, strict=True)
        by_requirement = [tuple(each.meeting(mask)) for each, mask in requirements]
        # The providers that can serve each slot, even if another slot has no provider. Slots with
        # equal requests share one tuple, because constraints compare options by identity.
        self.options: Options = [by_requirement[index] for index in self._plan.index_of]

    @property
    def _plan(self) -> ExplainedPlan:
        return self._solver.plan

    # -- what can serve ------------------------------------------------------------------------

    @cached_property
    def together(self) -> bool | None:
        """Whether all groups can be served together, or None if this is undecided."""
        if self.by_group:
            return False
        return self._solver.serves(self._plan, self.pool, self.options)

    @cached_property
    def shortages(self) -> Sequence[Shortage]:
        """The amounts that may be the only reason why the host cannot serve the request."""
        return [] if self.root else list(self._find_shortages())

    def _find_shortages(self) -> Iterator[Shortage]:
        plan = self._plan
        for requirement, masks in zip(plan.requirements, self.masks, strict=True):
            if requirement.soft & reduce(and_, masks[0]):
                return  # no provider has a certain trait, so no amount helps
        unserved = {slot for slot, providers in enumerate(self.options) if not providers}
        for slot, requirement in enumerate(plan.stated_requirements):
            if not unserved <= {slot}:
                continue
            masks = self.masks[plan.index_of[slot]]
            for index, (name, amount) in enumerate(plan.slots[slot].resources):
                providers = requirement.meeting(masks, requirement.units(index))
                if providers:
                    yield Shortage(slot, index, name, amount, providers)

    def available(self, pool: Pool) -> Sequence[Member]:
        """Return the members of a host, without free units of classes that cards exclude."""
        return Cards(self._plan, pool).available()

    # -- why not -------------------------------------------------------------------------------

    @cached_property
    def _groups(self) -> GroupCauses:
        return GroupCauses(self._plan, self.pool, self.masks)

    @cached_property
    def by_group(self) -> Mapping[str, Sequence[Rejection]]:
        """Suffix -> the rejections of the group. Only groups that no provider can serve."""
        found = {suffix: self._groups.find(suffix) for suffix in self._plan.groups}
        return {suffix: rejections for suffix, rejections in found.items() if rejections}

    @cached_property
    def below_root(self) -> Sequence[Rejection]:
        """The rejections of the first group, or of all groups together, regardless of the root."""
        if self.by_group:
            return min(self.by_group.values(), key=lambda rejections: ORDER[rejections[0].code])
        if self.together:
            return ()
        if self.together is None:
            return (Rejection(Refusal.BUDGET, None),)
        return (self._causes.reject(self.pool, self.options),)

    @cached_property
    def rejections(self) -> Sequence[Rejection]:
        """All rejections of one group at one code. Empty if the host is served."""
        terms = [self._plan.root_terms[bit.bit_length() - 1] for bit in bits(self.root)]
        return (
            self.below_root
            if not terms
            else [
                Rejection(term.code, None, RejectionCause((term,)), providers=(0,))
                for term in terms
                if term.code is terms[0].code
            ]
        )

    @cached_property
    def stated(self) -> Sequence[Rejection]:
        """The rejections that the text states.

        Trees, aggregates and traits that no provider of the host has say more about the host than
        the amounts that its inventories refuse, so the text states them first.
        """
        if self.root or not self.rejections:
            return self.rejections
        requirements = zip(self._plan.requirements, self.masks, strict=True)
        failed_by_all = [(each, each.failed_by_all(masks)) for each, masks in requirements]
        has_inventory = self.rejections[0].code is not Refusal.NO_INVENTORY
        for kind in ("places", "scope", "traits") if has_inventory else ("places",):
            for requirement, failed in failed_by_all:
                terms = requirement.terms_of(failed & getattr(requirement, kind))
                if terms:
                    same = tuple([term for term in terms if term.code is terms[0].code])
                    return [Rejection(terms[0].code, terms[0].suffix, RejectionCause(same))]
        return self.rejections

    @property
    def missing(self) -> Collection[StatedTerm]:
        """Terms of collective traits that no provider with enough capacity has."""
        return self._groups.missing
