"""Features of requests since 2.0, added to requests that are valid at 1.39."""

import random
from collections.abc import Callable, Mapping
from dataclasses import replace

from tests.properties.oracle import Group, Query, World, root
from tests.properties.strategies import AGGREGATES, TRAITS, UNKNOWN

# Takes a query and returns one with the feature, or None if that is not possible.
Addition = Callable[[random.Random, World, Query], Query | None]


def whole_query(rng: random.Random, world: World, query: Query, feature: str) -> Query | None:
    """The query with one feature, and sometimes others; None if that is not possible."""
    whole = FEATURES[feature](rng, world, query)
    for name, add in FEATURES.items():
        if whole is not None and name != feature and rng.random() < 0.15:
            whole = add(rng, world, whole) or whole
    return whole


def _without_policy(rng: random.Random, world: World, query: Query) -> Query | None:
    several = sum(bool(group.suffix) for group in query.groups) > 1
    return replace(query, group_policy=None) if several else None


def _with_choice_of_root_traits(rng: random.Random, world: World, query: Query) -> Query | None:
    traits = list(TRAITS)
    terms = [frozenset(rng.sample(traits, rng.randint(1, 3))) for _ in range(rng.randint(1, 2))]
    wanted = tuple(
        term for term in (*query.root_required, *terms) if not term <= query.root_forbidden
    )
    several = any(len(term) > 1 for term in wanted)
    return replace(query, root_required=tuple(dict.fromkeys(wanted))) if several else None


def _with_root_member_of(rng: random.Random, world: World, query: Query) -> Query | None:
    aggregates = [*AGGREGATES] * 4 + [UNKNOWN]
    anchors = [each.aggregates for each in world.values() if each.parent is None]
    usual = sorted(rng.choice(anchors)) or aggregates
    terms = [
        frozenset({rng.choice(usual), *rng.sample(aggregates, rng.choice((0, 0, 1, 2)))})
        for _ in range(rng.choice((0, 1, 1, 1, 2)))
    ]
    barred = (
        frozenset(rng.sample(aggregates, 1)) if not terms or rng.random() < 0.2 else frozenset()
    )
    return replace(query, root_member_of=tuple(dict.fromkeys(terms)), root_not_member_of=barred)


def _with_subtree(rng: random.Random, world: World, query: Query) -> Query | None:
    place = rng.randrange(len(query.groups))
    top = rng.choice(sorted(world))
    if rng.random() < 0.5:
        top = root(world, top)
    if rng.random() < 0.03:
        top = UNKNOWN
    return replace(query, groups=_changed(query.groups, place, subtree=top))


def _with_isolate(rng: random.Random, world: World, query: Query) -> Query | None:
    suffixes = [group.suffix for group in query.groups if group.suffix]
    if not suffixes:
        return None
    isolated = frozenset(rng.sample(suffixes, rng.randint(1, max(1, len(suffixes) - 1))))
    return replace(query, group_policy=None, isolate=isolated)


def _with_negation(rng: random.Random, world: World, query: Query) -> Query | None:
    suffixes = [group.suffix for group in query.groups if group.suffix]
    if len(suffixes) < 2:
        return None
    rng.shuffle(suffixes)
    positive = rng.randint(1, len(suffixes) - 1)
    negated = rng.randint(1, len(suffixes) - positive)
    outside = tuple(f"!{suffix}" for suffix in suffixes[positive : positive + negated])
    rule = (*suffixes[:positive], *outside)
    rules = rng.sample(query.same_subtree, rng.randint(0, len(query.same_subtree)))
    # A group without resources must be part of a rule.
    kept = query.same_subtree if any(not group.resources for group in query.groups) else rules
    return replace(query, same_subtree=(*kept, rule))


def _with_can_split(rng: random.Random, world: World, query: Query) -> Query | None:
    """Classes that several providers of one tree have, mostly with more than one of them offers."""
    tops = {uuid: root(world, uuid) for uuid in world}
    top = rng.choice(sorted(tops.values()))
    rooms: dict[str, list[int]] = {}
    for uuid, provider in world.items():
        for name, stock in provider.inventories.items():
            room = min(stock.capacity - stock.used, stock.max_unit)
            if tops[uuid] == top and room > 0:
                rooms.setdefault(name, []).append(room)
    usable = sorted(name for name, parts in rooms.items() if len(parts) > 1)
    if not usable:
        return None
    amounts: dict[str, int] = {}
    for name in rng.sample(usable, rng.choice((1, 1, min(2, len(usable))))):
        most = min(sum(rooms[name]), 24)
        amounts[name] = rng.randint(min(most, max(rooms[name]) + 1), most)
        if rng.random() < 0.2:
            amounts[name] = rng.randint(1, most)
    groups = [group for group in query.groups if group.suffix]
    unsuffixed = [group for group in query.groups if not group.suffix] or [Group("")]
    group = unsuffixed[0]
    # Sometimes keep the other conditions of the group, which then seldom fit in one tree.
    kept = group.resources if rng.random() < 0.4 else {}
    group = replace(group, resources={**kept, **amounts}, can_split=frozenset(amounts))
    if not query.same_subtree and not query.isolate:
        groups = groups[: rng.choice((0, 1, 1, 2, 4))]
    return replace(query, groups=(group, *groups))


def _changed(groups: tuple[Group, ...], place: int, **changes: object) -> tuple[Group, ...]:
    changed = replace(groups[place], **changes)  # type: ignore[arg-type]
    return (*groups[:place], changed, *groups[place + 1 :])


FEATURES: Mapping[str, Addition] = {
    "no group_policy": _without_policy,
    "root_required=in:": _with_choice_of_root_traits,
    "root_member_of": _with_root_member_of,
    "subtree": _with_subtree,
    "isolate": _with_isolate,
    "same_subtree=!": _with_negation,
    "can_split": _with_can_split,
}
