"""The cost of explanations for clouds of any size: statements, memory and work."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from bench.clouds import nested, sharing, unequal
from bench.scenarios import APART, FLAT, FOUR_GROUPS, IN_BOTH, NOBODY, UNMET
from placement.api.candidate_requests.query_form import parse_candidates
from placement.api.history import v
from placement.api.parameters import pairs
from placement.candidates import DEFAULT_TUNING, CandidateRequest, SearchTuning, find_candidates
from placement.candidates.requirements import Requirement
from placement.candidates.trees import scan as trees_scan
from placement.candidates.trees.scan import Scan
from placement.foresight.explanation import (
    Explanation,
    counts,
    explain,
    explain_refused,
    fits,
    relaxations,
)
from placement.foresight.explanation.explained_plan import JoinedPlan
from placement.foresight.explanation.slot_causes import SlotCauses
from placement.runtime.budget import COST_PER_PROVIDER, COST_PER_RESULT, COST_PER_STEP
from tests.db.test_candidates_growth import loaded
from tests.kit.cloud import Cloud, Provider, aggregate_uuid
from tests.kit.search import Searcher
from tests.kit.statements import counted

SIZES = (100, 1000)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("explained")


def warmed(directory: Path, cloud: Cloud) -> Searcher:
    """A searcher that has cached all trees of the cloud, because reading trees counts as work."""
    searcher = loaded(directory, cloud)
    explained(searcher, NOBODY)
    return searcher


@pytest.fixture(scope="module")
def clouds(directory: Path) -> Iterator[list[Searcher]]:
    made = [warmed(directory, unequal(hosts)) for hosts in SIZES]
    yield made
    for each in made:
        each.database.dispose()


@pytest.fixture(scope="module")
def trees(directory: Path) -> Iterator[Searcher]:
    searcher = warmed(directory, nested(20))
    yield searcher
    searcher.database.dispose()


def request_of(query: str) -> CandidateRequest:
    return parse_candidates(pairs(query), v("2.0"))


def explained(
    cloud: Searcher,
    path: str,
    max_steps: int | None = None,
    tuning: SearchTuning = DEFAULT_TUNING,
) -> tuple[Explanation, int]:
    """Return the explanation of a request, and the number of statements."""
    request = request_of(path.rpartition("?")[2])
    settings = cloud.settings.candidates
    if max_steps is not None:
        settings = replace(settings, max_search_steps=max_steps)
    with counted(cloud.database) as statements, cloud.database.read_trees() as conn:
        explanation = explain(Scan.of(conn, request), cloud.trees, settings, tuning)
    return explanation, len(statements)


@pytest.mark.parametrize("path", [NOBODY, UNMET])
def test_statements_do_not_depend_on_the_number_of_hosts(clouds: list[Searcher], path: str) -> None:
    costs = []
    for cloud in clouds:
        explanation, statements = explained(cloud, path)
        assert explanation.hosts.complete
        assert not explanation.hosts.served
        costs.append(statements)
    assert costs == [2, 2]  # names with sharing providers, a window


@pytest.mark.parametrize("path", [NOBODY, f"{FLAT}&limit=1"])
def test_an_explanation_reads_nothing_again_that_its_search_has_read(
    clouds: list[Searcher], trees: Searcher, path: str
) -> None:
    """Names, sharing providers and the first roots are cached; the first roots include all 20."""
    request = request_of(path.rpartition("?")[2])
    costs = []
    for cloud in (trees, *clouds):
        settings = replace(cloud.settings.candidates, randomize=False)
        with counted(cloud.database) as statements, cloud.database.read_trees() as conn:
            result = find_candidates(conn, cloud.trees, request, settings)
            of_search = len(statements)
            explanation = explain(result.scan, cloud.trees, settings)
            costs.append(len(statements) - of_search)
            alone = explain(Scan.of(conn, request), cloud.trees, settings)
        assert explanation == alone
    assert costs == [0, 1, 1]


def test_no_names_are_read_that_the_text_does_not_contain(directory: Path) -> None:
    """No host is in both aggregates. The text names no provider."""
    searcher = warmed(directory, sharing(20))
    request = request_of(IN_BOTH.rpartition("?")[2])
    settings = searcher.settings.candidates
    costs = []
    with counted(searcher.database) as statements, searcher.database.read_trees() as conn:
        result = find_candidates(conn, searcher.trees, request, settings)
        costs.append(len(statements))
        reasons = explain_refused(result.scan, result.trace, searcher.trees, settings)
        costs.append(len(statements) - sum(costs))
        explanation = explain(result.scan, searcher.trees, settings)
        costs.append(len(statements) - sum(costs))
    searcher.database.dispose()
    assert costs[1:] == [0, 0]
    assert reasons.counts == explanation.counts == {"not_in_aggregate": 20}


def test_a_log_line_reads_only_the_name_of_the_host_that_the_request_names(
    clouds: list[Searcher],
) -> None:
    """The search has read the host, although it cannot serve the request."""
    for cloud in clouds:
        settings = cloud.settings.candidates
        with counted(cloud.database) as statements, cloud.database.read_trees() as conn:
            roots = Scan.of(conn, request_of("resources=VCPU:1")).roots
            (tree,) = cloud.trees.get(dict(islice(roots.run(0, 5)[0].items(), 4, 5))).values()
            request = request_of(f"resources=VCPU:100000&in_tree={tree.uuid}")
            result = find_candidates(conn, cloud.trees, request, settings)
            assert len(result.trace.refused) == 1
            before = len(statements)
            reasons = explain_refused(result.scan, result.trace, cloud.trees, settings)
            assert len(statements) - before == 1
        assert reasons.hosts.looked == 1
        assert tree.uuid in reasons.text


def test_roots_that_are_not_kept_are_read_once_more(
    clouds: list[Searcher], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search has read more roots than are cached for the explanation."""
    monkeypatch.setattr(trees_scan, "MAX_KEPT_ROOTS", 10)
    cloud = clouds[-1]
    request = request_of(NOBODY.rpartition("?")[2])
    with cloud.database.read_trees() as conn:
        scan = Scan.of(conn, request)
        for after in (0, 10, 20):
            scan.roots.run(after, 10)
        ids = [each for window in islice(scan.roots.windows(100), 100) for each in window]
    assert len(ids) == len(set(ids)) == 1000


def test_single_hosts_take_two_statements_more(clouds: list[Searcher]) -> None:
    for cloud in clouds:
        explanation, statements = explained(cloud, NOBODY.replace("summary", "providers"))
        assert statements == 4
        assert explanation.providers is not None
        assert len(explanation.providers) == 100
        for host in explanation.providers:
            assert host.stock is not None
            free = int((host.stock["total"] - host.stock["reserved"]) * 16.0) - host.stock["used"]
            assert host.room == free


@pytest.mark.parametrize("path", [NOBODY, f"{FLAT}&explain=summary", FOUR_GROUPS, APART])
def test_a_small_maximum_of_evaluations_in_memory_changes_nothing(
    clouds: list[Searcher], trees: Searcher, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud = trees if path in (FOUR_GROUPS, APART) else clouds[0]
    whole, _statements = explained(cloud, path)
    monkeypatch.setattr(counts, "MAX_TALLIES", 1)
    monkeypatch.setattr(fits, "MAX_FITS", 1)
    assert explained(cloud, path)[0] == whole


def test_equal_hosts_are_counted_after_their_tally_is_folded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    traits = ["HW_CPU_X86_AVX", "HW_CPU_X86_AVX2", "HW_CPU_X86_SSE"]
    hosts = [Provider({"VCPU": 1}, traits[: number % 3]) for number in range(18)]
    monkeypatch.setattr(counts, "MAX_TALLIES", 1)
    cloud = loaded(tmp_path, Cloud("apart", lambda: hosts))
    path = f"/allocation_candidates?resources=VCPU:1&required={','.join(traits)}"
    explanation, _statements = explained(cloud, f"{path}&explain=summary")
    cloud.database.dispose()
    assert sum(each.hosts for each in explanation.blocked) == explanation.hosts.looked == 18


def test_work_ends_at_the_bound_and_the_answer_says_so(clouds: list[Searcher]) -> None:
    cloud = clouds[-1]
    explanation, _statements = explained(cloud, NOBODY, max_steps=2000)
    hosts = explanation.hosts
    assert not hosts.complete
    assert hosts.all == 1000
    assert 0 < hosts.looked < 1000
    assert sum(each.hosts for each in explanation.blocked) == hosts.looked
    assert f"None of the {hosts.looked} hosts looked at of 1,000 can" in explanation.text


def test_rare_windows_and_batches_change_nothing(clouds: list[Searcher]) -> None:
    whole, _statements = explained(clouds[0], UNMET)
    small = SearchTuning(largest_window=7, largest_batch=3)
    assert explained(clouds[0], UNMET, tuning=small)[0] == whole


def test_a_host_that_takes_too_long_is_undecided(trees: Searcher) -> None:
    """The whole limit on work exceeds the share of one host."""
    path = APART.replace("&isolate=_F1&same_subtree=_COMPUTE,_F1,_F2", "&group_policy=isolate")
    explanation, _statements = explained(trees, path, max_steps=160)
    assert not explanation.hosts.complete
    assert [each.code for each in explanation.blocked] == ["budget"]
    assert explanation.blocked[0].detail == "not decided within the limit on work"
    assert explanation.together[-1].code == "budget"


def unlike(hosts: int) -> Cloud:
    """Create hosts with unique traits."""
    members = [Provider({"VCPU": 4}, traits=(f"CUSTOM_T{host}",)) for host in range(hosts)]
    return Cloud("unlike", lambda: members)


def test_the_bound_counts_the_terms_of_hosts_that_are_all_different(directory: Path) -> None:
    """The explanation evaluates each term for each set of traits, and each relaxation for each
    host.
    """
    searcher = loaded(directory, unlike(100))
    traits = ",".join(f"CUSTOM_T{host}" for host in range(100))
    explanation, _statements = explained(
        searcher, f"resources=VCPU:5&required={traits}", max_steps=5_000
    )
    searcher.database.dispose()
    assert not explanation.hosts.complete
    assert 0 < explanation.hosts.looked < 100
    assert sum(each.hosts for each in explanation.blocked) == explanation.hosts.looked


def mixed(hosts: int) -> Cloud:
    """Hosts with five of 40 traits each, no two with the same, and one of two aggregates."""
    members = [
        Provider(
            {"VCPU": 4, "MEMORY_MB": 1024},
            {f"CUSTOM_T{(host * step + step) % 40}" for step in (1, 3, 7, 11, 17)},
            None,
            [aggregate_uuid(host % 2)],
        )
        for host in range(hosts)
    ]
    return Cloud("mixed", lambda: members)


ANY_OF = "&".join(f"required=in:CUSTOM_T{first},CUSTOM_T{first + 13}" for first in range(20))


@pytest.mark.parametrize(
    "terms", [ANY_OF, f"{ANY_OF}&member_of={aggregate_uuid(0)}&member_of={aggregate_uuid(1)}"]
)
def test_a_request_without_a_term_is_planned_once_for_all_hosts(
    tmp_path: Path, terms: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host that fails several terms does not need any plan."""
    planned: list[CandidateRequest] = []
    plan = JoinedPlan.__init__

    def count(self: JoinedPlan, request: CandidateRequest, *arguments: Any, **named: Any) -> None:
        planned.append(request)
        plan(self, request, *arguments, **named)

    monkeypatch.setattr(JoinedPlan, "__init__", count)
    searcher = loaded(tmp_path, mixed(200))
    explanation, _statements = explained(searcher, f"resources=VCPU:1,MEMORY_MB:1&{terms}")
    searcher.database.dispose()
    assert explanation.hosts.complete
    assert explanation.hosts.looked == 200
    assert len(planned) <= 21


def test_amounts_that_no_host_can_serve_are_counted(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """These are the amounts that a host can still provide after any sum of other groups."""
    looked_at = 0
    beside = relaxations._beside

    def count(*arguments: Any) -> Any:
        nonlocal looked_at
        looked_at += 1
        return beside(*arguments)

    monkeypatch.setattr(relaxations, "_beside", count)
    devices = [Provider({"CUSTOM_VF": room}, parent=1) for room in range(1, 41)]
    cloud = Cloud("devices", lambda: [Provider({"VCPU": 4}), *devices])
    searcher = loaded(directory, cloud)
    groups = "&".join(f"resources_{amount}=CUSTOM_VF:{amount}" for amount in range(2, 40))
    path = f"{groups}&resources_A=CUSTOM_VF:1000&group_policy=isolate"
    steps = 10_000
    explanation, _statements = explained(searcher, path, max_steps=steps)
    searcher.database.dispose()
    assert explanation.hosts.looked == 1
    assert looked_at <= steps * COST_PER_STEP // COST_PER_PROVIDER + 1000


@pytest.mark.parametrize(
    ("hosts", "room", "groups", "terms"),
    [
        (100, lambda host: 100 + host, 200, ""),
        (1100, lambda host: 1000 + host, 20, "HW_CPU_X86_AVX"),
    ],
    ids=("evaluations", "masks"),
)
def test_the_bound_counts_each_of_many_groups(
    tmp_path: Path,
    hosts: int,
    room: Callable[[int], int],
    groups: int,
    terms: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each host has one provider, and all groups differ: each host is evaluated for each group."""
    looks = Counter[str]()

    def count(owner: type, name: str, each: int) -> None:
        method = getattr(owner, name)

        def counting(*arguments: Any) -> Any:
            looks[name] += each
            return method(*arguments)

        monkeypatch.setattr(owner, name, counting)

    steps = 20_000
    amounts = range(1, groups + 1)
    members = [Provider({"VCPU": room(host)}) for host in range(hosts)]
    searcher = loaded(tmp_path, Cloud("single", lambda: members))
    path = "&".join(f"resources_{amount}=VCPU:{amount}" for amount in amounts)
    if terms:
        path += "".join(f"&required_{amount}=!{terms}" for amount in amounts)
    explained(searcher, path, max_steps=1)  # reads the first trees
    count(Requirement, "masks", COST_PER_PROVIDER)
    count(SlotCauses, "__init__", COST_PER_RESULT)
    explanation, _statements = explained(searcher, path, max_steps=steps)
    searcher.database.dispose()
    assert 0 < explanation.hosts.looked < hosts
    assert looks.total() <= steps * COST_PER_STEP


def test_the_search_for_smaller_amounts_leaves_work_for_other_hosts(directory: Path) -> None:
    """Each group fits alone and all hosts differ, so each host has many amounts to try."""
    members = [Provider({"VCPU": 200 + host}) for host in range(100)]
    searcher = loaded(directory, Cloud("sizes", lambda: members))
    groups = "&".join(f"resources_{amount}=VCPU:{amount}" for amount in range(20, 40))
    path = f"{groups}&group_policy=none"
    explained(searcher, path)
    explanation, _statements = explained(searcher, path, max_steps=200_000)
    searcher.database.dispose()
    assert explanation.hosts.looked == 100
    assert not explanation.hosts.complete


@pytest.fixture
def wide(directory: Path, request: pytest.FixtureRequest) -> Iterator[Searcher]:
    """A host of 100 devices with one unit each."""
    devices = [Provider({"CUSTOM_VF": 1}, parent=1) for _device in range(100)]
    cloud = Cloud(request.node.name, lambda: [Provider({"VCPU": 4}), *devices])
    searcher = loaded(directory, cloud)
    yield searcher
    searcher.database.dispose()


def test_a_host_whose_relaxations_take_too_long_is_rejected_with_its_code(wide: Searcher) -> None:
    suffixes = [f"_{number}" for number in range(101)]
    groups = "&".join(f"resources{suffix}=CUSTOM_VF:1" for suffix in suffixes)
    path = f"{groups}&isolate={','.join(suffixes)}"
    explanation, _statements = explained(wide, path, max_steps=100_000)
    assert [each.code for each in explanation.blocked] == ["capacity_sum"]
    assert not explanation.hosts.complete


def test_an_explanation_with_the_largest_possible_amount_is_complete(
    wide: Searcher,
) -> None:
    """More amounts lie between the request and the capacity than are tried."""
    path = "resources=CUSTOM_VF:1000&can_split=CUSTOM_VF"
    explanation, _statements = explained(wide, path)
    assert [each.to for each in explanation.relaxations] == [100]
    assert explanation.hosts.complete


def test_not_even_one_host_may_be_looked_at(wide: Searcher) -> None:
    explanation, _statements = explained(wide, "resources=VCPU:9", max_steps=1)
    assert explanation.hosts[:4] == (1, 0, 0, False)
    assert explanation.text == ("No host of 1 could be looked at within the limit on work.")
