"""The sentences of explanations: one function for each code, or for codes of the same kind.

A function returns the detail of the hosts that are rejected at its code, and the predicate of a
sentence about them: "20 hosts" + "have no provider with 20 VCPU free (the most is 16)".
"""

from collections.abc import Callable, Mapping

from placement.candidates.model import Refusal
from placement.candidates.terms import AMOUNT_CODES, NotMemberOf
from placement.foresight.explanation.causes import SpecialCase
from placement.foresight.explanation.words import joins
from placement.foresight.explanation.words.facts import TOO_LITTLE, Facts, Phrase
from placement.foresight.explanation.words.phrases import (
    are,
    each_of,
    either_of,
    have,
    joined,
    kind_of,
    value_of,
)

# -- the root ----------------------------------------------------------------------------------


def tainted(facts: Facts) -> Phrase:
    """Return "have the taint T"."""
    taints = [value_of(term) for term in facts.cause.terms]
    named = each_of([f"the taint {taint}" for taint in taints])
    return Phrase(joined(taints, ", "), f"{have(facts.hosts)} {named}")


def root_trait_missing(facts: Facts) -> Phrase:
    """Return "have a root without trait T"."""
    return facts.phrase(f"a root without {either_of(facts.nouns)}")


def root_trait_forbidden(facts: Facts) -> Phrase:
    """Return "have a root with the forbidden trait T"."""
    return facts.phrase(f"a root with {each_of([f'the forbidden {noun}' for noun in facts.nouns])}")


def root_aggregate(facts: Facts) -> Phrase:
    """Return "have a root that is not in aggregate A"."""
    where = [
        f"{'in the forbidden' if kind_of(term) is NotMemberOf else 'not in'} {noun}"
        for term, noun in zip(facts.cause.terms, facts.nouns, strict=True)
    ]
    return Phrase(f"a root {each_of(where)}", facts.predicate(f"a root that is {each_of(where)}"))


# -- amounts of a group ------------------------------------------------------------------------


def no_inventory(facts: Facts) -> Phrase:
    """Return "have no inventory of VCPU"."""
    names = [term.resource_class for term in facts.cause.terms]
    if facts.cause.case is SpecialCase.APART:
        return facts.only_apart(names, "class")
    shared = ", own or shared" * (not facts.shared.isdisjoint(names))
    return facts.phrase(f"no inventory of {either_of(names)}", shared)


def capacity(facts: Facts) -> Phrase:
    """Return "have no provider with 20 VCPU free (the most is 16)"."""
    without_room = _without_room(facts)
    if without_room:
        return without_room
    asked, free = [], []
    for term in facts.cause.terms:
        value, most = value_of(term), facts.most(term.resource_class)
        if facts.extreme(term.resource_class).value >= (term.amount or 0):
            # No amount that the units allow is free.
            asked.append(f"{value} asked, the most free is {most}, {TOO_LITTLE}")
            free.append(f"room for {value} (the most free is {most}, {TOO_LITTLE})")
        else:
            asked.append(f"{value} asked, the most free is {most}")
            free.append(f"{value} free (the most is {most})")
    if facts.cause.case is SpecialCase.APART:
        return facts.phrase(f"{each_of(free)} only on different providers")
    no_provider = f"no provider with {joined(free, ' and none with ')}"
    return Phrase(joined(asked, ", and "), facts.predicate(no_provider))


def units(facts: Facts) -> Phrase:
    """Return "have no provider whose max_unit allows 20 VCPU (the largest is 16)"."""
    without_room = _without_room(facts)
    if without_room:
        return without_room
    terms, asked, allowed = list(facts.cause.terms), [], []
    if facts.cause.case is not SpecialCase.APART:
        terms += [term for term in facts.others if term.code in AMOUNT_CODES[1:-1]]
    for term in terms:
        field = term.code.value
        choice = "largest" if field == "max_unit" else "smallest"
        value, extreme = value_of(term), facts.extreme(term.resource_class)
        most = facts.most(term.resource_class)
        stated = f"the {choice} is {most}"
        if choice == "largest" and extreme.value != extreme.free < (term.amount or 0):
            stated = f"the largest max_unit is {most}, the most free is {extreme.free}"
        asked.append(f"{value} asked, the {choice} {field} is {most}")
        allowed.append(f"{field} allows {value} ({stated})")
    if facts.cause.case is SpecialCase.APART:
        together = each_of(allowed).replace(f" and {field} allows ", " and ")
        return facts.phrase(f"no provider whose {together} together")
    each = joined(allowed, " and none whose ")
    rest = either_of([value_of(term) for term in facts.others if term not in terms])
    if rest:
        asked.append(f"no room for {rest}")
        each += f" and none with room for {rest}"
    return Phrase(joined(asked, ", and "), facts.predicate(f"no provider whose {each}"))


def _without_room(facts: Facts) -> Phrase | None:
    """Return the words if providers fail different checks, or None for a single check."""
    if facts.cause.case is not SpecialCase.ROOM:
        return None
    names = [name for name, _units in facts.cause.amounts]
    most = f" (the most is {facts.most(names[0])})" * (len(names) == 1)
    return facts.phrase(f"no provider with {facts.room}", most)


# -- other terms of a group --------------------------------------------------------------------


def trait_missing(facts: Facts) -> Phrase:
    """Return "have no provider with trait T"."""
    if facts.cause.case is SpecialCase.APART:
        return facts.only_apart(facts.nouns, "trait")
    if facts.cause.case is SpecialCase.ELSEWHERE:
        return facts.phrase(f"{each_of(facts.nouns)} only on providers {facts.unfit}")
    return facts.phrase(f"no provider with {either_of(facts.nouns)}")


def forbidden(facts: Facts) -> Phrase:
    """Return "have room for 20 VCPU only on providers with the forbidden trait T"."""
    terms = facts.cause.terms
    where = "with" if terms[0].code is Refusal.TRAIT_FORBIDDEN else "in"
    if len(terms) == 1:
        where += f" the forbidden {facts.nouns[0]}"
    else:
        noun, names = facts.nouns[0].partition(" ")[0], joined([*map(value_of, terms)], ", ")
        where += f" a forbidden {noun} ({names})"
    if facts.cause.case is SpecialCase.ELSEWHERE:
        return facts.phrase(f"otherwise suitable providers only {where}")
    only = f"{facts.room} only on providers" if facts.cause.amounts else "only providers"
    return facts.phrase(f"{only} {where}")


def outside(facts: Facts) -> Phrase:
    """Return "are not in aggregate A", or the same for trees and subtrees."""
    places, case = [facts.scope(term) for term in facts.cause.terms], facts.cause.case
    if case is SpecialCase.APART:
        return facts.phrase(f"no suitable provider that is in {each_of(places)}")
    if case is SpecialCase.ELSEWHERE:
        pools = {facts.pool(name) for name, _units in facts.cause.amounts} - {""}
        excluded = [f" (the sharing provider {pool} is outside)" for pool in sorted(pools)[:1]]
        text = f"in {each_of(places)} only providers {facts.unfit}"
        return facts.phrase(text, "".join(excluded))
    requires = facts.required_by(facts.cause.terms)
    if all(term.value in facts.shared for term in facts.cause.terms):
        sharing = either_of([place.partition(" of ")[2] for place in places])
        nothing = f"no aggregate in common with {sharing}"
        return Phrase(nothing, f"{have(facts.hosts)} {nothing}{requires}")
    nowhere = f"not in {either_of(places)}"
    return Phrase(nowhere, f"{are(facts.hosts)} {nowhere}{requires}")


# Code -> its function.
SENTENCES: Mapping[Refusal, Callable[[Facts], Phrase]] = {
    Refusal.TAINTED: tainted,
    Refusal.ROOT_TRAIT_MISSING: root_trait_missing,
    Refusal.ROOT_TRAIT_FORBIDDEN: root_trait_forbidden,
    Refusal.ROOT_AGGREGATE: root_aggregate,
    Refusal.NO_INVENTORY: no_inventory,
    Refusal.MIN_UNIT: units,
    Refusal.MAX_UNIT: units,
    Refusal.STEP_SIZE: units,
    Refusal.CAPACITY: capacity,
    Refusal.TRAIT_MISSING: trait_missing,
    Refusal.TRAIT_FORBIDDEN: forbidden,
    Refusal.NOT_IN_AGGREGATE: outside,
    Refusal.IN_FORBIDDEN_AGGREGATE: forbidden,
    Refusal.IN_TREE: outside,
    Refusal.SUBTREE: outside,
    Refusal.COLLECTIVE_TRAITS: joins.collective_traits,
    Refusal.CAPACITY_SUM: joins.capacity_sum,
    Refusal.ONE_PER_TREE: joins.one_per_tree,
    Refusal.ISOLATE: joins.isolate,
    Refusal.SAME_SUBTREE: joins.subtree_rules,
    Refusal.SPREAD: joins.spread,
    Refusal.EXCLUSIVE: joins.exclusive,
    Refusal.BUDGET: joins.budget,
}
