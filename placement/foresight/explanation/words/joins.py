"""The sentences of codes that join groups: one function for each code, with the name of the code.

The requirement of a phrase depends only on the request.
"""

from collections.abc import Sequence

from placement.candidates.request import RequestGroup, SubtreeRule
from placement.candidates.stated_terms import terms_from_group
from placement.candidates.terms.amounts import Amount
from placement.candidates.trace import Refusal
from placement.foresight.explanation.causes import SpecialCase
from placement.foresight.explanation.words.facts import Facts, Phrase
from placement.foresight.explanation.words.phrases import (
    MAX_NAMES,
    MAX_TERMS,
    amount_of,
    each_of,
    either_of,
    listed,
    noun_of,
    rule_of,
    value_of,
)

# Keyword -> the words between an amount and a condition on its provider.
_CONDITIONS = {
    "required": "with",
    "forbidden": "without",
    "member_of": "in",
    "not_member_of": "outside",
    "in_tree": "in the tree of",
    "subtree": "in the subtree of",
}


def collective_traits(facts: Facts) -> Phrase:
    """Return "have no combination of providers that fit and have T and U between them"."""
    plan = facts.plan
    group = next(group for group in plan.request.groups if not group.suffixed)
    terms = [term for term in terms_from_group(group) if term.code is Refusal.TRAIT_MISSING]
    where = "on one provider" if plan.alone else "between its providers"
    requirement = f"{listed([value_of(term) for term in terms])} {where}"
    traits = [noun_of(term) for term in terms]
    if plan.alone:
        return facts.only_apart(traits, "trait")._replace(requirement=requirement)
    text = f"no combination of providers that fit and have {each_of(traits)} between them"
    return facts.phrase(text, requirement=requirement)


def capacity_sum(facts: Facts) -> Phrase:
    """Return "have room for each group, but not for both groups together (8 VCPU asked, …)"."""
    plan = facts.plan
    split = sorted(map(plan.class_of, plan.splittable))
    names = dict.fromkeys([*plan.contended_classes, *split])
    sums = listed([f"{plan.combined_amounts[name]} {name}" for name in names])
    requirement = f"{sums} {'for all groups together' if facts.several else 'in parts'}"
    return facts.phrase(_missing_room(facts), requirement=requirement)


def _missing_room(facts: Facts) -> str:
    cause = facts.cause
    if cause.case is SpecialCase.ISOLATION:
        return _too_few_providers(facts)
    amounts = [amount for amount in cause.amounts if facts.is_short(amount)] or cause.amounts
    if cause.case is SpecialCase.PARTS:
        sums = [
            f"{amount_of(amount)} in parts{_most_in_parts(facts, amount)}" for amount in amounts
        ]
        return f"too little room for {each_of(sums)}"
    slots = {slot for name, _units in cause.amounts for slot in facts.plan.amounts_of(name)}
    groups = "both groups" if len(slots) == 2 else f"all {len(slots)} groups"
    asked = {amount: facts.extreme(amount.resource_class).value for amount in amounts}
    if cause.case is SpecialCase.MAX_UNIT:
        sums = [f"{amount_of(each)} asked, the largest is {most}" for each, most in asked.items()]
        return f"no provider whose max_unit allows {groups} together ({each_of(sums)})"
    # Further units may be free on providers that can serve none of the groups.
    limit = "at most " * (facts.hosts != 1)
    sums = [
        f"{amount_of(each)} asked, {limit}{most} free on "
        f"{'suitable' if facts.is_short(each) else 'several'} providers"
        for each, most in asked.items()
    ]
    return f"room for each group, but not for {groups} together ({each_of(sums)})"


def _most_in_parts(facts: Facts, amount: Amount) -> str:
    """Return the most that the hosts can serve in parts, if it is too little."""
    if not facts.is_short(amount):
        return ""
    extreme = facts.extreme(amount.resource_class)
    if extreme.parts is None or extreme.parts.max_unit is None:
        return f" (at most {extreme.value} in all)"
    count = extreme.parts.providers
    providers = f"{count} provider{'s' * (count != 1)}"
    return f" (at most {extreme.value}, from {providers} with max_unit {extreme.parts.max_unit})"


def isolate(facts: Facts) -> Phrase:
    """Return "have only 1 provider with room for the 2 isolated groups _A, _B"."""
    plan = facts.plan
    suffixes = sorted(plan.slots[slot].group.suffix for slot in plan.isolated_slots)
    requirement = f"{listed(suffixes)}: providers that serve no other of the suffixed groups"
    return facts.phrase(_too_few_providers(facts), requirement=requirement)


def _too_few_providers(facts: Facts) -> str:
    """Return the providers of isolated groups."""
    plan, suffixes, count = facts.plan, facts.cause.groups, facts.cause.providers
    if not suffixes:
        isolated = sorted(plan.slots[slot].group.suffix for slot in plan.isolated_slots)
        others = " and the other groups" * bool(plan.shared_slots)
        plural = "s" * (len(isolated) > 1)
        return f"too few providers for the isolated group{plural} {listed(isolated)}{others}"
    groups = [plan.slots[plan.slot_of(suffix)].group for suffix in suffixes]
    # Providers without enough capacity are not counted, so there may be more of them than groups.
    room = " with room" * any(group.resources for group in groups)
    providers = f"only {count} provider{'s' * (count > 1)}" if count else "no provider"
    names = f" {listed(sorted(suffixes))}" * (len(suffixes) <= MAX_NAMES)
    asked = {_asked(group) for group in groups}
    each = f" (each asks for {asked.pop()})" if len(asked) == 1 else ""
    return f"{providers}{room} for the {len(suffixes)} isolated groups{names}{each}"


def _asked(group: RequestGroup) -> str:
    """Return the request of a group in words."""
    amounts = each_of([f"{units} {name}" for name, units in group.resources])
    terms = [f"{_CONDITIONS[term.keyword]} {noun_of(term)}" for term in terms_from_group(group)]
    return f"{amounts or 'a provider'} {each_of(terms)}".strip()


def same_subtree(facts: Facts) -> Phrase:
    """Return "have no subtree that serves _A,_B together"."""
    rules = facts.plan.request.subtree_rules
    requirement = listed([rule_of(rule) for rule in rules], "; ", MAX_TERMS)
    return facts.phrase(_missing_subtree(facts, rules), requirement=requirement)


def _missing_subtree(facts: Facts, rules: Sequence[SubtreeRule]) -> str:
    case = facts.cause.case
    if case is SpecialCase.SUBTREE_SUM:
        return _subtree_sum(facts)
    if case is None:
        groups = rule_of(rules[0]) if len(rules) == 1 else "the groups of each same_subtree"
        return f"no subtree that serves {groups} together"
    members = sorted(rules[0].inside)
    if case is SpecialCase.OUTSIDE:
        others = either_of(sorted(rules[0].outside))
        return (
            f"providers for {each_of(members)} in one subtree, but none for {others} outside of "
            "it, which same_subtree requires"
        )
    below = (
        "neither is below the other" if len(members) == 2 else "none of them is above all others"
    )
    text = f"providers for {each_of(members)}, but {below}, which same_subtree requires"
    if case is SpecialCase.SIBLINGS:
        # HW_NUMA_ROOT is the standard trait of providers that contain others.
        traits = sorted(facts.parent_traits, key=lambda trait: (trait != "HW_NUMA_ROOT", trait))
        example = f", such as required_P={traits[0]}," if traits else ""
        text += f" (a group for their common parent{example} is missing in same_subtree)"
    return text


def _subtree_sum(facts: Facts) -> str:
    """Return the most that one subtree has of a class of which several groups need an amount."""
    (amount,) = facts.cause.amounts
    groups, most = each_of(sorted(facts.cause.groups)), facts.extremes.get(amount.resource_class)
    if most is None or most.value >= amount.units:
        # Some of the hosts have enough of the class, but not for each group separately.
        return f"no subtree with {amount_of(amount)} that fit {groups}"
    return (
        f"at most {most.value} {amount.resource_class} free for {groups} in one subtree, "
        f"but {amount.units} asked"
    )


def one_per_tree(_facts: Facts) -> Phrase:
    """Return "would need several providers of one tree"."""
    asked = "one provider of each tree"
    return Phrase(asked, "would need several providers of one tree", asked)


def spread(facts: Facts) -> Phrase:
    """Return "have as many members of the spread group as one host may have"."""
    asked = "hosts with fewer members of the spread group"
    return facts.phrase("as many members of the spread group as one host may have", "", asked)


def exclusive(facts: Facts) -> Phrase:
    """Return "have only devices that already serve VGPU, and serve in one way at a time"."""
    asked = "devices that do not serve in another way"
    names, case = listed(facts.cause.classes), facts.cause.case
    text = f"only devices that already serve {names}, and serve in one way at a time"
    if case is SpecialCase.WAYS:
        names = each_of(facts.cause.classes)
        text = f"too few devices for {names}, each of which serves in one way at a time"
    elif case is SpecialCase.CARDS:
        others = f" besides those that already serve {names}" * bool(names)
        text = f"too few devices{others}, each of which serves in one way at a time"
    return facts.phrase(text, "", asked)


def budget(_facts: Facts) -> Phrase:
    """Return "took too long to decide"."""
    undecided = "not decided within the limit on work"
    return Phrase(undecided, "took too long to decide", undecided)
