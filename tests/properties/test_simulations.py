"""Simulations against brute force: the order of moves, and the new place of each consumer.

Of the candidates of the first host, the service may choose any. Therefore, each change is also
simulated as the last one, and the choices of this simulation are checked and adopted.
"""

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from placement.foresight.simulation.search import Searches
from tests.kit.engines import seeded, share
from tests.properties import oracle
from tests.properties.headroom import check_bounds, emptied, most_together
from tests.properties.language import FEATURES, whole_query
from tests.properties.oracle import SHARING, root
from tests.properties.strategies import CLASSES, TRAITS, seeded_query, seeded_world
from tests.properties.test_candidates import any_tuning
from tests.properties.test_order import Key, any_key, host_of, ranks
from tests.properties.test_taints import TAINTS, tainted_world
from tests.properties.worlds import WorldService

EXAMPLES = share(200)
LIMIT = 5  # of headroom

Body = dict[str, Any]
# Provider -> class -> units.
Held = Mapping[str, Mapping[str, int]]
# Project and name of a spread group; claims on copies have no project.
GroupKey = tuple[str | None, str]
DAY = 86_400  # seconds


@dataclass(frozen=True)
class Placed:
    """A consumer and what its claim has recorded."""

    held: Held
    # The spread group, and the number of its own claim.
    spread: tuple[GroupKey, int] | None = None
    # The request that is remembered, whatever its amounts.
    remembered: oracle.Query | None = None
    # Seconds until the end of the hold.
    expires_in: int | None = None

    @property
    def expired(self) -> bool:
        """Whether the consumer is a hold that has ended."""
        return self.expires_in is not None and self.expires_in <= 0

    @property
    def request(self) -> oracle.Query | None:
        """The remembered request, if its amounts are those that the consumer holds."""
        if self.remembered is None:
            return None
        asked = [group.resources for group in self.remembered.groups]
        return self.remembered if sums(asked) == sums(self.held.values()) else None


def sums(parts: Iterable[Mapping[str, int]]) -> Counter[str]:
    """Class -> units of all parts."""
    totals: Counter[str] = Counter()
    for amounts in parts:
        totals.update(amounts)
    return totals


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


# Returns the choice among the allocations that the rules allow, given the choice of the service.
Choose = Callable[[Sequence[Held], Held | None], Held | None]


def must_agree(allowed: Sequence[Held], chosen: Held | None) -> Held | None:
    """The choice of the service, which must be one of the allowed ones."""
    assert chosen in allowed if allowed else chosen is None, (chosen, allowed)
    return chosen


def may_agree(allowed: Sequence[Held], chosen: Held | None) -> Held | None:
    """The choice of the service if it is allowed, else another one."""
    return chosen if chosen in allowed else next(iter(allowed), None)


def of_candidate(candidate: oracle.Candidate) -> dict[str, dict[str, int]]:
    return {uuid: dict(amounts) for uuid, amounts in candidate.allocations}


class Expected:
    """A simulation worked out by trying everything."""

    def __init__(
        self,
        world: oracle.World,
        consumers: Mapping[str, Placed],
        requests: Mapping[str, oracle.Query],
        order: Sequence[Key],
        choose: Choose = must_agree,
    ) -> None:
        self.arguments = world, consumers, requests, order
        self.choose = choose
        self.world = world
        self.consumers = {uuid: each for uuid, each in consumers.items() if not each.expired}
        self.held = {uuid: each.held for uuid, each in self.consumers.items()}
        remembered = {uuid: each.request for uuid, each in self.consumers.items()}
        self.requests = {uuid: query for uuid, query in remembered.items() if query}
        self.sources = dict.fromkeys(self.requests, "remembered") | dict.fromkeys(requests, "given")
        self.requests.update(requests)
        self.order = order
        self.drained: set[str] = set()
        self.added = 0
        self.capacities: dict[str, int] = {}
        for provider in world.values():
            for name, stock in provider.inventories.items():
                self.capacities[name] = self.capacities.get(name, 0) + max(0, stock.capacity)
        self.origins: dict[str, list[str]] = {}
        self.unplaceable: set[str] = set()
        self.claims: list[Held | None] = []
        # What claims on copies hold, and their groups.
        self.members: list[tuple[GroupKey, Held]] = []

    def roots(self, held: Iterable[str]) -> list[str]:
        return sorted({root(self.world, uuid) for uuid in held})

    def drain(self, answer: Body, roots: Sequence[str]) -> None:
        self.drained |= set(roots)

        def of_these(consumer: str) -> Held:
            held = self.held[consumer]
            return {uuid: held[uuid] for uuid in held if root(self.world, uuid) in roots}

        def size(consumer: str) -> Fraction:
            totals = sums(of_these(consumer).values())
            return max(Fraction(totals[name], self.capacities[name]) for name in totals)

        chosen = {each["consumer"]: held_in(each["body"]) for each in answer["moves"]}
        moving = [consumer for consumer in self.held if of_these(consumer)]
        for consumer in sorted(moving, key=lambda each: (-size(each), each)):
            self.origins.setdefault(consumer, self.roots(self.held[consumer]))
            place = self.choose(self.places(consumer), chosen.get(consumer))
            self.unplaceable.discard(consumer)
            if place is None:
                self.unplaceable.add(consumer)
            else:
                self.world = using(using(self.world, self.held[consumer], -1), place)
                self.held[consumer] = place

    def places(self, consumer: str) -> list[Held]:
        """What a consumer may hold after its move."""
        held = self.held[consumer]
        full = self.full_hosts(self.consumers[consumer].spread, without=consumer)
        if consumer in self.requests:
            asked = replace(self.requests[consumer], full_hosts=full)
            return self.first(using(self.world, held, -1), asked)
        by_root: dict[str, list[str]] = {}
        for uuid in held:
            by_root.setdefault(root(self.world, uuid), []).append(uuid)
        for each, uuids in by_root.items():
            shares = all(SHARING in self.world[uuid].traits for uuid in uuids)
            if each in self.drained and shares and len(by_root) > 1:
                return []
        parts = {uuid: held[uuid] for uuid in held if root(self.world, uuid) in self.drained}
        rest = {uuid: held[uuid] for uuid in held if uuid not in parts}
        groups = [
            oracle.Group("" if len(parts) == 1 else f"_{uuid}", amounts)
            for uuid, amounts in parts.items()
        ]
        query = oracle.Query(tuple(groups), taints=TAINTS, full_hosts=full)
        return [together(rest, found) for found in self.first(self.world, query, rest)]

    def full_hosts(
        self, spread: tuple[GroupKey, int] | None, without: str | None = None
    ) -> frozenset[str]:
        """The hosts that have as many members of a group as one host may have."""
        if spread is None:
            return frozenset()
        group, max_per_host = spread
        others = [held for key, held in self.members if key == group]
        for uuid, each in self.consumers.items():
            if uuid != without and each.spread is not None and each.spread[0] == group:
                others.append(self.held[uuid])
        counts = Counter(host for held in others for host in {*self.roots(held)})
        return frozenset(
            host
            for host, number in counts.items()
            if number >= max_per_host and SHARING not in self.world[host].traits
        )

    def first(
        self, world: oracle.World, query: oracle.Query, rest: Iterable[str] = ()
    ) -> list[Held]:
        """The allocations of the candidates of the first host that has one."""
        open_world = self.open_world(world)
        by_host = ranks(open_world, self.order)
        found: dict[Any, list[Held]] = {}
        for anchor, candidate in oracle.anchored(open_world, query):
            if not all(oracle.is_in_pool(world, anchor, uuid) for uuid in rest):
                continue
            uuids = {uuid for _suffix, each in candidate.mappings for uuid in each}
            own = any(root(world, uuid) == anchor for uuid in uuids)
            shared = host_of(open_world, candidate) is None
            if not shared and not own:
                continue  # never: it has a provider of its anchor
            host = (by_host[anchor], anchor) if own else ((), "")
            key = candidate.split, shared, shared and not own, host
            found.setdefault(key, []).append(of_candidate(candidate))
        return found[min(found)] if found else []

    def open_world(self, world: oracle.World) -> oracle.World:
        """The world without drained trees."""
        return {
            uuid: provider
            for uuid, provider in world.items()
            if root(world, uuid) not in self.drained
        }

    def remove(self, _answer: Body, roots: Sequence[str]) -> None:
        gone = {uuid for uuid in self.world if root(self.world, uuid) in roots}
        for consumer, held in self.held.items():
            self.held[consumer] = {uuid: held[uuid] for uuid in held if uuid not in gone}
        self.members = [
            (group, {uuid: held[uuid] for uuid in held if uuid not in gone})
            for group, held in self.members
        ]
        self.world = {uuid: each for uuid, each in self.world.items() if uuid not in gone}
        self.drained -= set(roots)

    def add(self, _answer: Body, like: str, count: int) -> None:
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
            self.world = {**self.world, **emptied(copies)}

    def claim(self, answer: Body, query: oracle.Query, spread: tuple[GroupKey, int] | None) -> None:
        allowed = self.first(self.world, replace(query, full_hosts=self.full_hosts(spread)))
        found = self.choose(allowed, held_in(answer["claims"][-1]))
        self.claims.append(found)
        if found is not None:
            self.world = using(self.world, found)
            if spread is not None:
                self.members.append((spread[0], found))

    def differs_without_groups(self, changes: Sequence[Any], answers: Sequence[Body]) -> bool:
        """Whether consumers and claims would have other places if there were no spread groups."""
        free = Expected(*self.arguments, choose=may_agree)
        free.full_hosts = lambda *_, **__: frozenset()  # type: ignore[method-assign]
        free.apply(changes, answers)
        return (free.held, free.claims) != (self.held, self.claims)

    def apply(self, changes: Sequence[Any], answers: Sequence[Body]) -> None:
        """Apply changes; each of the answers is that of a simulation which ends with a change."""
        for (kind, *arguments), answer in zip(changes, answers, strict=True):
            getattr(self, kind)(answer, *arguments)


def together(rest: Held, found: Held) -> Held:
    """The sum of what a consumer keeps and of what it was given."""
    held = {uuid: dict(amounts) for uuid, amounts in rest.items()}
    for uuid, amounts in found.items():
        total = held.setdefault(uuid, {})
        for name, amount in amounts.items():
            total[name] = total.get(name, 0) + amount
    return held


def held_in(body: Body) -> Held | None:
    """What a consumer or claim of an answer holds."""
    if "allocations" not in body:
        return None
    return {uuid: each["resources"] for uuid, each in body["allocations"].items()}


def any_query(rng: random.Random, world: oracle.World) -> oracle.Query:
    query = seeded_query(rng, world)
    if rng.random() < 0.4:
        query = whole_query(rng, world, query, rng.choice(list(FEATURES))) or query
    tolerated = frozenset(rng.sample(TRAITS, rng.choice((0, 0, 1))))
    return replace(query, tolerate=tolerated, taints=TAINTS)


def small_query(rng: random.Random) -> oracle.Query:
    """A request that many hosts serve."""
    groups = (oracle.Group("", {rng.choice(CLASSES): 1}),)
    return oracle.Query(groups, tolerate=TAINTS & {*TRAITS}, taints=TAINTS)


def any_spread(rng: random.Random, project: str | None) -> tuple[GroupKey, int] | None:
    """A spread group, of few names so that it has several members, or none."""
    if rng.random() < 0.4:
        return None
    return (project, rng.choice(("web", "web", "db"))), rng.choice((1, 1, 2))


def any_changes(
    rng: random.Random, world: oracle.World, consumers: Mapping[str, Placed]
) -> list[Any]:
    """Changes as names of methods of `Expected`, with their arguments."""
    used = {root(world, uuid) for each in consumers.values() for uuid in each.held}
    roots = sorted(uuid for uuid, provider in world.items() if provider.parent is None)
    added = 0
    changes: list[Any] = []
    for _ in range(rng.choice((1, 2, 2, 3, 4))):
        kind = rng.choice(("drain", "drain", "drain", "remove", "add", "claim", "claim"))
        if kind == "claim":
            query, spread = any_query(rng, world), any_spread(rng, None)
            if rng.random() < 0.4:
                query = small_query(rng)
            earlier = [each for each in changes if each[0] == "claim"]
            claim = rng.choice([(kind, query, spread), *earlier])
            changes += [claim] * rng.choice((1, 2, 3))
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
        case "claim", query, None:
            return {"claim": {"request": query.to_body()}}
        case "claim", query, ((_project, name), most):
            spread = {"name": name, "max_per_host": most}
            return {"claim": {"request": query.to_body(), "spread_group": spread}}
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


def populated(service: WorldService, rng: random.Random, world: oracle.World) -> dict[str, Placed]:
    """Claim candidates for a few consumers; return what each of them has."""
    service.load(world)
    consumers: dict[str, Placed] = {}
    for _ in range(rng.choice((1, 2, 3, 5))):
        used = world
        for each in consumers.values():
            used = using(used, each.held)
        query = seeded_query(rng, used)
        if rng.random() < 0.4:
            query = small_query(rng)
        body = {**query.to_body(), "tolerate": sorted(TAINTS & {*TRAITS})}
        answer = service.expect(200, "POST", "/allocation_candidates", body, "2.0").json
        if answer["allocation_requests"]:
            candidate = rng.choice(answer["allocation_requests"])
            held = {uuid: each["resources"] for uuid, each in candidate["allocations"].items()}
            project = rng.choice(("p", "p", "q"))
            consumers[service.claim(candidate, project)] = any_placed(
                rng, used, held, query, project
            )
    for consumer, placed in consumers.items():  # at last, because searches may release holds
        record(service, consumer, placed)
    return consumers


def any_placed(
    rng: random.Random, world: oracle.World, held: Held, query: oracle.Query, project: str
) -> Placed:
    """A consumer with anything that a claim may record."""
    remembered = None
    if rng.random() < 0.4:
        tolerated = frozenset(rng.sample(TRAITS, rng.choice((0, 1))))
        remembered = replace(query, tolerate=tolerated, taints=TAINTS)
        if rng.random() < 0.2:  # later writes have changed what the consumer holds
            remembered = any_query(rng, world)
    ends = rng.choice((None, None, DAY, -DAY)) if rng.random() < 0.4 else None
    return Placed(held, any_spread(rng, project), remembered, ends)


def record(service: WorldService, consumer: str, placed: Placed) -> None:
    """Write what the claim of a consumer has recorded."""
    columns: dict[str, object] = {}
    if placed.spread is not None:
        (_project, name), most = placed.spread
        columns |= {"spread_group": name, "max_per_host": most}
    if placed.expires_in is not None:
        now = int(time.time())
        columns |= {"hold_generation": 1, "held_since": now - 2 * DAY, "mappings": "{}"}
        columns["expires_at"] = now + placed.expires_in
    if placed.remembered is not None:
        columns["request"] = json.dumps(placed.remembered.to_body())
    if columns:
        service.record(consumer, **columns)


def check(answer: Body, expected: Expected) -> None:
    assert [each["consumer"] for each in answer["moves"]] == [
        consumer
        for consumer in expected.origins
        if consumer not in expected.unplaceable and expected.held[consumer]
    ]
    for move in answer["moves"]:
        consumer = move["consumer"]
        held = expected.held[consumer]
        assert held_in(move["body"]) == held
        assert move["from"] == expected.origins[consumer]
        assert move["to"] == expected.roots(held)
        assert move["request"] == expected.sources.get(consumer, "derived")
    assert {each["consumer"] for each in answer["unplaceable"]} == expected.unplaceable
    assert [held_in(claim) for claim in answer["claims"]] == expected.claims
    assert answer["fits"] == (not expected.unplaceable and None not in expected.claims)
    assert answer["undecided"] == []
    assert answer["complete"]


def check_search(service: WorldService, query: oracle.Query, body: Body, claim: Body) -> None:
    """A claim has the first candidate of the same search."""
    searched = {**query.to_body(), "order": body["order"], "limit": 1}
    found = service.expect(200, "POST", "/allocation_candidates", searched, "2.0").json
    first: Body = next(iter(found["allocation_requests"]), {})
    assert held_in(claim) == held_in(first)
    assert claim.get("mappings") == first.get("mappings")


def without_memory(service: WorldService, body: Body) -> Body:
    """The response of a simulation that searches and explains each request from scratch."""
    find = Searches.find

    def cold(searches: Searches, *arguments: Any) -> Any:
        searches._searches.clear()
        return find(searches, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Searches, "find", cold)
        return dict(service.expect(200, "POST", "/simulations", body, "2.0").json)


def test_a_simulation_does_what_its_rules_say(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    service = WorldService(tmp_path, placement={"taints": sorted(TAINTS)})
    rng = seeded("simulations")
    examples = moves = stuck = claims = applied = 0
    kinds: Counter[str] = Counter()
    while examples < EXAMPLES:
        world = with_twins(emptied(rng.choice((tainted_world, seeded_world))(rng)))
        consumers = populated(service, rng, world)
        if rng.random() < 0.5:
            service.renew(rng)
        service.restart(any_tuning(rng))
        have_expired = any(placed.expired for placed in consumers.values())
        for placed in consumers.values():
            world = world if placed.expired else using(world, placed.held)
            kinds["expired holds"] += placed.expired
        for _ in range(4):
            order = [any_key(rng) for _ in range(rng.choice((0, 0, 1, 2)))]
            changes = any_changes(rng, world, consumers)
            requests = {
                consumer: any_query(rng, world) for consumer in consumers if rng.random() < 0.3
            }
            expected = Expected(world, consumers, requests, order)
            body: Body = {
                "changes": list(map(json_of, changes)),
                "requests": {each: query.to_body() for each, query in requests.items()},
                "order": order,
            }
            answers = [
                service.expect(
                    200,
                    "POST",
                    "/simulations",
                    {**body, "changes": body["changes"][: number + 1]},
                    "2.0",
                ).json
                for number in range(len(changes))
            ]
            expected.apply(changes, answers)
            match changes[0]:
                # Searches count expired holds, until they are released.
                case "claim", query, None if order and not have_expired:
                    check_search(service, query, body, answers[0]["claims"][0])
                    kinds["searches"] += 1
            asked = small_query(rng)
            headroom = {"requests": {"one": asked.to_body()}, "limit": LIMIT}
            answer = service.expect(
                200, "POST", "/simulations", {**body, "headroom": headroom}, "2.0"
            ).json
            check(answer, expected)
            reasons = [
                [
                    (each.get("code"), each.get("text"))
                    for each in (*found["unplaceable"], *found["claims"])
                ]
                for found in (answer, without_memory(service, body))
            ]
            assert reasons[0] == reasons[1]
            kinds["changed by spread groups"] += expected.differs_without_groups(changes, answers)
            kinds.update(each["request"] for each in answer["moves"])
            kinds.update(
                each["code"]
                for each in (*answer["unplaceable"], *answer["claims"])
                if "code" in each
            )
            room = answer["headroom"]["one"]
            most = most_together(expected.open_world(expected.world), asked, LIMIT)
            check_bounds(room, most, LIMIT)
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
            f"{claims} claims, {applied} written, {dict(kinds)}"
        )
    assert moves > examples / 50
    assert stuck > examples / 10
    assert applied > examples / 1000 or examples < 1000
    # Servers try few examples.
    for kind in ("remembered", "expired holds", "changed by spread groups"):
        assert kinds[kind] >= examples // 200
