"""Searches, explanations and headroom of similar hosts, compared with the oracle.

The service evaluates equal hosts once. Hosts that differ in one property must not count as equal if
the property matters.
"""

import random
from collections import Counter
from dataclasses import replace

import pytest

from tests.kit.engines import seeded, share
from tests.properties import oracle, test_headroom
from tests.properties.headroom import TooManyStatesError, most_together
from tests.properties.language import FEATURES, whole_query
from tests.properties.similar import similar_hosts
from tests.properties.strategies import seeded_query, seeded_world
from tests.properties.test_candidates import assert_whole
from tests.properties.test_explanation import check, explained, with_larger_amount
from tests.properties.worlds import WorldService

EXAMPLES = share(1200)
WORLD_QUERIES = 8
LIMIT = 6  # of headroom


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> WorldService:
    return WorldService(tmp_path_factory.mktemp("similar"))


def any_query(rng: random.Random, world: oracle.World) -> oracle.Query:
    query = seeded_query(rng, world)
    if rng.random() < 0.5:
        query = whole_query(rng, world, query, rng.choice(list(FEATURES))) or query
    if rng.random() < 0.5:
        query = with_equal_group(rng, query)
    return with_larger_amount(rng, query) if rng.random() < 0.3 else query


def with_equal_group(rng: random.Random, query: oracle.Query) -> oracle.Query:
    """The query with one of its groups a second time, sometimes in one subtree with another one."""
    group = replace(rng.choice(query.groups), suffix="_equal", can_split=frozenset())
    if not group.resources:
        return query
    rules = query.same_subtree
    suffixes = [each.suffix for each in query.groups if each.suffix]
    if suffixes and rng.random() < 0.5:
        rules = (*rules, (rng.choice(suffixes), group.suffix))
    return replace(query, groups=(*query.groups, group), same_subtree=rules)


def check_headroom(service: WorldService, world: oracle.World, query: oracle.Query) -> None:
    try:
        most = most_together(world, query, LIMIT)
    except TooManyStatesError:
        return
    found = test_headroom.measure(service, query, limit=LIMIT)
    test_headroom.check(found, most, LIMIT, exact=test_headroom.has_exact_number(world, query))


def test_similar_hosts_are_not_confused(
    service: WorldService, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = seeded("similar hosts")
    kinds: Counter[str] = Counter()
    while kinds["examples"] < EXAMPLES:
        world = similar_hosts(rng, seeded_world(rng))
        service.load(world)
        service.renew(rng)
        service.restart()
        for _ in range(WORLD_QUERIES):
            query = any_query(rng, world)
            expected = oracle.candidates(world, query)
            served = len(oracle.served(world, query))
            try:
                answer = service.search("/allocation_candidates", query.to_params(), "2.0")
                assert_whole(answer.json, world, query, expected)
                check(world, query, explained(service, query, rng))
                check_headroom(service, world, query)
            except AssertionError as error:
                raise AssertionError(f"{query.to_params()}\n{world}") from error
            kinds["examples"] += 1
            kinds["served"] += bool(served)
            kinds["different"] += 0 < served < len(oracle.hosts(world))
    with capsys.disabled():
        print(f"\nsimilar hosts: {dict(kinds)}")
    assert kinds["served"] > EXAMPLES / 4
    assert kinds["different"] > EXAMPLES / 20


def test_hosts_that_differ_only_in_a_parent_are_not_confused(service: WorldService) -> None:
    """The second and third provider of each host serve a group; on host 2 they are siblings."""
    world: dict[str, oracle.Provider] = {}
    for host, parents in ((1, (None, 0, 1)), (2, (None, 0, 0)), (3, (None, 0, 1))):
        uuids = [f"{host}000000{position}-0000-4000-8000-000000000000" for position in range(3)]
        for position, name in enumerate(("MEMORY_MB", "VCPU", "DISK_GB")):
            above = parents[position]
            parent = None if above is None else uuids[above]
            stock = {name: oracle.Inventory(8)}
            uuid = uuids[position]
            world[uuid] = oracle.Provider(uuid, f"provider-{uuid[:8]}", parent, stock)
    groups = (oracle.Group("_1", {"VCPU": 1}), oracle.Group("_2", {"DISK_GB": 1}))
    query = oracle.Query(groups, same_subtree=(("_1", "_2"),))
    service.load(world)
    expected = oracle.candidates(world, query)
    assert len(expected) == 2
    answer = service.search("/allocation_candidates", query.to_params(), "2.0")
    assert_whole(answer.json, world, query, expected)
