"""The reasons that explanations, headroom, simulations and log lines state are the same."""

import logging
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from placement.api.operations import candidates as resource
from placement.foresight import explanation
from placement.foresight.explanation import Reasons
from tests.kit.engines import seeded, share
from tests.properties import oracle
from tests.properties.language import FEATURES, whole_query
from tests.properties.oracle import SHARING, Provider, Query, World
from tests.properties.strategies import AGGREGATES, seeded_query, seeded_world
from tests.properties.test_explanation import with_larger_amount
from tests.properties.worlds import WorldService

EXAMPLES = share(400)
CANDIDATES = "/allocation_candidates"
# The codes of inventories that an amount does not fit, in the order of the checks.
UNITS = ("min_unit", "max_unit", "step_size", "capacity")
TAINT = "CUSTOM_TAINT"

# (code, suffix of the group) -> number of hosts.
Hosts = Counter[tuple[str, str | None]]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> WorldService:
    return WorldService(tmp_path_factory.mktemp("reasons"), placement={"taints": [TAINT]})


def by_code(entries: Sequence[Mapping[str, Any]]) -> Hosts:
    hosts: Hosts = Counter()
    for entry in entries:
        hosts[entry["code"], entry["group"]] += entry["hosts"]
    return hosts


def without_groups(blocked: Hosts) -> Counter[str]:
    hosts: Counter[str] = Counter()
    for (code, _group), number in blocked.items():
        hosts[code] += number
    return hosts


def any_query(rng: random.Random, world: World) -> Query:
    query = seeded_query(rng, world)
    if rng.random() < 0.5:
        query = whole_query(rng, world, query, rng.choice(list(FEATURES))) or query
    if rng.random() < 0.2:
        aggregate = frozenset({rng.choice(AGGREGATES)})
        query = replace(query, root_member_of=(*query.root_member_of, aggregate))
    return with_larger_amount(rng, query) if rng.random() < 0.3 else query


def any_world(rng: random.Random) -> World:
    """A cloud with some tainted roots, and sometimes with full or small sharing providers."""
    is_scarce = rng.random() < 0.5
    return {
        uuid: changed(rng, provider, is_scarce=is_scarce and SHARING in provider.traits)
        for uuid, provider in seeded_world(rng).items()
    }


def changed(rng: random.Random, provider: Provider, *, is_scarce: bool) -> Provider:
    if provider.parent is None and rng.random() < 0.1:
        provider = replace(provider, traits=provider.traits | {TAINT})
    if not is_scarce:
        return provider
    inventories = {}
    for name, stock in provider.inventories.items():
        used = max(0, stock.capacity - rng.randrange(3))
        is_full = rng.random() < 0.6
        inventories[name] = replace(stock, used=used) if is_full else replace(stock, max_unit=1)
    return replace(provider, inventories=inventories)


def in_another_order(query: Query) -> Query:
    """The query with the conditions of each group in reverse order."""
    groups = [
        replace(
            group,
            resources=dict(list(group.resources.items())[::-1]),
            required=group.required[::-1],
            member_of=group.member_of[::-1],
        )
        for group in query.groups
    ]
    return replace(query, groups=tuple(groups))


class Logged:
    """The reasons of the log lines of empty results."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.latest: Reasons | None = None
        explain_refused = explanation.explain_refused

        def recorded(*arguments: Any) -> Reasons:
            self.latest = explain_refused(*arguments)
            return self.latest

        monkeypatch.setattr(resource, "explain_refused", recorded)

    def hosts(self) -> Counter[str]:
        assert self.latest is not None
        return Counter(self.latest.counts)


def test_all_reasons_are_those_of_the_explanation(
    service: WorldService,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.INFO)
    logged = Logged(monkeypatch)
    rng = seeded(41)
    kinds: Counter[str] = Counter()
    for _ in range(EXAMPLES):
        world = any_world(rng)
        query = any_query(rng, world)
        service.load(world)
        service.renew(rng)
        body = query.to_body()
        asked = {**body, "explain": "providers"}
        answer = service.expect(200, "POST", CANDIDATES, asked, "2.0").json
        explanation = answer["explanation"]
        blocked, served = by_code(explanation["blocked"]), explanation["hosts"]["served"]
        found: Any = None
        try:
            headroom = service.expect(
                200, "POST", "/headroom", {"requests": {"asked": body}}, "2.0"
            )
            found = headroom.json["headroom"]["asked"]
            assert found["hosts"] == served
            assert bool(found["largest"]) == bool(served)
            limits = by_code(found["limited_by"])
            assert limits.total() == explanation["hosts"]["all"]
            if not served:
                assert limits == blocked
            # Sharing providers may serve alone where no host does.
            if not answer["allocation_requests"]:
                check_simulation(service, body, blocked)
                logged.latest = None
                params = query.to_params()
                assert not service.search(CANDIDATES, params, "2.0").json["allocation_requests"]
                assert not logged.hosts() - without_groups(blocked)
                kinds["logged"] += bool(logged.hosts())
            params = [*in_another_order(query).to_params(), ("explain", "providers")]
            by_query = service.search(CANDIDATES, params, "2.0").json["explanation"]
            assert by_query["providers"] == explanation["providers"]
        except AssertionError as error:
            raise AssertionError(f"{body}\n{world}\n{explanation}\n{found}") from error
        kinds.update(checked_units(world, query, explanation["providers"]))
        kinds["served" if served else "none"] += 1
        kinds.update({code for code, _group in blocked} if not served else ())
    with capsys.disabled():
        print(f"\nreasons: {EXAMPLES} clouds, {dict(kinds)}")
    assert kinds["none"] > EXAMPLES / 5
    assert kinds["served"] > EXAMPLES / 5
    assert kinds["logged"] > EXAMPLES / 20


def checked_units(
    world: World, query: Query, rejected: Sequence[Mapping[str, Any]]
) -> Sequence[str]:
    """Check the codes of hosts that lack a single class, and return the codes.

    A host is rejected at the last of the checks that reject its providers.
    """
    codes = []
    taints = replace(query, taints=frozenset({TAINT})).untolerated
    whole = [each for each in query.groups if len(each.resources) == 1 and not each.can_split]
    resources = {each.suffix: each.resources for each in whole}
    for host in rejected:
        if host["code"] not in UNITS or host.get("group") not in resources:
            continue
        ((name, amount),) = resources[host["group"]].items()
        stocks = [
            each.inventories[name]
            for each in world.values()
            if name in each.inventories
            and oracle.is_in_pool(world, host["host"], each.uuid)
            and taints.isdisjoint(world[oracle.root(world, each.uuid)].traits)
        ]
        found = max((oracle.refusal(stock, amount) for stock in stocks), key=UNITS.index)
        assert host["code"] == found, (host, amount, stocks)
        codes.append(f"only {host['code']}")
    return codes


def check_simulation(service: WorldService, body: Mapping[str, Any], blocked: Hosts) -> None:
    """A claim on copies has the code of the most hosts that have the classes, if there are any."""
    changes = {"changes": [{"claim": {"request": body}}]}
    (claim,) = service.expect(200, "POST", "/simulations", changes, "2.0").json["claims"]
    if not blocked:
        assert claim["code"] == "no_hosts"
        return
    hosts = without_groups(blocked)
    if len(hosts) > 1:
        del hosts["no_inventory"]
    assert hosts[claim["code"]] == max(hosts.values())
