"""The fields of forms about conditions that join groups, with their values."""

from collections.abc import Callable, Mapping, Sequence

from placement.candidates.explanation.context import Context
from placement.candidates.explanation.nouns import (
    MAX_NAMES,
    MAX_TERMS,
    joined,
    listed,
    noun_of,
    value_of,
)
from placement.candidates.plan import SearchPlan
from placement.candidates.request import RequestGroup, SubtreeRule
from placement.candidates.stated_terms import StatedTerm, terms_from_group
from placement.candidates.trace import Refusal


def _unsuffixed(plan: SearchPlan) -> RequestGroup:
    return next(group for group in plan.request.groups if not group.suffixed)


def _traits(context: Context) -> str:
    group = _unsuffixed(context.plan)
    terms = terms_from_group(group)
    return joined([noun_of(term) for term in terms if term.code is Refusal.TRAIT_MISSING], " and ")


def _trait_names(context: Context) -> str:
    # With `can_split`, other providers may serve parts, even if the plan has only one slot.
    group, plan = _unsuffixed(context.plan), context.plan
    terms = [term for term in terms_from_group(group) if term.code is Refusal.TRAIT_MISSING]
    alone = plan.alone and not group.can_split
    names = listed([value_of(term) for term in terms])
    return f"{names} {'on one provider' if alone else 'between its providers'}"


def _sums(context: Context) -> str:
    plan = context.plan
    split = [name for group in plan.request.groups for name in sorted(group.can_split)]
    names = dict.fromkeys([*plan.contended_classes, *split])
    sums = [f"{plan.combined_amounts[name]} {name}" for name in names]
    return f"{listed(sums)} {'for all groups together' if context.several else 'in parts'}"


def _together(context: Context) -> str:
    plan = context.plan
    slots = {slot for name, _units in context.cause.amounts for slot in plan.amounts_of(name)}
    return "both groups together" if len(slots) == 2 else f"all {len(slots)} groups together"


def _fitting(context: Context) -> str:
    cause, plan = context.cause, context.plan
    if not cause.groups:
        return "too few providers"
    # Providers without enough capacity are not counted, so there may be more of them than groups.
    slots = [plan.slots[plan.slot_of(suffix)] for suffix in cause.groups]
    room = " with room" * any(slot.group.resources for slot in slots)
    if not cause.providers:
        return f"no provider{room}"
    return f"only {cause.providers} provider{'s' * (cause.providers > 1)}{room}"


def _isolated(context: Context) -> str:
    plan, groups = context.plan, context.cause.groups
    if not groups:
        suffixes = sorted(plan.slots[slot].group.suffix for slot in plan.isolated_slots)
        plural = "s" * (len(suffixes) > 1)
        others = " and the other groups" * bool(plan.shared_slots)
        return f"the isolated group{plural} {listed(suffixes)}{others}"
    names = f" {listed(sorted(groups))}" * (len(groups) <= MAX_NAMES)
    return f"the {len(groups)} isolated groups{names}{_each_asks(plan, groups)}"


def _each_asks(plan: SearchPlan, suffixes: Sequence[str]) -> str:
    """Return the request of each group in words if all groups have equal requests."""
    asked = {_asked(plan.slots[plan.slot_of(suffix)].group) for suffix in suffixes}
    return f" (each asks for {asked.pop()})" if len(asked) == 1 else ""


def _asked(group: RequestGroup) -> str:
    amounts = joined([f"{units} {name}" for name, units in group.resources], " and ")
    terms = [_CONDITIONS[term.keyword].format(noun_of(term)) for term in terms_from_group(group)]
    return " ".join([amounts or "a provider", joined(terms, " and ")]).strip()


# Keyword -> the condition on a provider. It follows an amount in the text.
_CONDITIONS: Mapping[str, str] = {
    "required": "with {}",
    "forbidden": "without {}",
    "member_of": "in {}",
    "not_member_of": "outside {}",
    "in_tree": "in the tree of {}",
    "subtree": "in the subtree of {}",
}


def _suffixes(context: Context) -> str:
    plan = context.plan
    return listed(sorted(plan.slots[slot].group.suffix for slot in plan.isolated_slots))


def _rules(context: Context) -> str:
    return listed([_rule(rule) for rule in context.plan.request.same_subtree], "; ", MAX_TERMS)


def _rule(rule: SubtreeRule) -> str:
    return value_of(StatedTerm(Refusal.SAME_SUBTREE, "same_subtree", None, rule))


def _subtrees(context: Context) -> str:
    rules = context.plan.request.same_subtree
    return _rule(rules[0]) if len(rules) == 1 else "the groups of each same_subtree"


def _members(context: Context) -> str:
    return joined(sorted(context.plan.request.same_subtree[0].inside), " and ")


def _missing_group(context: Context) -> str:
    # HW_NUMA_ROOT is the standard trait of providers that contain others.
    traits = sorted(context.parent_traits, key=lambda trait: (trait != "HW_NUMA_ROOT", trait))
    example = f", such as required_P={traits[0]}," if traits else ""
    return f"a group for their common parent{example} is missing in same_subtree"


def _subtree_sum(context: Context) -> str:
    (amount,) = context.cause.amounts
    groups = joined(sorted(context.cause.groups), " and ")
    extreme = context.extremes.get(amount.resource_class)
    if extreme is None or extreme.value >= amount.units:
        # Some of the hosts have enough of the class, but not for each group separately.
        return f"no subtree with {amount.units} {amount.resource_class} that fit {groups}"
    return (
        f"at most {extreme.value} {amount.resource_class} free for {groups} in one subtree, "
        f"but {amount.units} asked"
    )


def _none_above(context: Context) -> str:
    groups = len(context.plan.request.same_subtree[0].inside)
    below = "neither is below the other" if groups == 2 else "none of them is above all others"
    return f"{below}, which same_subtree requires"


# Name of a replacement field in `Form.frame` -> the function that returns its value.
JOINING_FIELDS: Mapping[str, Callable[[Context], str]] = {
    "traits": _traits,
    "trait_names": _trait_names,
    "sums": _sums,
    "together": _together,
    "fitting": _fitting,
    "isolated": _isolated,
    "suffixes": _suffixes,
    "rules": _rules,
    "subtrees": _subtrees,
    "members": _members,
    "missing_group": _missing_group,
    "subtree_sum": _subtree_sum,
    "none_above": _none_above,
}
