"""What can serve which slot of a host, alone and together, and why not."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, reduce
from operator import and_
from typing import NamedTuple

from placement.candidates.budget import COST_PER_STEP, BudgetSpentError
from placement.candidates.constraints.exclusive import Cards
from placement.candidates.model import Member, Options, Pool
from placement.candidates.requirements import Requirement
from placement.candidates.stated_terms import StatedTerm
from placement.candidates.terms import Masks, bits, each_mask, lowest
from placement.candidates.trace import Refusal
from placement.foresight.explanation.causes import (
    ORDER,
    Rejection,
    RejectionCause,
    SpecialCase,
    first_rejection,
)
from placement.foresight.explanation.explained_plan import ExplainedPlan, RequestChange
from placement.foresight.explanation.joint_causes import JointCauses
from placement.foresight.explanation.slot_causes import GroupCauses
from placement.foresight.explanation.solver import Solver


class Gains(NamedTuple):
    """The changes of a request that would make a host serve it."""

    # Indexes of the changes.
    changes: Sequence[int] = ()
    # Indexes of the changes that help if a taint is tolerated as well, each with the index of the
    # change that tolerates the only taint of the host.
    with_taint: Sequence[tuple[int, int]] = ()
    # Whether the limit on work left the host or a change without a result.
    undecided: bool = False


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
    # Positions of the providers that would serve the slot if the slot requested less of the class.
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
        self._is_lost = root & (root - 1) != 0
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
    def _together(self) -> bool | None:
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
                if providers and amount > 1:
                    yield Shortage(slot, index, name, amount, providers)

    def available(self, pool: Pool) -> Sequence[Member]:
        """Return the members of a host, without free units of classes that cards exclude."""
        exclusive = self._plan.request.exclusive
        return Cards(exclusive, pool).available(pool.members) if exclusive else pool.members

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
    def _below_root(self) -> Sequence[Rejection]:
        """The rejections of the first group, or of all groups together, regardless of the root."""
        first = first_rejection(rejections[0] for rejections in self.by_group.values())
        if first is not None:
            return self.by_group[first.group or ""]
        if self._together:
            return ()
        if self._together is None:
            return (Rejection(Refusal.BUDGET, None),)
        return (self._causes.reject(self.pool, self.options),)

    def _of_root(self, *, tainted: bool = True) -> Sequence[Rejection]:
        """Return the rejections of the root at its first code. tainted: whether taints count."""
        terms = [self._plan.root_terms[bit.bit_length() - 1] for bit in bits(self.root)]
        terms = [term for term in terms if tainted or term.code is not Refusal.TAINTED]
        return [
            Rejection(term.code, None, RejectionCause((term,)), providers=(0,))
            for term in terms
            if term.code is terms[0].code
        ]

    @cached_property
    def rejections(self) -> Sequence[Rejection]:
        """All rejections of one group at one code. Empty if the host is served."""
        return self._of_root() if self.root else self._below_root

    @cached_property
    def instead(self) -> Sequence[Rejection]:
        """The rejections that the text states in place of `rejections`, if any.

        They are those behind a taint, if the host would not serve the request without the taint, or
        the traits that no provider has, before amounts.
        """
        instead: Sequence[Rejection] = ()
        if self.is_tainted:
            instead = self._of_root(tainted=False) if self._is_lost else self._below_root
        if self._is_lost or not self.rejections:
            return instead
        return self._missing_traits((instead or self.rejections)[0]) or instead

    @property
    def is_tainted(self) -> bool:
        """Whether the host is rejected because of a taint."""
        return self.root != 0 and self.rejections[0].code is Refusal.TAINTED

    def _missing_traits(self, first: Rejection) -> Sequence[Rejection]:
        """Return the rejection by the traits of a group that no provider of the host has.

        If amounts do not fit either, the traits say more about the host. The same applies to terms
        that only sharing providers satisfy.
        """
        if ORDER[Refusal.MIN_UNIT] <= ORDER[first.code] <= ORDER[Refusal.CAPACITY]:
            for requirement, failed in self._failed_by_all():
                traits = requirement.terms_of(requirement.traits & failed)
                if traits:
                    cause = RejectionCause(traits)
                    return (Rejection(Refusal.TRAIT_MISSING, traits[0].suffix, cause),)
            if first.cause.case is SpecialCase.WITH_POOLS:
                return self._groups.find_for_own(first)
        return ()

    def _failed_by_all(self) -> list[tuple[Requirement, int]]:
        """Return the distinct requirements, with the bits of terms that every provider fails."""
        requirements = zip(self._plan.requirements, self.masks, strict=True)
        return [
            (requirement, requirement.failed_by_all(masks)) for requirement, masks in requirements
        ]

    @cached_property
    def outside(self) -> tuple[StatedTerm, ...]:
        """The terms for trees, subtrees and aggregates in which the host has no provider."""
        if self._is_lost:
            return ()
        # Without a root in the requested aggregates, the aggregates of groups do not matter.
        is_elsewhere = self.root and self.rejections[0].code is Refusal.ROOT_AGGREGATE
        outside: dict[StatedTerm, None] = {}
        for requirement, failed in self._failed_by_all():
            scope = failed & (requirement.places if is_elsewhere else requirement.scope)
            if scope:
                outside |= dict.fromkeys(requirement.terms_of(scope))
        return tuple(outside)

    # -- changes of the request ----------------------------------------------------------------

    @cached_property
    def gains(self) -> Gains:
        """The changes that would make the host serve the request. It never raises."""
        changes, with_taint = self._plan.changes, []
        helping: list[int] = []
        undecided = bool(self.rejections) and self.rejections[0].code is Refusal.BUDGET
        if not self.rejections or self._is_lost:
            return Gains()
        try:
            self._solver.budget.spend(COST_PER_STEP * len(changes))
            for index, change in enumerate(changes):
                serves = self._serves(index, change, self.root)
                undecided |= serves is None
                helping += [index] if serves else []
            if changes and self.is_tainted and self.by_group:
                taint = [change.root for change in changes].index(self.root)
                for index, change in enumerate(changes):
                    serves = self._serves(index, change, 0) if change.slots else False
                    undecided |= serves is None
                    with_taint += [(index, taint)] if serves else []
        except BudgetSpentError:
            undecided = True  # the cause is known, only the changes are incomplete
        return Gains(helping, with_taint, undecided)

    def _serves(self, index: int, change: RequestChange, root: int) -> bool | None:
        """Return whether the host would serve a changed request, given with its index.

        Args:
            index: The index of the change.
            change: The change.
            root: The bits of the root terms that count.
        """
        # If the host rejects a group, a change of another group does not help.
        if root & ~change.root or not self.by_group.keys() <= {change.term.suffix}:
            return False
        if change.root:
            return root != 0 and self._together
        if not change.slots:
            # Constraints between slots do not affect the options of a slot.
            if not all(self.options) or not {change.term}.issuperset(self._groups.missing):
                return False
            plan = self._solver.planned(index, change.request)
            return self._solver.serves(plan, self.pool, self.options)
        options = self._widened(change)
        return options is not None and self._solver.serves(self._plan, self.pool, options)

    @cached_property
    def _narrow(self) -> Sequence[int]:
        """For each distinct requirement, the bits of terms whose omission gives more options.

        PERF: on most hosts, each provider fails several terms, so there are none.
        """
        return list(map(_failed_alone, self._plan.requirements, self.masks))

    def _widened(self, change: RequestChange) -> Options | None:
        """Return the options without the term of a change, or None if they are the same."""
        plan = self._plan
        indexes = plan.index_of
        if not any(self._narrow[indexes[slot]] & bit for slot, bit in change.slots.items()):
            return None
        options, wider = list(self.options), False
        self._solver.budget.spend(len(self.pool.members) * len(change.slots))
        for slot, dropped in change.slots.items():
            masks = self.masks[indexes[slot]]
            providers = tuple(plan.stated_requirements[slot].meeting(masks, dropped))
            if len(providers) > len(options[slot]):
                options[slot], wider = providers, True
        return options if wider else None

    def has_on_root(self, change: RequestChange) -> bool:
        """Return whether a change omits a single trait that the root of the host has."""
        term = change.term
        if term.code is not Refusal.TRAIT_MISSING or self._is_lost:
            return False
        if isinstance(term.value, frozenset) and len(term.value) > 1:
            return False
        slot = self._plan.groups[term.suffix or ""][0]
        root_mask = self.masks[self._plan.index_of[slot]][0][0]
        return not root_mask & self._plan.stated_requirements[slot].bit(term)


def _failed_alone(requirement: Requirement, masks: Masks) -> int:
    """Return the bits of terms without which some provider would be accepted."""
    alone = 0
    for _position, mask in each_mask(masks):
        failed = mask & requirement.hard
        if failed == lowest(failed):
            alone |= failed
    return alone
