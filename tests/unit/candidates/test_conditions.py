"""With which condition the database begins: what most of the trees so far had not."""

from collections import Counter

import pytest

from placement.candidates.stats import RootStats
from placement.candidates.trees.conditions import TreeCondition, choose_drivers
from placement.db.conditions import Driver, DrivingCondition, MemberCondition, RootCondition
from placement.vocabulary import ConditionKind, IdCondition

TRAIT, AGGREGATE = frozenset([7]), frozenset([3])
HAS_TRAIT = IdCondition(ConditionKind.ANY_TRAIT, TRAIT)
LACKS_TRAIT = IdCondition(ConditionKind.NO_TRAIT, TRAIT)
IN_AGGREGATE = IdCondition(ConditionKind.ANY_AGGREGATE, AGGREGATE)
CPU = MemberCondition(resources=((0, 4),))
CPU_WITH_TRAIT = MemberCondition((HAS_TRAIT,), resources=((0, 4),))
CPU_IN_AGGREGATE = MemberCondition((HAS_TRAIT, IN_AGGREGATE), resources=((0, 4),))
CPU_IN_PARTS = MemberCondition((LACKS_TRAIT,), parts_of=(0,))
SHARED_DISK = MemberCondition(resources=((2, 10),), reach=AGGREGATE)
NOTHING = MemberCondition((LACKS_TRAIT,))
ROOT = RootCondition()
ROOT_WITH_TRAIT = RootCondition((HAS_TRAIT,))


def stats(
    *unmet: int, with_capacity: tuple[int, ...] = (), wrong_root: int = 0, traits: int = 0
) -> RootStats:
    """The trees without a provider that serves the slot, although some have the capacity."""
    return RootStats(
        trees=64,
        wrong_root=wrong_root,
        unmet_slots=Counter(dict(enumerate(unmet))),
        unmet_with_capacity=Counter(dict(enumerate(with_capacity))),
        unmet_traits=Counter({frozenset(["T"]): traits}),
    )


@pytest.mark.parametrize(
    ("members", "root", "seen", "place", "driver"),
    [
        # No host was rejected: use the first condition, which is expected to be the rarest.
        ([CPU, CPU_WITH_TRAIT], ROOT, stats(), 0, Driver.RESOURCES),
        # The condition that most trees lacked, at any index.
        ([CPU, CPU_WITH_TRAIT], ROOT, stats(3, 60, with_capacity=(0, 60)), 1, Driver.TRAITS),
        ([CPU, CPU_WITH_TRAIT], ROOT, stats(60, 3), 0, Driver.RESOURCES),
        # As many: the earlier one.
        ([CPU, CPU_WITH_TRAIT], ROOT, stats(30, 30, with_capacity=(0, 30)), 0, Driver.RESOURCES),
        # Aggregates before traits before resources, where the capacity was there.
        ([CPU_IN_AGGREGATE], ROOT, stats(60, with_capacity=(60,)), 0, Driver.AGGREGATES),
        ([CPU_WITH_TRAIT], ROOT, stats(60, with_capacity=(31,)), 0, Driver.TRAITS),
        # If at most half of these trees lacked it, the capacity is the rare condition.
        ([CPU_WITH_TRAIT], ROOT, stats(60, with_capacity=(30,)), 0, Driver.RESOURCES),
        ([CPU_IN_AGGREGATE], ROOT, stats(60), 0, Driver.RESOURCES),
        # Resources that sharing providers may serve, and forbidden traits, do not select trees.
        ([SHARED_DISK, CPU], ROOT, stats(60, 3), 1, Driver.RESOURCES),
        ([NOTHING, CPU], ROOT, stats(60, 3), 1, Driver.RESOURCES),
        # Of an amount in parts, with any room of the class.
        ([CPU, CPU_IN_PARTS], ROOT, stats(3, 60), 1, Driver.PARTS),
        # A root's traits are begun with, unless more trees lacked something else.
        ([CPU], ROOT_WITH_TRAIT, stats(20, wrong_root=19), 0, Driver.RESOURCES),
    ],
)
def test_the_database_begins_with_what_most_trees_lacked(
    members: list[MemberCondition],
    root: RootCondition,
    seen: RootStats,
    place: int,
    driver: Driver,
) -> None:
    conditions = [TreeCondition(member, {slot}) for slot, member in enumerate(members)]
    assert choose_drivers(conditions, root, seen) == (DrivingCondition(members[place], driver),)


IN_TREE = MemberCondition((IdCondition(ConditionKind.TREE, frozenset([5])),), resources=((0, 4),))
OF_ROOT = DrivingCondition(MemberCondition(ROOT_WITH_TRAIT.terms), Driver.TRAITS)
OF_TREE = DrivingCondition(IN_TREE, Driver.TREE)
OF_DISK = DrivingCondition(SHARED_DISK, Driver.RESOURCES)


@pytest.mark.parametrize(
    ("members", "root", "seen", "driving"),
    [
        ([NOTHING], ROOT, stats(60), ()),
        ([CPU], ROOT_WITH_TRAIT, stats(), (OF_ROOT,)),
        ([CPU], ROOT_WITH_TRAIT, stats(20, wrong_root=20), (OF_ROOT,)),
        # A tree that serves nothing itself is not an anchor.
        ([SHARED_DISK], ROOT, stats(60), (OF_DISK,)),
        ([SHARED_DISK, SHARED_DISK], ROOT_WITH_TRAIT, stats(60), (OF_DISK, OF_DISK)),
        ([SHARED_DISK], ROOT_WITH_TRAIT, stats(20, wrong_root=1), (OF_ROOT,)),
        # No other condition selects fewer trees than the name of one.
        (
            [CPU_IN_AGGREGATE, IN_TREE],
            ROOT,
            stats(60, 3),
            (DrivingCondition(IN_TREE, Driver.TREE),),
        ),
    ],
)
def test_other_selections_of_trees(
    members: list[MemberCondition],
    root: RootCondition,
    seen: RootStats,
    driving: tuple[DrivingCondition, ...],
) -> None:
    conditions = [TreeCondition(member, {slot}) for slot, member in enumerate(members)]
    assert choose_drivers(conditions, root, seen) == driving


def test_slots_that_ask_the_same_and_collective_traits_are_added_up() -> None:
    shared = TreeCondition(CPU, {0, 2})
    collective = TreeCondition(MemberCondition((HAS_TRAIT,)), set(), {frozenset(["T"])})
    seen = stats(10, 25, 20, traits=26)
    assert shared.unmet(seen) == 30
    # Where a set of traits was all that lacked, the capacity was there.
    assert (collective.unmet(seen), collective.unmet_with_capacity(seen)) == (26, 26)
    assert choose_drivers([collective, shared], ROOT, seen) == (
        DrivingCondition(CPU, Driver.RESOURCES),
    )
    fewer = stats(10, 25, 10, traits=26)
    assert choose_drivers([collective, shared], ROOT, fewer) == (
        DrivingCondition(collective.member, Driver.TRAITS),
    )
