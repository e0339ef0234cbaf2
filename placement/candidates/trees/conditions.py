"""Translate a request into SQL conditions on trees, and choose the first condition.

The conditions may accept trees that have no candidate, but never reject a tree that has one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import attrgetter

from placement.candidates.model import Outcome, RootStats, TraitSet
from placement.candidates.plan import SearchPlan
from placement.candidates.request import CandidateRequest, Slot
from placement.candidates.terms import RootRole, Term, Untainted
from placement.candidates.trees.resolve import ResolvedRequest
from placement.candidates.trees.sharing import Sharing
from placement.candidates.trees.tuning import SearchTuning
from placement.db.conditions import (
    Driver,
    DrivingCondition,
    MemberCondition,
    RootCondition,
    merge_conditions,
)
from placement.vocabulary import IdCondition


@dataclass(frozen=True, slots=True)
class TreeCondition:
    """A condition that at least one provider of each tree must satisfy."""

    member: MemberCondition
    # Positions of the slots that require the condition.
    slots: set[int] = field(default_factory=set)
    # Collective trait sets that the condition implements.
    trait_sets: set[TraitSet] = field(default_factory=set)

    def is_unmet(self, outcome: Outcome) -> bool:
        """Return whether no provider of a tree satisfies the condition."""
        is_of_traits = not self.trait_sets.isdisjoint(outcome.unmet_traits)
        return is_of_traits or outcome.unmet_slot in self.slots


def tree_conditions(
    resolved: ResolvedRequest,
    plan: SearchPlan,
    sharing: Sharing,
    tuning: SearchTuning,
    *,
    in_parts: bool = False,
) -> list[TreeCondition]:
    """Return the conditions on trees. The conditions that are probably rarest come first.

    Slots with equal requirements share a condition. With `in_parts`, the trees have a split.
    """
    splittable = plan.splittable if in_parts else ()
    conditions: dict[MemberCondition, TreeCondition] = {}

    def of_member(member: MemberCondition) -> TreeCondition:
        return conditions.setdefault(member, TreeCondition(member))

    for position, slot in enumerate(plan.slots):
        terms = plan.requirement_of[position].own_terms
        member = _member_condition(resolved, slot, terms, tuning)
        if reach := sharing.reach(terms, position):
            member = replace(member, reach=reach)
        if position in splittable:
            member = _of_part(member)
        if splittable == (position,):
            # The amount of this slot must be split. Sharing providers of other trees cannot serve
            # parts.
            member = replace(member, reach=frozenset())
        of_member(member).slots.add(position)
    for term in plan.collective_terms:
        # Any provider of the unsuffixed group may have these traits.
        member = MemberCondition(tuple(term.conditions(resolved.known)))
        if reach := sharing.reach([term]):
            member = replace(member, reach=reach)
        of_member(member).trait_sets.add(term.any_of)
    return sorted(conditions.values(), key=lambda condition: _rarity(condition.member))


def _member_condition(
    resolved: ResolvedRequest, slot: Slot, terms: Iterable[Term], tuning: SearchTuning
) -> MemberCondition:
    """Return the condition of a slot. Only the search checks the terms beyond `max_terms`."""
    return MemberCondition(
        merge_conditions(_conditions(resolved, terms), tuning.max_terms),
        resolved.known.resource_ids(slot.resources[: tuning.max_terms]),
    )


def _conditions(resolved: ResolvedRequest, terms: Iterable[Term]) -> list[IdCondition]:
    conditions: list[IdCondition] = []
    for term in terms:
        conditions += term.conditions(resolved.known)
    return conditions


def _of_part(member: MemberCondition) -> MemberCondition:
    """Return the condition on a provider that serves a part of the amount, of any size."""
    classes = tuple(class_id for class_id, _amount in member.resources)
    return replace(member, resources=(), parts_of=classes)


def root_condition(resolved: ResolvedRequest) -> RootCondition:
    """Return the condition on an anchor's root."""
    return RootCondition(merge_conditions(_conditions(resolved, resolved.request.root)))


def sharing_root_condition(resolved: ResolvedRequest) -> RootCondition:
    """Return the condition on the root of an anchor that serves nothing itself.

    It includes the terms of the unsuffixed group that apply to the root of the anchor.
    """
    terms = [*resolved.request.root, *spanning_terms(resolved.request)]
    return RootCondition(merge_conditions(_conditions(resolved, terms)))


def asks_root(resolved: ResolvedRequest) -> bool:
    """Return whether the request contains a condition on such a root. Taints do not count."""
    stated = [term for term in resolved.request.root if not isinstance(term, Untainted)]
    terms = [*stated, *spanning_terms(resolved.request)]
    return RootCondition(merge_conditions(_conditions(resolved, terms))) != RootCondition()


def spanning_terms(request: CandidateRequest) -> list[Term]:
    """Return the terms of the unsuffixed group that the anchor's root must satisfy as well."""
    terms = chain(*[group.terms for group in request.groups if not group.suffixed])
    return [term for term in terms if term.root_role is RootRole.REQUIRED]


def _rarity(condition: MemberCondition) -> tuple[bool, bool, bool, int, int]:
    """Return a sort key. Conditions that few trees are likely to satisfy come first."""
    return (
        condition.tree is None,
        bool(condition.reach),
        not condition.aggregates,
        -len(condition.traits) - len(condition.resources),
        -sum(amount for _class_id, amount in condition.resources),
    )


def choose_drivers(
    conditions: Sequence[TreeCondition], root: RootCondition, stats: RootStats
) -> tuple[DrivingCondition, ...]:
    """Return the condition that the database evaluates: the one that most searched trees failed.

    Engines cannot estimate how rare a class, trait or aggregate is. The condition determines
    whether they read three rows or all rows. If sharing providers may satisfy all conditions, a
    tree must still serve one of them itself: the database evaluates each of them.

    Returns:
        () if no condition selects trees.
    """
    driving: tuple[DrivingCondition, ...] = ()
    most_unmet = -1
    of_root = MemberCondition(root.terms)
    if drivers := _drivers(of_root):
        most_unmet = stats.number(attrgetter("wrong_root"))
        driving = (DrivingCondition(of_root, drivers[0]),)
    if all(condition.member.reach and condition.member.resources for condition in conditions):
        own = tuple(DrivingCondition(each.member, Driver.RESOURCES) for each in conditions)
        return driving if most_unmet > 0 else own or driving
    for condition in conditions:
        member = condition.member
        drivers = _drivers(member)
        unmet = stats.number(condition.is_unmet)
        if member.reach or not drivers:
            continue
        if drivers[0] is Driver.TREE:
            return (DrivingCondition(member, Driver.TREE),)
        if unmet <= most_unmet:
            continue
        most_unmet = unmet
        # If few of the failed trees have the capacity, the capacity is what is rare.
        with_capacity = RootStats({each: stats[each] for each in stats if each.with_capacity})
        short_of_room = 2 * with_capacity.number(condition.is_unmet) <= unmet
        is_of_room = short_of_room and Driver.RESOURCES in drivers
        driving = (DrivingCondition(member, Driver.RESOURCES if is_of_room else drivers[0]),)
    return driving


def _drivers(member: MemberCondition) -> list[Driver]:
    return [driver for driver in Driver if driver.is_in(member)]
