"""What an older microversion can express and shows, in terms of the newest (README section 13)."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from tests.properties import oracle
from tests.properties.oracle import Candidate, Group, Query, World

Amounts = frozenset[tuple[str, frozenset[tuple[str, int]]]]

NUMBERED, SUFFIXED = 25, 33  # the first versions of request groups


def expressible(query: Query, minor: int) -> Query | None:
    """The query without features that version 1.`minor` lacks; None if nothing is left."""
    groups = [
        _without_later_constraints(group, minor)
        for group in query.groups
        if group.resources and (minor >= NUMBERED or not group.suffix)
    ]
    if minor < SUFFIXED:
        groups = [
            replace(group, suffix=str(number)) if group.suffix else group
            for number, group in enumerate(groups, 1)
        ]
    several = sum(bool(group.suffix) for group in groups) > 1
    policy = query.group_policy or ("none" if several else None)
    return Query(tuple(groups), policy if minor >= NUMBERED else None) if groups else None


def _without_later_constraints(group: Group, minor: int) -> Group:
    return replace(
        group,
        required=tuple(term for term in group.required if len(term) == 1) if minor >= 17 else (),
        forbidden=group.forbidden if minor >= 22 else frozenset(),
        member_of=group.member_of[: len(group.member_of) if minor >= 24 else 1 * (minor >= 21)],
        not_member_of=group.not_member_of if minor >= 32 else frozenset(),
        in_tree=group.in_tree if minor >= 31 else None,
    )


def to_params(query: Query) -> list[tuple[str, str]]:
    """The query string of a version that reads only one `required` of a group."""
    pairs: list[tuple[str, str]] = []
    for group in query.groups:
        pairs += replace(group, required=(), forbidden=frozenset()).to_params()
        items = [name for term in group.required for name in term]
        items += ["!" + name for name in group.forbidden]
        if items:
            pairs.append((f"required{group.suffix}", ",".join(items)))
    if query.group_policy is not None:
        pairs.append(("group_policy", query.group_policy))
    return pairs


def amounts(world: World, found: Collection[Candidate], minor: int) -> Counter[Amounts]:
    """Count the candidates in the form of the version."""
    return Counter(
        candidate.allocations
        for candidate in found
        if minor >= 29 or _one_provider_per_tree(world, candidate)
    )


def _one_provider_per_tree(world: World, candidate: Candidate) -> bool:
    roots = [oracle.root(world, uuid) for uuid, _ in candidate.allocations]
    return len(roots) == len(set(roots))


def parse_answer(body: Mapping[str, Any], minor: int) -> Counter[Amounts]:
    """The candidates of a response body: an object from 1.12, a list before."""
    return Counter(
        frozenset(
            (item["resource_provider"]["uuid"], frozenset(item["resources"].items()))
            for item in request["allocations"]
        )
        if minor < 12
        else frozenset(
            (uuid, frozenset(item["resources"].items()))
            for uuid, item in request["allocations"].items()
        )
        for request in body["allocation_requests"]
    )


def summaries(world: World, query: Query, shown: Collection[Amounts], minor: int) -> dict[str, Any]:
    """`provider_summaries` of the version for these candidates, traits sorted."""
    used = {uuid for candidate in shown for uuid, _ in candidate}
    roots = {oracle.root(world, uuid) for uuid in used}
    asked = {name for group in query.groups for name in group.resources}
    made: dict[str, Any] = {}
    for provider in world.values():
        root = oracle.root(world, provider.uuid)
        if root not in roots or (minor < 29 and provider.uuid not in used):
            continue
        summary: dict[str, Any] = {
            "resources": {
                name: {"capacity": inventory.capacity, "used": inventory.used}
                for name, inventory in provider.inventories.items()
                if minor >= 27 or name in asked
            }
        }
        if minor >= 17:
            summary["traits"] = sorted(provider.traits)
        if minor >= 29:
            summary |= {"parent_provider_uuid": provider.parent, "root_provider_uuid": root}
        made[provider.uuid] = summary
    return made
