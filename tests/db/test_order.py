"""Ordered hosts: the examined hosts, the effect of the limit on work, and the start of claims."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from placement.api.candidate_requests.json_form import read_candidates
from placement.candidates import DEFAULT_TUNING, ClaimRequest, SearchResult, find_candidates
from placement.candidates.budget import Budget
from placement.candidates.claims.choices import DEFAULT_CANDIDATES, ClaimSearches
from placement.candidates.search.ordered import MAX_HEADS
from placement.errors import SearchExhausted
from placement.objects.claims import Claim
from tests.kit.cloud import building, provider_uuid
from tests.kit.search import Searcher
from tests.kit.service import Service

HOSTS = 40
BODY: dict[str, Any] = {"groups": {"": {"resources": {"VCPU": 1}}}}
LEAST = [{"by": "free", "resource_class": "VCPU", "first": "least"}]
QUIET = [{"by": "trait", "name": "CUSTOM_QUIET", "first": "with"}]


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    """Hosts with 40, 39, … 1 units. The last twelve have the trait."""
    made = Searcher(tmp_path_factory.mktemp("order"))
    with building(made.database.writer) as cloud:
        for number in range(HOSTS):
            traits = ["CUSTOM_QUIET"] if number >= HOSTS - 12 else []
            cloud.add(f"h{number}", {"VCPU": HOSTS - number}, traits=traits)
    return made


def find(searcher: Searcher, body: dict[str, Any], max_search_steps: int = 10**6) -> SearchResult:
    settings = replace(searcher.settings.candidates, max_search_steps=max_search_steps)
    with searcher.database.read_trees() as conn:
        return find_candidates(conn, searcher.trees, read_candidates(body), settings)


def hosts(result: SearchResult) -> list[int]:
    """Return the numbers of the hosts, starting at 0."""
    numbers = {provider_uuid(number + 1): number for number in range(HOSTS)}
    return [numbers[candidate.providers[0]] for candidate in result.candidates]


def test_a_limit_looks_at_all_hosts(searcher: Searcher) -> None:
    result = find(searcher, {**BODY, "order": LEAST, "limit": 3})
    assert hosts(result) == [39, 38, 37]
    assert result.stats.trees_searched == HOSTS


def test_an_order_takes_no_more_work_than_all_candidates(searcher: Searcher) -> None:
    whole = find(searcher, BODY)
    best = find(searcher, {**BODY, "order": LEAST, "limit": 10})
    assert best.stats.steps <= whole.stats.steps
    assert best.stats.looks <= whole.stats.looks + HOSTS * len(LEAST)


def test_the_bound_on_work_leaves_the_best_of_the_hosts_looked_at(searcher: Searcher) -> None:
    steps = find(searcher, {**BODY, "order": LEAST}).stats.looks // 8
    result = find(searcher, {**BODY, "order": LEAST}, max_search_steps=steps // 2)
    assert result.stats.exhausted
    found = hosts(result)
    assert 0 < len(found) < HOSTS
    assert found == list(range(len(found) - 1, -1, -1))


def test_without_a_candidate_the_bound_is_an_error(searcher: Searcher) -> None:
    with pytest.raises(SearchExhausted):
        find(searcher, {**BODY, "order": LEAST}, max_search_steps=1)


@pytest.mark.parametrize(("order", "heads"), [(LEAST, 1), (QUIET, MAX_HEADS)])
@pytest.mark.parametrize(("limit", "tried"), [(None, DEFAULT_CANDIDATES), (5, 5), (30, 30)])
def test_a_claim_begins_at_one_of_the_hosts_that_stand_first(
    searcher: Searcher, order: Any, heads: int, limit: int | None, tried: int
) -> None:
    random.seed(1)
    body = {**BODY, "order": order, **({"limit": limit} if limit else {})}
    in_order = hosts(find(searcher, {**body, "limit": tried}))
    begun = set()
    for _ in range(100):
        demand = ClaimRequest(read_candidates(body), Claim("c", {}, "p", "u"), "request")
        with searcher.database.read_trees() as conn:
            searches = ClaimSearches(
                conn, searcher.trees, [demand], searcher.settings.candidates, DEFAULT_TUNING
            )
            choices = searches.choices(Budget(10**6), explained=False)
        found = [candidate.providers[0] for (candidate,) in choices.sets]
        numbers = [int(uuid.rpartition("-")[2]) - 1 for uuid in found]
        start = in_order.index(numbers[0])
        assert numbers == in_order[start:] + in_order[:start]
        begun.add(start)
    assert begun == set(range(min(heads, tried)))


def test_an_answer_that_the_bound_has_cut_says_so(tmp_path: Path) -> None:
    with Service(tmp_path, placement={"max_search_steps": 740}) as service:
        with building(service.database.writer) as cloud:
            for number in range(HOSTS):
                cloud.add(f"h{number}", {"VCPU": HOSTS - number})
        body = {**BODY, "order": LEAST}
        answer = service.expect(200, "POST", "/allocation_candidates", body, "2.0").json
        assert answer["complete"] is False
        assert answer["allocation_requests"]
        plain = service.expect(200, "POST", "/allocation_candidates", BODY, "2.0").json
        assert "complete" not in plain
