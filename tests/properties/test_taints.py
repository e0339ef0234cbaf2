"""Searches of a service with taints against the oracle: what is left out, and why."""

import random
from dataclasses import replace

import pytest

from tests.kit.engines import share
from tests.properties import oracle
from tests.properties.language import FEATURES, whole_query
from tests.properties.strategies import TRAITS, seeded_query, seeded_world
from tests.properties.test_candidates import any_tuning, ask, assert_whole
from tests.properties.test_explanation import check, explained, with_larger_amount
from tests.properties.test_language import candidates_of, in_order
from tests.properties.worlds import WorldService

EXAMPLES = share(2000)
WORLD_QUERIES = 8
VERSION = "2.0"
TAINTS = frozenset({"CUSTOM_GOLD", "STORAGE_DISK_SSD", "CUSTOM_NO_TRAIT_YET"})


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> WorldService:
    directory = tmp_path_factory.mktemp("taints")
    return WorldService(directory, placement={"taints": sorted(TAINTS)})


def tainted_world(rng: random.Random) -> oracle.World:
    """A world with one or two taints on some roots."""
    return {
        uuid: replace(provider, traits=provider.traits | {rng.choice(sorted(TAINTS & {*TRAITS}))})
        if provider.parent is None and rng.random() < 0.35
        else provider
        for uuid, provider in seeded_world(rng).items()
    }


def tainted_query(rng: random.Random, world: oracle.World) -> oracle.Query | None:
    """A query, which now and then tolerates something, with the taints of the service."""
    feature = rng.choice([None, *FEATURES])
    query: oracle.Query | None = seeded_query(rng, world)
    if query is not None and feature is not None:
        query = whole_query(rng, world, query, feature)
    if query is None:
        return None
    tolerated = frozenset(rng.sample(TRAITS, rng.choice((0, 0, 1, 2))))
    return replace(query, tolerate=tolerated, taints=TAINTS)


def test_a_search_leaves_out_the_trees_with_a_taint(
    service: WorldService, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random("taints")
    examples = answers = differences = 0
    while examples < EXAMPLES:
        world = tainted_world(rng)
        service.load(world)
        if rng.random() < 0.3:
            service.renew(rng)
            service.restart(any_tuning(rng))
        for _ in range(WORLD_QUERIES):
            query = tainted_query(rng, world)
            if query is None:
                continue
            expected = oracle.candidates(world, query)
            by_query = service.search("/allocation_candidates", query.to_params(), VERSION)
            assert by_query.status_code == 200, by_query.text
            assert_whole(by_query.json, world, query, expected)
            in_order(by_query.json, expected)
            by_body = service.send("POST", "/allocation_candidates", query.to_body(), VERSION)
            assert candidates_of(by_body.json) == candidates_of(by_query.json)
            examples += 1
            answers += bool(expected)
            differences += expected != oracle.candidates(world, replace(query, taints=frozenset()))
    with capsys.disabled():
        print(f"\ntaints: {examples} examples, {answers} answers, {differences} changed by taints")
    assert answers > examples / 10
    assert differences > examples / 10


def test_a_search_at_1_x_leaves_them_out_as_well(service: WorldService) -> None:
    rng = random.Random("taints at 1.39")
    examples = differences = 0
    while examples < EXAMPLES // 4:
        world = tainted_world(rng)
        service.load(world)
        for _ in range(WORLD_QUERIES):
            query = replace(seeded_query(rng, world), taints=TAINTS)
            expected = oracle.candidates(world, query)
            assert_whole(ask(service, query), world, query, expected)
            examples += 1
            differences += expected != oracle.candidates(world, replace(query, taints=frozenset()))
    assert differences > examples / 10


def test_an_explanation_agrees_with_the_oracle(
    service: WorldService, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random("explained taints")
    examples = served = relaxed = elsewhere = 0
    while examples < EXAMPLES // 2:
        world = tainted_world(rng)
        service.load(world)
        for _ in range(WORLD_QUERIES):
            query = tainted_query(rng, world)
            if query is None:
                continue
            query = with_larger_amount(rng, query)
            explanation = explained(service, query, rng)
            try:
                check(world, query, explanation)
                check_codes(world, query, explanation)
            except AssertionError as error:
                raise AssertionError(f"{query.to_params()}\n{explanation}") from error
            examples += 1
            served += explanation.hosts.served > 0
            gains = [each for each in explanation.relaxations if each.term.keyword == "taints"]
            relaxed += bool(gains)
            elsewhere += any(gained_elsewhere(world, query, each.term.value) for each in gains)
    with capsys.disabled():
        print(
            f"\ntaints: {examples} examples, {served} served, {relaxed} relaxed, "
            f"{elsewhere} by sharing providers of a tainted tree"
        )
    assert served > examples / 10
    assert relaxed > examples / 20
    assert elsewhere >= examples // 200


def check_codes(world: oracle.World, query: oracle.Query, explanation: object) -> None:
    """The hosts with a taint are those of the code, whose group is null; no other code has one."""
    tainted = {uuid for uuid in oracle.hosts(world) if world[uuid].traits & query.untolerated}
    blocked = explanation.blocked  # type: ignore[attr-defined]
    assert sum(each.hosts for each in blocked if each.code == "tainted") == len(tainted)
    for each in blocked:
        assert (each.code == "tainted") == bool(tainted & set(each.examples))
        assert each.group is None or each.code != "tainted"


def gained_elsewhere(world: oracle.World, query: oracle.Query, taint: object) -> bool:
    """Whether a host without the taint would be served if it were tolerated."""
    more = oracle.served(world, replace(query, taints=query.untolerated - {taint}))
    gained = more - oracle.served(world, query)
    return any(taint not in world[uuid].traits for uuid in gained)
