"""Why a host is rejected if it can serve each group, but not all of them together."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial

from placement.candidates.constraints import (
    Cards,
    Exclusive,
    ExclusiveIfUnused,
    Isolation,
    SameSubtree,
)
from placement.candidates.model import Options, Pool, Refusal
from placement.candidates.request import StatedTerm
from placement.candidates.search import SearchPlan
from placement.candidates.terms import Amount
from placement.foresight.explanation.causes import ORDER, Rejection, RejectionCause, SpecialCase
from placement.foresight.explanation.solver import Solver
from placement.runtime.budget import BudgetSpentError


class JointCauses:
    """Finds the code up to which no assignment of all slots exists, and its cause."""

    def __init__(self, solver: Solver) -> None:
        self._solver = solver
        # The plan of the request.
        self._plan = solver.plan

    def reject(self, pool: Pool, options: Options) -> Rejection:
        """Return the rejection of a host at the first code up to which no assignment exists.

        Args:
            pool: The providers of the host.
            options: The positions of the providers that can serve each slot.

        Raises:
            BudgetSpentError: The limit on work was reached before the code was known.
        """
        plan = self._plan
        if plan.splittable and self._serves_at(pool, options, [Refusal.CAPACITY_SUM]) is False:
            # The parts must reach the amounts before anything else is asked of their providers.
            return self._reject_sums(pool, options)
        for code in plan.joining_codes:
            # The constraints of all codes up to this one.
            codes = [each for each in Refusal if ORDER[each] <= ORDER[code]]
            serves = self._serves_at(pool, options, codes)
            if serves is None:
                return Rejection(Refusal.BUDGET, None)
            if not serves:
                return self._rejection(code, pool, options)
        raise AssertionError("the constraints of all codes together refuse")

    def _serves_at(self, pool: Pool, options: Options, codes: Iterable[Refusal]) -> bool | None:
        """Return whether an assignment satisfies the constraints of some codes."""
        kinds = [kind for kind in self._plan.kinds if kind.code in codes]
        return self._solver.serves(self._plan, pool, options, kinds)

    def _rejection(self, code: Refusal, pool: Pool, all_options: Options) -> Rejection:
        """Return the rejection at a code, with its cause."""
        plan = self._plan
        cards = Cards(plan, pool)
        # Only providers whose cards can still serve count.
        options = cards.usable(all_options)
        if code is Refusal.EXCLUSIVE or not all(options):
            cause = self._cause_of_cards(code, pool, cards, all_options, options)
            return Rejection(code, None, cause)
        if code is Refusal.CAPACITY_SUM:
            return self._reject_sums(pool, options)
        if code is Refusal.ISOLATE:
            cause = self._rules(pool)
            is_apart = cause.terms and cause.case is SpecialCase.APART
            return Rejection(code, None, cause if is_apart else _isolation_cause(plan, options))
        if code is Refusal.SAME_SUBTREE:
            return Rejection(code, None, self._rules(pool))
        return Rejection(code, None)

    def _reject_sums(self, pool: Pool, options: Options) -> Rejection:
        """Return the rejection by amounts that do not fit together, or not even in parts."""
        plan = self._plan
        slots = set().union(*map(plan.amounts_of, plan.joint_classes))
        servers = sorted(set().union(*(options[slot] for slot in slots)))
        cause = _isolation_cause(plan, options) if plan.isolated_slots else RejectionCause()
        return with_sums(plan, Rejection(Refusal.CAPACITY_SUM, None, cause, at_code=servers), pool)

    def _rules(self, pool: Pool) -> RejectionCause:
        """Return the rules about subtrees that their own groups fail.

        The special case APART contains rules that the groups only fail because of the isolation.
        """
        request, failed = self._plan.request, (list[StatedTerm](), list[StatedTerm]())
        rules = list(zip(SameSubtree.stated(request), request.subtree_rules, strict=True))
        if len(rules) == 1 and not request.isolate:
            return RejectionCause((rules[0][0],), case=self._nesting(pool))
        with suppress(BudgetSpentError):  # the rejection is known; only its cause is less precise
            for stated, rule in rules:
                named = rule.inside | rule.outside
                groups = tuple([each for each in request.groups if each.suffix in named])
                alone = replace(request, groups=groups, subtree_rules=(rule,))
                for isolate in (frozenset[str](), request.isolate):
                    key = stated, isolate
                    plan = self._solver.planned(key, partial(replace, alone, isolate=isolate))
                    options = plan.options(pool, self._solver.budget.spend)
                    options = Cards(plan, pool).usable(options)
                    kinds = [each for each in plan.kinds if each in (Isolation, SameSubtree)]
                    if self._solver.serves(plan, pool, options, kinds) is False:
                        failed[bool(isolate)].append(stated)
                        break
        terms, apart = map(tuple, failed)
        return RejectionCause(terms or apart, case=None if terms else SpecialCase.APART)

    def _nesting(self, pool: Pool) -> SpecialCase | None:
        """Return whether the rules fail for the amounts only, or even without amounts."""
        plan, masks = self._plan, self._plan.masks(pool)
        requirements = zip(plan.stated_requirements, plan.index_of, strict=True)
        options = [
            each.meeting(masks[index], each.stock & ~each.missing) for each, index in requirements
        ]
        with suppress(BudgetSpentError):  # the rejection is known; only its cause is less precise
            nested = self._solver.serves(plan, pool, options, [SameSubtree])
            if nested is not None:
                return SpecialCase.AMOUNTS if nested else SpecialCase.ABOVE
        return None

    # -- cards -----------------------------------------------------------------------------------

    def _cause_of_cards(
        self, code: Refusal, pool: Pool, cards: Cards, all_options: Options, options: Options
    ) -> RejectionCause:
        """Return the classes that cards would have to serve, or that they already serve."""
        plan = self._plan
        classes = cards.classes
        if code is Refusal.EXCLUSIVE and self._needs_two_ways(pool, all_options):
            names = {
                name
                for slot, of_slot in classes.items()
                if any(cards.faces(position, of_slot) for position in all_options[slot])
                for name in of_slot
            }
            return RejectionCause(classes=tuple(sorted(names)), case=SpecialCase.WAYS)
        # The slots without a card that can still serve, or all of them if only sums are too small.
        unserved = [slot for slot in classes if not options[slot]]
        blocking: set[str] = set()
        for slot in unserved or classes:
            for position in all_options[slot]:
                blocking |= cards.blocking(cards.faces(position, classes[slot]))
        suffixes = dict.fromkeys(plan.slots[slot].group.suffix for slot in unserved)
        return RejectionCause(groups=tuple(suffixes), classes=tuple(sorted(blocking)))

    def _needs_two_ways(self, pool: Pool, options: Options) -> bool:
        """Return whether cards would have to serve in two ways, even if none served yet."""
        kinds = [ExclusiveIfUnused if kind is Exclusive else kind for kind in self._plan.kinds]
        with suppress(BudgetSpentError):  # the rejection is known; only its cause is less precise
            return self._solver.serves(self._plan, pool, options, kinds) is False
        return False


def with_sums(plan: SearchPlan, rejection: Rejection, pool: Pool) -> Rejection:
    """Return a rejection with the amounts that are too large together on a host, and the reason."""
    names = plan.joint_classes
    sums: dict[int, list[Amount]] = {}
    for name, units in plan.combined_amounts.items():
        if name in names:
            stocks = [pool.members[position].stocks.get(name) for position in rejection.at_code]
            totals = [(stock.free, max(0, stock.room)) for stock in stocks if stock]
            enough = sum([sum(each) >= units for each in zip(*totals, strict=True)])
            sums.setdefault(enough, []).append(Amount(name, units))
    case = (None, SpecialCase.LIMITED, SpecialCase.DIVIDED)[min(sums)]
    case = SpecialCase.PARTS if plan.splittable else case
    cause = rejection.cause._replace(amounts=tuple(sums[min(sums)]), case=case)
    return rejection._replace(cause=cause)


def _isolation_cause(plan: SearchPlan, options: Options) -> RejectionCause:
    """Find isolated groups that together have fewer providers than there are groups.

    Only groups with equal options, and all isolated groups together, are compared, also with one
    further group, which needs another provider. The cause contains no groups if none of these sets
    lacks providers.
    """
    by_options: dict[tuple[int, ...], list[int]] = {}
    for slot in plan.isolated_slots:
        by_options.setdefault(tuple(options[slot]), []).append(slot)
    union = tuple(set().union(*by_options))
    for providers, slots in [*by_options.items(), (union, list(plan.isolated_slots))]:
        for further in ([], *[[slot] for slot in plan.shared_slots]):
            count = len(set(providers).union(*[options[slot] for slot in further]))
            if len(slots) + len(further) > count:
                suffixes = tuple(plan.slots[slot].group.suffix for slot in [*slots, *further])
                return RejectionCause(groups=suffixes, providers=count)
    return RejectionCause()
