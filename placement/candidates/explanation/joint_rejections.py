"""Why a host is rejected if it can serve each group, but not all of them together."""

from collections import Counter
from collections.abc import Sequence

from placement.candidates.budget import BudgetSpentError
from placement.candidates.explanation.causes import Rejection, RejectionCause, SpecialCase
from placement.candidates.explanation.evaluation import ORDER
from placement.candidates.explanation.host_solver import HostSolver
from placement.candidates.explanation.subtrees import SubtreeRejection
from placement.candidates.model import Options, Pool
from placement.candidates.plan import SearchPlan
from placement.candidates.terms.amounts import Amount
from placement.candidates.trace import Refusal


def reject_together(solver: HostSolver, pool: Pool, options: Options) -> Rejection:
    """Return the rejection at the first code up to which no assignment exists.

    Args:
        solver: Decides whether there is an assignment.
        pool: The providers of the host.
        options: The positions of the providers that can serve each slot.

    Raises:
        BudgetSpentError: The limit on work was reached before the code was known.
    """
    joins = solver.explain_request.joins
    if joins.plan.splittable:
        # The parts must reach the amounts before anything else is asked of their providers.
        kinds = [kind for kind in joins.kinds if kind.code is Refusal.CAPACITY_SUM]
        if solver.serves(joins, pool, options, kinds) is False:
            return _reject_parts(joins.plan, options)
    for code in solver.explain_request.joining_codes:
        kinds = [kind for kind in joins.kinds if ORDER[kind.code] <= ORDER[code]]
        serves = solver.serves(joins, pool, options, kinds)
        if serves is None:
            return Rejection(Refusal.BUDGET, None)
        if not serves:
            return _rejection(code, solver, pool, options)
    raise AssertionError("the constraints of all codes together refuse")


def _rejection(code: Refusal, solver: HostSolver, pool: Pool, options: Options) -> Rejection:
    """Return the rejection at a code, with its cause if there is a special case."""
    plan = solver.explain_request.joins.plan
    if code is Refusal.CAPACITY_SUM and plan.splittable:
        return _reject_parts(plan, options)
    if code is Refusal.ISOLATE:
        return Rejection(code, None, isolation_cause(plan, options))
    if code is Refusal.SAME_SUBTREE:
        try:
            return SubtreeRejection(solver, pool, options).find()
        except BudgetSpentError:  # the rejection is known; only its cause is missing
            pass
    return Rejection(code, None)


def _reject_parts(plan: SearchPlan, options: Options) -> Rejection:
    """Return the rejection by amounts that do not fit, even in parts."""
    names = {*plan.contended_classes, *map(plan.class_of, plan.splittable)}
    sums = [Amount(*total) for total in plan.combined_amounts.items() if total[0] in names]
    slots = set().union(*(plan.amounts_of(name) for name in names))
    servers = sorted(set().union(*(options[slot] for slot in slots)))
    cause = RejectionCause(amounts=tuple(sums), case=SpecialCase.PARTS)
    return Rejection(Refusal.CAPACITY_SUM, None, cause, at_code=servers)


def isolation_cause(
    plan: SearchPlan, options: Options, case: SpecialCase | None = None
) -> RejectionCause:
    """Find isolated groups that together have fewer providers than there are groups.

    Only groups with equal options, and all isolated groups together, are compared. The cause
    contains no groups if none of these sets lacks providers.
    """
    lists = {slot: options[slot] for slot in plan.isolated_slots}
    # PERF: equal lists are the same object, and the lists are long.
    by_list = Counter(map(id, lists.values()))
    for providers in {id(each): each for each in lists.values()}.values():
        if by_list[id(providers)] > len(providers):
            slots = [slot for slot, each in lists.items() if each is providers]
            return _isolated(plan, slots, len(providers), case)
    union = set().union(*{id(each): each for each in lists.values()}.values())
    if len(lists) > len(union):
        return _isolated(plan, list(lists), len(union), case)
    return RejectionCause(case=case)


def _isolated(
    plan: SearchPlan, slots: Sequence[int], providers: int, case: SpecialCase | None
) -> RejectionCause:
    suffixes = tuple(plan.slots[slot].group.suffix for slot in slots)
    return RejectionCause(case=case, groups=suffixes, providers=providers)
