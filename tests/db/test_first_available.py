"""Alternative requests: one lookup and one limit on work for all of them."""

from dataclasses import replace
from typing import Any

import pytest

from placement.api.candidate_requests.json_form import read_alternatives
from placement.candidates import SearchResult, find_candidates, find_first_available
from placement.errors import SearchExhausted
from tests.kit.cloud import building
from tests.kit.search import Searcher
from tests.kit.statements import counted

HOSTS = 40
MUCH: dict[str, Any] = {"groups": {"": {"resources": {"VCPU": 9}}}}
SOME: dict[str, Any] = {"groups": {"": {"resources": {"VCPU": 1}}}}


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    made = Searcher(tmp_path_factory.mktemp("alternatives"))
    with building(made.database.writer) as cloud:
        for number in range(HOSTS):
            cloud.add(f"h{number}", {"VCPU": 8, "DISK_GB": number + 1})
    return made


def find(
    searcher: Searcher, *alternatives: dict[str, Any], max_search_steps: int = 10**6
) -> tuple[int | None, SearchResult]:
    settings = replace(searcher.settings.candidates, max_search_steps=max_search_steps)
    requests = read_alternatives({"first_available": list(alternatives)})
    with searcher.database.read_trees() as conn:
        return find_first_available(conn, searcher.trees, requests, settings)


def test_all_names_are_looked_up_at_once(searcher: Searcher) -> None:
    find(searcher, SOME)
    with counted(searcher.database) as statements:
        assert find(searcher, SOME, MUCH, MUCH)[0] == 0
    with counted(searcher.database) as plain, searcher.database.read_trees() as conn:
        (request,) = read_alternatives(SOME)
        find_candidates(conn, searcher.trees, request, searcher.settings.candidates)
    assert len(statements) == len(plain)


def test_all_share_one_bound_and_no_later_one_is_tried_after_it(searcher: Searcher) -> None:
    place, result = find(searcher, MUCH, SOME)
    assert (place, len(result.candidates)) == (1, HOSTS)
    # The first alternative alone is decided within these steps, and the second one is not begun.
    _place, alone = find(searcher, MUCH)
    steps = alone.stats.looks // 8
    assert find(searcher, SOME, max_search_steps=steps)[0] == 0
    with pytest.raises(SearchExhausted):
        find(searcher, MUCH, SOME, max_search_steps=steps)
    with pytest.raises(SearchExhausted):
        find(searcher, MUCH, SOME, max_search_steps=steps // 2)
