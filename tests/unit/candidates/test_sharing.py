"""Which sharing providers serve which anchors."""

from dataclasses import replace
from unittest.mock import Mock

import pytest

from placement.candidates.model import Member, SharingMember, Stocks, Tree
from placement.candidates.terms import (
    ForbiddenTrait,
    InTree,
    MemberOf,
    NotMemberOf,
    RequiredTraits,
    Term,
)
from placement.candidates.trees.sharing import (
    AnchorPools,
    Sharing,
    SharingProvider,
    sharing_members,
    sharing_pool,
)
from placement.inventory import Stock
from placement.runtime.budget import uncharged

RACK, OTHER = frozenset(["rack"]), frozenset(["other"])
NONE: frozenset[str] = frozenset()


def tree(root_id: int, name: str, *aggregates: frozenset[str]) -> Tree:
    members = tuple(
        Member(f"{name}{place}", place - 1, Stocks(), NONE, each)
        for place, each in enumerate(aggregates)
    )
    return Tree(root_id, members[0].uuid, 1, members, NONE.union(*aggregates))


HOST = tree(1, "host", NONE, RACK)
LONELY = tree(2, "lonely", NONE)
STORE = tree(3, "store", NONE, RACK, OTHER)
DISK = tree(4, "disk", RACK)


def provider(*uuids: str) -> list[SharingProvider]:
    return [SharingProvider(uuid, 3, 1, {7}, frozenset(), {}, frozenset()) for uuid in uuids]


def test_sharing_providers_are_found_where_they_stand() -> None:
    found = sharing_members(provider("store1", "store2"), [HOST, STORE])
    assert [(each.member.uuid, each.position, each.tree.id) for each in found] == [
        ("store1", 1, 3),
        ("store2", 2, 3),
    ]


def test_an_anchor_reaches_providers_by_any_id_of_an_aggregate() -> None:
    sharing = sharing_members(provider("store1", "store2"), [STORE])
    pools = AnchorPools(sharing, uncharged)
    pool = pools.pool(HOST)
    assert [member.uuid for member in pool.members] == ["host0", "host1", "store1"]
    assert (pool.local, pool.root) == (2, "host0")
    assert [pool.tree(place).id for place in range(3)] == [1, 1, 3]
    assert pools.pool(LONELY).members == LONELY.members


def test_a_provider_of_the_anchors_own_tree_is_there_once() -> None:
    sharing = sharing_members(provider("store1"), [STORE])
    pool = AnchorPools(sharing, uncharged).pool(STORE)
    assert pool.members == STORE.members
    assert (pool.sharing, pool.reached) == ((), frozenset())


def test_a_taint_of_the_root_excludes_all_sharing_providers_of_its_tree() -> None:
    taints = frozenset(["TAINT"])
    root = STORE.members[0]._replace(traits=taints)
    tainted = replace(STORE, members=(root, *STORE.members[1:]))
    sharing = sharing_members(provider("store1", "disk0"), [tainted, DISK])
    pool = AnchorPools(sharing, uncharged, taints).pool(HOST)
    assert [member.uuid for member in pool.members] == ["host0", "host1", "disk0"]


def test_reached_providers_are_computed_once_for_equal_aggregates() -> None:
    """Also for one that is a sharing provider itself, which reaches the others only."""
    sharing = sharing_members(provider("store1", "disk0"), [STORE, DISK])
    looks: list[int] = []
    pools = AnchorPools(sharing, looks.append)
    alike = [replace(HOST, id=number) for number in range(10, 20)]
    made = [pools.pool(each) for each in alike]
    assert {pool.reached for pool in made} == {frozenset([(3, 1), (4, 0)])}
    assert [pool.anchor for pool in made] == alike
    assert [each.member.uuid for each in pools.pool(DISK).sharing] == ["store1"]
    assert looks == [2]


def test_sharing_providers_alone_have_no_anchor() -> None:
    sharing: list[SharingMember] = sharing_members(provider("store1"), [STORE])
    pool = sharing_pool(sharing)
    assert (pool.anchor, pool.root, pool.local) == (None, "", 0)
    assert pool.tree(0) is STORE


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ([(2, 40)], True),
        ([(2, 60)], False),  # more than is free
        ([(2, 45)], False),  # no multiple of the step
        ([(3, 1)], False),  # a class that it has not
        ([(2, 40), (3, 1)], False),
        ([], True),
    ],
)
def test_a_provider_has_room_for_all_or_does_not_serve(
    resources: list[tuple[int, int]], expected: bool
) -> None:
    stock = Stock(capacity=100, used=50, min_unit=10, max_unit=100, step_size=10)
    sharing = SharingProvider("disk", 1, 1, {7}, frozenset(), {2: stock}, frozenset())
    assert sharing.has_room(resources) == expected


def ids(*numbers: int) -> frozenset[int]:
    return frozenset(numbers)


def names(*each: str) -> frozenset[str]:
    return frozenset(each)


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ([], True),
        ([RequiredTraits(names("1")), RequiredTraits(names("2", "3"))], True),
        ([RequiredTraits(names("1")), RequiredTraits(names("4"))], False),
        ([ForbiddenTrait("2")], False),
        ([ForbiddenTrait("4")], True),
        ([MemberOf(names("7", "9")), MemberOf(names("8"))], True),
        ([MemberOf(names("7")), MemberOf(names("9"))], False),
        ([NotMemberOf("8")], False),
        ([NotMemberOf("9")], True),
        # It is in another tree.
        ([InTree("elsewhere")], True),
    ],
)
def test_a_tree_reaches_only_providers_that_may_satisfy_all_terms(
    terms: list[Term], expected: bool
) -> None:
    disk = SharingProvider("disk", 1, 1, {70}, names("7", "8"), {}, names("1", "2"))
    sharing = Sharing(((disk,),), (disk,), (disk,), Mock())
    reached = frozenset({70} if expected else ())
    assert (sharing.reach(terms), sharing.reach(terms, 0)) == (reached, reached)
