"""The requirements of a slot, and the condition that rejects its last provider."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement.candidates.model import Member, Pool, Refusal, SharingMember, Stocks, Tree
from placement.candidates.plan import SearchPlan
from placement.candidates.request import CandidateRequest, RequestGroup
from placement.candidates.requirements import Requirement
from placement.candidates.terms import (
    ForbiddenTrait,
    InSubtree,
    InTree,
    MemberOf,
    NotMemberOf,
    RequiredTraits,
)
from placement.candidates.terms.amounts import AMOUNT_CODES
from placement.inventory import Stock, fits

STOCK = Stock(capacity=8, used=4, min_unit=2, max_unit=6, step_size=2)


def requirement(group: RequestGroup) -> Requirement:
    (only,) = SearchPlan(CandidateRequest((group,))).requirements
    return only


def pool(*members: Member) -> Pool:
    return Pool(Tree(1, members[0].uuid, 1, members, frozenset()), members, ())


def member(
    stock: Stock = STOCK,
    traits: frozenset[str] = frozenset(),
    aggregates: frozenset[str] = frozenset(),
) -> Member:
    return Member("host", -1, Stocks({"VCPU": stock}), traits, aggregates)


@pytest.mark.parametrize(
    ("group", "code"),
    [
        (RequestGroup("_A", (("VGPU", 2),)), Refusal.NO_INVENTORY),
        (RequestGroup("_A", (("VCPU", 1),)), Refusal.MIN_UNIT),
        (RequestGroup("_A", (("VCPU", 8),)), Refusal.MAX_UNIT),
        (RequestGroup("_A", (("VCPU", 3),)), Refusal.STEP_SIZE),
        (RequestGroup("_A", (("VCPU", 6),)), Refusal.CAPACITY),
        (
            RequestGroup("_A", (("VCPU", 2),), terms=(RequiredTraits(frozenset(["T"])),)),
            Refusal.TRAIT_MISSING,
        ),
        (RequestGroup("_A", (("VCPU", 2),), terms=(ForbiddenTrait("F"),)), Refusal.TRAIT_FORBIDDEN),
        (
            RequestGroup("_A", (("VCPU", 2),), terms=(MemberOf(frozenset(["other"])),)),
            Refusal.NOT_IN_AGGREGATE,
        ),
        (
            RequestGroup("_A", (("VCPU", 2),), terms=(NotMemberOf("mine"),)),
            Refusal.IN_FORBIDDEN_AGGREGATE,
        ),
        (RequestGroup("_A", (("VCPU", 2),), terms=(InTree("elsewhere"),)), Refusal.IN_TREE),
        (RequestGroup("_A", (("VCPU", 2),), terms=(InSubtree("below"),)), Refusal.SUBTREE),
    ],
)
def test_a_refusal_names_the_condition_that_nothing_met(group: RequestGroup, code: Refusal) -> None:
    host = pool(member(traits=frozenset(["F"]), aggregates=frozenset(["mine"])))
    assert not requirement(group).providers(host)
    assert requirement(group).refusal(host) == code


@pytest.mark.parametrize("suffix", ["", "_A"])
def test_of_sharing_providers_the_anchor_s_aggregates_may_refuse_all(suffix: str) -> None:
    """Aggregates of the root count for the unsuffixed group; one report covers all members."""
    barred = frozenset(["barred"])
    disk = Tree(2, "disk", 1, (member(),), frozenset())
    asked = requirement(RequestGroup(suffix, (("VCPU", 2),), terms=(NotMemberOf("barred"),)))
    small = member(Stock(1, 0, 1, 1, 1))
    hosts = [
        Tree(number, "host", 1, (small._replace(aggregates=each),), each)
        for number, each in enumerate([frozenset[str](), barred, frozenset[str]()])
    ]
    pools = [
        Pool(
            host,
            (*host.members, disk.root),
            (SharingMember(disk, disk.root, 0),),
            frozenset([(2, 0)]),
        )
        for host in hosts
    ]
    barred_host = [1] if suffix else []
    assert [asked.providers(each) for each in pools] == [[1], barred_host, [1]]


def test_the_condition_at_which_the_last_provider_falls_out_is_the_one() -> None:
    """One has the trait and no room, the other has room and not the trait."""
    full = member(Stock(4, 4, 1, 4, 1), frozenset(["T"]))
    host = pool(full, member(Stock(4, 0, 1, 4, 1)))
    group = RequestGroup("_A", (("VCPU", 2),), terms=(RequiredTraits(frozenset(["T"])),))
    assert requirement(group).refusal(host) == Refusal.TRAIT_MISSING


@given(
    st.builds(
        Stock,
        st.integers(-2, 10),
        st.integers(0, 10),
        st.integers(1, 4),
        st.integers(1, 10),
        st.integers(1, 3),
    ),
    st.integers(1, 12),
)
def test_there_is_a_refusal_for_capacity_just_where_the_amount_does_not_fit(
    stock: Stock, amount: int
) -> None:
    asked = requirement(RequestGroup("_A", (("VCPU", amount),)))
    host = pool(member(stock))
    assert bool(asked.providers(host)) == fits(stock, amount)
    if not fits(stock, amount):
        assert asked.refusal(host) in AMOUNT_CODES


def test_groups_that_ask_the_same_share_a_requirement() -> None:
    groups = [RequestGroup(f"_{number}", (("VCPU", 2),)) for number in range(3)]
    other = RequestGroup("_X", (("VCPU", 4),))
    found = SearchPlan(CandidateRequest((*groups, other))).requirements
    assert [each.slots for each in found] == [[0, 1, 2], [3]]


def test_one_class_of_the_unsuffixed_group_needs_the_traits_itself() -> None:
    """With several classes, any provider may have the traits, which a constraint checks."""
    traits = (RequiredTraits(frozenset(["T"])),)
    host = pool(member())
    (alone,) = SearchPlan(
        CandidateRequest((RequestGroup("", (("VCPU", 2),), traits),))
    ).requirements
    assert not alone.providers(host)
    group = RequestGroup("", (("VCPU", 2), ("DISK_GB", 1)), traits)
    first, _second = SearchPlan(CandidateRequest((group,))).requirements
    assert first.providers(host) == [0]


def test_a_refusal_of_a_whole_amount_does_not_count_providers_of_parts() -> None:
    group = RequestGroup("", (("VCPU", 6),), (ForbiddenTrait("F"),), frozenset({"VCPU"}))
    small, forbidden = member(Stock(4, 0, 1, 4, 1)), member(Stock(8, 0, 1, 8, 1), frozenset(["F"]))
    asked, host = requirement(group), pool(small, forbidden)
    assert asked.part_providers(host) == [0]
    assert not asked.providers(host)
    assert asked.refusal(host) == Refusal.TRAIT_FORBIDDEN
