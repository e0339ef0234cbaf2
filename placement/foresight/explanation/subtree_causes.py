"""The causes of rejections by rules about subtrees."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from placement.candidates.constraints.forest import Forest, pool_parents
from placement.candidates.model import OptionList, Options, Pool
from placement.candidates.request import RequestGroup
from placement.candidates.terms.amounts import Amount
from placement.candidates.trace import Refusal
from placement.foresight.explanation.causes import Rejection, RejectionCause, SpecialCase
from placement.foresight.explanation.solver import Solver

# Suffix of a group that no request contains.
ADDED_GROUP = "_same_subtree"

# Key of the request whose rule has no groups outside of the subtree.
WITHOUT_OUTSIDE = "same_subtree without negated groups"

# The cause if no special case applies.
GENERAL = Rejection(Refusal.SAME_SUBTREE, None)


class SubtreeCauses:
    """Finds why the groups of a single rule do not fit into one subtree of a host."""

    def __init__(self, solver: Solver, pool: Pool, options: Options) -> None:
        """Find nothing yet; `options` has the providers that can serve each slot."""
        # The plan of the request.
        self._plan = solver.plan
        self._solver = solver
        self._pool = pool
        self._options = options

    def reject(self) -> Rejection:
        """Return the rejection with its cause.

        Raises:
            BudgetSpentError: The limit on work was reached.
        """
        rules = self._plan.request.subtree_rules
        if len(rules) != 1:
            return GENERAL
        if rules[0].outside:
            return self._not_outside()
        if self._serves_under(Refusal.SAME_SUBTREE) is False:
            return self._apart()
        if self._serves_under(Refusal.SAME_SUBTREE, Refusal.CAPACITY_SUM) is False:
            return self._short()
        return GENERAL

    def _not_outside(self) -> Rejection:
        """Return the rejection if the groups in the subtree would be served without the others."""
        request = self._plan.request
        (rule,) = request.subtree_rules
        plan = self._solver.planned(
            WITHOUT_OUTSIDE,
            lambda: replace(request, subtree_rules=(rule._replace(outside=frozenset()),)),
        )
        if self._solver.serves(plan, self._pool, self._options) is not True:
            return GENERAL
        return GENERAL._replace(cause=RejectionCause(case=SpecialCase.OUTSIDE))

    def _serves_under(self, *codes: Refusal) -> bool | None:
        kinds = [kind for kind in self._plan.kinds if kind.code in codes]
        return self._solver.serves(self._plan, self._pool, self._options, kinds)

    def _slots(self) -> list[int]:
        """Return the slots of the rule."""
        return sorted(map(self._plan.slot_of, self._plan.request.subtree_rules[0].inside))

    def _above_all(self) -> tuple[Forest, list[int]]:
        """Return the forest, and the providers whose subtrees have an option for each slot."""
        charge = self._solver.budget.spend
        forest = Forest(pool_parents(self._pool), charge)
        lists = {id(each): each for each in (self._options[slot] for slot in self._slots())}
        counts = [forest.counts(OptionList(each)) for each in lists.values()]
        return forest, [
            position
            for position in range(len(forest.parents))
            if all(each[position] for each in counts)
        ]

    def _apart(self) -> Rejection:
        """Return the rejection of a host whose providers are not below one of each other."""
        apart = GENERAL._replace(cause=RejectionCause(case=SpecialCase.APART))
        forest, above = self._above_all()
        # A group for the root would allow providers anywhere in the tree.
        parents = {position for position in above if forest.parents[position] >= 0}
        parents -= {forest.parents[position] for position in above}
        if not parents or not self._serves_with_group(OptionList(sorted(parents))):
            return apart
        cause = RejectionCause(case=SpecialCase.SIBLINGS)
        return GENERAL._replace(cause=cause, at_code=sorted(parents))

    def _serves_with_group(self, parents: OptionList) -> bool:
        """Return whether the host would serve the request with a group for one of the parents."""
        request = self._plan.request
        (rule,) = request.subtree_rules
        plan = self._solver.planned(
            ADDED_GROUP,
            lambda: replace(
                request,
                groups=(*request.groups, RequestGroup(ADDED_GROUP)),
                subtree_rules=(rule._replace(inside=rule.inside | {ADDED_GROUP}),),
            ),
        )
        return self._solver.serves(plan, self._pool, [*self._options, parents]) is True

    def _short(self) -> Rejection:
        """Return the rejection of a host whose subtrees lack the sum of one class."""
        slots = self._slots()
        forest, above = self._above_all()
        serving = set(chain(*[self._options[slot] for slot in slots]))
        tops = [position for position in above if position in serving]
        for name in self._plan.contended_classes:
            of_rule = [slot for slot in self._plan.amounts_of(name) if slot in slots]
            rejection = self._short_of(name, of_rule, forest, tops) if len(of_rule) > 1 else None
            if rejection is not None:
                return rejection
        return GENERAL

    def _short_of(
        self, name: str, slots: Sequence[int], forest: Forest, tops: Sequence[int]
    ) -> Rejection | None:
        """Return the rejection if no subtree has the sum of a class.

        Args:
            name: The class.
            slots: The slots of the rule that request it.
            forest: The forest of the host.
            tops: The roots of the possible subtrees.
        """
        plan = self._plan
        providers = sorted(set(chain(*[self._options[slot] for slot in slots])))
        self._solver.budget.spend(len(tops) * len(providers))
        subtrees = [tuple([each for each in providers if forest.covers(top, each)]) for top in tops]
        asked = sum(plan.amounts_of(name)[slot] for slot in slots)
        if max(self._free(name, each) for each in subtrees) >= asked:
            return None
        cause = RejectionCause(
            amounts=(Amount(name, asked),),
            case=SpecialCase.SUBTREE_SUM,
            groups=tuple(plan.slots[slot].group.suffix for slot in slots),
        )
        return GENERAL._replace(cause=cause, subtrees=tuple(subtrees))

    def _free(self, name: str, positions: Sequence[int]) -> int:
        return sum(self._pool.members[position].stocks[name].free for position in positions)
