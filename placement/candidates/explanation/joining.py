"""The causes of rejections at codes that join groups, if they follow from the providers."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from placement.candidates.budget import BudgetSpentError
from placement.candidates.explanation.evaluation import RejectionCause
from placement.candidates.explanation.manners import Manner
from placement.candidates.plan import SearchPlan
from placement.candidates.trace import Refusal

# Whether the constraints of a single code allow the host to be served. None means undecided.
ServesUnder = Callable[[Refusal], bool | None]


def joining_cause(
    code: Refusal, plan: SearchPlan, options: Sequence[Sequence[int]], serves: ServesUnder
) -> RejectionCause:
    """Return why a host is rejected at a code that joins groups.

    Args:
        code: The code.
        plan: The plan of the request.
        options: The positions of the providers that can serve each slot.
        serves: Evaluates the constraints of one code alone.
    """
    find = _CAUSES.get(code)
    return RejectionCause() if find is None else find(plan, options, serves)


def isolation_cause(
    plan: SearchPlan, options: Sequence[Sequence[int]], manner: Manner | None = None
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
            return _isolated(plan, slots, len(providers), manner)
    union = set().union(*{id(each): each for each in lists.values()}.values())
    if len(lists) > len(union):
        return _isolated(plan, list(lists), len(union), manner)
    return RejectionCause(manner=manner)


def _isolated(
    plan: SearchPlan, slots: Sequence[int], providers: int, manner: Manner | None
) -> RejectionCause:
    suffixes = tuple(plan.slots[slot].group.suffix for slot in slots)
    return RejectionCause(manner=manner, groups=suffixes, providers=providers)


def _traits_cause(
    plan: SearchPlan, _options: Sequence[Sequence[int]], _serves: ServesUnder
) -> RejectionCause:
    return RejectionCause(manner=Manner.APART if plan.alone else None)


def _isolate_cause(
    plan: SearchPlan, options: Sequence[Sequence[int]], _serves: ServesUnder
) -> RejectionCause:
    return isolation_cause(plan, options)


def _subtree_cause(
    plan: SearchPlan, _options: Sequence[Sequence[int]], serves: ServesUnder
) -> RejectionCause:
    """Return APART if a single rule rejects the host even without the other constraints."""
    rules = plan.request.same_subtree
    if len(rules) == 1 and not rules[0].outside:
        with suppress(BudgetSpentError):  # the rejection is known; only its cause may be missing
            if serves(Refusal.SAME_SUBTREE) is False:
                return RejectionCause(manner=Manner.APART)
    return RejectionCause()


_CAUSES: Mapping[
    Refusal, Callable[[SearchPlan, Sequence[Sequence[int]], ServesUnder], RejectionCause]
] = {
    Refusal.COLLECTIVE_TRAITS: _traits_cause,
    Refusal.ISOLATE: _isolate_cause,
    Refusal.SAME_SUBTREE: _subtree_cause,
}
