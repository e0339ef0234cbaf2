"""The counts and relaxations of explanations agree with the oracle on random clouds."""

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any
from urllib.parse import urlencode

import pytest

from falcon_placement_client.query import parse_query
from placement.api.candidate_requests.query_form import parse_candidates
from placement.api.history import v
from placement.api.parameters import pairs
from placement.candidates import TreeCache
from placement.candidates.model import Refusal
from placement.candidates.request import StatedTerm, SubtreeRule
from placement.candidates.trees.scan import Scan
from placement.foresight.explanation import Explanation, explain
from tests.kit.engines import seeded, share
from tests.properties import oracle
from tests.properties.explained_texts import check_amounts, check_text
from tests.properties.language import FEATURES, whole_query
from tests.properties.strategies import seeded_query, seeded_world
from tests.properties.test_candidates import any_tuning
from tests.properties.worlds import WorldService

VERSION = v("2.0")
EXAMPLES = share(2000)
WORLD_QUERIES = 8
ORDER = list(Refusal)

# A dropped condition: keyword, suffix and value, as in terms.
Key = tuple[str, str | None, Any]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> WorldService:
    return WorldService(tmp_path_factory.mktemp("explanation"))


def explained(service: WorldService, query: oracle.Query, rng: random.Random) -> Explanation:
    request = parse_candidates(pairs(urlencode(query.to_params())), VERSION)
    settings = service.settings.candidates
    with service.database.read_trees() as conn:
        scan = Scan.of(conn, request, settings.traits)
        return explain(scan, TreeCache(1000), settings, any_tuning(rng))


def without(query: oracle.Query) -> Iterator[tuple[Key, oracle.Query]]:
    """The query without each single condition, except resources.

    A group of `same_subtree` without amounts keeps its last requirement and its last rule.
    """
    named = {suffix.removeprefix("!") for rule in query.same_subtree for suffix in rule}
    for index, group in enumerate(query.groups):
        for changed in group_without(group):
            key, smaller = changed
            needs = [smaller.resources, smaller.required, smaller.member_of, smaller.in_tree]
            if group.suffix in named and not any([*needs, smaller.subtree]):
                continue
            groups = (*query.groups[:index], smaller, *query.groups[index + 1 :])
            yield key, replace(query, groups=groups)
    for keyword in ("required", "member_of", "forbidden", "not_member_of"):
        terms = getattr(query, f"root_{keyword}")
        for term in terms:
            left: Any = {f"root_{keyword}": type(terms)(each for each in terms if each != term)}
            yield (f"root.{keyword}", None, term), replace(query, **left)
    if query.group_policy == "isolate":
        yield ("group_policy", None, "isolate"), replace(query, group_policy=None)
    for suffix in query.isolate:
        yield ("isolate", None, suffix), replace(query, isolate=query.isolate - {suffix})
    for rule in query.same_subtree:
        rules = tuple(each for each in query.same_subtree if rule_of(each) != rule_of(rule))
        related = {suffix.removeprefix("!") for each in rules for suffix in each}
        if not all(group.resources or group.suffix in related for group in query.groups):
            continue  # the API refuses groups without amounts that no rule names
        yield ("same_subtree", None, rule_of(rule)), replace(query, same_subtree=rules)
    for taint in query.untolerated:
        yield ("taints", None, taint), replace(query, taints=query.taints - {taint})


def group_without(group: oracle.Group) -> Iterator[tuple[Key, oracle.Group]]:
    left: Any
    for keyword in ("required", "member_of"):
        terms = getattr(group, keyword)
        for term in terms:
            left = {keyword: tuple(each for each in terms if each != term)}
            yield (keyword, group.suffix, term), replace(group, **left)
    for keyword in ("forbidden", "not_member_of"):
        for term in getattr(group, keyword):
            left = {keyword: getattr(group, keyword) - {term}}
            yield (keyword, group.suffix, term), replace(group, **left)
    for keyword in ("in_tree", "subtree"):
        uuid = getattr(group, keyword)
        if uuid is not None:
            left = {keyword: None}
            yield (keyword, group.suffix, uuid), replace(group, **left)


def rule_of(suffixes: tuple[str, ...]) -> SubtreeRule:
    inside = frozenset(suffix for suffix in suffixes if not suffix.startswith("!"))
    outside = frozenset(suffix[1:] for suffix in suffixes if suffix.startswith("!"))
    return SubtreeRule(inside, outside)


def key_of(term: StatedTerm) -> Key:
    return term.keyword, term.suffix, term.value


def with_larger_amount(rng: random.Random, query: oracle.Query) -> oracle.Query:
    """The query, sometimes with a larger amount."""
    if rng.random() < 0.5:
        return query
    index = rng.randrange(len(query.groups))
    group = query.groups[index]
    resources = {
        name: amount + rng.choice((0, 1, 3, 8)) for name, amount in group.resources.items()
    }
    groups = (
        *query.groups[:index],
        replace(group, resources=resources),
        *query.groups[index + 1 :],
    )
    return replace(query, groups=groups)


def check(world: oracle.World, query: oracle.Query, explanation: Explanation) -> int:
    """Check an explanation. Return the number of checked clauses of its text."""
    served = oracle.served(world, query)
    check_counts(world, explanation, served)
    check_steps(explanation)
    check_reductions(world, query, explanation)
    # Dropping a condition that names a taint keeps the tolerance.
    expected = {
        key: len(oracle.served(world, replace(relaxed, taints=relaxed.taints & query.untolerated)))
        for key, relaxed in without(query)
    }
    expected = {key: hosts for key, hosts in expected.items() if hosts > len(served)}
    relaxed = {key_of(each.term): each.hosts for each in explanation.relaxations if each.to is None}
    assert relaxed == expected
    ranks = [
        (-each.hosts, each.term.code is Refusal.TAINTED)
        for each in explanation.relaxations
        if each.to is None
    ]
    assert ranks == sorted(ranks)
    return check_text(world, query, explanation) + check_amounts(world, query, explanation.text)


def check_reductions(world: oracle.World, query: oracle.Query, explanation: Explanation) -> None:
    """Each reduction is the largest amount that can be served, and none is missing."""
    reduced = {
        (each.term.suffix, each.term.resource_class): (each.to, each.hosts)
        for each in explanation.relaxations
        if each.to is not None
    }
    expected = {}
    if not explanation.hosts.served:
        for index, group in enumerate(query.groups):
            for name, asked in group.resources.items():
                for amount in range(asked - 1, 0, -1):
                    smaller = replace(group, resources={**group.resources, name: amount})
                    groups = (*query.groups[:index], smaller, *query.groups[index + 1 :])
                    hosts = len(oracle.served(world, replace(query, groups=groups)))
                    if hosts:
                        expected[group.suffix, name] = amount, hosts
                        break
    assert reduced == expected


def check_counts(world: oracle.World, explanation: Explanation, served: set[str]) -> None:
    hosts = explanation.hosts
    assert hosts.complete
    assert hosts.all == hosts.looked == len(oracle.hosts(world))
    assert hosts.served == len(served)
    assert hosts.served + sum(each.hosts for each in explanation.blocked) == hosts.looked
    assert len({(each.code, each.group) for each in explanation.blocked}) == len(
        explanation.blocked
    )
    for each in explanation.blocked:
        assert 0 < len(each.examples) == min(5, each.hosts)
        assert set(each.examples) <= oracle.hosts(world) - served
        assert each.detail


def check_steps(explanation: Explanation) -> None:
    """Steps are in the order of the codes, and their numbers of hosts are continuous."""
    left = explanation.hosts.looked
    for steps in explanation.groups.values():
        check_chain(steps)
        assert steps[0].before == explanation.hosts.looked
        left = min(left, steps[-1].after)
    if explanation.together:
        check_chain(explanation.together)
        assert explanation.together[0].before <= left
        assert explanation.together[-1].after == explanation.hosts.served
    else:
        assert left >= explanation.hosts.served


def check_chain(steps: Any) -> None:
    codes = [ORDER.index(step.code) for step in steps]
    assert codes == sorted(set(codes))
    assert all(one.after == other.before for one, other in pairwise(steps))
    assert all(0 <= step.after <= step.before for step in steps)
    assert all(step.detail for step in steps)


@pytest.mark.parametrize("feature", [None, *FEATURES])
def test_an_explanation_agrees_with_the_oracle(
    service: WorldService, feature: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = seeded(f"explain {feature}")
    examples = answered = gains = reduced = clauses = 0
    while examples < EXAMPLES // 4:
        world = seeded_world(rng)
        service.load(world)
        for _ in range(WORLD_QUERIES):
            plain = seeded_query(rng, world)
            query = plain if feature is None else whole_query(rng, world, plain, feature)
            if query is None:
                continue
            query = with_larger_amount(rng, query)
            explanation = explained(service, query, rng)
            try:
                clauses += check(world, query, explanation)
            except AssertionError as error:
                raise AssertionError(f"{query.to_params()}\n{explanation}") from error
            examples += 1
            answered += explanation.hosts.served > 0
            gains += any(each.to is None for each in explanation.relaxations)
            reduced += any(each.to is not None for each in explanation.relaxations)
    with capsys.disabled():
        print(
            f"\n{feature}: {examples} examples, {answered} served, {gains} + {reduced} relaxed, "
            f"{clauses} clauses"
        )
    # Reasons of same_subtree have the fewest clauses, about one in ten examples.
    assert clauses > examples / 20
    assert answered > examples / 10
    assert gains > examples / 20
    assert reduced > examples / 40


STEP = re.compile(r'\[""]|\[(?P<index>\d+)]|(?P<name>[^.\[\]]+)')


def value_at(body: Any, path: str) -> Any:
    """The value at a path in a body, as clients read it."""
    for step in STEP.finditer(path):
        body = body[int(step["index"]) if step["index"] else step["name"] or ""]
    return body


def shuffled(rng: random.Random, body: dict[str, Any]) -> dict[str, Any]:
    """The body with lists and members in random order."""
    mixed: dict[str, Any] = {}
    for name in rng.sample(list(body), len(body)):
        value = body[name]
        if isinstance(value, dict):
            value = shuffled(rng, value)
        elif isinstance(value, list):
            value = rng.sample(value, len(value))
        mixed[name] = value
    return mixed


def normalized(value: Any) -> Any:
    """A value in normal form: without empty members, sorted."""
    if isinstance(value, dict):
        return {name: sorted(suffixes) for name, suffixes in value.items() if suffixes}
    return sorted(value) if isinstance(value, list) else value


def test_paths_of_relaxations_lead_to_the_values_in_body_and_query(service: WorldService) -> None:
    rng = seeded(8)
    dropped = reduced = 0
    while dropped < share(300) or reduced < share(100):
        world = seeded_world(rng)
        service.load(world)
        for _ in range(WORLD_QUERIES):
            feature = rng.choice(list(FEATURES))
            query = whole_query(rng, world, seeded_query(rng, world), feature)
            if query is None:
                continue
            query = with_larger_amount(rng, query)
            body = shuffled(rng, query.to_body())
            path = "/allocation_candidates"
            answer = service.expect(200, "POST", path, {**body, "explain": "summary"}, "2.0")
            explanation = answer.json["explanation"]
            for each in explanation["relaxations"]:
                if "reduce" in each:
                    assert value_at(body, each["reduce"]) > each["to"] > 0
                    reduced += 1
                else:
                    assert normalized(value_at(body, each["drop"])) == normalized(each["value"]), (
                        each
                    )
                    dropped += 1
            params = [*query.to_params(), ("explain", "summary")]
            by_query = service.search(path, params, "2.0").json["explanation"]
            assert by_query["hosts"] == explanation["hosts"]
            assert by_query["groups"].keys() == explanation["groups"].keys()
            parsed = parse_query(urlencode(query.to_params()))
            for each in by_query["relaxations"]:
                found = value_at(parsed, each.get("drop") or each["reduce"])
                assert normalized(found) == normalized(each.get("value", found))
