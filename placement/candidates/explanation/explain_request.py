"""A request that is prepared for the evaluation of all hosts."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from placement.candidates.budget import Charge, uncharged
from placement.candidates.constraints import Kinds, kinds_of
from placement.candidates.explanation.features import Features
from placement.candidates.explanation.relaxed import (
    Relaxation,
    group_relaxations,
    root_relaxations,
    rule_relaxations,
)
from placement.candidates.model import Pool
from placement.candidates.plan import SearchPlan
from placement.candidates.request import CandidateRequest
from placement.candidates.stated_terms import StatedTerm, terms_from_group, terms_from_root
from placement.candidates.terms import Masks, PlaceTerm, TermChecks
from placement.candidates.terms.checks import NO_MASKS
from placement.candidates.trace import Refusal

# Work of planning a request: in total, for each slot, and for each pair of a term and a slot.
COST_PER_PLAN = 200
COST_PER_PLANNED_SLOT = 150
COST_PER_TERM = 4

# Work for each host that does not depend on its number of providers: for each distinct slot, and
# for each group with terms.
COST_PER_SLOT_TERMS = 10
COST_PER_CHECKS = 25


@dataclass(frozen=True, slots=True)
class Joins:
    """The plan of a request and the constraints that join its slots."""

    # The slots of the request.
    plan: SearchPlan
    # The classes of the constraints that apply to the plan.
    kinds: Kinds

    @classmethod
    def from_request(cls, request: CandidateRequest, spend: Charge = uncharged) -> "Joins":
        """Plan a request. `spend` charges the evaluation of terms."""
        plan = SearchPlan(request, spend)
        return cls(plan, kinds_of(plan))


class ExplainRequest:
    """The parts of a request that the evaluation of each host uses. They are computed only once."""

    def __init__(
        self, request: CandidateRequest, spend: Charge = uncharged, *, relaxes: bool = True
    ) -> None:
        """Prepare a request.

        Args:
            spend: Charges the work of each check whose result is not cached.
            relaxes: Whether to evaluate the request without each of its terms as well.
        """
        # The request as the client sent it, parsed.
        self.request = request
        # The plan of the request and the constraints that join its slots.
        self.joins = Joins.from_request(request, spend)
        plan = self.joins.plan
        # The checks of the root.
        self.root = TermChecks(request.root, spend=spend)
        # The terms of the root, in the order of their bits.
        self.root_terms = terms_from_root(request.root)
        # The terms of all groups.
        self.stated = list(chain(*map(terms_from_group, request.groups)))
        # The terms of groups that name a tree or subtree.
        self.places: dict[StatedTerm, PlaceTerm] = {
            stated: term
            for stated, term in zip(self.stated, request.group_terms, strict=True)
            if isinstance(term, PlaceTerm)
        }
        # The distinct requirements. Slots with equal requests share one of them.
        self.distinct = plan.requirements
        # Slot -> its index in `distinct`.
        self.distinct_index = [
            self.distinct.index(plan.requirement_of[slot]) for slot in range(len(plan.slots))
        ]
        # The requirement of each slot, with the terms of its group.
        self.requirements = [
            plan.requirement_of[position].of_group(slot.group.suffix)
            for position, slot in enumerate(plan.slots)
        ]
        # Suffix -> the slots of the group, in the order of the request.
        self.groups: dict[str, list[int]] = {group.suffix: [] for group in request.groups}
        for position, slot in enumerate(plan.slots):
            self.groups[slot.group.suffix].append(position)
        # The properties that hosts need.
        self.features = Features(self.root_terms, self.distinct)
        # The slots of one group share their checks.
        self._checks = list(dict.fromkeys(each.checks for each in self.distinct))
        # Index in `distinct` -> index in `_checks`.
        self._checks_of = [self._checks.index(each.checks) for each in self.distinct]
        # Work for each provider of a host, and further work for each host.
        self.provider_cost, self.host_cost = self._count_cost()
        # The request without each of its terms, or empty if only the reasons are evaluated.
        self.relaxations = self._relax() if relaxes else []
        # Number of slots and relaxations.
        self.parts = len(self.requirements) + len(self.relaxations)
        # Work of planning a request of this size.
        self.plan_cost = (
            COST_PER_PLAN
            + COST_PER_PLANNED_SLOT * len(self.requirements)
            + COST_PER_TERM * self.parts
        )

    def _relax(self) -> Sequence[Relaxation]:
        """Return one relaxation for each term of the request, except amounts."""
        request = self.request
        relaxations = root_relaxations(request)
        for group in request.groups:
            slots = self.groups[group.suffix]
            relaxations += group_relaxations(
                request, group, {slot: self.requirements[slot] for slot in slots}
            )
        # Relaxations that serve the same number of hosts are sorted with taints last.
        taints = [each for each in relaxations if each.term.code is Refusal.TAINTED]
        return [*relaxations[len(taints) :], *rule_relaxations(request), *taints]

    def _count_cost(self) -> tuple[int, int]:
        """Return the work for each provider of a host, and the further work for each host."""
        with_terms = sum(1 for checks in self._checks if checks.terms)
        return (
            sum(4 + 2 * len(each.amounts) for each in self.distinct),
            COST_PER_SLOT_TERMS * len(self.distinct) + COST_PER_CHECKS * with_terms,
        )

    def masks(self, pool: Pool) -> tuple[Masks, ...]:
        """Return the masks of the providers of a pool, for each distinct slot."""
        of_checks = [checks.masks(pool) if checks.terms else NO_MASKS for checks in self._checks]
        return tuple(
            [
                requirement.masks(pool, of_checks[index])
                for requirement, index in zip(self.distinct, self._checks_of, strict=True)
            ]
        )

    def unserved(self, pool: Pool) -> tuple[int, ...]:
        """Return `Requirement.unserved` of a pool, for each distinct slot."""
        return tuple(
            requirement.unserved(masks, pool.local)
            for requirement, masks in zip(self.distinct, self.masks(pool), strict=True)
        )

    def is_on_root(self, index: int, masks: Sequence[Masks]) -> bool:
        """Return whether a relaxation omits a single trait that the root of a host has.

        Args:
            index: The index of the relaxation.
            masks: The masks of the host, or empty if they are unknown.
        """
        term = self.relaxations[index].term
        if term.code is not Refusal.TRAIT_MISSING or not masks:
            return False
        if isinstance(term.value, frozenset) and len(term.value) > 1:
            return False
        slot = self.groups[term.suffix or ""][0]
        root_mask = masks[self.distinct_index[slot]][0][0]
        return not root_mask & self.requirements[slot].bit(term)

    def codes_of(self, suffix: str) -> Sequence[Refusal]:
        """Return, in order, the codes at which a group can lose its last provider."""
        terms = [*self.root_terms]
        for slot in self.groups[suffix]:
            terms += self.requirements[slot].terms
        codes = {term.code for term in terms}
        return [code for code in Refusal if code in codes]

    def terms_of(self, suffix: str | None, code: Refusal) -> Sequence[StatedTerm]:
        """Return the terms of the root and of the group that have a code. None means no group."""
        terms = [*self.root_terms]
        if suffix is not None:
            for slot in self.groups[suffix]:
                terms += self.requirements[slot].terms
        return list(dict.fromkeys(term for term in terms if term.code is code))

    @property
    def joining_codes(self) -> Sequence[Refusal]:
        """The codes of the conditions that join groups, in order."""
        codes = {kind.code for kind in self.joins.kinds}
        if self.joins.plan.splittable:
            codes.add(Refusal.CAPACITY_SUM)
        # If several traits are required, each provider may have only some of the traits.
        if any(
            requirement.soft or requirement.collective.bit_count() > 1
            for requirement in self.distinct
        ):
            codes.add(Refusal.COLLECTIVE_TRAITS)
        return [code for code in Refusal if code in codes]
