"""Claims of several consumers compared with the oracle: each search sees the earlier claims."""

import random
import re
import uuid as uuids
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from placement.runtime import events
from placement.runtime.events import Details, Event
from tests.kit.engines import seeded, share
from tests.properties import oracle
from tests.properties.language import FEATURES, whole_query
from tests.properties.strategies import seeded_query, seeded_world
from tests.properties.test_candidates import any_tuning, generating
from tests.properties.worlds import WorldService

EXAMPLES = share(600)
MAX_OUTCOMES = 300  # maximum number of outcomes of earlier claims to consider


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> WorldService:
    return WorldService(tmp_path_factory.mktemp("claims"))


def queries(rng: random.Random, world: oracle.World) -> Sequence[oracle.Query]:
    """Requests that compete, because several of them are equal."""
    query = seeded_query(rng, world)
    if rng.random() < 0.5:
        query = whole_query(rng, world, query, rng.choice(list(FEATURES))) or query
    likes = [query] * rng.randint(1, 4)
    return [*likes, seeded_query(rng, world)] if rng.random() < 0.3 else likes


def after(world: oracle.World, candidate: oracle.Candidate) -> oracle.World:
    """The world after the candidate was claimed."""
    changed = dict(world)
    for uuid, amounts in candidate.allocations:
        inventories = dict(changed[uuid].inventories)
        for name, amount in amounts:
            used = inventories[name].used + amount
            inventories[name] = replace(inventories[name], used=used)
        changed[uuid] = replace(changed[uuid], inventories=inventories)
    return changed


def ways(world: oracle.World, asked: Sequence[oracle.Query]) -> Iterator[oracle.World]:
    """The possible worlds after the requests were served one by one."""
    if not asked:
        yield world
        return
    for candidate in sorted(oracle.candidates(world, asked[0]), key=repr):
        yield from ways(after(world, candidate), asked[1:])


def body(asked: Sequence[oracle.Query]) -> dict[str, Any]:
    owner = {"project_id": "p", "user_id": "u", "consumer_type": "INSTANCE"}
    return {
        "claims": [
            {"request": query.to_body(), "consumer_uuid": str(uuids.uuid4()), **owner}
            for query in asked
        ]
    }


def check(service: WorldService, world: oracle.World, asked: Sequence[oracle.Query]) -> bool:
    """Claim, and compare with the possible outcomes; returns whether all requests were served."""
    sent = body(asked)
    answer = service.send("POST", "/claims", sent, "2.0")
    if answer.status_code == 409:
        refused = re.match(r"claims\[(\d+)\]\.request", answer.json["errors"][0]["detail"])
        assert refused, answer.text
        position = int(refused[1])
        for number, left in enumerate(ways(world, asked[:position])):
            if number > MAX_OUTCOMES or not oracle.candidates(left, asked[position]):
                return False
        raise AssertionError(f"claims[{position}] can always be met")
    assert answer.status_code == 201, answer.text
    for query, claimed in zip(asked, answer.json["claims"], strict=True):
        (candidate,) = oracle.parse_answer({"allocation_requests": [claimed]})
        assert candidate in oracle.candidates(world, query)
        world = after(world, candidate)
    service.check_used()
    # Cached trees equal the trees of the database.
    found = service.send("POST", "/allocation_candidates", asked[0].to_body(), "2.0").json
    assert oracle.parse_answer(found) == oracle.candidates(world, asked[0])
    for claim in sent["claims"]:
        service.unclaim(claim["consumer_uuid"])
    return True


def test_each_claim_gets_what_earlier_claims_leave(
    service: WorldService, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without concurrent writes, a found candidate is never lost."""
    rng = seeded(13)
    told: list[Details] = []

    def note(event: Event, details: Details) -> None:
        if event is Event.CLAIM:
            told.append(details)

    stop = events.listen(note)
    met = competing = 0
    for _ in range(EXAMPLES):
        world = seeded_world(rng)
        service.load(world)
        service.renew(rng)
        asked = queries(rng, world)
        met += check(service, world, asked)
        competing += len(asked) > 1
    stop()
    assert all(details["tries"] == 1 for details in told)
    assert len(told) == met
    with capsys.disabled():
        print(f"\nclaims: {EXAMPLES} bodies, {competing} of several, {met} met")
    assert EXAMPLES / 10 < met < EXAMPLES


@pytest.mark.parametrize("randomize", [False, True])
def test_windows_of_any_size_lead_to_claims_that_may_be(tmp_path: Path, randomize: bool) -> None:
    """The database selects trees with room, and does not know the earlier claims."""
    rng = seeded(f"claims {randomize}")
    service = generating(tmp_path, "breadth-first", randomize)
    for _ in range(share(60)):
        world = seeded_world(rng)
        service.load(world)
        service.renew(rng)
        service.restart(any_tuning(rng))
        check(service, world, queries(rng, world))
