"""A brute-force `GET /allocation_candidates` (microversions 1.39 and 2.0), from definitions alone.

It builds all products first and filters them afterwards. It shares no code with the service,
because the two are compared. Section numbers refer to the page on allocation candidates in the
contract of the API.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from typing import Any

SHARING = "MISC_SHARES_VIA_AGGREGATE"


@dataclass(frozen=True)
class Inventory:
    """The inventory of one class of a provider, with its usage."""

    total: int
    reserved: int = 0
    min_unit: int = 1
    max_unit: int = 2147483647
    step_size: int = 1
    allocation_ratio: float = 1.0
    used: int = 0

    @property
    def capacity(self) -> int:
        """The integer capacity (section 11)."""
        return math.floor((self.total - self.reserved) * self.allocation_ratio)

    @property
    def free(self) -> int:
        """What is not used of the capacity."""
        return self.capacity - self.used

    def has_room(self, amount: int) -> bool:
        """Whether `amount` more may be allocated; amounts are integers (section 4)."""
        return self.used + amount <= self.capacity

    def fits(self, amount: int) -> bool:
        """Whether one group may take `amount` from here (section 4)."""
        return self.has_room(amount) and self.allows(amount)

    def allows(self, amount: int) -> bool:
        """Whether the units allow `amount`."""
        return self.min_unit <= amount <= self.max_unit and amount % self.step_size == 0


@dataclass(frozen=True)
class Provider:
    """A resource provider; `parent` is the UUID of the provider above it, if any."""

    uuid: str
    name: str
    parent: str | None = None
    inventories: Mapping[str, Inventory] = field(default_factory=dict)
    traits: frozenset[str] = frozenset()
    aggregates: frozenset[str] = frozenset()

    def fits(self, resources: Mapping[str, int]) -> bool:
        """Whether this provider alone offers every listed amount (section 4)."""
        return all(
            name in self.inventories and self.inventories[name].fits(amount)
            for name, amount in resources.items()
        )


def refusal(inventory: Inventory, amount: int) -> str:
    """The code of an inventory that an amount does not fit."""
    most = max(amount, inventory.capacity) + inventory.step_size + inventory.min_unit
    allowed = [each for each in range(1, most) if inventory.allows(each)]
    near = allowed
    if amount <= inventory.max_unit:
        near = [
            max([each for each in allowed if each <= amount], default=0),
            min([each for each in allowed if each >= amount], default=0),
        ]
    if allowed and not any(each and inventory.fits(each) for each in near):
        return "capacity"
    if amount < inventory.min_unit:
        return "min_unit"
    if amount > inventory.max_unit:
        return "max_unit"
    return "capacity" if inventory.allows(amount) else "step_size"


World = Mapping[str, Provider]


@dataclass(frozen=True)
class Group:
    """The parameters of one suffix, `""` being the unsuffixed group (section 1).

    `required` and `member_of` are ANDs of any-of sets; a plain name is a set of one.
    """

    suffix: str
    resources: Mapping[str, int] = field(default_factory=dict)
    required: tuple[frozenset[str], ...] = ()
    forbidden: frozenset[str] = frozenset()
    member_of: tuple[frozenset[str], ...] = ()
    not_member_of: frozenset[str] = frozenset()
    in_tree: str | None = None
    subtree: str | None = None
    can_split: frozenset[str] = frozenset()

    def to_params(self) -> list[tuple[str, str]]:
        """The query parameters of this group (section 2)."""
        pairs: list[tuple[str, str]] = []
        if self.resources:
            items = (f"{name}:{amount}" for name, amount in self.resources.items())
            pairs.append(("resources", ",".join(items)))
        pairs += [("required", _any_of(names)) for names in self.required]
        if self.forbidden:
            pairs.append(("required", _signed((), self.forbidden)))
        pairs += [("member_of", _any_of(names)) for names in self.member_of]
        if self.not_member_of:
            pairs.append(("member_of", "!" + _any_of(self.not_member_of)))
        if self.in_tree is not None:
            pairs.append(("in_tree", self.in_tree))
        if self.subtree is not None:
            pairs.append(("subtree", self.subtree))
        if self.can_split:
            pairs.append(("can_split", ",".join(sorted(self.can_split))))
        return [(key + self.suffix, value) for key, value in pairs]

    def to_body(self) -> dict[str, Any]:
        """The group as JSON, without empty members."""
        body: dict[str, Any] = {
            "resources": dict(self.resources),
            "required": [_one_or_several(names) for names in self.required],
            "forbidden": sorted(self.forbidden),
            "member_of": [_one_or_several(names) for names in self.member_of],
            "not_member_of": sorted(self.not_member_of),
            "in_tree": self.in_tree,
            "subtree": self.subtree,
            "can_split": sorted(self.can_split),
        }
        return {key: value for key, value in body.items() if value}


@dataclass(frozen=True)
class Query:
    """A whole request (section 2); in `same_subtree`, "!" precedes a negated suffix."""

    groups: tuple[Group, ...]
    group_policy: str | None = None
    same_subtree: tuple[tuple[str, ...], ...] = ()
    root_required: tuple[frozenset[str], ...] = ()
    root_forbidden: frozenset[str] = frozenset()
    root_member_of: tuple[frozenset[str], ...] = ()
    root_not_member_of: frozenset[str] = frozenset()
    isolate: frozenset[str] = frozenset()
    tolerate: frozenset[str] = frozenset()
    taints: frozenset[str] = frozenset()
    """Those of the service, which are no part of what is sent."""
    exclusive: frozenset[str] = frozenset()
    """The traits of cards, which are options of the service too."""
    full_hosts: frozenset[str] = frozenset()
    """The roots that a spread group has filled, which is no part of what is sent either."""

    @property
    def untolerated(self) -> frozenset[str]:
        """The taints that leave a tree out: those that the request neither tolerates nor names."""
        required = [*self.root_required, *(term for g in self.groups for term in g.required)]
        return self.taints - self.tolerate.union(*required)

    def to_params(self) -> list[tuple[str, str]]:
        """The query string, as pairs in a stable order (section 2)."""
        pairs = [pair for group in self.groups for pair in group.to_params()]
        if self.group_policy is not None:
            pairs.append(("group_policy", self.group_policy))
        if self.isolate:
            pairs.append(("isolate", ",".join(sorted(self.isolate))))
        pairs += [("same_subtree", ",".join(suffixes)) for suffixes in self.same_subtree]
        traits = [name for names in self.root_required if len(names) == 1 for name in names]
        if traits or self.root_forbidden:
            pairs.append(("root_required", _signed(traits, self.root_forbidden)))
        several = [names for names in self.root_required if len(names) > 1]
        pairs += [("root_required", _any_of(names)) for names in several]
        pairs += [("root_member_of", _any_of(names)) for names in self.root_member_of]
        if self.root_not_member_of:
            pairs.append(("root_member_of", "!" + _any_of(self.root_not_member_of)))
        if self.tolerate:
            pairs.append(("tolerate", ",".join(sorted(self.tolerate))))
        return pairs

    def to_body(self) -> dict[str, Any]:
        """The request as JSON."""
        root = {
            "required": [_one_or_several(names) for names in self.root_required],
            "forbidden": sorted(self.root_forbidden),
            "member_of": [_one_or_several(names) for names in self.root_member_of],
            "not_member_of": sorted(self.root_not_member_of),
        }
        rules = [
            {
                "of": [suffix for suffix in suffixes if not suffix.startswith("!")],
                "not": [suffix[1:] for suffix in suffixes if suffix.startswith("!")],
            }
            for suffixes in self.same_subtree
        ]
        body: dict[str, Any] = {
            "groups": {group.suffix: group.to_body() for group in self.groups},
            "group_policy": self.group_policy,
            "isolate": sorted(self.isolate),
            "same_subtree": rules,
            "root": root,
            "tolerate": sorted(self.tolerate),
        }
        return {key: value for key, value in body.items() if value}


@dataclass(frozen=True)
class Candidate:
    """One candidate: provider → (class, amount), and suffix → providers.

    Equality is that of the contract: allocations and mappings, without the anchor (section 8).
    `split` is whether several providers serve a class of the unsuffixed group, which a response
    does not show.
    """

    allocations: frozenset[tuple[str, frozenset[tuple[str, int]]]]
    mappings: frozenset[tuple[str, frozenset[str]]]
    split: bool = field(default=False, compare=False)


def parse_answer(body: Mapping[str, Any]) -> set[Candidate]:
    """The candidates of a response body at 1.39 (section 11)."""
    return {
        Candidate(
            allocations=frozenset(
                (uuid, frozenset(allocation["resources"].items()))
                for uuid, allocation in request["allocations"].items()
            ),
            mappings=frozenset(
                (suffix, frozenset(uuids)) for suffix, uuids in request["mappings"].items()
            ),
        )
        for request in body["allocation_requests"]
    }


@dataclass(frozen=True)
class Match:
    """One way to serve one group: its providers, and (provider, class, amount) for each class."""

    providers: frozenset[str]
    amounts: tuple[tuple[str, str, int], ...]

    @property
    def split(self) -> bool:
        """Whether several providers serve a class."""
        return len({name for _uuid, name, _amount in self.amounts}) < len(self.amounts)


Choice = Mapping[str, Match]
"""One match for each group, keyed by suffix."""

Serving = tuple[tuple[Provider, int], ...]
"""Who gives how much of one class: one provider all of it, or several their parts."""


def candidates(world: World, query: Query) -> set[Candidate]:
    """Every candidate of the query: all combinations of each anchor, filtered (section 8)."""
    return {_candidate(choice) for _anchor, choice in _choices(world, query)}


def anchored(world: World, query: Query) -> Iterator[tuple[str, Candidate]]:
    """Every candidate with each anchor at which it is found."""
    for anchor, choice in _choices(world, query):
        yield anchor, _candidate(choice)


def is_in_pool(world: World, anchor: str, uuid: str) -> bool:
    """Whether a provider can be used at an anchor."""
    return anchor in _anchors(world, world[uuid])


def served(world: World, query: Query) -> set[str]:
    """The hosts that have a candidate, including candidates of sharing providers only."""
    return {anchor for anchor, _choice in _choices(world, query)} & hosts(world)


def hosts(world: World) -> set[str]:
    """The roots of all trees, except for those that only share classes that no host has.

    Providers without inventories do not matter, if the tree has a sharing provider.
    """
    trees: dict[str, list[Provider]] = {}
    for provider in world.values():
        trees.setdefault(root(world, provider.uuid), []).append(provider)
    return {
        uuid
        for uuid, members in trees.items()
        if all(SHARING not in each.traits for each in members)
        or any(
            SHARING not in each.traits or {"VCPU", "PCPU", "MEMORY_MB"} & each.inventories.keys()
            for each in members
            if each.inventories
        )
    }


def _choices(world: World, query: Query) -> Iterator[tuple[str, Choice]]:
    world = {
        uuid: provider
        for uuid, provider in world.items()
        if not world[root(world, uuid)].traits & query.untolerated
    }
    cards = {uuid for uuid, provider in world.items() if provider.traits & query.exclusive}
    world = _without_excluded(world, cards) if cards else world
    for anchor in (provider for provider in world.values() if provider.parent is None):
        if not _root_passes(anchor, query):
            continue
        pool = [p for p in world.values() if anchor.uuid in _anchors(world, p)]
        for choice in _combinations(world, query, anchor, pool):
            if anchor.uuid in query.full_hosts and _takes_from(world, anchor, choice):
                continue
            if _clash(world, cards, _totals(choice)):
                continue
            if _acceptable(world, query, choice):
                yield anchor.uuid, choice


def faces(world: World, cards: Collection[str], uuid: str, name: str) -> set[tuple[str, str]]:
    """The faces of cards that an amount uses: a class of the card itself, or what is below it."""
    lines = set(lineage(world, uuid))
    return {(card, name if card == uuid else "below") for card in lines & set(cards)}


def _clash(world: World, cards: Collection[str], amounts: Iterable[tuple[str, str]]) -> bool:
    """Whether amounts of (provider, class) use a card in several ways."""
    used = set().union(*(faces(world, cards, uuid, name) for uuid, name in amounts))
    return len(used) > len({card for card, _face in used})


def _without_excluded(world: World, cards: Collection[str]) -> World:
    """The world without the inventories that the use of a card excludes."""
    used = [
        (uuid, name)
        for uuid, provider in world.items()
        for name, inventory in provider.inventories.items()
        if inventory.used
    ]
    in_use = set().union(*(faces(world, cards, *each) for each in used))

    def is_excluded(uuid: str, name: str) -> bool:
        own = faces(world, cards, uuid, name)
        touched = {card for card, _face in own}
        return any(card in touched for card, _face in in_use - own)

    return {
        uuid: replace(
            provider,
            inventories={
                name: inventory
                for name, inventory in provider.inventories.items()
                if not is_excluded(uuid, name)
            },
        )
        for uuid, provider in world.items()
    }


def summaries(world: World, found: Iterable[Candidate]) -> dict[str, Any]:
    """`provider_summaries` for these candidates, traits sorted (section 11)."""
    roots = {root(world, uuid) for candidate in found for uuid, _ in candidate.allocations}
    return {
        provider.uuid: {
            "resources": {
                name: {"capacity": inventory.capacity, "used": inventory.used}
                for name, inventory in provider.inventories.items()
            },
            "traits": sorted(provider.traits),
            "parent_provider_uuid": provider.parent,
            "root_provider_uuid": root(world, provider.uuid),
        }
        for provider in world.values()
        if root(world, provider.uuid) in roots
    }


def lineage(world: World, uuid: str) -> list[str]:
    """The provider, its parent and so on up to its root."""
    parent = world[uuid].parent
    return [uuid] if parent is None else [uuid, *lineage(world, parent)]


def root(world: World, uuid: str) -> str:
    """The root of the provider's tree."""
    return lineage(world, uuid)[-1]


def _anchors(world: World, provider: Provider) -> set[str]:
    """The roots at which the provider can be used: its own and shared ones (section 1)."""
    anchors = {root(world, provider.uuid)}
    if SHARING in provider.traits:
        anchors |= {
            root(world, other.uuid)
            for other in world.values()
            if other.aggregates & provider.aggregates
        }
    return anchors


def _root_passes(anchor: Provider, query: Query) -> bool:
    """The conditions on the root, evaluated even if the root serves nothing (section 8)."""
    return (
        all(anchor.traits & any_of for any_of in query.root_required)
        and not anchor.traits & query.root_forbidden
        and all(anchor.aggregates & any_of for any_of in query.root_member_of)
        and not anchor.aggregates & query.root_not_member_of
    )


def _combinations(
    world: World, query: Query, anchor: Provider, pool: Sequence[Provider]
) -> Iterator[Choice]:
    """All combinations of matches. Parts are made of what suffixed groups leave (2.0, splits e)."""
    suffixed = [group for group in query.groups if group.suffix]
    unsuffixed = [group for group in query.groups if not group.suffix]
    for chosen in product(*(list(_suffixed_matches(world, group, pool)) for group in suffixed)):
        choice = {group.suffix: match for group, match in zip(suffixed, chosen, strict=True)}
        taken = _totals(choice)
        if not unsuffixed:
            yield choice
        for group in unsuffixed:  # at most one
            for match in _unsuffixed_matches(world, group, anchor, pool, taken):
                yield {**choice, "": match}


def _suffixed_matches(world: World, group: Group, pool: Sequence[Provider]) -> Iterator[Match]:
    """One provider serves the whole group, with or without resources (section 5)."""
    for provider in pool:
        if (
            provider.fits(group.resources)
            and _has_traits(provider.traits, group)
            and _is_member(provider, group)
            and not provider.aggregates & group.not_member_of
            and _is_in_tree(world, provider, group)
            and _is_in_subtree(world, provider, group)
        ):
            yield Match(
                frozenset({provider.uuid}),
                tuple((provider.uuid, name, amount) for name, amount in group.resources.items()),
            )


def _unsuffixed_matches(
    world: World,
    group: Group,
    anchor: Provider,
    pool: Sequence[Provider],
    taken: Mapping[tuple[str, str], int],
) -> Iterator[Match]:
    """Each class from any provider of the pool (section 6), or in parts if that is allowed.

    `taken` is what the suffixed groups take of (provider, class).
    """
    servings = [
        list(_servings(world, group, anchor, pool, (name, amount), taken))
        for name, amount in group.resources.items()
    ]
    for chosen in product(*servings):
        amounts = tuple(
            (provider, name, units)
            for name, serving in zip(group.resources, chosen, strict=True)
            for provider, units in serving
        )
        providers = [provider for provider, _name, _units in amounts]
        if _has_traits(frozenset().union(*(p.traits for p in providers)), group) and all(
            _meets_alone(world, provider, group, anchor) for provider in providers
        ):
            yield Match(
                frozenset(provider.uuid for provider in providers),
                tuple((provider.uuid, name, units) for provider, name, units in amounts),
            )


def _meets_alone(world: World, provider: Provider, group: Group, anchor: Provider) -> bool:
    """Whether the provider satisfies the conditions on each provider of the group (section 6)."""
    return (
        not provider.traits & group.forbidden
        and _spanned_member(world, provider, group, anchor)
        and not (provider.aggregates | anchor.aggregates) & group.not_member_of
        and _is_in_tree(world, provider, group)
        and _is_in_subtree(world, provider, group)
    )


def _servings(
    world: World,
    group: Group,
    anchor: Provider,
    pool: Sequence[Provider],
    resource: tuple[str, int],
    taken: Mapping[tuple[str, str], int],
) -> Iterator[Serving]:
    """The ways to serve the amount of one class: each provider that fits, or one split (2.0)."""
    name, amount = resource
    yield from (((provider, amount),) for provider in pool if provider.fits({name: amount}))
    able = [
        provider
        for provider in pool
        if name in provider.inventories and _meets_alone(world, provider, group, anchor)
    ]
    left = {each.uuid: _left(each, name, taken.get((each.uuid, name), 0)) for each in able}
    if name not in group.can_split or any(inventory.fits(amount) for inventory in left.values()):
        return  # splits c: a single provider has all of it, of what other groups leave
    own = [provider for provider in able if root(world, provider.uuid) == anchor.uuid]  # splits a
    parts: list[tuple[Provider, int]] = []
    for provider in sorted(own, key=lambda each: (-left[each.uuid].free, each.uuid)):  # splits d
        missing = amount - sum(units for _provider, units in parts)
        fitting = [units for units in range(missing, 0, -1) if left[provider.uuid].fits(units)]
        parts += [(provider, units) for units in fitting[:1]]
    if sum(units for _provider, units in parts) == amount:
        yield tuple(parts)


def _left(provider: Provider, name: str, taken: int) -> Inventory:
    """An inventory after other groups of the candidate have taken from it (2.0, splits b)."""
    inventory = provider.inventories[name]
    return replace(inventory, used=inventory.used + taken, max_unit=inventory.max_unit - taken)


def _has_traits(traits: frozenset[str], group: Group) -> bool:
    """Whether these traits, of one provider or of several, satisfy the group."""
    return all(traits & any_of for any_of in group.required) and not traits & group.forbidden


def _is_member(provider: Provider, group: Group) -> bool:
    """Whether the provider itself satisfies all positive `member_of` terms."""
    return all(provider.aggregates & any_of for any_of in group.member_of)


def _spanned_member(world: World, provider: Provider, group: Group, anchor: Provider) -> bool:
    """As `_is_member`, but aggregates of the root count for its whole tree (section 6)."""
    in_anchor_tree = root(world, provider.uuid) == anchor.uuid
    return _is_member(provider, group) or (in_anchor_tree and _is_member(anchor, group))


def _is_in_tree(world: World, provider: Provider, group: Group) -> bool:
    """Whether the provider is in the tree of `in_tree`, which may be unknown."""
    return group.in_tree is None or (
        group.in_tree in world and root(world, group.in_tree) == root(world, provider.uuid)
    )


def _is_in_subtree(world: World, provider: Provider, group: Group) -> bool:
    """Whether the provider is in the subtree of `subtree`, which may be unknown."""
    return group.subtree is None or group.subtree in lineage(world, provider.uuid)


def _takes_from(world: World, anchor: Provider, choice: Choice) -> bool:
    """Whether a choice takes anything from the tree of its anchor."""
    return any(root(world, uuid) == anchor.uuid for uuid, _name in _totals(choice))


def _acceptable(world: World, query: Query, choice: Choice) -> bool:
    """The filters on several groups (section 8)."""
    return (
        (query.group_policy != "isolate" or _is_isolated(choice))
        and all(_is_alone(choice, suffix) for suffix in query.isolate)
        and all(_is_subtree(world, choice, suffixes) for suffixes in query.same_subtree)
        and _has_capacity(world, choice)
    )


def _is_isolated(choice: Choice) -> bool:
    """Whether all suffixed groups use different providers."""
    suffixed = [match.providers for suffix, match in choice.items() if suffix]
    return not any(one & other for one, other in combinations(suffixed, 2))


def _is_alone(choice: Choice, suffix: str) -> bool:
    """Whether the provider of this group serves no other suffixed group."""
    others = [match.providers for other, match in choice.items() if other not in ("", suffix)]
    return not any(choice[suffix].providers & providers for providers in others)


def _is_subtree(world: World, choice: Choice, suffixes: Collection[str]) -> bool:
    """Whether one provider of the listed groups is an ancestor of all others, or equal to them.

    And whether the providers of negated groups are outside the subtree of that provider.
    """
    positive = [suffix for suffix in suffixes if not suffix.startswith("!")]
    negated = [suffix.removeprefix("!") for suffix in suffixes if suffix.startswith("!")]
    chosen = frozenset[str]().union(*(choice[suffix].providers for suffix in positive))
    outside = frozenset[str]().union(*(choice[suffix].providers for suffix in negated))
    return any(
        all(top in lineage(world, uuid) for uuid in chosen)
        and not any(top in lineage(world, uuid) for uuid in outside)
        for top in chosen
    )


def _has_capacity(world: World, choice: Choice) -> bool:
    """Whether each provider has room for the sum of the groups' amounts."""
    return all(
        world[uuid].inventories[name].has_room(total)
        and total <= world[uuid].inventories[name].max_unit
        for (uuid, name), total in _totals(choice).items()
    )


def _totals(choice: Choice) -> Counter[tuple[str, str]]:
    """The sum over all groups for each (provider, class)."""
    totals: Counter[tuple[str, str]] = Counter()
    for match in choice.values():
        for uuid, name, amount in match.amounts:
            totals[uuid, name] += amount
    return totals


def _candidate(choice: Choice) -> Candidate:
    """The candidate of a choice: sums, and the providers of each group (section 11)."""
    resources: dict[str, set[tuple[str, int]]] = {}
    for (uuid, name), total in _totals(choice).items():
        resources.setdefault(uuid, set()).add((name, total))
    return Candidate(
        allocations=frozenset((uuid, frozenset(items)) for uuid, items in resources.items()),
        mappings=frozenset((suffix, match.providers) for suffix, match in choice.items()),
        split=any(match.split for match in choice.values()),
    )


def _any_of(names: Collection[str]) -> str:
    """A set of alternatives as a parameter value."""
    return ",".join(names) if len(names) == 1 else "in:" + ",".join(sorted(names))


def _signed(wanted: Iterable[str], unwanted: Iterable[str]) -> str:
    """Required and forbidden traits as one parameter value."""
    return ",".join([*sorted(wanted), *("!" + name for name in sorted(unwanted))])


def _one_or_several(names: Collection[str]) -> str | list[str]:
    """A set of alternatives as JSON: a name, or a list of names."""
    return sorted(names) if len(names) > 1 else next(iter(names))
