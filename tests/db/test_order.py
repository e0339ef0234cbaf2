"""Ordered hosts: the examined hosts, the effect of the limit on work, and the start of claims."""

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from placement.api.candidate_requests.json_form import read_candidates
from placement.candidates import DEFAULT_TUNING, ClaimRequest, SearchResult, find_candidates
from placement.candidates.claims.choices import DEFAULT_CANDIDATES, ClaimSearches
from placement.candidates.model import Tree
from placement.candidates.request import Order, Rank, rank_by
from placement.candidates.search.ordered import MAX_HEADS
from placement.candidates.trees import ranked_roots
from placement.errors import SearchExhausted
from placement.objects.claims import Claim
from placement.runtime.budget import Budget
from tests.kit.cloud import building, consumer_uuid, provider_uuid
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


def test_a_limit_searches_only_the_best_hosts(searcher: Searcher) -> None:
    result = find(searcher, {**BODY, "order": LEAST, "limit": 3})
    assert hosts(result) == [39, 38, 37]
    assert result.stats.trees_searched == 3


def test_an_order_takes_no_more_steps_than_all_candidates(searcher: Searcher) -> None:
    whole = find(searcher, BODY)
    best = find(searcher, {**BODY, "order": LEAST})
    assert len(best.candidates) == len(whole.candidates) == HOSTS
    assert best.stats.steps <= whole.stats.steps


def test_rare_matches_are_found_by_a_statement(tmp_path: Path) -> None:
    """The best hosts cannot serve the request. Two of the last ones can."""
    searcher = Searcher(tmp_path)
    with building(searcher.database.writer) as cloud:
        for number in range(200):
            stock = {"VCPU": 200 - number} | ({"DISK_GB": 1} if number > 197 else {})
            cloud.add(f"h{number}", stock)
    order = [{"by": "free", "resource_class": "VCPU", "first": "most"}]
    body = {"groups": {"": {"resources": {"VCPU": 1, "DISK_GB": 1}}}, "order": order}
    for _ in ("cold", "warm"):
        result = find(searcher, {**body, "limit": 1})
        assert result.candidates[0].providers[0] == provider_uuid(199)
        assert result.stats.trees_searched == DEFAULT_TUNING.first_window + 1
    assert len(find(searcher, body).candidates) == 2
    searcher.database.dispose()


def test_only_changed_hosts_are_ranked_again(tmp_path: Path) -> None:
    """A cached rank is of the revision that the search has read."""
    body = {**BODY, "order": LEAST, "limit": 2}
    with Service(tmp_path) as service:
        with building(service.database.writer) as cloud:
            for number in range(300):  # two blocks
                cloud.add(f"h{number}", {"VCPU": 300 - number})

        def first() -> list[int]:
            answer = service.expect(200, "POST", "/allocation_candidates", body, "2.0").json
            uuids = [next(iter(each["mappings"][""])) for each in answer["allocation_requests"]]
            return [int(uuid.rpartition("-")[2]) - 1 for uuid in uuids]

        assert first() == [299, 298]
        ranked: list[str] = []

        def rank_by_logged(order: Order) -> Callable[[Tree], Rank]:
            def rank(tree: Tree) -> Rank:
                ranked.append(tree.uuid)
                return rank_by(order)(tree)

            return rank

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ranked_roots, "rank_by", rank_by_logged)
            assert first() == [299, 298]
            assert ranked == []
            taken = {provider_uuid(12): {"resources": {"VCPU": 288}}}
            owner = {"project_id": "p", "user_id": "u", "consumer_type": "INSTANCE"}
            claim = {"allocations": taken, "consumer_generation": None, **owner}
            service.expect(204, "PUT", f"/allocations/{consumer_uuid(1)}", claim)
            assert first() == [11, 299]
            assert ranked == [provider_uuid(12)]
            service.expect(204, "DELETE", f"/resource_providers/{provider_uuid(300)}")
            assert first() == [11, 298]
            assert ranked == [provider_uuid(12)]


def test_the_bound_on_work_leaves_the_best_hosts(searcher: Searcher) -> None:
    steps = find(searcher, {**BODY, "order": LEAST}).stats.looks // 8
    half = (steps + find(searcher, {**BODY, "order": LEAST, "limit": 1}).stats.looks // 8) // 2
    result = find(searcher, {**BODY, "order": LEAST}, max_search_steps=half)
    assert result.stats.exhausted
    found = hosts(result)
    assert 0 < len(found) < HOSTS
    assert found == list(range(HOSTS - 1, HOSTS - 1 - len(found), -1))


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
                conn,
                searcher.trees,
                [demand],
                searcher.settings.candidates,
                DEFAULT_TUNING,
                lambda *_arguments: "",
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


def test_an_answer_without_an_order_that_the_bound_has_cut_does_not_say_so(tmp_path: Path) -> None:
    with Service(tmp_path, placement={"max_search_steps": 700}) as service:
        with building(service.database.writer) as cloud:
            for number in range(HOSTS):
                cloud.add(f"h{number}", {"VCPU": HOSTS - number})
        answer = service.expect(200, "POST", "/allocation_candidates", BODY, "2.0").json
        assert 0 < len(answer["allocation_requests"]) < HOSTS
        assert "complete" not in answer
