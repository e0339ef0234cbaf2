"""The work of a search depends on its result, not on the number of combinations."""

import itertools
import random
import tracemalloc
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement.candidates.budget import COST_PER_RESULT, COST_PER_STEP, Budget, BudgetSpentError
from placement.candidates.model import Member, Pool, SharingMember, Stocks, Tree
from placement.candidates.plan import SearchPlan
from placement.candidates.request import CandidateRequest, RequestGroup, SubtreeRule
from placement.candidates.search.anchors import AnchorSearches
from placement.candidates.search.candidate import Candidate
from placement.candidates.search.result import interleave
from placement.candidates.search.splits import SplitSearches
from placement.candidates.stats import Trace
from placement.candidates.terms import InTree, MemberOf, RequiredTraits, Term
from placement.candidates.trace import Refusal
from placement.candidates.trees.sharing import AnchorPools
from placement.inventory import Stock


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
    request: CandidateRequest, trees: Sequence[Tree], max_steps: int = 10**6
) -> tuple[list[Candidate], Budget]:
    """The candidates up to the request's limit, and the work that it took."""
    budget = Budget(max_steps)
    anchors = AnchorSearches(SearchPlan(request), budget, Trace())
    searches = (anchors.start(alone(each)) for each in trees)
    candidates = list(islice(interleave(searches, breadth_first=True), request.limit))
    return candidates, budget


def results(anchors: AnchorSearches) -> int:
    """The number of different results. Pools of one shape share theirs."""
    return len(set(anchors.known.values()))


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


@pytest.mark.parametrize("devices", [8, 16])
def test_unlike_groups_that_cannot_fit_are_refused_before_the_first_step(devices: int) -> None:
    """A device of 3 units takes one group of 2; a further group of 1 changes nothing."""
    one = RequestGroup("_one", (("VGPU", 1),))
    request = CandidateRequest((one, *like_groups(devices + 1, 2)))
    found, budget = search(request, [tree("host", [3] * devices)])
    assert not found
    assert budget.steps == 0


@pytest.mark.parametrize("count", [60, 500])
def test_many_groups_get_an_answer(count: int) -> None:
    request = CandidateRequest(like_groups(count), limit=10)
    found, budget = search(request, [tree("host", [100] * 16)])
    assert len(found) == 10
    assert budget.steps <= count * 16


def test_hosts_take_turns() -> None:
    trees = [tree(f"host{each}", [1] * 4) for each in range(10)]
    request = CandidateRequest(like_groups(2), isolate=suffixes(like_groups(2)), limit=20)
    found, _budget = search(request, trees)
    hosts = [next(iter(candidate.allocations)).partition("-")[0] for candidate in found]
    assert sorted(hosts) == sorted(tree.uuid for tree in trees for _ in range(2))


def test_a_trait_that_only_one_slot_can_bring_decides_that_slot_first() -> None:
    """Ten classes on a hundred providers; two traits that no choice of VGPU has together."""
    members = [Member("host", -1, Stocks(), frozenset(), frozenset())]
    names = [f"CUSTOM_{each}" for each in range(9)]
    for position in range(100):
        stocks = Stocks({name: Stock(1, 0, 1, 1, 1) for name in names})
        members.append(Member(f"p{position}", 0, stocks, frozenset(), frozenset()))
    for trait in ("CUSTOM_X", "CUSTOM_Y"):
        stock = Stocks({"VGPU": Stock(1, 0, 1, 1, 1)})
        members.append(Member(trait, 0, stock, frozenset([trait]), frozenset()))
    group = RequestGroup(
        "",
        (*((name, 1) for name in names), ("VGPU", 1)),
        (RequiredTraits(frozenset(["CUSTOM_X"])), RequiredTraits(frozenset(["CUSTOM_Y"]))),
    )
    found, budget = search(
        CandidateRequest((group,)), [Tree(1, "host", 1, tuple(members), frozenset())]
    )
    assert not found
    assert budget.steps <= 2


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


def test_what_is_refused_is_counted_by_code_and_group() -> None:
    groups = (RequestGroup("_A", (("VGPU", 1),)), RequestGroup("_B", (("PGPU", 1),)))
    trace = Trace()
    anchors = AnchorSearches(SearchPlan(CandidateRequest(groups)), Budget(100), trace)
    for host in (tree("a", [1]), tree("b", [1])):
        assert anchors.start(alone(host)).exhausted
    assert trace.trees == {(Refusal.NO_INVENTORY, "_B"): 2}
    assert trace.summary() == {"no provider has inventory of every class (_B)": 2}


def test_spent_steps_end_the_search() -> None:
    request = CandidateRequest(like_groups(8), isolate=suffixes(like_groups(8)), limit=10**6)
    with pytest.raises(BudgetSpentError):
        search(request, [tree("host", [1] * 16)], max_steps=500)


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


def test_a_step_costs_more_where_it_is_put_to_more_conditions() -> None:
    groups = like_groups(40)
    pairs = tuple(SubtreeRule(suffixes(pair)) for pair in itertools.combinations(groups, 2))
    request = CandidateRequest(groups, subtree_rules=pairs, limit=10)
    found, budget = search(request, [chain(100)])
    assert len(found) == 10
    # Each of the first 40 steps is put to the 39 pairs of its group, and to the sum of VGPU.
    assert budget.cost // COST_PER_STEP >= 40 * (1 + 39 + 1)
    with pytest.raises(BudgetSpentError):
        search(request, [chain(100)], max_steps=40 * (1 + 39 + 1))


def test_each_host_that_is_asked_for_parts_is_work() -> None:
    group = RequestGroup("", (("VGPU", 1000),), split_classes=frozenset({"VGPU"}))
    trees = [tree(f"host{each}", [100 + each]) for each in range(50)]
    budget = Budget(10**6)
    anchors = SplitSearches(SearchPlan(CandidateRequest((group,))), budget)
    assert not any(anchors.start(alone(each)).outcome.served for each in trees)
    assert budget.cost >= 50 * COST_PER_RESULT


def test_joining_slots_is_work_where_the_first_condition_refuses_at_once() -> None:
    """Isolation and the sum of amounts are made of two hundred groups for each host."""
    groups = like_groups(200)
    request = CandidateRequest(groups, isolate=suffixes(groups))
    found, budget = search(request, [tree(f"host{each}", [100 + each]) for each in range(50)])
    assert not found
    assert budget.cost >= 50 * 2 * 200


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


def test_candidates_are_kept_as_positions() -> None:
    """Of sixty groups each takes some 500 bytes, not the 20,000 that its text is made of."""
    request = CandidateRequest(like_groups(60), isolate=suffixes(like_groups(60)), limit=1000)
    host = tree("host", [1] * 100)
    tracemalloc.start()
    found, _budget = search(request, [host])
    kept, _peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found) == 1000
    assert kept <= 1000 * 60 * 20


def test_the_shapes_that_are_remembered_have_a_bound() -> None:
    """On each host other devices have room for one of two groups, or for both."""
    plan = SearchPlan(CandidateRequest(like_groups(2)))
    anchors = AnchorSearches(plan, Budget(10**6), Trace())
    for number in range(3000):
        rng = random.Random(number)
        anchors.start(alone(tree("host", rng.choices((1, 2), k=99))))
    assert anchors.served == 3000
    assert 500 < len(anchors.known) <= 1000


def test_hosts_with_the_same_possible_sums_are_equal() -> None:
    """Three groups ask for 4: what matters of a room is whether it has 4, 8 or 12."""
    anchors = AnchorSearches(
        SearchPlan(CandidateRequest(like_groups(3, 4))), Budget(10**6), Trace()
    )
    for first in range(4, 8):
        for second in range(8, 12):
            anchors.start(alone(tree("host", (first, second))))
    assert (anchors.served, results(anchors)) == (16, 1)
    anchors.start(alone(tree("host", (7, 12))))
    assert (anchors.served, results(anchors)) == (17, 2)


def test_hosts_of_one_shape_share_a_refusal() -> None:
    """Two classes; the traits are there, but on no provider that has room for either."""
    resources = (("VGPU", 1), ("DISK_GB", 1))
    trait = frozenset(["CUSTOM_X"])
    request = CandidateRequest((RequestGroup("", resources, (RequiredTraits(trait),)),))
    host = tree("host", [2, 2], [frozenset(), frozenset()])
    alike = [Tree(number, str(number), 1, host.members, frozenset()) for number in range(100)]
    trace = Trace()
    anchors = AnchorSearches(SearchPlan(request), Budget(10**6), trace)
    for each in alike:
        assert anchors.start(alone(each)).exhausted
    assert trace.trees == {(Refusal.COLLECTIVE_TRAITS, ""): 100}
    assert trace.placements == {Refusal.COLLECTIVE_TRAITS: 1}
    assert results(anchors) == 1


def beside(name: str, stocks: dict[str, int], *aggregates: str) -> Tree:
    """A tree of one provider in aggregates."""
    stock = Stocks({kind: Stock(total, 0, 1, total, 1) for kind, total in stocks.items()})
    keys = frozenset(aggregates)
    return Tree(hash(name), name, 1, (Member(name, -1, stock, frozenset(), keys),), keys)


def test_hosts_with_the_same_disks_are_searched_once() -> None:
    """Of two racks with a disk each; a disk is looked at once for each rack."""
    disks = [beside(f"disk{rack}", {"DISK_GB": 100}, f"rack{rack}") for rack in range(2)]
    hosts = [beside(f"host{each}", {"VGPU": 1 + each}, f"rack{each % 2}") for each in range(100)]
    request = CandidateRequest((RequestGroup("", (("VGPU", 1), ("DISK_GB", 1))),))
    anchors = AnchorSearches(SearchPlan(request), Budget(10**6), Trace())
    looks: list[int] = []
    pools = AnchorPools([SharingMember(disk, disk.root, 0) for disk in disks], looks.append)
    searches = [anchors.start(pools.pool(host)) for host in hosts]
    candidates = list(interleave(searches, breadth_first=True))
    assert [each.providers for each in candidates] == [
        (f"host{each}", f"disk{each % 2}") for each in range(100)
    ]
    assert looks == [2, 2]
    assert results(anchors) == 2


def test_a_host_with_the_same_disks_and_a_larger_tree_is_searched_again() -> None:
    """The disk has another index in its pool."""
    disk = beside("disk", {"DISK_GB": 100}, "rack")
    small = beside("small", {"VGPU": 1}, "rack")
    large = tree("large", [1])
    root = large.root._replace(stocks=Stocks())
    large = Tree(7, "large", 1, (root, *large.members[1:]), frozenset(["rack"]))
    request = CandidateRequest((RequestGroup("", (("VGPU", 1), ("DISK_GB", 1))),))
    anchors = AnchorSearches(SearchPlan(request), Budget(10**6), Trace())
    pools = AnchorPools([SharingMember(disk, disk.root, 0)], Budget(10).spend)
    candidates = [anchors.start(pools.pool(each)).first for each in (small, large)]
    assert [each and each.providers for each in candidates] == [
        ("small", "disk"),
        ("large-0", "disk"),
    ]


TRAITS = (frozenset[str](), frozenset(["CUSTOM_A"]))
AGGREGATES = (frozenset[str](), frozenset(["rack"]))


def named(name: str, like: Tree) -> Tree:
    """A tree that is the same but for its names."""
    members = tuple(
        member._replace(uuid=f"{name}-{place}") for place, member in enumerate(like.members)
    )
    return Tree(hash(name), f"{name}-0", 1, members, like.aggregates)


def test_only_one_of_equally_used_hosts_is_searched() -> None:
    host = tree("host", [1, 2, 4])
    trees = [named(f"host{number}", host) for number in range(1000)]
    budget = Budget(10**6)
    plan = SearchPlan(CandidateRequest(like_groups(1, 2)))
    anchors = AnchorSearches(plan, budget, Trace())
    searches = [anchors.start(alone(each)) for each in trees]
    assert (anchors.searched, anchors.served, anchors.duplicates) == (1000, 1000, 999)
    # A host like another costs two steps, and a look at each member.
    assert budget.cost <= 1000 * (2 * COST_PER_STEP + 4) + 100
    candidates = interleave(searches, breadth_first=False)
    assert [candidate.providers for candidate in candidates] == [
        (f"host{number}-{place}",) for number in range(1000) for place in (2, 3)
    ]


def test_equally_used_hosts_share_a_refusal() -> None:
    host = tree("host", [1])
    trace = Trace()
    anchors = AnchorSearches(SearchPlan(CandidateRequest(like_groups(1, 2))), Budget(10**4), trace)
    for number in range(100):
        assert anchors.start(alone(named(str(number), host))).exhausted
    assert (anchors.duplicates, anchors.served) == (99, 0)
    assert trace.trees == {(Refusal.MAX_UNIT, "_0"): 100}


def test_a_request_for_one_tree_excludes_equal_trees() -> None:
    host = tree("host", [1])
    group = replace(like_groups(1)[0], terms=(InTree("host2-0"),))
    request = CandidateRequest((group,))
    candidates, _budget = search(request, [named(f"host{number}", host) for number in range(4)])
    assert [candidate.providers for candidate in candidates] == [("host2-1",)]


@pytest.mark.parametrize(
    "other",
    [
        {"parent": 0},
        {"stocks": Stocks({"VGPU": Stock(1, 1, 1, 1, 1)})},
        {"traits": frozenset[str]()},
        {"aggregates": frozenset[str]()},
    ],
)
def test_hosts_that_differ_in_one_property_are_distinct(other: dict[str, Any]) -> None:
    """A card with a port below it; on the other host the port is not as the request says."""
    card = Member("card", 0, Stocks({"PGPU": Stock(1, 0, 1, 1, 1)}), frozenset(), frozenset())
    port = Member("port", 1, Stocks({"VGPU": Stock(1, 0, 1, 1, 1)}), TRAITS[1], AGGREGATES[1])
    root = Member("root", -1, Stocks(), frozenset(), frozenset())
    hosts = [
        Tree(number, "root", 1, (root, card, below), AGGREGATES[1])
        for number, below in enumerate((port, port._replace(**other), port))
    ]
    groups = (
        RequestGroup("_C", (("PGPU", 1),)),
        RequestGroup("_P", (("VGPU", 1),), (RequiredTraits(TRAITS[1]), MemberOf(AGGREGATES[1]))),
    )
    request = CandidateRequest(groups, subtree_rules=(SubtreeRule(suffixes(groups)),))
    candidates, _budget = search(request, hosts)
    assert [candidate.pool.anchor for candidate in candidates] == [hosts[0], hosts[2]]


STOCKS = [
    Stocks(),
    Stocks({"VGPU": Stock(1, 0, 1, 1, 1)}),
    Stocks({"VGPU": Stock(4, 1, 1, 4, 1)}),
    Stocks({"VGPU": Stock(4, 0, 2, 4, 2), "PGPU": Stock(1, 0, 1, 1, 1)}),
]
MEMBERS = st.tuples(
    st.integers(0, 2),
    st.sampled_from(STOCKS),
    st.sampled_from(TRAITS),
    st.sampled_from(AGGREGATES),
)


@given(
    st.lists(st.lists(MEMBERS, min_size=1, max_size=3), min_size=1, max_size=12),
    st.integers(1, 3),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_a_host_has_the_same_candidates_as_on_its_own(
    drawn: list[list[tuple[int, Stocks, frozenset[str], frozenset[str]]]],
    groups: int,
    with_trait: bool,
    in_rack: bool,
    joined: bool,
) -> None:
    """Members are of few kinds, so many hosts differ in one property only."""
    trees = []
    for number, members in enumerate(drawn):
        parents = [-1, *(min(parent, place) for place, (parent, *_) in enumerate(members[1:]))]
        of_tree = tuple(
            Member(f"{number}-{place}", parents[place], stocks, traits, aggregates)
            for place, (_parent, stocks, traits, aggregates) in enumerate(members)
        )
        trees.append(Tree(number, f"{number}-0", 1, of_tree, frozenset(["rack"])))
    terms: list[Term] = [RequiredTraits(TRAITS[1])] if with_trait else []
    terms += [MemberOf(AGGREGATES[1])] if in_rack else []
    asked = tuple(replace(group, terms=tuple(terms)) for group in like_groups(groups))
    rules = (SubtreeRule(suffixes(asked)),) if joined and groups > 1 else ()
    request = CandidateRequest(asked, subtree_rules=rules)
    together, _budget = search(request, trees)
    for each in trees:
        by_itself, _budget = search(request, [each])
        of_host = [candidate for candidate in together if candidate.pool.anchor is each]
        assert [one.providers for one in of_host] == [one.providers for one in by_itself]


def test_hosts_of_one_shape_are_searched_once_for_all_their_candidates() -> None:
    """Two isolated groups on four devices: 12 candidates on each of 100 hosts."""
    request = CandidateRequest(like_groups(2), isolate=suffixes(like_groups(2)))
    (_twelve, of_one), (candidates, budget) = (
        search(request, [tree(f"host{number}", [1] * 4) for number in range(hosts)])
        for hosts in (1, 100)
    )
    assert len(candidates) == 1200
    assert len({candidate.assignment for candidate in candidates}) == 12
    # To report a result that another one found is a step.
    assert budget.steps == of_one.steps + 99 * 12


@given(
    st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=4), max_size=6),
    st.integers(1, 3),
    st.booleans(),
)
def test_hosts_of_one_shape_have_the_candidates_that_each_has_alone_in_their_order(
    rooms: list[list[int]], groups: int, isolated: bool
) -> None:
    trees = [tree(f"host{number}", units) for number, units in enumerate(rooms)]
    isolate = suffixes(like_groups(groups)) if isolated else frozenset[str]()
    request = CandidateRequest(like_groups(groups), isolate=isolate)
    together, _budget = search(request, trees)
    for each in trees:
        by_itself, _budget = search(request, [each])
        of_host = [candidate for candidate in together if candidate.trees[0] is each]
        assert [one.providers for one in of_host] == [one.providers for one in by_itself]


def test_all_but_one_group_isolated_cost_a_few_steps_a_candidate() -> None:
    groups = like_groups(9)
    steps: dict[int, int] = {}
    for limit in (1, 100, 200, 1000):
        request = CandidateRequest(groups, isolate=suffixes(groups[:8]), limit=limit)
        candidates, budget = search(request, [tree("host", [2] * 16)])
        assert len(candidates) == limit
        steps[limit] = budget.steps
    assert steps[1] <= 9 * 10 // 2
    for limit in (100, 200, 1000):
        assert steps[limit] <= steps[1] + 4 * limit


def test_isolated_groups_that_leave_nothing_to_others_are_refused_before_the_first_step() -> None:
    groups = like_groups(9)
    request = CandidateRequest(groups, isolate=suffixes(groups[:8]))
    candidates, budget = search(request, [tree("host", [2] * 8)])
    assert (candidates, budget.steps) == ([], 0)
    # One more device is enough for any number of groups that may share it.
    groups = like_groups(12)
    request = CandidateRequest(groups, isolate=suffixes(groups[:8]), limit=1)
    candidates, _budget = search(request, [tree("host", [4] * 9)])
    assert len(candidates) == 1


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


def test_groups_with_no_place_outside_are_refused_before_the_first_step() -> None:
    inside, outside = RequestGroup("_X", (("PGPU", 1),)), RequestGroup("_Y", (("VGPU", 1),))
    rule = SubtreeRule(suffixes([inside]), suffixes([outside]))
    request = CandidateRequest((inside, outside), subtree_rules=(rule,))
    candidates, budget = search(request, [branches(1)])
    assert (candidates, budget.steps) == ([], 0)


def split_search(
    request: CandidateRequest, trees: Sequence[Tree], max_steps: int = 10**6
) -> tuple[list[Candidate], Budget]:
    """The candidates with a split up to the request's limit, and the work that it took."""
    budget = Budget(max_steps)
    anchors = SplitSearches(SearchPlan(request), budget)
    searches = (anchors.start(alone(each)) for each in trees)
    candidates = list(islice(interleave(searches, breadth_first=True), request.limit))
    return candidates, budget


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
    candidates, budget = split_search(request, [tree("host", [8] * 64, traits)])
    assert len(candidates) == (1 if len(groups) == 1 else 100)
    assert budget.steps <= 10 * len(candidates)
    assert budget.cost <= 3000 * (1 + len(candidates))


@pytest.mark.parametrize("others", [0, 4])
def test_an_amount_that_fits_nowhere_in_parts_is_refused_before_the_first_step(others: int) -> None:
    """64 providers with 8 units each have 512, for all groups together."""
    trees = [tree("host", [8] * 64)]
    request = CandidateRequest((split_group(512 - others), *like_groups(others)), limit=1)
    assert split_search(request, trees)[0]
    request = CandidateRequest((split_group(513 - others), *like_groups(others)))
    candidates, budget = split_search(request, trees)
    assert not candidates
    assert budget.steps == 0


def test_a_provider_with_the_whole_amount_calls_for_no_split_before_the_first_step() -> None:
    trees = [tree("host", [8] * 64)]
    candidates, budget = split_search(CandidateRequest((split_group(8),)), trees)
    assert not candidates
    assert budget.steps == 0


def test_each_assignment_without_a_split_is_work() -> None:
    """No three providers have the trait that the parts and two groups must have together."""
    group = RequestGroup(
        "",
        (("VGPU", 12), ("DISK_GB", 1)),
        (RequiredTraits(HERE),),
        frozenset(["VGPU"]),
    )
    trees = [tree("host", [8] * 64, [*[NOWHERE] * 63, HERE])]
    request = CandidateRequest((group, *like_groups(3)))
    with pytest.raises(BudgetSpentError):
        split_search(request, trees, 10_000)


def test_equal_hosts_begin_with_the_same_split() -> None:
    trees = [tree(f"host{each}", [8, 6, 4]) for each in range(10)]
    request = CandidateRequest((split_group(12),), limit=10)
    candidates, _budget = split_search(request, trees)
    assert [candidate.allocations for candidate in candidates] == [
        {f"host{each}-0": {"VGPU": 8}, f"host{each}-1": {"VGPU": 4}} for each in range(10)
    ]
    assert len({id(candidate.layout) for candidate in candidates}) == 1


def test_of_equal_rooms_the_smaller_uuid_gives_the_larger_part() -> None:
    host = tree("host", [8, 8])
    root, first, second = host.members
    other = Tree(2, "host", 1, (root, second._replace(parent=0), first), NOWHERE)
    candidates, _budget = split_search(CandidateRequest((split_group(12),)), [host, other])
    assert [candidate.allocations for candidate in candidates] == [
        {"host-0": {"VGPU": 8}, "host-1": {"VGPU": 4}}
    ] * 2


def test_a_tree_of_a_thousand_children_is_split_within_the_bound_on_work() -> None:
    request = CandidateRequest((split_group(900),), limit=5)
    candidates, budget = split_search(request, [tree("host", [1] * 1000)], 10**4)
    assert [len(candidate.allocations) for candidate in candidates] == [900]
    assert not budget.spent
