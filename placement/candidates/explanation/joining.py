"""Why hosts fall out at codes that join groups, as far as it follows from their providers."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from placement.candidates.budget import BudgetSpentError
from placement.candidates.explanation.manners import Manner
from placement.candidates.explanation.profiles import FallCause
from placement.candidates.plan import SearchPlan
from placement.candidates.trace import Refusal

# Returns whether a host is served under the constraints of a code alone; None: undecided.
ServesUnder = Callable[[Refusal], bool | None]


def joining_cause(
    code: Refusal, plan: SearchPlan, options: Sequence[Sequence[int]], serves: ServesUnder
) -> FallCause:
    """Return why a host falls out at a code that joins groups; options: its providers by slot."""
    find = _CAUSES.get(code)
    return FallCause() if find is None else find(plan, options, serves)


def isolation_cause(
    plan: SearchPlan, options: Sequence[Sequence[int]], manner: Manner | None = None
) -> FallCause:
    """Return the isolated groups that have fewer providers than groups, where such are found.

    These are groups with the same providers, or all of them.
    """
    lists = {slot: options[slot] for slot in plan.isolated_slots}
    # PERF: equal lists are one object, and long.
    by_list = Counter(map(id, lists.values()))
    for providers in {id(each): each for each in lists.values()}.values():
        if by_list[id(providers)] > len(providers):
            slots = [slot for slot, each in lists.items() if each is providers]
            return _isolated(plan, slots, len(providers), manner)
    union = set().union(*{id(each): each for each in lists.values()}.values())
    if len(lists) > len(union):
        return _isolated(plan, list(lists), len(union), manner)
    return FallCause(manner=manner)


def _isolated(
    plan: SearchPlan, slots: Sequence[int], providers: int, manner: Manner | None
) -> FallCause:
    suffixes = tuple(plan.slots[slot].group.suffix for slot in slots)
    return FallCause(manner=manner, groups=suffixes, providers=providers)


def _of_traits(
    plan: SearchPlan, _options: Sequence[Sequence[int]], _serves: ServesUnder
) -> FallCause:
    return FallCause(manner=Manner.APART if plan.alone else None)


def _of_isolation(
    plan: SearchPlan, options: Sequence[Sequence[int]], _serves: ServesUnder
) -> FallCause:
    return isolation_cause(plan, options)


def _of_subtree(
    plan: SearchPlan, _options: Sequence[Sequence[int]], serves: ServesUnder
) -> FallCause:
    """Return whether no providers of the one rule are in one subtree, whatever else is asked."""
    rules = plan.request.same_subtree
    if len(rules) == 1 and not rules[0].outside:
        with suppress(BudgetSpentError):  # that the host falls out is known
            if serves(Refusal.SAME_SUBTREE) is False:
                return FallCause(manner=Manner.APART)
    return FallCause()


_CAUSES: Mapping[
    Refusal, Callable[[SearchPlan, Sequence[Sequence[int]], ServesUnder], FallCause]
] = {
    Refusal.COLLECTIVE_TRAITS: _of_traits,
    Refusal.ISOLATE: _of_isolation,
    Refusal.SAME_SUBTREE: _of_subtree,
}
