"""Taints cost a search no statement, and no SQL for requests that tolerate them."""

from pathlib import Path

import pytest

from placement.candidates import TreeCache, find_candidates
from placement.candidates.request import CandidateRequest, RequestGroup
from tests.kit.cloud import SHARING, CloudBuilder, aggregate_uuid, building
from tests.kit.search import Searcher
from tests.kit.statements import counted

TAINTS = ["CUSTOM_MAINTENANCE", "CUSTOM_NO_TRAIT_YET"]
QUERIES = (
    "resources=VCPU:1&limit=10",
    "resources=VCPU:1,DISK_GB:1&limit=10",
    "resources=DISK_GB:1",
    "resources=VCPU:9",
    "resources=VCPU:1&in_tree=00000000-0000-4000-8000-000000000002",
)


def fill(cloud: CloudBuilder) -> None:
    for number in range(200):
        traits = ["CUSTOM_MAINTENANCE"] if number % 10 == 0 else []
        cloud.add(f"h{number}", {"VCPU": 8}, traits=traits, aggregates=[aggregate_uuid(1)])
    cloud.add("disk", {"DISK_GB": 10**6}, traits=[SHARING], aggregates=[aggregate_uuid(1)])


def made(directory: Path, **placement: object) -> Searcher:
    directory.mkdir()
    searcher = Searcher(directory, placement=placement)
    with building(searcher.database.writer) as cloud:
        fill(cloud)
    return searcher


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Searcher, Searcher]:
    directory = tmp_path_factory.mktemp("taints")
    return made(directory / "without"), made(directory / "with", taints=TAINTS)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("cold", [True, False])
def test_a_search_takes_as_many_statements_with_taints(
    both: tuple[Searcher, Searcher], query: str, cold: bool
) -> None:
    costs = []
    for searcher in both:
        searcher.find(query)
        costs.append(searcher.find_cold(query) if cold else searcher.find(query))
    without, with_taints = costs
    assert with_taints.statements == without.statements
    assert with_taints.result.stats.steps <= without.result.stats.steps


def test_a_request_that_tolerates_all_taints_sends_the_same_statements(
    both: tuple[Searcher, Searcher],
) -> None:
    """Except for the lookup of names, which includes tolerated ones."""
    searcher = both[1]
    request = CandidateRequest(
        (RequestGroup("", (("VCPU", 9),)),), tolerate=frozenset(["CUSTOM_MAINTENANCE"])
    )
    texts = []
    for settings in (both[0].settings, searcher.settings):
        with counted(searcher.database) as statements, searcher.database.read_trees() as conn:
            find_candidates(conn, TreeCache(1000), request, settings.candidates)
        texts.append(statements[1:])
    assert texts[0] == texts[1]
    assert texts[0]
