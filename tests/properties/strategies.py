"""Random clouds and valid requests, for Hypothesis or, faster, for `random.Random`.

Both use one `Dice`, whose only primitive is an integer in a range. So bulk runs and Hypothesis,
which shrinks towards 0 and hence towards small and simple examples, generate the same things.
"""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from hypothesis import strategies as st

from tests.properties.oracle import SHARING, Group, Inventory, Provider, Query, World

CLASSES = ("VCPU", "DISK_GB", "SRIOV_NET_VF", "MEMORY_MB", "CUSTOM_FPGA")
TRAITS = ("HW_CPU_X86_AVX2", "STORAGE_DISK_SSD", "CUSTOM_GOLD", "CUSTOM_NUMA")
AGGREGATES = tuple(f"a0000000-0000-4000-8000-{number:012d}" for number in range(3))
UNKNOWN = "f0000000-0000-4000-8000-000000000000"
"""A UUID that no provider and no aggregate of any world has."""

SUFFIXES = ("1", "2", "_A", "_net-0", "_B", "_NUMA")
MAX_PROVIDERS = 8
MAX_TREES = 4
MAX_DEPTH = 3

T = TypeVar("T")


class Dice:
    """Choices, all derived from `between(low, high)`; 0 is the simplest."""

    def __init__(self, between: Callable[[int, int], int]) -> None:
        self.between = between

    def chance(self, percent: int) -> bool:
        return self.between(0, 99) >= 100 - percent

    def pick(self, options: Sequence[T]) -> T:
        return options[self.between(0, len(options) - 1)]

    def weighted(self, *weights: int) -> int:
        """An index with the probability of its weight; the weights add up to 100."""
        roll = self.between(0, 99)
        return next(i for i in range(len(weights)) if roll < sum(weights[: i + 1]))

    def each(self, options: Iterable[T], percent: int) -> list[T]:
        """Each option with the same probability."""
        return [option for option in options if self.chance(percent)]

    def some(self, options: Iterable[T], most: int) -> list[T]:
        """One to `most` different options, or none if there are none."""
        left = list(options)
        count = self.between(min(1, len(left)), min(most, len(left)))
        return [left.pop(self.between(0, len(left) - 1)) for _ in range(count)]


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """A forest of 1 to 8 providers; parents precede their children."""
    return roll_world(Dice(lambda low, high: draw(st.integers(low, high))))


@st.composite
def queries(draw: st.DrawFn, world: World) -> Query:
    """A request that is valid at 1.39 and likely to have candidates in this world."""
    return roll_query(Dice(lambda low, high: draw(st.integers(low, high))), world)


def seeded_world(rng: random.Random) -> World:
    """As `worlds`, without Hypothesis."""
    return roll_world(Dice(rng.randint))


def seeded_query(rng: random.Random, world: World) -> Query:
    """As `queries`, without Hypothesis."""
    return roll_query(Dice(rng.randint), world)


def roll_world(dice: Dice) -> World:
    first = dice.between(0, 2)
    classes = CLASSES[first : first + dice.between(2, 3)]
    aggregates = AGGREGATES[: dice.between(2, 3)]
    traits = TRAITS[: dice.between(3, 4)]
    depths: dict[str, int] = {}
    world: dict[str, Provider] = {}
    for number in range(1 + dice.between(0, MAX_PROVIDERS - 1)):
        uuid = f"{number:08x}-0000-4000-8000-000000000000"
        parent = _roll_parent(dice, depths)
        depths[uuid] = 1 if parent is None else depths[parent] + 1
        shares = dice.chance(35 if parent is None else 12)
        world[uuid] = Provider(
            uuid=uuid,
            name=f"provider-{number}",
            parent=parent,
            inventories={
                name: _roll_inventory(dice)
                for name in dice.each(classes, 65 if parent is None or shares else 60)
            },
            traits=frozenset(dice.each(traits, 35)) | ({SHARING} if shares else set()),
            aggregates=frozenset(dice.each(aggregates, 60 if shares else 30)),
        )
    return world


def _roll_parent(dice: Dice, depths: dict[str, int]) -> str | None:
    """Return the parent, or None for a new root. Trees grow alternately, so their ids are mixed."""
    trees = sum(depth == 1 for depth in depths.values())
    if not depths or (trees < MAX_TREES and dice.chance(32)):
        return None
    return dice.pick([uuid for uuid, depth in depths.items() if depth < MAX_DEPTH])


def _roll_inventory(dice: Dice) -> Inventory:
    total = dice.pick((8, 4, 16, 2, 10, 1))
    stock = Inventory(
        total=total,
        reserved=dice.between(0, total) if dice.chance(15) else 0,
        min_unit=dice.between(2, 3) if dice.chance(12) else 1,
        max_unit=dice.between(1, 4) if dice.chance(25) else Inventory.max_unit,
        step_size=dice.between(2, 3) if dice.chance(12) else 1,
        allocation_ratio=dice.pick((1.5, 2.0, 0.5, 0.7, 1.1, 3.3)) if dice.chance(30) else 1.0,
    )
    most = (0, stock.capacity, stock.capacity + 2)[dice.weighted(65, 28, 7)]
    return replace(stock, used=dice.between(0, most))


def roll_query(dice: Dice, world: World) -> Query:
    """A request that usually aims at one tree and the sharing providers."""
    home = _roll_home(dice, world)
    groups = _roll_groups(dice, world, home)
    suffixes = [group.suffix for group in groups if group.suffix]
    bare = [group.suffix for group in groups if not group.resources]
    root = _root_of(world, home[0])
    root_required = _subset_of(dice, root.traits, 1) if dice.chance(10) else set()
    root_forbidden = _subset_of(dice, set(TRAITS) - root.traits, 1) if dice.chance(8) else set()
    if dice.chance(5):
        root_forbidden = {dice.pick((*TRAITS, SHARING))} - root_required
    return Query(
        groups=tuple(groups),
        group_policy=_roll_policy(dice, len(suffixes)),
        same_subtree=_roll_subtrees(dice, suffixes, bare),
        root_required=tuple(frozenset({name}) for name in sorted(root_required)),
        root_forbidden=frozenset(root_forbidden),
    )


def _roll_home(dice: Dice, world: World) -> list[Provider]:
    """The providers to aim at; the first is in the most important tree."""
    everyone = list(world.values())
    useful = [p for p in everyone if _takable(p)]
    start = _root_of(world, dice.pick(useful or everyone))
    members = [p for p in everyone if _root_of(world, p) == start]
    sharing = [
        p
        for p in everyone
        if p not in members
        and SHARING in p.traits
        and any(p.aggregates & member.aggregates for member in members)
    ]
    strangers = [p for p in everyone if p not in members and p not in sharing]
    return members + sharing + (strangers if dice.chance(10) else [])


def _roll_groups(dice: Dice, world: World, home: list[Provider]) -> list[Group]:
    suffixed = dice.weighted(25, 28, 26, 14, 7)
    suffixes = dice.some(SUFFIXES, 1) if suffixed == 1 else list(SUFFIXES[:suffixed])
    if suffixed > 1 and dice.chance(50):
        suffixes = list(SUFFIXES[-suffixed:])
    groups: list[Group] = []
    if not suffixes or dice.chance(50):
        groups.append(_roll_unsuffixed(dice, world, home, most=2 if suffixed > 1 else 3))
    for suffix in suffixes:
        bare = bool(groups) and dice.chance(22)
        groups.insert(dice.between(0, len(groups)), _roll_suffixed(dice, world, home, suffix, bare))
    return groups


def _roll_unsuffixed(dice: Dice, world: World, home: list[Provider], most: int) -> Group:
    """One to `most` classes, each aimed at a provider."""
    resources: dict[str, int] = {}
    aims: list[Provider] = []
    for provider in [dice.pick(_preferred(home)) for _ in range(dice.between(1, most))]:
        resources |= _roll_resources(dice, provider, 1)
        aims.append(provider)
    root = _root_of(world, home[0])
    traits = frozenset[str]().union(*(aim.traits for aim in aims))
    aggregates = root.aggregates if dice.chance(70) else dice.pick(aims).aggregates
    return _roll_filters(dice, Group("", resources), home[0], traits, aggregates, 14)


def _roll_suffixed(
    dice: Dice, world: World, home: list[Provider], suffix: str, bare: bool
) -> Group:
    if bare:
        aim = dice.pick(home)
        group = _roll_filters(dice, Group(suffix), aim, aim.traits, aim.aggregates, 35)
        if group == Group(suffix):
            wanted = dice.pick(sorted(aim.traits) or TRAITS)
            group = replace(group, required=(frozenset({wanted}),))
        return group
    aim = dice.pick(_preferred(home))
    resources = _roll_resources(dice, aim, dice.weighted(0, 75, 25))
    return _roll_filters(dice, Group(suffix, resources), aim, aim.traits, aim.aggregates, 12)


def _takable(provider: Provider) -> list[str]:
    """The classes for which the provider has capacity."""
    return [name for name, stock in provider.inventories.items() if stock.has_room(1)]


def _preferred(home: list[Provider]) -> list[Provider]:
    return [provider for provider in home if _takable(provider)] or home


def _roll_resources(dice: Dice, provider: Provider, most: int) -> dict[str, int]:
    """Amounts that usually fit this provider."""
    resources: dict[str, int] = {}
    for name in dice.some(_takable(provider) or provider.inventories or CLASSES[:2], most):
        amount = dice.weighted(55, 20, 15, 10) + 1
        stock = provider.inventories.get(name)
        if stock is not None and not stock.fits(amount) and dice.chance(80):
            fitting = [n for n in range(1, 10) if stock.fits(n)]
            amount = dice.pick(fitting or [amount])
        resources[name] = amount
    return resources


def _roll_filters(
    dice: Dice,
    group: Group,
    aim: Provider,
    traits: frozenset[str],
    aggregates: frozenset[str],
    percent: int,
) -> Group:
    """The group with filters that these traits and aggregates usually satisfy."""
    required = _roll_terms(dice, traits, TRAITS, percent)
    forbidden = _roll_unwanted(dice, traits, (*TRAITS, SHARING), percent)
    in_tree: str | None = None
    if dice.chance(percent // 2):
        in_tree = UNKNOWN if dice.chance(5) else aim.uuid
    return replace(
        group,
        # At least one name of a term must not be forbidden.
        required=tuple(term for term in required if not term <= forbidden),
        forbidden=forbidden,
        member_of=_roll_terms(dice, aggregates, (*AGGREGATES, UNKNOWN), percent),
        not_member_of=_roll_unwanted(dice, aggregates, (*AGGREGATES, UNKNOWN), percent // 2),
        in_tree=in_tree,
    )


def _roll_terms(
    dice: Dice, met: frozenset[str], known: Sequence[str], percent: int
) -> tuple[frozenset[str], ...]:
    """Any-of terms, rarely more than one, usually with a member of `met`."""
    terms: list[frozenset[str]] = []
    while len(terms) < 3 and dice.chance(percent):
        term = _subset_of(dice, met if met and dice.chance(90) else set(known), 1)
        if dice.chance(35):
            term |= _subset_of(dice, known, 2)
        if frozenset(term) not in terms:
            terms.append(frozenset(term))
    return tuple(terms)


def _roll_unwanted(
    dice: Dice, met: frozenset[str], known: Sequence[str], percent: int
) -> frozenset[str]:
    """Names to exclude, usually none of `met`."""
    if not dice.chance(percent):
        return frozenset()
    options = [name for name in known if name not in met] if dice.chance(85) else known
    return frozenset(_subset_of(dice, options, 2))


def _roll_policy(dice: Dice, suffixed: int) -> str | None:
    if suffixed < 2 and dice.chance(40):
        return None
    return "isolate" if dice.chance(35) else "none"


def _roll_subtrees(dice: Dice, suffixes: list[str], bare: list[str]) -> tuple[tuple[str, ...], ...]:
    """Each group without resources in one subtree; otherwise seldom any."""
    subtrees: list[tuple[str, ...]] = []
    if bare:
        others = [suffix for suffix in suffixes if suffix not in bare]
        subtrees.append((*dice.each(others, 60), *bare))
    while suffixes and len(subtrees) < 3 and dice.chance(15):
        subtrees.append(tuple(dice.some(suffixes, len(suffixes))))
    return tuple(subtrees)


def _root_of(world: World, provider: Provider) -> Provider:
    parent = provider.parent
    return provider if parent is None else _root_of(world, world[parent])


def _subset_of(dice: Dice, names: Iterable[str], most: int) -> set[str]:
    return set(dice.some(sorted(names), most))
