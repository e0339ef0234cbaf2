"""The cause of rejections if isolated groups have too few providers."""

from collections import Counter
from collections.abc import Sequence

from placement.candidates.explanation.causes import RejectionCause, SpecialCase
from placement.candidates.plan import SearchPlan


def isolation_cause(
    plan: SearchPlan, options: Sequence[Sequence[int]], case: SpecialCase | None = None
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
