"""`POST /headroom` compared with brute force, and with claims made until one is refused."""

import random
import uuid as uuids
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.kit.engines import seeded, share
from tests.properties import oracle
from tests.properties.headroom import (
    TooManyStatesError,
    after,
    check_bounds,
    emptied,
    in_aggregate,
    most_together,
    shares,
)
from tests.properties.language import FEATURES, whole_query
from tests.properties.oracle import Query, World
from tests.properties.strategies import AGGREGATES, UNKNOWN, seeded_query, seeded_world
from tests.properties.worlds import WorldService

EXAMPLES = share(200)
CLOUDS = share(20)
BY = (*AGGREGATES[:2], UNKNOWN)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> WorldService:
    return WorldService(tmp_path_factory.mktemp("headroom"))


def any_query(rng: random.Random, world: World) -> Query:
    query = seeded_query(rng, world)
    if rng.random() < 0.5:
        query = whole_query(rng, world, query, rng.choice(list(FEATURES))) or query
    return query


def measure(service: WorldService, query: Query, **members: Any) -> Mapping[str, Any]:
    body = {"requests": {"asked": query.to_body()}, **members}
    answer = service.send("POST", "/headroom", body, "2.0")
    assert answer.status_code == 200, answer.text
    found: Mapping[str, Any] = answer.json["headroom"]["asked"]
    return found


def has_exact_number(world: World, query: Query) -> bool:
    """Return whether the number is exact: on hosts of one provider, and for one group."""
    is_due = len(query.groups) == 1 or all(each.parent is None for each in world.values())
    return is_due and not shares(world) and not any(group.can_split for group in query.groups)


def check(found: Mapping[str, Any], most: int, limit: int, *, exact: bool) -> None:
    assert found["complete"]
    check_bounds(found, most, limit)
    assert found["exact"] or not exact or most == limit


def test_headroom_equals_brute_force(
    service: WorldService, capsys: pytest.CaptureFixture[str]
) -> None:
    """The number is exact on hosts of one provider and for one group, unless resources are shared.

    Elsewhere it is within the interval.
    """
    rng = seeded(31)
    kinds: Counter[str] = Counter()
    for _ in range(EXAMPLES):
        world = seeded_world(rng)
        query = any_query(rng, world)
        empty = rng.random() < 0.2
        limit = 6 if any(each.can_split for each in query.groups) else rng.choice((10_000, 3))
        asked = emptied(world) if empty else world
        try:
            most = most_together(asked, query, limit)
            by = {each: most_together(asked, in_aggregate(query, each), limit) for each in BY}
        except TooManyStatesError:
            kinds["too many states"] += 1
            continue
        service.load(world)
        service.renew(rng)
        found = measure(service, query, limit=limit, by=list(BY), empty=empty)
        exact = has_exact_number(asked, query)
        check(found, most, limit, exact=exact)
        for aggregate, number in by.items():
            check(found["by"][aggregate], number, limit, exact=exact or aggregate == UNKNOWN)
        assert sum(each["hosts"] for each in found["limited_by"]) == len(oracle.hosts(world))
        assert bool(found["hosts"]) <= bool(most)
        assert found["largest"] <= min(most, limit)
        kinds["positive" if most else "none"] += 1
        kinds["exact" if found["exact"] else "interval"] += 1
    with capsys.disabled():
        print(f"\nheadroom: {EXAMPLES} clouds, {dict(kinds)}")
    assert kinds["positive"] > EXAMPLES / 4
    assert kinds["exact"] > EXAMPLES / 2


def test_a_host_alone_takes_the_largest_number_and_is_then_refused_for_the_reason_given(
    service: WorldService,
) -> None:
    """Full hosts have the code that an explanation has for them."""
    rng = seeded(32)
    compared = 0
    for _ in range(EXAMPLES):
        world = {
            uuid: provider
            for uuid, provider in seeded_world(rng).items()
            if provider.parent is None and oracle.SHARING not in provider.traits
        }
        if not world:
            continue
        query = any_query(rng, world)
        if any(group.can_split for group in query.groups):
            continue
        service.load(world)
        service.renew(rng)
        found = measure(service, query)
        full = filled(world, query)
        service.load(full)
        service.renew(rng)
        body = {**query.to_body(), "explain": "summary"}
        answer = service.send("POST", "/allocation_candidates", body, "2.0").json
        assert answer["explanation"]["hosts"]["served"] == 0
        blocked = answer["explanation"]["blocked"]
        assert by_code(found["limited_by"]) == by_code(blocked)
        compared += 1
    assert compared > EXAMPLES / 4


def by_code(entries: Sequence[Mapping[str, Any]]) -> Counter[tuple[str, str | None]]:
    """Hosts by code and group."""
    hosts: Counter[tuple[str, str | None]] = Counter()
    for entry in entries:
        hosts[entry["code"], entry["group"]] += entry["hosts"]
    return hosts


def filled(world: World, query: Query) -> World:
    """The world of hosts of one provider, after the greatest number of claims."""
    while candidates := oracle.candidates(world, query):
        world = after(world, min(candidates, key=repr))
    return world


def test_claims_succeed_as_often_as_headroom_says(service: WorldService) -> None:
    """Claims until one is refused: never more than `at_most`; `fits` of some order of claims."""
    rng = seeded(33)
    claimed = 0
    for _ in range(CLOUDS):
        world = seeded_world(rng)
        query = seeded_query(rng, world)
        service.load(world)
        service.renew(rng)
        found = measure(service, query)
        consumers = claim_until_refused(service, query)
        assert len(consumers) <= found["at_most"]
        if len(query.groups) == 1 and len(query.groups[0].resources) == 1:
            # Any order of claims of one amount is as good as another.
            assert len(consumers) >= found["fits"]
        rest = measure(service, query)
        assert rest["fits"] == 0
        assert rest["fits"] + len(consumers) <= found["at_most"]
        claimed += len(consumers)
        for consumer in consumers:
            service.unclaim(consumer)
        assert measure(service, query) == found
    assert claimed > CLOUDS / 2


def claim_until_refused(service: WorldService, query: Query) -> list[str]:
    consumers: list[str] = []
    while True:
        consumer = str(uuids.uuid4())
        body = {
            "request": query.to_body(),
            "consumer_uuid": consumer,
            "project_id": "p",
            "user_id": "u",
            "consumer_type": "INSTANCE",
        }
        answer = service.send("POST", "/claims", body, "2.0")
        if answer.status_code == 409:
            return consumers
        assert answer.status_code == 201, answer.text
        consumers.append(consumer)
