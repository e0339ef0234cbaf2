"""Searches, claims and all other operations of a service with exclusive cards, on random clouds."""

import random
from collections.abc import Collection
from dataclasses import replace

import pytest

from tests.kit.engines import seeded, share
from tests.properties import oracle
from tests.properties.explained_texts import check_text
from tests.properties.headroom import (
    TooManyStatesError,
    check_bounds,
    emptied,
    most_together,
    one_by_one,
)
from tests.properties.strategies import AGGREGATES, TRAITS, seeded_query, seeded_world
from tests.properties.test_agreement import check, queries, results
from tests.properties.test_candidates import any_tuning, assert_whole
from tests.properties.test_explanation import explained, with_larger_amount
from tests.properties.test_headroom import measure
from tests.properties.test_taints import TAINTS
from tests.properties.worlds import WorldService

EXAMPLES = share(2000)
VERSION = "2.0"
EXCLUSIVE = frozenset(TRAITS[:2])
LIMIT = 5  # consumers of a measured headroom


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> WorldService:
    options = {"exclusive": sorted(EXCLUSIVE), "taints": sorted(TAINTS)}
    return WorldService(tmp_path_factory.mktemp("exclusive"), placement=options)


def world_of_cards(rng: random.Random, *, sharing: bool = False) -> oracle.World:
    """A world in which some providers are cards. Sharing providers are cards only if stated."""
    return {
        uuid: replace(provider, traits=provider.traits | {rng.choice(sorted(EXCLUSIVE))})
        if (sharing or oracle.SHARING not in provider.traits)
        and rng.random() < (0.25 if sharing else 0.4)
        else provider
        for uuid, provider in seeded_world(rng).items()
    }


def test_a_candidate_uses_a_card_in_one_way(
    service: WorldService, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = seeded("exclusive")
    examples = answers = differences = 0
    while examples < EXAMPLES:
        world = world_of_cards(rng)
        service.load(world)
        if rng.random() < 0.3:
            service.renew(rng)
            service.restart(any_tuning(rng))
        for stated in queries(rng, world):
            query = replace(stated, exclusive=EXCLUSIVE)
            expected = oracle.candidates(world, query)
            found = service.search("/allocation_candidates", query.to_params(), VERSION)
            assert found.status_code == 200, found.text
            try:
                assert_whole(found.json, world, query, expected)
            except AssertionError as error:
                raise AssertionError(f"{query}\n{world}") from error
            examples += 1
            answers += bool(expected)
            differences += expected != oracle.candidates(world, stated)
    with capsys.disabled():
        print(f"\nexclusive: {examples} examples, {answers} answers, {differences} differences")
    assert answers > examples / 10
    assert differences > examples / 20


def test_all_operations_agree(service: WorldService) -> None:
    """A claim that follows the search is served if the search has a candidate."""
    rng = seeded("exclusive agreement")
    examples = 0
    while examples < EXAMPLES // 10:
        world = world_of_cards(rng)
        for number, query in enumerate(queries(rng, world)):
            service.load(world)
            consumer = f"c0000000-0000-4000-8000-{number:012d}"
            check(world, results(service, query.to_body(), [], consumer))
            examples += 1


def test_a_claim_of_any_amounts_is_refused_where_it_would_mix(service: WorldService) -> None:
    """PUT of one unit on two random providers, compared with the rule for cards."""
    rng = seeded("exclusive claims")
    examples = refused = 0
    while examples < EXAMPLES // 5:
        world = world_of_cards(rng)
        cards = {uuid for uuid, each in world.items() if each.traits & EXCLUSIVE}
        stocks = [
            (uuid, name)
            for uuid, each in world.items()
            for name, stock in each.inventories.items()
            if stock.fits(1)
        ]
        if not stocks or not cards:
            continue
        service.load(world)
        added = rng.sample(stocks, min(len(stocks), rng.choice((1, 2))))
        allocations: dict[str, dict[str, dict[str, int]]] = {}
        for uuid, name in added:
            allocations.setdefault(uuid, {"resources": {}})["resources"][name] = 1
        body: dict[str, object] = {"allocations": allocations, "project_id": "p", "user_id": "u"}
        body |= {"consumer_type": "INSTANCE", "consumer_generation": None}
        answer = service.send("PUT", "/allocations/c1000000-0000-4000-8000-000000000001", body)
        used = {
            (uuid, name)
            for uuid, each in world.items()
            for name, stock in each.inventories.items()
            if stock.used
        }
        own = set().union(*(oracle.faces(world, cards, *each) for each in added))
        all_faces = own.union(*(oracle.faces(world, cards, *each) for each in used))
        mixes = any(
            card == other and face != another for card, face in own for other, another in all_faces
        )
        assert answer.status_code == (409 if mixes else 204), answer.text
        assert not mixes or "serves in one way at a time" in answer.text
        examples += 1
        refused += mixes
    assert examples / 10 < refused < examples


def available(world: oracle.World) -> oracle.World:
    """The world without free units of classes that cannot serve because of their card."""
    cards = {uuid for uuid, each in world.items() if each.traits & EXCLUSIVE}
    stocks = [(uuid, name) for uuid, each in world.items() for name in each.inventories]
    used = [each for each in stocks if world[each[0]].inventories[each[1]].used]
    in_use = set().union(*(oracle.faces(world, cards, *each) for each in used))
    changed = dict(world)
    for uuid, name in stocks:
        own = oracle.faces(world, cards, uuid, name)
        if any(
            card == other and face != another for card, face in own for other, another in in_use
        ):
            inventories = dict(changed[uuid].inventories)
            stock = inventories[name]
            # Not as used units: these would put their card in use.
            inventories[name] = replace(stock, reserved=stock.total)
            changed[uuid] = replace(changed[uuid], inventories=inventories)
    return changed


def test_texts_count_what_cards_can_still_give(
    service: WorldService, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = seeded("exclusive explanations")
    examples = clauses = rejected = 0
    while examples < EXAMPLES // 2:
        world = world_of_cards(rng)
        service.load(world)
        for stated in queries(rng, world):
            query = replace(with_larger_amount(rng, stated), exclusive=EXCLUSIVE)
            explanation = explained(service, query, rng)
            try:
                assert explanation.hosts.served == len(oracle.served(world, query))
                clauses += check_text(available(world), query, explanation)
            except AssertionError as error:
                raise AssertionError(f"{query}\n{world}\n{explanation}") from error
            examples += 1
            rejected += any(each.code == "exclusive" for each in explanation.blocked)
    with capsys.disabled():
        print(f"\nexclusive texts: {examples} examples, {clauses} clauses, {rejected} by cards")
    assert clauses > examples / 20
    assert rejected


def test_headroom_of_cards_is_within_brute_force(service: WorldService) -> None:
    """Cards share, contain sharing providers, and are roots."""
    rng = seeded("exclusive headroom")
    examples = positive = differences = 0
    while examples < EXAMPLES // 4:
        world = world_of_cards(rng, sharing=True)
        stated = replace(seeded_query(rng, world), taints=TAINTS)
        if any(group.can_split for group in stated.groups):
            continue
        query = replace(stated, exclusive=EXCLUSIVE)
        empty = rng.random() < 0.5
        asked = emptied(world) if empty else world
        try:
            most = one_by_one(asked, query, LIMIT)
        except TooManyStatesError:
            continue
        service.load(world)
        service.renew(rng)
        found = measure(service, stated, limit=LIMIT, empty=empty)
        try:
            check_bounds(found, most, LIMIT)
            assert "budget" not in {each["code"] for each in found["limited_by"]}
        except AssertionError as error:
            raise AssertionError(f"{found} {most} {query}\n{asked}") from error
        examples += 1
        positive += bool(most)
        differences += most != most_together(asked, stated, LIMIT)
    assert positive > examples / 8
    assert differences


def test_headroom_counts_one_way_of_a_card_that_hosts_share(service: WorldService) -> None:
    """One host reaches the card, and the other one a sharing provider below the card."""
    card, below, *hosts = (f"{number:08}-0000-4000-8000-000000000000" for number in range(4))
    shared, inner = ((each, oracle.SHARING) for each in (sorted(EXCLUSIVE)[0], "CUSTOM_GOLD"))
    world = {
        card: provider(card, None, "DISK_GB", shared, AGGREGATES[0]),
        below: provider(below, card, "DISK_GB", inner, AGGREGATES[1]),
        **{
            host: provider(host, None, "VCPU", (), aggregate)
            for host, aggregate in zip(hosts, AGGREGATES, strict=False)
        },
    }
    query = oracle.Query((oracle.Group("", {"VCPU": 1, "DISK_GB": 1}),))
    service.load(world)
    service.renew(seeded("shared card"))
    found = measure(service, query)
    assert most_together(world, query, 10) == 6
    assert one_by_one(world, replace(query, exclusive=EXCLUSIVE), 10) == 3
    assert found["fits"] == 3
    assert found["at_most"] >= 3


def provider(
    uuid: str, parent: str | None, name: str, traits: Collection[str], aggregate: str
) -> oracle.Provider:
    """Return a provider with three units of a class."""
    inventories = {name: oracle.Inventory(3)}
    aggregates = frozenset({aggregate})
    return oracle.Provider(uuid, uuid, parent, inventories, frozenset(traits), aggregates)
