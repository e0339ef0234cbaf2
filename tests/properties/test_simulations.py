"""Simulations against brute force: the order of moves, and the new place of each consumer."""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.kit.engines import seeded, share
from tests.properties import oracle
from tests.properties.headroom import most_together
from tests.properties.language import FEATURES, whole_query
from tests.properties.oracle import SHARING, root
from tests.properties.strategies import CLASSES, TRAITS, seeded_query
from tests.properties.test_candidates import any_tuning
from tests.properties.test_order import Key, any_key, host_of, ranks
from tests.properties.test_taints import TAINTS, tainted_world
from tests.properties.worlds import WorldService

EXAMPLES = share(200)
LIMIT = 5  # of headroom

Body = dict[str, Any]
# Provider -> class -> units.
Held = Mapping[str, Mapping[str, int]]


def unused(world: oracle.World) -> oracle.World:
    """The world without allocations."""
    return {
        uuid: replace(
            provider,
            inventories={
                name: replace(stock, used=0) for name, stock in provider.inventories.items()
            },
        )
        for uuid, provider in world.items()
    }


def using(world: oracle.World, held: Held, sign: int = 1) -> oracle.World:
    """The world with allocations added, or subtracted; unknown providers are ignored."""
    changed = dict(world)
    for uuid in held.keys() & world.keys():
        inventories = dict(changed[uuid].inventories)
        for name, amount in held[uuid].items():
            stock = inventories[name]
            inventories[name] = replace(stock, used=stock.used + sign * amount)
        changed[uuid] = replace(changed[uuid], inventories=inventories)
    return changed


def of_candidate(candidate: oracle.Candidate) -> dict[str, dict[str, int]]:
    return {uuid: dict(amounts) for uuid, amounts in candidate.allocations}


class Expected:
    """A simulation worked out by trying everything."""

    def __init__(
        self,
        world: oracle.World,
        consumers: Mapping[str, Held],
        requests: Mapping[str, oracle.Query],
        order: Sequence[Key],
    ) -> None:
        self.world = world
        self.held = dict(consumers)
        self.requests = requests
        self.order = order
        self.drained: set[str] = set()
        self.added = 0
        self.capacities: dict[str, int] = {}
        for provider in world.values():
            for name, stock in provider.inventories.items():
                self.capacities[name] = self.capacities.get(name, 0) + max(0, stock.capacity)
        self.origins: dict[str, list[str]] = {}
        self.moved: list[str] = []
        self.unplaceable: set[str] = set()
        self.claims: list[Held | None] = []

    def roots(self, held: Iterable[str]) -> list[str]:
        return sorted({root(self.world, uuid) for uuid in held})

    def drain(self, roots: Sequence[str]) -> None:
        self.drained |= set(roots)

        def of_these(consumer: str) -> Held:
            held = self.held[consumer]
            return {uuid: held[uuid] for uuid in held if root(self.world, uuid) in roots}

        def size(consumer: str) -> Fraction:
            totals: dict[str, int] = {}
            for amounts in of_these(consumer).values():
                for name, amount in amounts.items():
                    totals[name] = totals.get(name, 0) + amount
            return max(Fraction(totals[name], self.capacities[name]) for name in totals)

        moving = [consumer for consumer in self.held if of_these(consumer)]
        for consumer in sorted(moving, key=lambda each: (-size(each), each)):
            self.origins.setdefault(consumer, self.roots(self.held[consumer]))
            place = self.place(consumer)
            self.unplaceable.discard(consumer)
            if place is None:
                self.unplaceable.add(consumer)
                self.moved = [each for each in self.moved if each != consumer]
            else:
                self.world = using(using(self.world, self.held[consumer], -1), place)
                self.held[consumer] = place
                self.moved = [*self.moved, consumer] if consumer not in self.moved else self.moved

    def place(self, consumer: str) -> Held | None:
        held = self.held[consumer]
        if consumer in self.requests:
            return self.first(using(self.world, held, -1), self.requests[consumer])
        by_root: dict[str, list[str]] = {}
        for uuid in held:
            by_root.setdefault(root(self.world, uuid), []).append(uuid)
        for each, uuids in by_root.items():
            shares = all(SHARING in self.world[uuid].traits for uuid in uuids)
            if each in self.drained and shares and len(by_root) > 1:
                return None
        parts = {uuid: held[uuid] for uuid in held if root(self.world, uuid) in self.drained}
        rest = {uuid: held[uuid] for uuid in held if uuid not in parts}
        groups = [
            oracle.Group("" if len(parts) == 1 else f"_{uuid}", amounts)
            for uuid, amounts in parts.items()
        ]
        query = oracle.Query(tuple(groups), taints=TAINTS)
        found = self.first(self.world, query, rest)
        if found is None:
            return None
        together = {uuid: dict(amounts) for uuid, amounts in rest.items()}
        for uuid, amounts in found.items():
            for name, amount in amounts.items():
                total = together.setdefault(uuid, {})
                total[name] = total.get(name, 0) + amount
        return together

    def first(
        self, world: oracle.World, query: oracle.Query, rest: Iterable[str] = ()
    ) -> Held | None:
        """The allocations of the first of all candidates."""
        open_world = self.open_world(world)
        by_host = ranks(open_world, self.order)
        best: tuple[Any, Held] | None = None
        for anchor, candidate in oracle.anchored(open_world, query):
            if not all(oracle.is_in_pool(world, anchor, uuid) for uuid in rest):
                continue
            uuids = {uuid for _suffix, each in candidate.mappings for uuid in each}
            own = any(root(world, uuid) == anchor for uuid in uuids)
            shared = host_of(open_world, candidate) is None
            if not shared and not own:
                continue  # never: it has a provider of its anchor
            host = (by_host[anchor], anchor) if own else ((), "")
            held = of_candidate(candidate)
            triples = sorted(
                (uuid, name, amount)
                for uuid, amounts in held.items()
                for name, amount in amounts.items()
            )
            key = (candidate.split, shared, shared and not own, host, sorted(uuids), triples)
            if best is None or key < best[0]:
                best = key, held
        return None if best is None else best[1]

    def open_world(self, world: oracle.World) -> oracle.World:
        """The world without drained trees."""
        return {
            uuid: provider
            for uuid, provider in world.items()
            if root(world, uuid) not in self.drained
        }

    def remove(self, roots: Sequence[str]) -> None:
        gone = {uuid for uuid in self.world if root(self.world, uuid) in roots}
        for consumer, held in self.held.items():
            self.held[consumer] = {uuid: held[uuid] for uuid in held if uuid not in gone}
        self.world = {uuid: each for uuid, each in self.world.items() if uuid not in gone}
        self.drained -= set(roots)

    def add(self, like: str, count: int) -> None:
        tree = [each for uuid, each in self.world.items() if root(self.world, uuid) == like]
        for _ in range(count):
            self.added += 1
            names = {each.uuid: f"new:{self.added}/{each.uuid}" for each in tree}
            names[like] = f"new:{self.added}"
            copies = {
                names[each.uuid]: replace(
                    each, uuid=names[each.uuid], parent=names[each.parent] if each.parent else None
                )
                for each in tree
            }
            self.world = {**self.world, **unused(copies)}

    def claim(self, query: oracle.Query) -> None:
        found = self.first(self.world, query)
        self.claims.append(found)
        if found is not None:
            self.world = using(self.world, found)

    def apply(self, changes: Sequence[Any]) -> None:
        for kind, *arguments in changes:
            getattr(self, kind)(*arguments)


def any_query(rng: random.Random, world: oracle.World) -> oracle.Query:
    query = seeded_query(rng, world)
    if rng.random() < 0.4:
        query = whole_query(rng, world, query, rng.choice(list(FEATURES))) or query
    tolerated = frozenset(rng.sample(TRAITS, rng.choice((0, 0, 1))))
    return replace(query, tolerate=tolerated, taints=TAINTS)


def any_changes(
    rng: random.Random, world: oracle.World, consumers: Mapping[str, Held]
) -> list[Any]:
    """Changes as names of methods of `Expected`, with their arguments."""
    used = {root(world, uuid) for held in consumers.values() for uuid in held}
    roots = sorted(uuid for uuid, provider in world.items() if provider.parent is None)
    added = 0
    changes: list[Any] = []
    for _ in range(rng.choice((1, 2, 2, 3, 4))):
        kind = rng.choice(("drain", "drain", "drain", "remove", "add", "claim"))
        if kind == "claim":
            changes.append((kind, any_query(rng, world)))
        elif roots and kind == "add":
            count = rng.choice((1, 2))
            changes.append((kind, rng.choice(roots), count))
            roots += [f"new:{added + number}" for number in range(1, count + 1)]
            added += count
        elif roots:
            in_use = [each for each in roots if each in used]
            some = in_use if in_use and kind == "drain" and rng.random() < 0.7 else roots
            chosen = rng.sample(some, min(len(some), rng.choice((1, 1, 2))))
            changes.append((kind, chosen))
            if kind == "remove":
                roots = [each for each in roots if each not in chosen]
    return changes


def json_of(change: Any) -> Body:
    match change:
        case "claim", query:
            return {"claim": {"request": query.to_body()}}
        case "add", like, count:
            return {"add": {"like": like, "count": count}}
        case kind, roots:
            return {kind: roots}
    raise AssertionError(change)


def with_twins(world: oracle.World) -> oracle.World:
    """The world with a second tree for each tree without sharing providers, to move to."""
    sharing = {root(world, uuid) for uuid, each in world.items() if SHARING in each.traits}
    twins = {}
    for uuid, provider in world.items():
        if root(world, uuid) not in sharing:
            parent = None if provider.parent is None else f"f{provider.parent[1:]}"
            twin, name = f"f{uuid[1:]}", f"{provider.name} again"
            twins[twin] = replace(provider, uuid=twin, name=name, parent=parent)
    return {**world, **twins}


def populated(service: WorldService, rng: random.Random, world: oracle.World) -> dict[str, Held]:
    """Claim candidates for a few consumers; return what each of them holds."""
    service.load(world)
    consumers: dict[str, Held] = {}
    for _ in range(rng.choice((1, 2, 3, 5))):
        used = world
        for held in consumers.values():
            used = using(used, held)
        query = seeded_query(rng, used)
        if rng.random() < 0.4:  # what has often room elsewhere
            query = oracle.Query((oracle.Group("", {rng.choice(CLASSES): 1}),))
        body = {**query.to_body(), "tolerate": sorted(TAINTS & {*TRAITS})}
        answer = service.expect(200, "POST", "/allocation_candidates", body, "2.0").json
        if answer["allocation_requests"]:
            candidate = rng.choice(answer["allocation_requests"])
            held = {uuid: each["resources"] for uuid, each in candidate["allocations"].items()}
            consumers[service.claim(candidate)] = held
    return consumers


def check(answer: Body, expected: Expected, requests: Iterable[str]) -> None:
    assert [each["consumer"] for each in answer["moves"]] == [
        consumer for consumer in expected.moved if expected.held[consumer]
    ]
    for move in answer["moves"]:
        consumer = move["consumer"]
        allocations = move["body"]["allocations"]
        held = expected.held[consumer]
        assert {uuid: each["resources"] for uuid, each in allocations.items()} == held
        assert move["from"] == expected.origins[consumer]
        assert move["to"] == expected.roots(held)
        assert move["request"] == ("given" if consumer in requests else "derived")
    assert {each["consumer"] for each in answer["unplaceable"]} == expected.unplaceable
    claimed = [
        {uuid: each["resources"] for uuid, each in claim["allocations"].items()}
        if "allocations" in claim
        else None
        for claim in answer["claims"]
    ]
    assert claimed == expected.claims
    assert answer["fits"] == (not expected.unplaceable and None not in expected.claims)
    assert answer["undecided"] == []
    assert answer["complete"]


def test_a_simulation_does_what_its_rules_say(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    service = WorldService(tmp_path, placement={"taints": sorted(TAINTS)})
    rng = seeded("simulations")
    examples = moves = stuck = claims = applied = 0
    while examples < EXAMPLES:
        world = with_twins(unused(tainted_world(rng)))
        consumers = populated(service, rng, world)
        if rng.random() < 0.5:
            service.renew(rng)
        service.restart(any_tuning(rng))
        for held in consumers.values():
            world = using(world, held)
        for _ in range(4):
            order = [any_key(rng) for _ in range(rng.choice((0, 0, 1, 2)))]
            changes = any_changes(rng, world, consumers)
            requests = {
                consumer: any_query(rng, world) for consumer in consumers if rng.random() < 0.3
            }
            expected = Expected(world, consumers, requests, order)
            expected.apply(changes)
            body = {
                "changes": list(map(json_of, changes)),
                "requests": {each: query.to_body() for each, query in requests.items()},
                "order": order,
            }
            asked = oracle.Query((oracle.Group("", {rng.choice(CLASSES): 1}),), taints=TAINTS)
            headroom = {"requests": {"one": asked.to_body()}, "limit": LIMIT}
            answer = service.expect(
                200, "POST", "/simulations", {**body, "headroom": headroom}, "2.0"
            ).json
            check(answer, expected, requests)
            room = answer["headroom"]["one"]
            most = most_together(expected.open_world(expected.world), asked, LIMIT)
            assert room["fits"] <= most <= room["at_most"]
            examples += 1
            moves += len(answer["moves"])
            stuck += len(answer["unplaceable"])
            claims += len(answer["claims"])
            bodies = {each["consumer"]: each["body"] for each in answer["moves"]}
            if len(changes) == 1 and changes[0][0] == "drain" and bodies:
                service.expect(204, "POST", "/allocations?dry_run=true", bodies, "2.0")
                applied += 1
    with capsys.disabled():
        print(
            f"\nsimulations: {examples} examples, {moves} moves, {stuck} unplaceable, "
            f"{claims} claims, {applied} written"
        )
    assert moves > examples / 50
    assert stuck > examples / 10
    assert applied > examples / 100
