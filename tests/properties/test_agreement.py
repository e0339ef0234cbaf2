"""All operations agree on whether a request can be served, on random clouds and after claims.

Either there are candidates, an explanation counts hosts that serve, headroom is positive, and a
simulated claim and a real claim succeed, or none of this is true. The hosts agree, too. Exceptions:

* A tree of sharing providers is not a host for an explanation and for `hosts` of headroom, and a
  sharing root is never full for a spread group, but it can serve a request alone.
* A candidate does not name its host if sharing providers serve everything. A host that is full
  for a spread group can still use sharing providers. Therefore, hosts are only compared in clouds
  without sharing providers.
* The limit on work may leave a result open. These small clouds never reach it.
"""

import random
import uuid as uuids
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from tests.kit.engines import seeded, share
from tests.properties import oracle
from tests.properties.headroom import shares
from tests.properties.oracle import SHARING, Query, World, root
from tests.properties.similar import similar_hosts
from tests.properties.strategies import TRAITS
from tests.properties.test_candidates import any_tuning
from tests.properties.test_explanation import with_larger_amount
from tests.properties.test_order import any_key
from tests.properties.test_taints import TAINTS, tainted_query, tainted_world
from tests.properties.worlds import WorldService

EXAMPLES = share(400)
WORLD_QUERIES = 4
MAX_ROUNDS = 3  # states in which a request is compared

Body = Mapping[str, Any]


class Results(NamedTuple):
    """What the operations return for one request."""

    candidates: Sequence[Body]
    explanation: Body
    headroom: Body
    simulated: Body
    # None if the claim was refused.
    claimed: Body | None


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> WorldService:
    directory = tmp_path_factory.mktemp("agreement")
    return WorldService(directory, placement={"taints": sorted(TAINTS)})


def queries(rng: random.Random, world: World) -> Iterator[Query]:
    """Requests of every kind; most of them tolerate all taints, so that more are served."""
    for _ in range(WORLD_QUERIES):
        query = tainted_query(rng, world)
        if query is not None and rng.random() < 0.7:
            query = replace(query, tolerate=TAINTS & {*TRAITS})
        if query is not None:
            yield with_larger_amount(rng, query) if rng.random() < 0.3 else query


def send(service: WorldService, path: str, body: Body) -> Body:
    answer: Body = service.expect(200, "POST", path, body, "2.0").json
    return answer


def simulate(service: WorldService, request: Body, removed: Sequence[str] = ()) -> Body:
    """Claim on copies, from which these hosts are removed."""
    changes: list[Body] = [{"remove": removed}] if removed else []
    changes.append({"claim": {"request": request}})
    answer = send(service, "/simulations", {"changes": changes})
    assert answer["complete"]
    simulated: Body = answer["claims"][0]
    return simulated


def claim(service: WorldService, request: Body, consumer: str, group: str) -> Body | None:
    """Claim for a consumer that must be the only member of a spread group on its host."""
    body = {
        "request": request,
        "consumer_uuid": consumer,
        "project_id": "p",
        "user_id": "u",
        "consumer_type": "INSTANCE",
        "spread_group": {"name": group, "max_per_host": 1},
    }
    answer = service.send("POST", "/claims", body, "2.0")
    assert answer.status_code in (201, 409), answer.text
    return answer.json if answer.status_code == 201 else None


def results(service: WorldService, request: Body, order: Sequence[Body], consumer: str) -> Results:
    """Send the request to all operations; the claim is the last."""
    asked = {**request, "order": order, "explain": "summary"}
    found = send(service, "/allocation_candidates", asked)
    headroom = send(service, "/headroom", {"requests": {"asked": request}})["headroom"]
    simulated = simulate(service, request)
    claimed = claim(service, {**request, "order": order}, consumer, consumer)
    candidates, explanation = found["allocation_requests"], found["explanation"]
    return Results(candidates, explanation, headroom["asked"], simulated, claimed)


def roots(world: World, answers: Iterable[Body]) -> set[str]:
    """The roots of the providers of candidates or claims."""
    return {root(world, uuid) for each in answers for uuid in each.get("allocations", {})}


def is_sharing(world: World, uuid: str) -> bool:
    return SHARING in world[uuid].traits


def check(world: World, found: Results) -> None:
    hosts, headroom = found.explanation["hosts"], found.headroom
    assert hosts["complete"]
    assert headroom["complete"]
    is_served = bool(found.candidates)
    assert ("allocations" in found.simulated) == is_served
    assert (found.claimed is not None) == is_served
    assert (headroom["fits"] > 0) == (headroom["at_most"] > 0) == is_served
    assert headroom["hosts"] == hosts["served"]
    assert (headroom["largest"] > 0) == (hosts["served"] > 0)
    if shares(world):
        used = {uuid for each in found.candidates for uuid in each["allocations"]}
        assert hosts["served"] or all(is_sharing(world, uuid) for uuid in used)
        return
    serving = roots(world, found.candidates)
    assert hosts["served"] == len(serving & oracle.hosts(world))
    assert roots(world, [found.simulated, found.claimed or {}]) <= serving


def compare(
    service: WorldService, world: World, request: Body, order: Sequence[Body]
) -> Iterator[Results]:
    """Compare the operations, repeatedly after claims; yield the results of each state."""
    consumers: list[str] = []
    at_most = None
    for _ in range(MAX_ROUNDS):
        consumer, another = str(uuids.uuid4()), str(uuids.uuid4())
        found = results(service, request, order, consumer)
        check(world, found)
        at_most = found.headroom["at_most"] if at_most is None else at_most
        assert len(consumers) + found.headroom["fits"] <= at_most
        yield found
        if found.claimed is None:
            break
        consumers.append(consumer)
        if not shares(world):
            # A host that is full for the spread group serves as little as one that does not exist.
            full = [each for each in roots(world, [found.claimed]) if not is_sharing(world, each)]
            expected = simulate(service, request, full)
            second = claim(service, request, another, consumer)
            assert (second is not None) == ("allocations" in expected)
            consumers += [another] if second else []
    for consumer in consumers:
        service.unclaim(consumer)


def test_all_operations_agree(service: WorldService, capsys: pytest.CaptureFixture[str]) -> None:
    rng = seeded("agreement")
    kinds: Counter[str] = Counter()
    while kinds["requests"] < EXAMPLES:
        world = tainted_world(rng)
        if rng.random() < 0.5:
            world = similar_hosts(rng, world)
        service.load(world)
        service.renew(rng)
        service.restart(any_tuning(rng))
        for query in queries(rng, world):
            request = query.to_body()
            order = [any_key(rng) for _ in range(rng.choice((0, 0, 1, 2)))]
            kinds["requests"] += 1
            try:
                for found in compare(service, world, request, order):
                    kinds["served" if found.candidates else "refused"] += 1
                    kinds["shared alone"] += bool(
                        found.candidates and not found.explanation["hosts"]["served"]
                    )
                    kinds["several hosts"] += found.headroom["hosts"] > 1
                    kinds["not exact"] += not found.headroom["exact"]
            except AssertionError as error:
                raise AssertionError(f"{request}\n{order}\n{world}") from error
    with capsys.disabled():
        print(f"\nagreement: {dict(kinds)}")
    assert kinds["served"] > EXAMPLES / 4
    assert kinds["refused"] > EXAMPLES / 4
    assert kinds["several hosts"] > EXAMPLES / 20
