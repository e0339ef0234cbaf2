"""Terms put to pools: what the root counts for, and that each value is judged once."""

from collections.abc import Callable

import pytest

from placement.candidates.budget import COST_PER_PROVIDER
from placement.candidates.model import Member, Pool, SharingMember, Stocks, Tree
from placement.candidates.terms import MemberOf, NotMemberOf, RequiredTraits, Term, TermChecks
from placement.candidates.terms.checks import meeting as passing

NONE: frozenset[str] = frozenset()


def member(name: str, *aggregates: str, traits: frozenset[str] = NONE, parent: int = 0) -> Member:
    return Member(name, parent, Stocks(), traits, frozenset(aggregates))


def pool(root: Member, *others: Member, disk: Member | None = None) -> Pool:
    """A tree, and a sharing provider of another one."""
    tree = Tree(1, root.uuid, 1, (root, *others), NONE)
    if disk is None:
        return Pool(tree, tree.members)
    sharing = (SharingMember(Tree(2, disk.uuid, 1, (disk,), NONE), disk, 0),)
    return Pool(tree, (*tree.members, disk), sharing)


def x_and_y() -> tuple[Term, ...]:
    return MemberOf(frozenset({"x"})), MemberOf(frozenset({"y"}))


def root(*aggregates: str) -> Member:
    return member("root", *aggregates, parent=-1)


@pytest.mark.parametrize(
    ("members", "meeting"),
    [
        (pool(root("x"), member("child", "y")), []),  # one in each is not both
        (pool(root("x", "y"), member("child")), [0, 1]),
        (pool(root("x"), member("child", "x", "y")), [1]),
        (pool(root("x", "y"), member("child"), disk=member("disk", "x")), [0, 1]),
        (pool(root(), member("child"), disk=member("disk", "x", "y")), [2]),
    ],
)
def test_a_member_or_else_its_root_is_in_all_aggregates(members: Pool, meeting: list[int]) -> None:
    checks = TermChecks(x_and_y(), spans=True)
    everyone = list(range(len(members.members)))
    assert checks.meeting(members, everyone) == meeting
    assert passing(checks.masks(members), needed=0b11) == meeting


def test_failures_of_a_provider_and_of_the_root_are_distinct() -> None:
    masks = TermChecks(x_and_y(), spans=True).masks(
        pool(root("x"), member("child", "y"), disk=member("disk", "x", "y"))
    )
    assert masks == ([0b10, 0b01, 0], [0b10, 0b10, 0])
    # Without one of the terms, either may do.
    assert passing(masks, needed=0b01) == [0, 1, 2]
    assert passing(masks, needed=0b10) == [1, 2]


@pytest.mark.parametrize(
    ("spans", "root_in", "meeting"),
    [
        (True, ("barred",), []),
        (True, (), [0, 2]),
        (False, ("barred",), [2]),
        (False, (), [0, 2]),
    ],
)
def test_a_forbidden_aggregate_of_the_root_bars_sharing_providers_too(
    spans: bool, root_in: tuple[str, ...], meeting: list[int]
) -> None:
    members = pool(root(*root_in), member("child", "barred"), disk=member("disk"))
    checks = TermChecks((NotMemberOf("barred"),), spans=spans)
    assert checks.meeting(members, [0, 1, 2]) == meeting
    assert passing(checks.masks(members), needed=1) == meeting


def test_equal_traits_and_aggregates_are_judged_once() -> None:
    judged: list[int] = []
    terms = (RequiredTraits(frozenset({"A"})), RequiredTraits(frozenset({"B"})), *x_and_y())
    checks = TermChecks(terms, spend=judged.append)
    traits = frozenset({"A"})
    host = pool(root("x"), *[member(str(number), "x", traits=traits) for number in range(9)])
    every: list[Callable[[], object]] = [
        lambda: checks.masks(host),
        lambda: checks.meeting(host, list(range(10))),
        lambda: checks.masks(host),
    ]
    for ask in every:
        ask()
    # Two sets of traits and one of aggregates, each put to two terms.
    assert judged == [2 * COST_PER_PROVIDER] * 3
