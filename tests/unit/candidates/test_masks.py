"""Masks contain the terms that each provider fails, in agreement with the search."""

import random

from placement.candidates.model import Member, Pool, Stocks, Tree
from placement.candidates.plan import SearchPlan
from placement.candidates.request import CandidateRequest, RequestGroup
from placement.candidates.terms import (
    ForbiddenTrait,
    InSubtree,
    InTree,
    MemberOf,
    NotMemberOf,
    RequiredTraits,
    Term,
    TermChecks,
    each_mask,
    lowest,
    ordered,
)
from placement.inventory import Stock

TRAITS = ("A", "B", "C")
AGGREGATES = ("x", "y")


def sample(rng: random.Random, names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(name for name in names if rng.random() < 0.5)


def any_pool(rng: random.Random) -> Pool:
    members = tuple(
        Member(
            f"member-{position}",
            position - 1 if position == 0 else rng.randrange(position),
            Stocks(
                {
                name: Stock(rng.randint(0, 8), rng.randint(0, 4), rng.randint(1, 2),
                            rng.randint(1, 8), rng.randint(1, 2))
                for name in ("VCPU", "DISK_GB")
                if rng.random() < 0.8
                }
            ),
            sample(rng, TRAITS),
            sample(rng, AGGREGATES),
        )
        for position in range(rng.randint(1, 4))
    )  # fmt: skip
    tree = Tree(1, members[0].uuid, 1, members, frozenset(AGGREGATES))
    return Pool(tree, members, ())


def any_group(rng: random.Random) -> RequestGroup:
    suffix = rng.choice(("", "_A"))
    return RequestGroup(
        suffix,
        (("VCPU", rng.randint(1, 4)),) if rng.random() < 0.5 or not suffix else (),
        ordered(any_terms(rng)),
    )


def any_terms(rng: random.Random) -> list[Term]:
    required = [RequiredTraits(sample(rng, TRAITS) | {"A"}) for _ in range(rng.randint(0, 2))]
    member_of = [MemberOf(sample(rng, AGGREGATES) | {"x"}) for _ in range(rng.randint(0, 2))]
    in_tree = rng.choice((None, "member-0", "missing"))
    subtree = rng.choice((None, "member-1"))
    return [
        *required,
        *map(ForbiddenTrait, sample(rng, ("C",))),
        *member_of,
        *map(NotMemberOf, sample(rng, ("y",))),
        *([InTree(in_tree)] if in_tree else []),
        *([InSubtree(subtree)] if subtree else []),
    ]


def test_a_mask_is_empty_if_and_only_if_the_requirement_is_met() -> None:
    rng = random.Random(3)
    met = 0
    for _ in range(3000):
        pool, group = any_pool(rng), any_group(rng)
        plan = SearchPlan(CandidateRequest((group,)))
        (requirement,) = plan.requirements
        masks = requirement.masks(pool, requirement.checks.masks(pool))
        providers = requirement.meeting(masks)
        assert providers == requirement.providers(pool), (pool, group)
        met += bool(providers)
        if not providers:
            highest = max(lowest(mask) for _position, mask in each_mask(masks))
            assert requirement.term(highest).code == requirement.refusal(pool)
    assert met > 100


def test_cached_results_of_traits_and_aggregates_are_bounded() -> None:
    checks = TermChecks((RequiredTraits(frozenset({"A"})), MemberOf(frozenset({"x"}))))
    for number in range(25_000):
        member = Member("m", -1, Stocks(), frozenset({f"T{number}"}), frozenset({f"g{number}"}))
        tree = Tree(1, "m", 1, (member,), member.aggregates)
        assert each_mask(checks.masks(Pool(tree, (member,), ()))) == [(0, 3)]
    assert all(len(answers) <= 10_000 for _reads, _role, answers in checks._answers)
