"""The request language of 2.0 compared with the oracle: each feature, alone and combined."""

import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.kit.engines import seeded, share
from tests.properties import oracle
from tests.properties.language import FEATURES, whole_query
from tests.properties.strategies import seeded_query, seeded_world
from tests.properties.test_candidates import any_tuning, assert_whole, generating
from tests.properties.worlds import WorldService

EXAMPLES = share(1000)
WORLD_QUERIES = 10
VERSION = "2.0"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> WorldService:
    return WorldService(tmp_path_factory.mktemp("language"))


def queries(rng: random.Random, world: oracle.World, feature: str) -> Iterator[oracle.Query]:
    for _ in range(WORLD_QUERIES):
        query = whole_query(rng, world, seeded_query(rng, world), feature)
        if query is not None:
            yield query


def check(
    service: WorldService, world: oracle.World, query: oracle.Query, rng: random.Random
) -> set[oracle.Candidate]:
    """Compare the whole response and a limited one; returns the candidates."""
    expected = oracle.candidates(world, query)
    params = query.to_params()
    answer = service.search("/allocation_candidates", params, VERSION)
    assert answer.status_code == 200, answer.text
    assert_whole(answer.json, world, query, expected)
    splits = in_order(answer.json, expected)
    if rng.random() < 0.2:
        limit = rng.randint(1, 5)
        params = [*params, ("limit", str(limit))]
        answer = service.search("/allocation_candidates", params, VERSION)
        part = oracle.parse_answer(answer.json)
        assert part <= expected, params
        assert len(part) == min(limit, len(expected)), params
        assert in_order(answer.json, expected) == max(0, len(part) - len(expected) + splits)
    return expected


def in_order(body: Mapping[str, Any], expected: set[oracle.Candidate]) -> int:
    """Return the number of candidates with a split, after a check that they are last."""
    is_split = {candidate: candidate.split for candidate in expected}
    splits = [
        is_split[candidate]
        for request in body["allocation_requests"]
        for candidate in oracle.parse_answer({"allocation_requests": [request]})
    ]
    assert splits == sorted(splits)
    return sum(splits)


@pytest.mark.parametrize("feature", FEATURES)
def test_each_feature_agrees_with_the_oracle(
    service: WorldService, feature: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = seeded(feature)
    examples = answers = candidates = splits = 0
    while examples < EXAMPLES:
        world = seeded_world(rng)
        service.load(world)
        for query in queries(rng, world, feature):
            expected = check(service, world, query, rng)
            examples += 1
            answers += bool(expected)
            candidates += len(expected)
            splits += sum(candidate.split for candidate in expected)
    with capsys.disabled():
        print(
            f"\n{feature}: {examples} examples, {answers} answers, {candidates} candidates, "
            f"{splits} with a split"
        )
    assert answers > EXAMPLES / 10
    assert splits > EXAMPLES / 10 or feature != "can_split"


def test_every_split_that_is_offered_can_be_claimed(service: WorldService) -> None:
    rng = seeded("claims")
    claimed = 0
    while claimed < share(200):
        world = seeded_world(rng)
        service.load(world)
        for query in queries(rng, world, "can_split"):
            answer = service.search("/allocation_candidates", query.to_params(), VERSION)
            for candidate in answer.json["allocation_requests"][-3:]:
                consumer = service.claim(candidate)
                service.check_used()
                service.unclaim(consumer)
                claimed += 1


@pytest.mark.parametrize("randomize", [False, True])
@pytest.mark.parametrize("strategy", ["breadth-first", "depth-first"])
def test_windows_of_any_size_lead_to_the_same_answers(
    tmp_path: Path, strategy: str, randomize: bool
) -> None:
    """With default sizes, a window covers these small clouds, and SQL has no conditions."""
    service = generating(tmp_path, strategy, randomize)
    rng = seeded(f"language {strategy} {randomize}")
    for _ in range(share(4)):
        for feature in FEATURES:
            world = seeded_world(rng)
            service.load(world)
            service.renew(rng)
            for query in queries(rng, world, feature):
                service.restart(any_tuning(rng))
                check(service, world, query, rng)


def test_the_providers_of_a_subtree_are_listed(service: WorldService) -> None:
    rng = seeded(3)
    listed = 0
    worlds = share(60)
    for _ in range(worlds):
        world = seeded_world(rng)
        service.load(world)
        for top in world:
            params = [("subtree", top)]
            if rng.random() < 0.3:
                params.append(("in_tree", rng.choice(list(world))))
            answer = service.search("/resource_providers", params, VERSION)
            assert answer.status_code == 200, answer.text
            uuids = {each["uuid"] for each in answer.json["resource_providers"]}
            tree = dict(params).get("in_tree", top)
            assert uuids == {
                uuid
                for uuid in world
                if top in oracle.lineage(world, uuid)
                and oracle.root(world, uuid) == oracle.root(world, tree)
            }
            listed += len(uuids)
    assert listed > 3 * worlds


def test_both_forms_of_a_request_have_the_same_answer(
    service: WorldService, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = seeded("forms")
    examples = answers = 0
    while examples < EXAMPLES:
        world = seeded_world(rng)
        service.load(world)
        for query in queries(rng, world, rng.choice(list(FEATURES))):
            by_query = service.search("/allocation_candidates", query.to_params(), VERSION)
            body = query.to_body()
            by_body = service.send("POST", "/allocation_candidates", body, VERSION)
            assert by_body.status_code == 200, by_body.text
            assert candidates_of(by_body.json) == candidates_of(by_query.json), body
            assert by_body.json["provider_summaries"].keys() == (
                by_query.json["provider_summaries"].keys()
            )
            examples += 1
            answers += bool(by_body.json["allocation_requests"])
    with capsys.disabled():
        print(f"\nboth forms: {examples} examples, {answers} answers")
    assert answers > EXAMPLES / 10


def candidates_of(body: Mapping[str, Any]) -> list[str]:
    return sorted(json.dumps(each, sort_keys=True) for each in body["allocation_requests"])
