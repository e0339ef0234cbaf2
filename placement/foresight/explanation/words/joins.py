"""The sentences of codes that join groups: one function for each code, with the name of the code.

The requirement of a phrase depends only on the request.
"""

from placement.candidates.model import Refusal
from placement.candidates.request import CandidateRequest, SubtreeRule, terms_from_group
from placement.foresight.explanation.causes import SpecialCase
from placement.foresight.explanation.words.facts import Facts, Phrase
from placement.foresight.explanation.words.phrases import (
    MAX_NAMES,
    MAX_TERMS,
    amount_of,
    each_of,
    group_named,
    joined,
    listed,
    noun_of,
    rule_of,
    value_of,
)


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
    sums = listed([f"{plan.combined_amounts[name]} {name}" for name in plan.joint_classes])
    requirement = f"{sums} {'for all groups together' if facts.several else 'in parts'}"
    return facts.phrase(_missing_room(facts), requirement=requirement)


def _missing_room(facts: Facts) -> str:
    cause, plan = facts.cause, facts.plan
    asked = {amount: facts.extreme(amount.resource_class) for amount in cause.amounts}
    if cause.case is SpecialCase.PARTS:
        sums = [
            f"{amount_of(each)} in parts" + f" (at most {most.value} in all)" * facts.is_short(each)
            for each, most in asked.items()
        ]
        return f"too little room for {each_of(sums)}"
    slots = {slot for name, _units in cause.amounts for slot in plan.amounts_of(name)}
    suffixes = sorted({plan.slots[slot].group.suffix for slot in slots})
    groups = "both groups" if len(suffixes) == 2 else f"all {len(suffixes)} groups"
    if len(suffixes) < len(plan.request.groups):
        groups = each_of([group_named(suffix) for suffix in suffixes])
    limit = "at most " * (facts.hosts != 1)
    sums = []
    for amount, most in asked.items():
        # Further units may be free on providers that can serve none of the groups.
        where = {
            None: "on suitable providers",
            SpecialCase.LIMITED: f"with max_unit {most.max_unit}",
            SpecialCase.DIVIDED: "on several providers, and no division among them fits",
        }[cause.case]
        sums.append(f"{amount_of(amount)} asked, {limit}{most.value} free {where}")
    lacking = f"room for each group, but not for {groups} together"
    return f"{_too_few_providers(facts) if cause.groups else lacking} ({each_of(sums)})"


def isolate(facts: Facts) -> Phrase:
    """Return "have only 1 provider with room for the 2 isolated groups _A, _B"."""
    plan = facts.plan
    suffixes = sorted(plan.slots[slot].group.suffix for slot in plan.isolated_slots)
    requirement = f"{listed(suffixes)}: providers that serve no other of the suffixed groups"
    return facts.phrase(_too_few_providers(facts), requirement=requirement)


def _too_few_providers(facts: Facts) -> str:
    """Return the providers of isolated groups."""
    plan, suffixes, count = facts.plan, facts.cause.groups, facts.cause.providers
    isolated = sorted(plan.slots[slot].group.suffix for slot in plan.isolated_slots)
    if facts.rules:
        return _subtrees(facts)
    if not suffixes:
        others = " and the other groups" * bool(plan.shared_slots)
        plural = "s" * (len(isolated) > 1)
        return f"too few providers for the isolated group{plural} {listed(isolated)}{others}"
    # Providers without enough capacity are not counted, so there may be more of them than groups.
    suitable = f"only {count} suitable provider{'s' * (count > 1)}" if count else "no provider"
    apart = sorted({*suffixes}.intersection(isolated))
    names = f" {listed(apart)}" * (len(apart) <= MAX_NAMES)
    groups = "isolated group" if len(apart) == 1 else f"{len(apart)} isolated groups"
    further = [f" and for {group_named(each)}" for each in suffixes if each not in isolated]
    return f"{suitable} for the {groups}{names}{''.join(further)}"


def subtree_rules(facts: Facts) -> Phrase:
    """Return "have no subtree that serves _A and _B together, with one of them at its top"."""
    all_rules = facts.plan.request.subtree_rules
    requirement = listed([rule_of(rule) for rule in all_rules], "; ", MAX_TERMS)
    if not facts.rules:  # each rule can be satisfied, but not all of them at once
        names = [_stated(rule) for rule in all_rules[:MAX_TERMS]]
        names += ["the isolation of groups"] * bool(facts.plan.isolated_slots)
        text = f"no providers that satisfy {each_of(names)} at once"
        return facts.phrase(text, requirement=requirement)
    return facts.phrase(_subtrees(facts), "", requirement)


def _subtrees(facts: Facts) -> str:
    texts = [_subtree(rule, facts.plan.request, facts.cause.case) for rule in facts.rules]
    return joined(texts, " and ", MAX_TERMS)


def _subtree(rule: SubtreeRule, request: CandidateRequest, case: SpecialCase | None) -> str:
    """Return what is missing, with the condition on the provider above the others."""
    inside, outside = sorted(rule.inside), sorted(rule.outside)
    top = " together, with one of them at its top" * (len(inside) > 1)
    leaves = f"{',' * bool(top)} and leaves {each_of(outside)} outside" * bool(outside)
    groups = [group for group in request.groups if group.suffix in rule.inside]
    remedy = ""
    if case is SpecialCase.APART:
        apart = [suffix for suffix in inside if suffix in request.isolate]
        which = f" with {each_of(apart)}" if apart != inside else ","
        top = f"{which}{' each' * (len(apart) > 1)} on a provider of its own"
    elif case is SpecialCase.AMOUNTS:
        remedy = " fails only for the amounts"
    elif case is SpecialCase.ABOVE and top and all(each.resources for each in groups):
        remedy = " has no group for a provider above them"
    return f"no subtree that serves {each_of(inside)}{top}{leaves} ({_stated(rule)}{remedy})"


def _stated(rule: SubtreeRule) -> str:
    return f"{Refusal.SAME_SUBTREE}={rule_of(rule)}"


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
    groups = f" for {each_of(facts.cause.groups)}" * all(facts.cause.groups or [""])
    text = f"only devices that already serve {names}{groups}, and serve in one way at a time"
    if case is SpecialCase.WAYS:
        names = each_of(facts.cause.classes)
        text = f"too few devices for {names}, each of which serves in one way at a time"
    elif not facts.cause.groups:
        others = f" besides those that already serve {names}" * bool(names)
        text = f"too few devices{others}, each of which serves in one way at a time"
    return facts.phrase(text, "", asked)


def budget(_facts: Facts) -> Phrase:
    """Return "took too long to decide"."""
    undecided = "not decided within the limit on work"
    return Phrase(undecided, "took too long to decide", undecided)
