"""The cause of rejections if isolated groups have too few providers."""

from collections import Counter
from collections.abc import Sequence

from placement.candidates.explanation.evaluation import RejectionCause
from placement.candidates.explanation.manners import Manner
from placement.candidates.plan import SearchPlan


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
