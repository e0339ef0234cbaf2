"""The search compared with the brute-force oracle, on random clouds and requests.

The comparison is end to end, from the query string to the JSON response: the same set of candidates
without duplicates, and the same summaries. The number of examples is part of the test's name.
"""

import random
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from placement.candidates import SearchTuning
from tests.kit.engines import seeded, share
from tests.properties import oracle, versions
from tests.properties.strategies import seeded_query, seeded_world
from tests.properties.worlds import WorldService

WORLDS = share(250)
WORLD_QUERIES = 8


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> WorldService:
    return WorldService(tmp_path_factory.mktemp("properties"))


def ask(service: WorldService, query: oracle.Query, **extra: object) -> Mapping[str, Any]:
    answer = service.search("/allocation_candidates", [*query.to_params(), *extra.items()])
    assert answer.status_code == 200, answer.text
    body: Mapping[str, Any] = answer.json
    return body


def assert_whole(
    body: Mapping[str, Any], world: oracle.World, query: oracle.Query, expected: Any
) -> None:
    """A response without a limit has the expected candidates, each once, and their summaries."""
    assert oracle.parse_answer(body) == expected, query.to_params()
    assert len(body["allocation_requests"]) == len(expected), "a candidate came twice"
    assert sorted_traits(body["provider_summaries"]) == oracle.summaries(world, expected)


def generating(directory: Path, strategy: str, randomize: bool) -> WorldService:
    """A service with this strategy for the generation of candidates."""
    return WorldService(
        directory,
        placement={
            "allocation_candidates_generation_strategy": strategy,
            "randomize_allocation_candidates": randomize,
        },
    )


def test_the_search_agrees_with_the_oracle(
    service: WorldService, capsys: pytest.CaptureFixture[str]
) -> None:
    count = {"examples": 0, "answers": 0, "candidates": 0}

    @settings(max_examples=WORLDS, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.integers(0, 2**32))
    def agrees(seed: int) -> None:
        rng = random.Random(seed)
        world = seeded_world(rng)
        service.load(world)
        for _ in range(WORLD_QUERIES):
            query = seeded_query(rng, world)
            expected = oracle.candidates(world, query)
            count["examples"] += 1
            count["answers"] += bool(expected)
            count["candidates"] += len(expected)
            assert_whole(ask(service, query), world, query, expected)

    agrees()
    with capsys.disabled():
        print(f"\noracle: {count}")
    assert count["examples"] >= WORLDS * WORLD_QUERIES


@pytest.mark.parametrize("minor", [10, 11, 12, 16, 17, 21, 24, 25, 28, 29, 32, 33])
def test_older_versions_answer_as_much_as_they_can_express(
    service: WorldService, minor: int
) -> None:
    rng = seeded(minor)
    asked = answered = 0
    while asked < 60:
        world = seeded_world(rng)
        service.load(world)
        for _ in range(6):
            query = versions.expressible(seeded_query(rng, world), minor)
            if query is None:
                continue
            answer = service.search(
                "/allocation_candidates", versions.to_params(query), version=f"1.{minor}"
            )
            assert answer.status_code == 200, answer.text
            found = versions.parse_answer(answer.json, minor)
            expected = versions.amounts(world, oracle.candidates(world, query), minor)
            asked += 1
            answered += bool(expected)
            assert found == expected, versions.to_params(query)
            summaries = answer.json["provider_summaries"]
            assert sorted_traits(summaries) == versions.summaries(world, query, expected, minor)
    assert answered > 15


def any_tuning(rng: random.Random) -> SearchTuning:
    """Sizes that split small clouds into many windows, and conditions into few terms."""
    return SearchTuning(
        smallest_window=rng.choice((1, 2)),
        first_window=rng.choice((1, 2)),
        largest_window=rng.choice((1, 2, 3)),
        rare_match=rng.choice((0, 1, 2, 16)),
        first_batch=rng.choice((1, 2)),
        largest_batch=rng.choice((2, 1000)),
        max_terms=rng.choice((1, 8)),
    )


@pytest.mark.parametrize("randomize", [False, True])
@pytest.mark.parametrize("strategy", ["breadth-first", "depth-first"])
def test_windows_of_any_size_lead_to_the_same_answers(
    tmp_path: Path, strategy: str, randomize: bool
) -> None:
    """With default sizes, a window covers these small clouds, and SQL has no conditions."""
    service = generating(tmp_path, strategy, randomize)
    rng = seeded(f"{strategy} {randomize}")
    for _ in range(share(40)):
        world = seeded_world(rng)
        service.load(world)
        service.renew(rng)
        for _ in range(6):
            service.restart(any_tuning(rng))
            query = seeded_query(rng, world)
            expected = oracle.candidates(world, query)
            assert_whole(ask(service, query), world, query, expected)
            limit = rng.randint(1, 6)
            found = oracle.parse_answer(ask(service, query, limit=limit))
            assert found <= expected
            assert len(found) == min(limit, len(expected)), query.to_params()


def test_aggregates_are_equal_in_any_spelling_of_rows_and_requests(tmp_path: Path) -> None:
    """In an adopted database, several rows may represent one aggregate."""
    service = WorldService(tmp_path)
    rng = seeded(26)
    answered = 0
    worlds = share(100)
    for _ in range(worlds):
        world = seeded_world(rng)
        service.load(spelled_world(rng, world))
        service.renew(rng)
        for _ in range(6):
            service.restart(any_tuning(rng))
            query = seeded_query(rng, world)
            expected = oracle.candidates(world, query)
            answered += bool(expected)
            assert_whole(ask(service, spelled_query(rng, query)), world, query, expected)
            assert in_aggregates(service, spelled_query(rng, query)) == {
                uuid
                for uuid, provider in world.items()
                for group in query.groups[:1]
                if all(provider.aggregates & term for term in group.member_of)
                and not provider.aggregates & group.not_member_of
            }
    assert answered > 2 * worlds


def in_aggregates(service: WorldService, query: oracle.Query) -> set[str]:
    """The providers in the aggregates of the first group."""
    group = oracle.Group(
        "", member_of=query.groups[0].member_of, not_member_of=query.groups[0].not_member_of
    )
    answer = service.search("/resource_providers", group.to_params())
    assert answer.status_code == 200, answer.text
    return {each["uuid"] for each in answer.json["resource_providers"]}


def spelled(rng: random.Random, uuids: Iterable[str]) -> frozenset[str]:
    """The UUIDs in random spellings."""
    return frozenset(
        rng.choice((uuid, uuid.replace("-", ""), uuid.upper(), uuid.replace("-", "").upper()))
        for uuid in uuids
    )


def spelled_world(rng: random.Random, world: oracle.World) -> oracle.World:
    return {
        uuid: replace(provider, aggregates=spelled(rng, provider.aggregates))
        for uuid, provider in world.items()
    }


def spelled_query(rng: random.Random, query: oracle.Query) -> oracle.Query:
    groups = (
        replace(
            group,
            member_of=tuple(spelled(rng, term) for term in group.member_of),
            not_member_of=spelled(rng, group.not_member_of),
        )
        for group in query.groups
    )
    return replace(query, groups=tuple(groups))


def sorted_traits(summaries: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        uuid: {**summary, "traits": sorted(summary["traits"])} if "traits" in summary else summary
        for uuid, summary in summaries.items()
    }


@pytest.mark.parametrize("strategy", ["breadth-first", "depth-first"])
@pytest.mark.parametrize("randomize", [False, True])
def test_a_limited_answer_is_a_part_of_the_whole_one(
    tmp_path: Path, strategy: str, randomize: bool
) -> None:
    service = generating(tmp_path, strategy, randomize)
    rng = seeded(7)
    for _ in range(share(24)):
        world = seeded_world(rng)
        service.load(world)
        for _ in range(4):
            query = seeded_query(rng, world)
            expected = oracle.candidates(world, query)
            limit = rng.randint(1, 5)
            found = oracle.parse_answer(ask(service, query, limit=limit))
            assert found <= expected
            assert len(found) == min(limit, len(expected))


def test_every_candidate_offered_can_be_claimed(service: WorldService) -> None:
    rng = seeded(11)
    claimed = 0
    worlds = share(60)
    for _ in range(worlds):
        world = seeded_world(rng)
        service.load(world)
        for _ in range(3):
            query = seeded_query(rng, world)
            for candidate in ask(service, query, limit=6)["allocation_requests"]:
                consumer = service.claim(candidate)
                service.check_used()
                service.unclaim(consumer)
                claimed += 1
        service.check_used()
    assert claimed > 200 / 60 * worlds
