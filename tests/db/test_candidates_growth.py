"""The statements, trees and steps of the bench's requests. They do not depend on the machine."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.clouds import AGGREGATES, flat, nested, sharing, wide
from bench.scenarios import FLAT, NESTED, devices, limited
from placement.candidates.model import Tree
from placement.candidates.search.candidate import Candidate
from tests.kit.cloud import Cloud, load
from tests.kit.search import Searcher

SIZES = (100, 1000)
FIRST = 2  # steps more for the first host, which is searched class by class; others are like it


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("growth")


def loaded(directory: Path, cloud: Cloud) -> Searcher:
    home = directory / cloud.name
    home.mkdir(parents=True)
    searcher = Searcher(home)
    load(searcher.database.writer, cloud)
    return searcher


@pytest.fixture(scope="module")
def flats(directory: Path) -> Iterator[list[Searcher]]:
    made = [loaded(directory, flat(hosts)) for hosts in SIZES]
    yield made
    for each in made:
        each.database.dispose()


def test_ten_candidates_cost_the_same_in_any_cloud(flats: list[Searcher]) -> None:
    costs = []
    for cloud in flats:
        cold, warm = cloud.find_cold(limited(FLAT, 10)), cloud.find(limited(FLAT, 10))
        assert len(cold[0].candidates) == 10
        costs.append((cold[1:], warm[1:], cold[0].stats.steps, cold[0].stats.trees_searched))
    # names, sharing providers and a window; its trees and the names of their traits
    assert costs == [((3, 32), (1, 0), 10 + FIRST, 10)] * len(SIZES)


@pytest.mark.parametrize("limit", [80, 1000, None])
def test_an_answer_costs_a_step_a_candidate_on_flat_hosts(
    flats: list[Searcher], limit: int | None
) -> None:
    for cloud, hosts in zip(flats, SIZES, strict=True):
        found, _statements, _trees = cloud.find(limited(FLAT, limit))
        wanted = min(hosts, limit or hosts)
        assert (len(found.candidates), found.stats.trees_searched) == (wanted, wanted)
        assert found.stats.steps == wanted + FIRST
        warm = cloud.find(limited(FLAT, limit))
        assert warm[2] == 0
        assert warm[1] == 2  # names with a window of 64 roots, and one of all that are left to show


@pytest.mark.parametrize("limit", [1000, None])
def test_three_matches_cost_a_window_and_one_statement_more(
    flats: list[Searcher], limit: int | None
) -> None:
    for cloud in flats:
        path = limited(f"{FLAT}&required=CUSTOM_RARE", limit)
        cloud.forget()
        found, statements, _trees = cloud.find(path)
        assert len(found.candidates) == 3
        assert statements == 2 + 2 * 2
        assert found.stats.trees_searched <= 64 + 3
        again = cloud.find(path)
        assert again[1:] == (2, 0)


def test_no_match_costs_a_window_and_one_statement_more(flats: list[Searcher]) -> None:
    for cloud in flats:
        path = FLAT.replace("VCPU:2", "VCPU:2000")
        cloud.find(path)
        found, statements, trees = cloud.find(path)
        assert (len(found.candidates), statements, trees) == (0, 2, 0)
        assert (found.stats.trees_searched, found.stats.steps) == (64, 0)


@pytest.mark.parametrize("limit", [10, 200, None])
def test_nested_trees_cost_a_few_steps_a_candidate(directory: Path, limit: int | None) -> None:
    cloud = loaded(directory / str(limit or "all"), nested(100))
    found, _statements, _trees = cloud.find(limited(NESTED, limit))
    # Two NUMA nodes with two FPGAs each, for 100 hosts.
    assert len(found.candidates) == min(400, limit or 400)
    assert found.stats.steps <= 8 * len(found.candidates)
    warm = cloud.find(limited(NESTED, limit))
    # names with a window; another one for more than its trees have
    assert warm[1:] == (1 if limit == 10 else 2, 0)
    cloud.database.dispose()


@pytest.mark.parametrize(("number", "groups"), [(8, 6), (16, 4), (16, 8)])
def test_like_devices_cost_a_few_steps_a_candidate(
    directory: Path, number: int, groups: int
) -> None:
    cloud = loaded(directory / f"{number}-{groups}", wide(number))
    found, _statements, _trees = cloud.find(limited(devices(groups), 1000))
    assert len(found.candidates) == 1000
    assert found.stats.steps <= 2 * groups * 1000
    # All hosts are used equally.
    by_host = [tree.uuid for candidate in found.candidates for tree in candidate.trees]
    assert {by_host.count(uuid) for uuid in set(by_host)} == {10}
    assert len(set(by_host)) == 100
    cloud.database.dispose()


def test_shared_disks_cost_the_same_in_any_cloud(directory: Path) -> None:
    costs = []
    for hosts in SIZES:
        cloud = loaded(directory, sharing(hosts))
        cloud.find(limited(FLAT, 10))
        found, statements, trees = cloud.find(limited(FLAT, 10))
        costs.append((len(found.candidates), statements, trees, found.stats.steps))
        cloud.database.dispose()
    assert costs[0] == costs[1]
    assert costs[0][:3] == (10, 1, 0)
    assert costs[0][3] <= 3 * 10


def test_shared_disks_are_reported_once_for_the_hosts_that_reach_them(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trees are listed for one of the 1,000 candidates of each of 20 aggregates, in their order."""
    cloud = loaded(directory / "told", sharing(1000))
    told: list[Candidate] = []
    trees = Candidate.trees

    def tell(candidate: Candidate) -> tuple[Tree, ...]:
        told.append(candidate)
        answer: tuple[Tree, ...] = trees.__get__(candidate)
        return answer

    monkeypatch.setattr(Candidate, "trees", property(tell))
    found, _statements, _trees = cloud.find(FLAT)
    assert len(found.candidates) == 1000
    assert len({candidate.pool.reached for candidate in told}) == len(told) == AGGREGATES
    of_candidates = [tree.uuid for candidate in found.candidates for tree in candidate.trees]
    assert [tree.uuid for tree in found.trees] == list(dict.fromkeys(of_candidates))
    cloud.database.dispose()
