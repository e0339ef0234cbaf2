"""The work of a search depends on its result, not on the number of combinations."""

import itertools
import random
from collections.abc import Iterable, Sequence
from itertools import islice

import pytest

from placement.candidates.model import Member, Pool, Stocks, Trace, Tree
from placement.candidates.plan import SearchPlan
from placement.candidates.request import CandidateRequest, RequestGroup, SubtreeRule
from placement.candidates.search.anchors import AnchorSearches
from placement.candidates.search.candidate import Candidate
from placement.candidates.search.result import interleave
from placement.candidates.search.splits import SplitSearches
from placement.candidates.terms import RequiredTraits, Term
from placement.inventory import Stock
from placement.runtime.budget import COST_PER_STEP, Budget, BudgetSpentError


def tree(name: str, children: Sequence[int], traits: Sequence[frozenset[str]] = ()) -> Tree:
    """A root with DISK_GB and one child for each number, which has so many VGPU."""
    root = Member(name, -1, Stocks({"DISK_GB": Stock(100, 0, 1, 100, 1)}), frozenset(), frozenset())
    below = [
        Member(
            f"{name}-{position}",
            0,
            Stocks({"VGPU": Stock(units, 0, 1, units, 1)}),
            traits[position] if traits else frozenset(),
            frozenset(),
        )
        for position, units in enumerate(children)
    ]
    return Tree(hash(name), name, 1, (root, *below), frozenset())


def alone(anchor: Tree) -> Pool:
    """The pool of a tree that reaches no sharing provider."""
    return Pool(anchor, anchor.members)


def like_groups(count: int, amount: int = 1) -> tuple[RequestGroup, ...]:
    return tuple(RequestGroup(f"_{each}", (("VGPU", amount),)) for each in range(count))


def suffixes(groups: Iterable[RequestGroup]) -> frozenset[str]:
    return frozenset(group.suffix for group in groups)


def search(
    request: CandidateRequest, trees: Sequence[Tree], max_steps: int = 10**6, *, split: bool = False
) -> tuple[list[Candidate], Budget]:
    """The candidates up to the request's limit, and the work that it took.

    split: whether to search for candidates with a split.
    """
    budget = Budget(max_steps)
    plan = SearchPlan(request)
    anchors = SplitSearches(plan, budget) if split else AnchorSearches(plan, budget, Trace())
    searches = (anchors.start(alone(each)) for each in trees)
    candidates = list(islice(interleave(searches, breadth_first=True), request.limit))
    return candidates, budget


def test_isolated_groups_on_wide_trees_cost_a_few_steps_a_candidate() -> None:
    steps: dict[int, int] = {}
    for limit in (1, 100, 200, 1000):
        request = CandidateRequest(like_groups(8), isolate=suffixes(like_groups(8)), limit=limit)
        found, budget = search(request, [tree("host", [1] * 16)])
        assert len(found) == limit
        steps[limit] = budget.steps
    # The first one tries each of the devices that earlier groups hold: 8 * 9 / 2.
    assert steps[1] <= 8 * 9 // 2
    for limit in (100, 200, 1000):
        assert steps[limit] <= steps[1] + 4 * limit
    assert steps[200] - steps[100] <= 4 * 100


@pytest.mark.parametrize("isolate", [True, False])
def test_more_like_groups_than_devices_are_refused_before_the_first_step(isolate: bool) -> None:
    request = CandidateRequest(
        like_groups(17), isolate=suffixes(like_groups(17) if isolate else ())
    )
    found, budget = search(request, [tree("host", [1] * 16)])
    assert not found
    assert budget.steps == 0


def test_groups_that_fit_nowhere_together_are_refused_before_the_first_step() -> None:
    """16 devices with 4 units have room for 32 groups of 2, not for 33."""
    trees = [tree("host", [4] * 16)]
    assert len(search(CandidateRequest(like_groups(32, 2), limit=5), trees)[0]) == 5
    found, budget = search(CandidateRequest(like_groups(33, 2), limit=5), trees)
    assert not found
    assert budget.steps == 0


def test_one_subtree_too_small_for_all_groups_is_left_out_before_the_search() -> None:
    """Two NUMA nodes: 8 devices below the first, 9 below the second; 9 groups want one node."""
    numa = frozenset(["HW_NUMA_ROOT"])
    members = [Member("host", -1, Stocks(), frozenset(), frozenset())]
    for node, devices in enumerate((8, 9)):
        parent = len(members)
        members.append(Member(f"numa{node}", 0, Stocks(), numa, frozenset()))
        members += [
            Member(
                f"d{node}-{each}",
                parent,
                Stocks({"VGPU": Stock(1, 0, 1, 1, 1)}),
                frozenset(),
                frozenset(),
            )
            for each in range(devices)
        ]
    groups = (RequestGroup("_N", terms=(RequiredTraits(numa),)), *like_groups(9))
    request = CandidateRequest(
        groups,
        isolate=suffixes(groups),
        subtree_rules=(SubtreeRule(suffixes(groups)),),
        limit=1,
    )
    found, budget = search(request, [Tree(1, "host", 1, tuple(members), frozenset())])
    assert len(found) == 1
    assert budget.steps <= 200


def chain(levels: int) -> Tree:
    """A provider below a provider, all with VGPU."""
    stocks = Stocks({"VGPU": Stock(100, 0, 1, 100, 1)})
    members = tuple(
        Member(f"p{level}", level - 1, stocks, frozenset(), frozenset()) for level in range(levels)
    )
    return Tree(1, "p0", 1, members, frozenset())


@pytest.mark.parametrize("isolate", [True, False])
def test_groups_joined_in_pairs_on_a_deep_tree_cost_in_proportion_to_its_depth(
    isolate: bool,
) -> None:
    groups = like_groups(100)
    pairs = tuple(SubtreeRule(suffixes([one, other])) for one, other in itertools.pairwise(groups))
    work = {}
    for levels in (500, 1000, 2000):
        request = CandidateRequest(
            groups, isolate=suffixes(groups if isolate else ()), subtree_rules=pairs, limit=10
        )
        found, budget = search(request, [chain(levels)])
        assert len(found) == 10
        work[levels] = budget.cost // COST_PER_STEP
    assert work[1000] <= 40_000
    # What is worked out of the tree is worked out once, not for each pair.
    assert work[1000] - work[500] <= 5 * 500
    assert work[2000] - work[1000] <= 5 * 1000


def test_looking_for_providers_is_work_where_no_step_is_taken() -> None:
    """Three hundred groups that ask different things, which the last of them finds nowhere."""
    groups = tuple(RequestGroup(f"_{each}", (("VGPU", 1 + each),)) for each in range(300))
    request = CandidateRequest((*groups, RequestGroup("_last", (("PGPU", 1),))))
    trees = [tree(f"host{each}", [300] * 16) for each in range(5)]
    _found, budget = search(request, trees)
    assert budget.steps == 0
    assert budget.cost >= 5 * 300 * 17
    with pytest.raises(BudgetSpentError):
        search(request, trees, max_steps=1000)


def test_the_shapes_that_are_remembered_have_a_bound() -> None:
    """On each host other devices have room for one of two groups, or for both."""
    plan = SearchPlan(CandidateRequest(like_groups(2)))
    anchors = AnchorSearches(plan, Budget(10**6), Trace())
    for number in range(1200):
        rng = random.Random(number)
        anchors.start(alone(tree("host", rng.choices((1, 2), k=99))))
    assert anchors.served == 1200
    assert 500 < len(anchors.known) <= 1000


def branches(width: int) -> Tree:
    """A root, so many branches that have PGPU, and below each three leaves that have VGPU."""
    members = [Member("root", -1, Stocks(), frozenset(), frozenset())]
    for branch in range(width):
        stock = Stocks({"PGPU": Stock(1, 0, 1, 1, 1)})
        members.append(Member(f"branch{branch}", 0, stock, frozenset(), frozenset()))
        parent = len(members) - 1
        for leaf in range(3):
            stock = Stocks({"VGPU": Stock(1, 0, 1, 1, 1)})
            name = f"leaf{branch}-{leaf}"
            members.append(Member(name, parent, stock, frozenset(), frozenset()))
    return Tree(1, "root", 1, tuple(members), frozenset())


def test_groups_outside_a_subtree_cost_a_few_steps_a_candidate() -> None:
    """On trees of 65 providers, with the group inside placed first or last."""
    inside = RequestGroup("_X", (("PGPU", 1),))
    leaf, outside = RequestGroup("_L", (("VGPU", 1),)), RequestGroup("_Y", (("VGPU", 1),))
    rule = SubtreeRule(suffixes([inside, leaf]), suffixes([outside]))
    steps: dict[int, int] = {}
    for limit in (1, 100, 1000):
        request = CandidateRequest((outside, inside, leaf), subtree_rules=(rule,), limit=limit)
        candidates, budget = search(request, [branches(16)])
        assert len(candidates) == limit
        steps[limit] = budget.steps
    assert steps[1] <= 3 + 2 * 4
    for limit in (100, 1000):
        assert steps[limit] <= steps[1] + 3 * limit


def split_group(amount: int, *terms: Term) -> RequestGroup:
    return RequestGroup("", (("VGPU", amount),), terms, frozenset(["VGPU"]))


HERE = frozenset(["CUSTOM_HERE"])
NOWHERE: frozenset[str] = frozenset()


@pytest.mark.parametrize(
    ("groups", "traits"),
    [
        ((split_group(250),), ()),
        ((split_group(250, RequiredTraits(HERE)),), [HERE, *[NOWHERE] * 63]),
        ((split_group(250), *like_groups(4)), ()),
    ],
)
def test_a_split_over_64_providers_costs_a_few_steps(
    groups: tuple[RequestGroup, ...], traits: Sequence[frozenset[str]]
) -> None:
    """There is one split for each assignment of the other groups."""
    request = CandidateRequest(groups, limit=100)
    candidates, budget = search(request, [tree("host", [8] * 64, traits)], split=True)
    assert len(candidates) == (1 if len(groups) == 1 else 100)
    assert budget.steps <= 10 * len(candidates)
    assert budget.cost <= 3000 * (1 + len(candidates))


@pytest.mark.parametrize("others", [0, 4])
def test_an_amount_that_fits_nowhere_in_parts_is_refused_before_the_first_step(others: int) -> None:
    """64 providers with 8 units each have 512, for all groups together."""
    trees = [tree("host", [8] * 64)]
    request = CandidateRequest((split_group(512 - others), *like_groups(others)), limit=1)
    assert search(request, trees, split=True)[0]
    request = CandidateRequest((split_group(513 - others), *like_groups(others)))
    candidates, budget = search(request, trees, split=True)
    assert not candidates
    assert budget.steps == 0
