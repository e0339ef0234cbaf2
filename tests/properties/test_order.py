"""`order` against an order worked out by brute force, on random clouds."""

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.kit.engines import seeded, share
from tests.properties import oracle
from tests.properties.language import FEATURES, whole_query
from tests.properties.oracle import SHARING, root
from tests.properties.strategies import AGGREGATES, CLASSES, TRAITS, UNKNOWN, seeded_query
from tests.properties.test_candidates import any_tuning, assert_whole, generating
from tests.properties.test_taints import TAINTS, tainted_world
from tests.properties.worlds import WorldService

EXAMPLES = share(800)
WORLD_QUERIES = 8
VERSION = "2.0"

Key = Mapping[str, str]


def any_key(rng: random.Random) -> Key:
    by = rng.choice(("free", "free", "trait", "aggregate"))
    if by == "free":
        first = rng.choice(("most", "least"))
        return {"by": by, "resource_class": rng.choice(CLASSES), "first": first}
    first = rng.choice(("with", "without"))
    if by == "trait":
        return {"by": by, "name": rng.choice(TRAITS), "first": first}
    return {"by": by, "uuid": rng.choice((*AGGREGATES, UNKNOWN)), "first": first}


def rank(world: oracle.World, host: str, key: Key) -> int:
    """Where a key puts a host: smaller numbers first."""
    tree = [provider for uuid, provider in world.items() if root(world, uuid) == host]
    if key["by"] == "free":
        stocks = [each.inventories.get(key["resource_class"]) for each in tree]
        free = sum(max(0, stock.capacity - stock.used) for stock in stocks if stock)
        return -free if key["first"] == "most" else free
    if key["by"] == "trait":
        has = any(key["name"] in provider.traits for provider in tree)
    else:
        has = key["uuid"] in world[host].aggregates
    return int(has != (key["first"] == "with"))


def ranks(world: oracle.World, order: Sequence[Key]) -> dict[str, tuple[int, ...]]:
    return {
        uuid: tuple(rank(world, uuid, key) for key in order)
        for uuid, provider in world.items()
        if provider.parent is None
    }


def host_of(world: oracle.World, candidate: oracle.Candidate) -> str | None:
    """The host of the providers that do not share; None where all do."""
    uuids = {uuid for _suffix, providers in candidate.mappings for uuid in providers}
    own = {root(world, uuid) for uuid in uuids if SHARING not in world[uuid].traits}
    assert len(own) < 2
    return next(iter(own), None)


def kind(world: oracle.World, candidate: oracle.Candidate) -> tuple[bool, bool]:
    """The first criteria of the order: no split, then a provider that does not share."""
    return candidate.split, host_of(world, candidate) is None


def in_turns(hosts: Sequence[str], counts: Mapping[str, int], *, breadth_first: bool) -> list[str]:
    """The hosts of the candidates, for hosts in this order."""
    if not breadth_first:
        return [host for host in hosts for _ in range(counts[host])]
    turns = range(max(counts.values(), default=0))
    return [host for turn in turns for host in hosts if counts[host] > turn]


def check(
    world: oracle.World,
    body: Mapping[str, Any],
    expected: set[oracle.Candidate],
    order: Sequence[Key],
    *,
    breadth_first: bool,
    randomize: bool,
) -> None:
    """Compare the hosts of an answer, or of the first part of it, one by one."""
    known = {candidate: candidate for candidate in expected}
    found = [
        known[candidate]
        for request in body["allocation_requests"]
        for candidate in oracle.parse_answer({"allocation_requests": [request]})
    ]
    whole: list[tuple[tuple[bool, bool], Any]] = []
    by_host = ranks(world, order)
    for each in sorted({kind(world, candidate) for candidate in expected}):
        of_kind = [candidate for candidate in expected if kind(world, candidate) == each]
        if each[1]:
            whole += [(each, None)] * len(of_kind)
            continue
        counts = Counter(str(host_of(world, candidate)) for candidate in of_kind)
        hosts = sorted(counts, key=lambda host: (by_host[host], host))
        turns = in_turns(hosts, counts, breadth_first=breadth_first)
        # In random order only the keys are known, of the first turn.
        if randomize:
            first = [by_host[host] for host in turns[: len(hosts)]] if breadth_first else []
            whole += [(each, value) for value in first]
            whole += [(each, None)] * (len(turns) - len(first))
        else:
            whole += [(each, host) for host in turns]
    for candidate, (of, value) in zip(found, whole, strict=False):
        assert kind(world, candidate) == of
        if value is not None:
            host = str(host_of(world, candidate))
            assert (by_host[host] if randomize else host) == value


def queries(
    rng: random.Random, world: oracle.World
) -> Iterator[tuple[oracle.Query, set[oracle.Candidate]]]:
    """Yield queries with their candidates.

    Of most random queries a single host has candidates, or none, and no order of hosts can be
    wrong. Few of these are yielded: the oracle is much faster than the service.
    """
    for _ in range(WORLD_QUERIES):
        feature = rng.choice([None, None, *FEATURES])
        # One unit of any class, which several hosts can often serve.
        common = oracle.Query((oracle.Group("", {rng.choice(CLASSES): 1}),))
        plain = common if rng.random() < 0.4 else seeded_query(rng, world)
        query = plain if feature is None else whole_query(rng, world, plain, feature)
        if query is None:
            continue
        query = replace(query, tolerate=TAINTS & {*TRAITS})
        expected = oracle.candidates(world, query)
        hosts = {host_of(world, each) for each in expected}
        if len(hosts - {None}) > 1 or rng.random() < 0.03:
            yield query, expected


def by_last_root(world: oracle.World) -> list[str]:
    """The providers, with the last root first; parents are before their children."""
    return sorted(world, key=lambda uuid: root(world, uuid), reverse=True)


@pytest.mark.parametrize("randomize", [False, True])
@pytest.mark.parametrize("strategy", ["breadth-first", "depth-first"])
def test_hosts_stand_in_the_order_of_the_request(
    tmp_path: Path, strategy: str, randomize: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    service: WorldService = generating(tmp_path, strategy, randomize)
    rng = seeded(f"order {strategy} {randomize}")
    examples = several = shared = 0
    options = {"breadth_first": strategy == "breadth-first", "randomize": randomize}
    while examples < EXAMPLES // 4:
        world = tainted_world(rng)
        if rng.random() < 0.5:  # the ids of roots are not in the order of their UUIDs
            world = {uuid: world[uuid] for uuid in by_last_root(world)}
        chosen = list(queries(rng, world))
        if not chosen:
            continue
        service.load(world)
        service.renew(rng)
        for query, expected in chosen:
            service.restart(any_tuning(rng))
            order = [any_key(rng) for _ in range(rng.choice((1, 1, 2, 3, 8)))]
            body = {**query.to_body(), "order": order}
            answer = service.expect(200, "POST", "/allocation_candidates", body, VERSION)
            assert_whole(answer.json, world, query, expected)
            assert "complete" not in answer.json
            check(world, answer.json, expected, order, **options)
            limit = rng.randint(1, 4)
            part = service.expect(
                200, "POST", "/allocation_candidates", {**body, "limit": limit}, VERSION
            ).json
            assert len(part["allocation_requests"]) == min(limit, len(expected))
            check(world, part, expected, order, **options)
            examples += 1
            several += len({host_of(world, each) for each in expected} - {None}) > 1
            shared += any(host_of(world, each) is None for each in expected)
    with capsys.disabled():
        print(f"\norder: {examples} examples, {several} of several hosts, {shared} shared alone")
    assert several > examples / 2
    assert shared > examples / 100


def test_no_key_is_no_order(tmp_path: Path) -> None:
    service: WorldService = generating(tmp_path, "breadth-first", False)
    rng = random.Random("no order")
    for _ in range(20):
        world = tainted_world(rng)
        service.load(world)
        body = seeded_query(rng, world).to_body()
        plain = service.expect(200, "POST", "/allocation_candidates", body, VERSION)
        empty = {**body, "order": []}
        assert service.expect(200, "POST", "/allocation_candidates", empty, VERSION).json == (
            plain.json
        )


def test_the_configured_order_is_the_order_of_limited_requests_at_1_x(tmp_path: Path) -> None:
    rng = seeded("configured order")
    order = [any_key(rng) for _ in range(3)]
    options = {"order": json.dumps(order)}
    several = examples = 0
    with WorldService(tmp_path, placement=options) as service:
        while examples < EXAMPLES // 8:
            world = tainted_world(rng)
            service.load(world)
            service.renew(rng)
            service.restart(any_tuning(rng))
            for tolerant, expected in queries(rng, world):
                query = replace(tolerant, tolerate=frozenset())  # no taints are configured
                if not set(query.to_body()) <= {"groups", "group_policy", "root"}:
                    continue  # stated only at 2.0
                limit = rng.randint(1, 4)
                params = [*query.to_params(), ("limit", limit)]
                found = service.search("/allocation_candidates", params, "1.39")
                if found.status_code == 400:
                    continue  # stated only at 2.0
                body = {**query.to_body(), "order": order, "limit": limit}
                stated = service.expect(200, "POST", "/allocation_candidates", body, VERSION)
                members = "allocation_requests", "provider_summaries"
                assert [found.json[each] for each in members] == [
                    stated.json[each] for each in members
                ]
                assert len(found.json) == len(members)
                examples += 1
                several += len({host_of(world, each) for each in expected} - {None}) > 1
    assert several > examples / 2
