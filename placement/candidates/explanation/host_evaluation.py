"""The evaluation of one host. The result applies to all hosts of its class."""

from collections.abc import Mapping, Sequence

from placement.candidates.budget import BudgetSpentError
from placement.candidates.explanation.causes import Rejection, RejectionCause, SpecialCase
from placement.candidates.explanation.evaluation import (
    ORDER,
    Evaluation,
    HostClass,
    first_rejection,
)
from placement.candidates.explanation.host_solver import HostSolver
from placement.candidates.explanation.joint_rejections import reject_together
from placement.candidates.explanation.rejections import GroupRejections
from placement.candidates.explanation.relaxed import Relaxation
from placement.candidates.model import Pool
from placement.candidates.requirements import Requirement, lacking
from placement.candidates.stated_terms import StatedTerm
from placement.candidates.terms import Masks, each_mask, lowest
from placement.candidates.trace import Refusal

# Work of checking whether a relaxation could serve a host.
COST_PER_RELAXATION = 8


class HostEvaluation:
    """The evaluation of one host."""

    def __init__(self, solver: HostSolver, pool: Pool, host_class: HostClass) -> None:
        explain_request = solver.explain_request
        self._solver = solver
        # The request for which the host is evaluated.
        self._explain_request = explain_request
        self._pool = pool
        # The bits of the root terms that the root of the host fails.
        self._root = host_class.root
        # For each distinct slot, the bits of the terms that each provider fails.
        self._masks = host_class.masks
        # Slots with equal requests share one list, because constraints compare options by identity.
        by_distinct = [
            requirement.meeting(slot_masks)
            for requirement, slot_masks in zip(
                explain_request.distinct, host_class.masks, strict=True
            )
        ]
        # For each slot, the providers that may serve it.
        self._options = [by_distinct[index] for index in explain_request.distinct_index]
        # Finds the check that leaves a group without any provider.
        self._group_rejections = GroupRejections(explain_request, pool, host_class.masks)
        narrow = list(map(_failed_alone, explain_request.distinct, host_class.masks))
        # For each slot, the bits of the terms whose omission gives the slot more options.
        self._narrow = [narrow[index] for index in explain_request.distinct_index]
        # Whether omitting a single term gives any slot more options.
        self._can_widen = any(narrow)

    def evaluate(self, root_rejections: Sequence[Rejection]) -> Evaluation:
        """Evaluate the host.

        Args:
            root_rejections: The rejections of the root, if any.

        Raises:
            BudgetSpentError: The limit on work was reached before the cause was known.
        """
        by_group, possible, rejections = self.find_rejections(root_rejections)
        if not rejections:
            return Evaluation()
        instead: Sequence[Rejection] = ()
        if root_rejections and root_rejections[0].code is Refusal.TAINTED:
            instead = self._rejections_of_groups(by_group, possible)
        instead = self._missing_traits(instead or rejections) or instead

        # The relaxations with which the host would serve the request.
        evaluation = Evaluation(
            rejections, dict(by_group), (), self._masks, self._options, root_refused=self._root != 0
        )
        evaluation.instead = instead
        evaluation.outside = self._outside()
        evaluation.undecided = rejections[0].code is Refusal.BUDGET
        try:
            _note_gains(evaluation, self._gains(by_group, possible))
            self._note_gains_with_taint(evaluation, by_group)
        except BudgetSpentError:
            # The cause is known. Only the relaxations are incomplete.
            evaluation.undecided = True
        return evaluation

    def find_rejections(
        self, root_rejections: Sequence[Rejection]
    ) -> tuple[Mapping[str, Sequence[Rejection]], bool | None, Sequence[Rejection]]:
        """Return why the host is rejected.

        Args:
            root_rejections: The rejections of the root, if any.

        Returns:
            The rejections of each group that no provider can serve, whether all groups can be
            served together or None if this is undecided, and the rejections of the host, which are
            empty if it is served.

        Raises:
            BudgetSpentError: The limit on work was reached.
        """
        # Evaluate each group alone. If several groups are rejected, the first code determines the
        # cause.
        found = {
            suffix: self._group_rejections.find_for_group(suffix)
            for suffix in self._explain_request.groups
        }
        by_group = {suffix: rejections for suffix, rejections in found.items() if rejections}
        # Evaluate all groups together, unless one of them cannot be served alone.
        possible = not by_group and self._possible()
        return by_group, possible, root_rejections or self._rejections_of_groups(by_group, possible)

    def _rejections_of_groups(
        self, by_group: Mapping[str, Sequence[Rejection]], possible: bool | None
    ) -> Sequence[Rejection]:
        """Return the rejections of the first group, or of all groups together."""
        first = first_rejection(rejections[0] for rejections in by_group.values())
        return by_group[first.group or ""] if first else self._rejections_together(possible)

    def _missing_traits(self, rejections: Sequence[Rejection]) -> Sequence[Rejection]:
        """Return the rejection by the traits of a group that no provider of the host has.

        If amounts do not fit either, the traits say more about the host. The same applies to terms
        that only sharing providers satisfy.
        """
        first = rejections[0]
        if ORDER[Refusal.MIN_UNIT] <= ORDER[first.code] <= ORDER[Refusal.CAPACITY]:
            for requirement, masks in zip(self._explain_request.distinct, self._masks, strict=True):
                traits = requirement.traits and requirement.traits & lacking(masks)
                if traits:
                    terms = requirement.terms_of(traits)
                    cause = RejectionCause(terms)
                    return (Rejection(Refusal.TRAIT_MISSING, terms[0].suffix, cause),)
            if first.cause.case is SpecialCase.WITH_POOLS:
                return self._group_rejections.find_for_own(first)
        return ()

    def _outside(self) -> tuple[StatedTerm, ...]:
        """Return the terms for trees, subtrees and aggregates in which the host has no provider."""
        # Without a root in the requested aggregates, the aggregates of groups do not matter.
        is_elsewhere = self._root and self._is_root_elsewhere()
        outside: dict[StatedTerm, None] = {}
        for requirement, masks in zip(self._explain_request.distinct, self._masks, strict=True):
            scope = requirement.places if is_elsewhere else requirement.scope
            if scope:
                terms = requirement.terms_of(scope & lacking(masks))
                outside.update(dict.fromkeys(terms))
        return tuple(outside)

    def _is_root_elsewhere(self) -> bool:
        term = self._explain_request.root_terms[self._root.bit_length() - 1]
        return term.code is Refusal.ROOT_AGGREGATE

    def _possible(self) -> bool | None:
        joins = self._explain_request.joins
        return self._solver.serves(joins, self._pool, self._options)

    def _rejections_together(self, possible: bool | None) -> Sequence[Rejection]:
        """Return the rejections of all groups together, or nothing if the host is served."""
        if possible:
            return ()
        if possible is None:
            return (Rejection(Refusal.BUDGET, None),)
        return (reject_together(self._solver, self._pool, self._options),)

    # -- relaxations ---------------------------------------------------------------------------

    def _gains(
        self, by_group: Mapping[str, Sequence[Rejection]], possible: bool | None
    ) -> list[tuple[int, bool | None]]:
        """Return the index of each relaxation that serves the host, and None if undecided."""
        gains: list[tuple[int, bool | None]] = []
        self._solver.budget.spend(COST_PER_RELAXATION * len(self._explain_request.relaxations))
        for index, relaxation in enumerate(self._explain_request.relaxations):
            # If the host rejects a group, a relaxation of another group does not help.
            suffix = relaxation.term.suffix
            if not by_group.keys() <= {suffix} or self._root & ~relaxation.root:
                continue
            gain = self._gain(index, possible)
            if gain is not False:
                gains.append((index, gain))
        return gains

    def _note_gains_with_taint(
        self, evaluation: Evaluation, by_group: Mapping[str, Sequence[Rejection]]
    ) -> None:
        """Record the relaxations that would serve the host without its only taint."""
        relaxations = self._explain_request.relaxations
        taints = [
            index
            for index, relaxation in enumerate(relaxations)
            if relaxation.root == self._root and relaxation.term.code is Refusal.TAINTED
        ]
        for taint in taints:
            for index, relaxation in enumerate(relaxations):
                if relaxation.slots and by_group.keys() == {relaxation.term.suffix}:
                    gain = self._gain(index, None)
                    evaluation.undecided |= gain is None
                    evaluation.gains_with_taint += ((index, taint),) if gain else ()

    def _gain(self, index: int, possible: bool | None) -> bool | None:
        """Return whether the relaxation with this index would serve the host."""
        relaxation = self._explain_request.relaxations[index]
        if relaxation.root:
            return self._root != 0 and possible
        if not relaxation.slots:
            # Constraints between slots do not affect the options of a slot.
            if not all(self._options) or not self._group_rejections.misses_only(relaxation.term):
                return False
            joins = self._solver.joins_without(index)
            return self._solver.serves(joins, self._pool, self._options)
        # PERF: on most hosts, each provider fails several terms, and omitting one term adds no
        # options.
        options = self._widened(relaxation) if self._can_widen else None
        if options is None:
            return False
        joins = self._explain_request.joins
        return self._solver.serves(joins, self._pool, options)

    def _widened(self, relaxation: Relaxation) -> Sequence[Sequence[int]] | None:
        """Return the options without the term, or None if they are the same."""
        if not any(self._narrow[slot] & bit for slot, bit in relaxation.slots.items()):
            return None
        options = list(self._options)
        wider = False
        self._solver.budget.spend(len(self._pool.members) * len(relaxation.slots))
        for slot, dropped in relaxation.slots.items():
            requirement = self._explain_request.requirements[slot]
            masks = self._masks[self._explain_request.distinct_index[slot]]
            providers = requirement.meeting(masks, dropped)
            if len(providers) > len(options[slot]):
                options[slot] = providers
                wider = True
        return options if wider else None


def _note_gains(evaluation: Evaluation, gains: Sequence[tuple[int, bool | None]]) -> None:
    """Record the relaxations that would serve the host. None means that the result is undecided."""
    evaluation.undecided |= any(gain is None for _index, gain in gains)
    evaluation.gains = tuple(index for index, gain in gains if gain)


def _failed_alone(requirement: Requirement, masks: Masks) -> int:
    """Return the bits of terms without which some provider would be accepted."""
    alone = 0
    for _position, mask in each_mask(masks):
        failed = mask & requirement.hard
        if failed == lowest(failed):
            alone |= failed
    return alone
