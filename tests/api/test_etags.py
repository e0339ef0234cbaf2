"""Entity tags change if, and only if, the response changes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import sqlalchemy as sa

from placement.api.history import v
from placement.api.openapi import describe
from placement.api.routes import OPERATIONS
from placement.db import tables as t
from placement.objects.provider_parts import Part
from tests.kit.cloud import aggregate_uuid, provider_uuid
from tests.kit.engines import seeded, share
from tests.kit.service import Service, claim, inventories

ROOT, CHILD, GRANDCHILD, OTHER, LEAF = map(provider_uuid, range(1, 6))
PROVIDERS = (ROOT, CHILD, GRANDCHILD, OTHER, LEAF)
PARENTS = {CHILD: ROOT, GRANDCHILD: CHILD, LEAF: OTHER}
WIDE, NARROW = (f"c0000000-0000-4000-8000-{number:012d}" for number in (1, 2))
TRAITS = ["HW_CPU_X86_AVX", "HW_CPU_X86_SSE"]
CUSTOM = "CUSTOM_GOLD"
ALL_PARTS = f"?include={','.join(part.value for part in Part)}"


class Seen(NamedTuple):
    """A response: its content and its tag."""

    status: int
    body: Any
    tag: str | None


class World(Service):
    """Two trees with consumers: one on both trees, and one on the child of the first tree."""

    def build(self) -> World:
        self.expect(201, "PUT", f"/resource_classes/{CUSTOM}")
        for number, uuid in enumerate(PROVIDERS):
            named = {"name": f"p{number}", "uuid": uuid, "parent_provider_uuid": PARENTS.get(uuid)}
            self.expect(200, "POST", "/resource_providers", named)
            stock = inventories(0, VCPU=100, DISK_GB=50, **{CUSTOM: 10})
            self.expect(200, "PUT", f"/resource_providers/{uuid}/inventories", stock)
        for uuid in (ROOT, OTHER):
            put_traits(self, uuid, TRAITS)
            put_aggregates(self, uuid, 1)
        wide = claim({ROOT: {"VCPU": 1, CUSTOM: 1}, OTHER: {"VCPU": 1}})
        self.expect(204, "PUT", f"/allocations/{WIDE}", wide)
        self.expect(204, "PUT", f"/allocations/{NARROW}", claim({CHILD: {"VCPU": 2}}))
        return self

    def generation(self, uuid: str) -> int:
        return int(self.get(f"/resource_providers/{uuid}")["generation"])

    def at(self, uuid: str, **members: object) -> dict[str, object]:
        """Return a body with the provider's current generation."""
        return {"resource_provider_generation": self.generation(uuid), **members}

    def look(self, tags: Mapping[str, str | None] | None = None) -> dict[str, Seen]:
        """Return the responses of all reads, for a client that sends these tags."""
        paths = ["", ALL_PARTS, "?limit=2", f"?in_tree={OTHER}", "?resources=DISK_GB:1"]
        for uuid in PROVIDERS:
            paths += [f"/{uuid}", f"/{uuid}{ALL_PARTS}"]
            paths += [f"/{uuid}/{part.value}" for part in Part]
            paths += [f"/{uuid}/inventories/{name}" for name in ("VCPU", CUSTOM)]
        seen = {}
        for path in paths:
            tag = (tags or {}).get(path)
            stated = {"If-None-Match": tag} if tag else {}
            url = f"/resource_providers{path}"
            answer = self.send("GET", url, version="2.0", headers=stated)
            body = answer.json if answer.status_code == 200 else None
            seen[path] = Seen(answer.status_code, body, answer.headers.get("etag"))
        return seen


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path) as world:
        yield world.build()


@pytest.fixture(scope="module")
def read_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """For tests that only read."""
    with World(tmp_path_factory.mktemp("read")) as world:
        yield world.build()


def check(world: World, before: Mapping[str, Seen]) -> set[str]:
    """Assert that tags match the responses. Return the paths whose responses have changed."""
    after = world.look()
    asked = world.look({path: seen.tag for path, seen in before.items()})
    # Pages are partly out of memory, single providers are not.
    for provider in after[ALL_PARTS].body["resource_providers"]:
        if provider["uuid"] in PROVIDERS:
            assert after[f"/{provider['uuid']}{ALL_PARTS}"].body == provider
    for provider in after[""].body["resource_providers"]:
        if provider["uuid"] in PROVIDERS:
            assert after[f"/{provider['uuid']}"].body == provider
    changed = set()
    for path, now in after.items():
        was = before[path]
        assert (now.tag is None) == (now.status != 200), path
        if now.tag == was.tag:
            assert (now.status, now.body) == (was.status, was.body), path
            assert asked[path] == (now if now.tag is None else Seen(304, None, now.tag))
        else:
            assert asked[path] == now
        if (now.status, now.body) != (was.status, was.body):
            changed.add(path)
    return changed


Write = Callable[[World], Any]


def put_parent(world: World, uuid: str, parent: str | None) -> None:
    name = world.get(f"/resource_providers/{uuid}")["name"]
    body = {"name": name, "parent_provider_uuid": parent}
    world.expect(200, "PUT", f"/resource_providers/{uuid}", body)


def put_inventories(world: World, uuid: str, **totals: int) -> None:
    stock = inventories(world.generation(uuid), **totals)
    world.expect(200, "PUT", f"/resource_providers/{uuid}/inventories", stock)


def put_inventory(world: World, uuid: str) -> None:
    path = f"/resource_providers/{uuid}/inventories/VCPU"
    world.expect(200, "PUT", path, world.at(uuid, total=77))


def post_inventory(world: World, uuid: str) -> None:
    body = {"resource_class": "PCPU", "total": 5}
    world.expect(201, "POST", f"/resource_providers/{uuid}/inventories", body)


def put_traits(world: World, uuid: str, traits: list[str]) -> None:
    world.expect(200, "PUT", f"/resource_providers/{uuid}/traits", world.at(uuid, traits=traits))


def put_aggregates(world: World, uuid: str, number: int) -> None:
    body = world.at(uuid, aggregates=[aggregate_uuid(number)])
    world.expect(200, "PUT", f"/resource_providers/{uuid}/aggregates", body)


def put_old_aggregates(world: World, uuid: str, number: int) -> None:
    body = [aggregate_uuid(number)]
    world.expect(200, "PUT", f"/resource_providers/{uuid}/aggregates", body, version="1.1")


def put_claim(world: World, consumer: str, amounts: Mapping[str, Mapping[str, int]]) -> None:
    generation = world.get(f"/allocations/{consumer}").get("consumer_generation")
    world.expect(204, "PUT", f"/allocations/{consumer}", claim(amounts, generation))


def post_claims(world: World) -> None:
    body = {
        "request": {"groups": {"": {"resources": {"VCPU": 3}, "in_tree": OTHER}}},
        "consumer_uuid": "c0000000-0000-4000-8000-000000000009",
        "project_id": "p",
        "user_id": "u",
        "consumer_type": "INSTANCE",
    }
    world.expect(201, "POST", "/claims", body, version="2.0")


def reshape(world: World) -> None:
    stock = inventories(world.generation(LEAF), VCPU=100, DISK_GB=9)
    moved = claim({LEAF: {"VCPU": 2}}, generation=1)
    body = {"inventories": {LEAF: stock}, "allocations": {NARROW: moved}}
    world.expect(204, "POST", "/reshaper", body)


def rename_class(world: World) -> None:
    body = {"name": "CUSTOM_SILVER"}
    world.expect(200, "PUT", f"/resource_classes/{CUSTOM}", body, version="1.6")


def send(status: int, method: str, path: str, body: object = None, version: str = "1.39") -> Write:
    return lambda world: world.expect(status, method, path, body, version)


def rp(uuid: str, path: str = "") -> str:
    return f"/resource_providers/{uuid}{path}"


# Name -> the write, and some of the reads whose answer it changes.
CHANGES: Mapping[str, tuple[Write, set[str]]] = {
    "a new tree": (send(200, "POST", "/resource_providers", {"name": "new"}), {""}),
    "a new child": (
        send(200, "POST", "/resource_providers", {"name": "n", "parent_provider_uuid": OTHER}),
        {"", f"?in_tree={OTHER}"},
    ),
    "a provider deleted": (send(204, "DELETE", rp(GRANDCHILD)), {"", f"/{GRANDCHILD}"}),
    "a root renamed": (send(200, "PUT", rp(ROOT), {"name": "x"}), {"", f"/{ROOT}"}),
    "a child renamed": (send(200, "PUT", rp(CHILD), {"name": "x"}), {"", f"/{CHILD}"}),
    "a name in capitals": (send(200, "PUT", rp(CHILD), {"name": "P1"}), {"", f"/{CHILD}"}),
    "a subtree moved": (
        lambda world: put_parent(world, CHILD, OTHER),
        {"", f"/{CHILD}", f"/{GRANDCHILD}", f"?in_tree={OTHER}"},
    ),
    "a subtree made a tree": (
        lambda world: put_parent(world, CHILD, None),
        {"", f"/{CHILD}", f"/{GRANDCHILD}"},
    ),
    "a tree put below another": (
        lambda world: put_parent(world, OTHER, GRANDCHILD),
        {"", f"/{OTHER}", f"/{LEAF}"},
    ),
    "all inventories": (
        lambda world: put_inventories(world, LEAF, VCPU=3),
        {f"/{LEAF}", f"/{LEAF}/inventories", f"/{LEAF}/inventories/VCPU", f"/{LEAF}/usages"},
    ),
    "one inventory": (lambda world: put_inventory(world, CHILD), {f"/{CHILD}/inventories/VCPU"}),
    "one more": (lambda world: post_inventory(world, CHILD), {f"/{CHILD}/inventories"}),
    "one less": (send(204, "DELETE", rp(LEAF, "/inventories/DISK_GB")), {f"/{LEAF}/inventories"}),
    "none left": (send(204, "DELETE", rp(LEAF, "/inventories")), {f"/{LEAF}/inventories"}),
    "other traits": (lambda world: put_traits(world, CHILD, TRAITS), {f"/{CHILD}/traits"}),
    "no traits": (send(204, "DELETE", rp(OTHER, "/traits")), {f"/{OTHER}/traits"}),
    "other aggregates": (
        lambda world: put_aggregates(world, CHILD, 2),
        {f"/{CHILD}/aggregates", f"/{CHILD}"},
    ),
    "the same aggregates, with a generation that moves": (
        lambda world: put_aggregates(world, OTHER, 1),
        {f"/{OTHER}/aggregates", f"/{OTHER}"},
    ),
    "other aggregates, of which the generation tells nothing": (
        lambda world: put_old_aggregates(world, CHILD, 2),
        {f"/{CHILD}/aggregates"},
    ),
    "a claim": (
        lambda world: put_claim(world, "c0000000-0000-4000-8000-000000000003", {LEAF: {"VCPU": 1}}),
        {f"/{LEAF}", f"/{LEAF}/usages", f"/{LEAF}/allocations"},
    ),
    "a claim that is changed on one of its two trees": (
        lambda world: put_claim(world, WIDE, {ROOT: {"VCPU": 1, CUSTOM: 1}, OTHER: {"VCPU": 5}}),
        {f"/{ROOT}/allocations", f"/{OTHER}/usages"},
    ),
    "a claim that leaves a tree": (
        lambda world: put_claim(world, WIDE, {OTHER: {"VCPU": 5}}),
        {f"/{ROOT}/allocations", f"/{ROOT}/usages", f"/{OTHER}/allocations"},
    ),
    "a claim that is emptied": (
        lambda world: put_claim(world, NARROW, {}),
        {f"/{CHILD}/allocations", f"/{CHILD}/usages"},
    ),
    "a claim deleted, which moves no generation": (
        send(204, "DELETE", f"/allocations/{WIDE}"),
        {f"/{ROOT}/allocations", f"/{ROOT}/usages", f"/{OTHER}/allocations"},
    ),
    "several claims": (
        send(
            204, "POST", "/allocations", {NARROW: claim({}, 1), WIDE: claim({LEAF: {"VCPU": 1}}, 1)}
        ),
        {f"/{ROOT}/usages", f"/{CHILD}/usages", f"/{LEAF}/allocations"},
    ),
    "a candidate claimed": (post_claims, {"", f"?in_tree={OTHER}"}),
    "a reshape": (reshape, {f"/{LEAF}/inventories", f"/{CHILD}/usages", f"/{LEAF}/allocations"}),
    "a class renamed": (
        rename_class,
        {f"/{ROOT}/inventories", f"/{ROOT}/allocations", f"/{LEAF}/inventories/{CUSTOM}"},
    ),
}

OWN_TRAITS = {"resource_provider_generation": 4, "traits": TRAITS}
OLD = {"resource_provider_generation": 0}

# Writes that are refused, or after which everything is as before.
NO_CHANGES: Mapping[str, Write] = {
    "the name that it has": send(200, "PUT", rp(CHILD), {"name": "p1"}),
    "the name and the parent that it has": lambda world: put_parent(world, CHILD, ROOT),
    "the traits that it has": lambda world: put_traits(world, ROOT, TRAITS),
    "no traits, where there are none": send(204, "DELETE", rp(CHILD, "/traits")),
    "none of none": lambda world: put_traits(world, LEAF, []),
    "the aggregates that it has": lambda world: put_old_aggregates(world, ROOT, 1),
    "a name that is taken": send(409, "PUT", rp(CHILD), {"name": "p4"}),
    "a new provider whose name is taken": send(409, "POST", "/resource_providers", {"name": "p0"}),
    "a loop": send(400, "PUT", rp(ROOT), {"name": "p0", "parent_provider_uuid": GRANDCHILD}),
    "a parent deleted": send(409, "DELETE", rp(ROOT)),
    "a provider in use": send(409, "DELETE", rp(CHILD)),
    "an old generation": send(409, "PUT", rp(ROOT, "/traits"), {**OLD, "traits": []}),
    "inventories in use": send(409, "DELETE", rp(ROOT, "/inventories")),
    "more than there is": send(
        409, "PUT", f"/allocations/{NARROW}", claim({CHILD: {"VCPU": 101}}, 1)
    ),
    "an old consumer": send(409, "PUT", f"/allocations/{NARROW}", claim({CHILD: {"VCPU": 1}}, 9)),
    "a consumer that is none": send(404, "DELETE", f"/allocations/{ROOT}"),
    "a class in use": send(409, "DELETE", f"/resource_classes/{CUSTOM}"),
    "a new class": send(201, "PUT", "/resource_classes/CUSTOM_NEW"),
    "a new trait": send(201, "PUT", "/traits/CUSTOM_NEW"),
    "a class renamed to itself": send(
        200, "PUT", f"/resource_classes/{CUSTOM}", {"name": CUSTOM}, version="1.6"
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_a_write_changes_has_another_tag(world: World, name: str) -> None:
    write, paths = CHANGES[name]
    before = world.look()
    write(world)
    assert check(world, before) >= paths


@pytest.mark.parametrize("name", NO_CHANGES)
def test_a_write_that_changes_nothing_leaves_all_tags(world: World, name: str) -> None:
    before = world.look()
    NO_CHANGES[name](world)
    assert check(world, before) == set()
    assert world.look() == before


@pytest.mark.parametrize("seed", range(share(4)))
def test_tags_tell_the_truth_on_any_walk_through_writes(world: World, seed: int) -> None:
    choose = seeded(seed)
    effective = 0
    for _ in range(25):
        before = world.look()
        try:
            step(world, choose)
        except AssertionError:
            assert check(world, before) == set()  # it was refused
        else:
            effective += bool(check(world, before))
    assert effective > 5


def step(world: World, choose: random.Random) -> None:
    """Execute a write. Raise AssertionError if it is refused."""
    uuid = choose.choice(PROVIDERS)
    consumer = choose.choice((WIDE, NARROW))
    writes: list[Callable[[], None]] = [
        lambda: put_parent(world, uuid, choose.choice([None, *PROVIDERS])),
        lambda: put_traits(world, uuid, choose.sample(TRAITS, choose.randint(0, 2))),
        lambda: put_aggregates(world, uuid, choose.randint(1, 3)),
        lambda: put_old_aggregates(world, uuid, choose.randint(1, 3)),
        lambda: put_inventories(world, uuid, VCPU=choose.randint(50, 99), **{CUSTOM: 10}),
        lambda: put_claim(
            world,
            consumer,
            {
                each: {"VCPU": choose.randint(1, 3)}
                for each in choose.sample(PROVIDERS, choose.randint(0, 3))
            },
        ),
        lambda: put_inventory(world, uuid),
    ]
    choose.choice(writes)()


def test_a_class_is_renamed_also_where_only_allocations_show_it(world: World) -> None:
    """In an adopted database, allocations may exist without an inventory."""
    drop = sa.delete(t.inventories).where(t.inventories.c.resource_class_id >= 10000)
    with world.database.writer.begin() as conn:
        conn.execute(drop)
    before = world.look()
    rename_class(world)
    assert f"/{ROOT}/allocations" in check(world, before)
    before = world.look()
    world.expect(204, "DELETE", "/resource_classes/CUSTOM_SILVER")
    assert f"/{ROOT}/allocations" in check(world, before)


def test_trees_of_a_software_that_renews_no_revisions_have_no_tags(world: World) -> None:
    provider = t.resource_providers
    with world.database.writer.begin() as conn:
        conn.execute(sa.update(provider).where(provider.c.uuid == OTHER).values(revision=0))
    for path, seen in world.look().items():
        is_known = (
            any(uuid in path for uuid in (ROOT, CHILD, GRANDCHILD)) and "?in_tree" not in path
        ) or path == "?limit=2"  # of the first tree
        assert (seen.tag is not None) == is_known, path


def test_a_page_keeps_its_tag_when_others_change(world: World) -> None:
    first, second = "?limit=2", f"?limit=2&marker={GRANDCHILD}"

    def tag(query: str) -> str:
        return world.send("GET", f"/resource_providers{query}", version="2.0").headers["etag"]

    before = tag(first), tag(second)
    put_inventory(world, LEAF)
    assert tag(first) == before[0]
    assert tag(second) != before[1]


def test_a_page_has_another_tag_when_it_is_the_last_no_more(world: World) -> None:
    path = f"/resource_providers?limit=2&marker={GRANDCHILD}"
    before = world.send("GET", path, version="2.0")
    new = {"name": "new", "uuid": provider_uuid(99)}
    world.expect(200, "POST", "/resource_providers", new)
    after = world.send(
        "GET", path, version="2.0", headers={"If-None-Match": before.headers["etag"]}
    )
    assert after.status_code == 200
    assert "resource_providers_links" in after.json


def test_two_trees_written_together_twice_are_not_taken_for_unchanged(world: World) -> None:
    """Both trees get the same revision.

    With an exclusive or, the two would cancel each other out.
    """
    tags = set()
    for amount in range(1, 6):
        put_claim(world, WIDE, {ROOT: {"VCPU": amount}, OTHER: {"VCPU": amount}})
        tags.add(world.look()[""].tag)
    assert len(tags) == 5


@pytest.mark.parametrize("path", ["/resource_providers", f"/resource_providers/{ROOT}"])
def test_a_tag_is_of_one_address_version_and_prefix(world: World, path: str) -> None:
    def tag(query: str = "", **options: Any) -> str | None:
        return world.send("GET", f"{path}{query}", version="2.0", **options).headers.get("etag")

    tags = [tag(), tag("?include=usages"), tag("?include=traits"), tag(root_path="/placement")]
    assert None not in tags
    assert len(set(tags)) == len(tags)
    assert tag() == tags[0]
    older = world.send("GET", path, headers={"If-None-Match": "*"})
    assert older.status_code == 200
    assert "etag" not in older.headers


@pytest.mark.parametrize(
    ("stated", "known"),
    [
        ("{tag}", True),
        ("{strong}", True),
        ('W/"x", {tag}', True),
        ('"x",{strong} , "y"', True),
        ("*", True),
        ('"*"', False),
        ('W/"*"', False),
        ('"x"', False),
        ('W/"x"', False),
        ("", False),
        ("W/", False),
        ('"', False),
        (",,", False),
    ],
)
@pytest.mark.parametrize("path", ["", f"/{ROOT}", f"/{ROOT}/inventories/VCPU"])
def test_tags_are_compared_weakly_in_lists(
    read_world: World, path: str, stated: str, known: bool
) -> None:
    url = f"/resource_providers{path}"
    whole = read_world.send("GET", url, version="2.0")
    tag = whole.headers["etag"]
    stated = stated.format(tag=tag, strong=tag.removeprefix("W/"))
    answer = read_world.send("GET", url, version="2.0", headers={"If-None-Match": stated})
    assert answer.headers["etag"] == tag
    assert answer.headers["openstack-api-version"] == "placement 2.0"
    assert answer.headers["vary"] == "openstack-api-version"
    assert answer.headers["cache-control"] == "no-cache"
    if known:
        assert answer.status_code == 304
        assert answer.content == b""
        assert "content-type" not in answer.headers
    else:
        assert answer.status_code == 200
        assert answer.json == whole.json


@pytest.mark.parametrize("stated", ["*", '"x"'])
def test_what_is_not_there_or_not_allowed_comes_first(read_world: World, stated: str) -> None:
    headers = {"If-None-Match": stated}
    for path in (
        f"/{provider_uuid(9)}",
        f"/{provider_uuid(9)}/usages",
        f"/{ROOT}/inventories/PCPU",
    ):
        url = f"/resource_providers{path}"
        answer = read_world.send("GET", url, version="2.0", headers=headers)
        assert answer.status_code == 404
    unknown = "/resource_providers?required=CUSTOM_NOBODY"
    assert read_world.send("GET", unknown, version="2.0", headers=headers).status_code == 400
    powerless = {**headers, "X-Auth-Token": "user:p", "X-Roles": "reader"}
    for path in ("/resource_providers", f"/resource_providers/{ROOT}/traits"):
        assert read_world.send("GET", path, version="2.0", headers=powerless).status_code == 403


def test_a_removed_name_changes_the_tag_of_the_list(world: World) -> None:
    world.expect(201, "PUT", "/traits/CUSTOM_GONE")
    path = "/resource_providers?required=!CUSTOM_GONE"
    tag = world.send("GET", path, version="2.0").headers["etag"]
    world.expect(204, "DELETE", "/traits/CUSTOM_GONE")
    answer = world.send("GET", path, version="2.0", headers={"If-None-Match": tag})
    assert answer.status_code == 400


@pytest.mark.parametrize("path", [path for path in OPERATIONS if "GET" in OPERATIONS[path]])
def test_the_answers_that_are_declared_to_have_tags_have_them(read_world: World, path: str) -> None:
    names = {"name": CUSTOM, "uuid": ROOT, "root": ROOT, "resource_class": "VCPU"}
    names["consumer"] = WIDE
    needed = {
        "/usages": "?project_id=p",
        "/allocation_candidates": "?resources=VCPU:1",
        "/allocations": f"?in_tree={ROOT}",
    }
    if path == "/traits/{name}":
        names["name"] = TRAITS[0]
    for version in ("1.0", "1.39", "2.0"):
        routes = OPERATIONS[path]["GET"]
        if v(version) < routes.since:
            continue
        url = path.format(**names) + needed.get(path, "")
        answer = read_world.send("GET", url, version=version, headers={"If-None-Match": '"x"'})
        assert answer.status_code in (200, 204), answer.text
        is_tagged = routes.at(v(version)).tagged and version == "2.0"
        assert ("etag" in answer.headers) == is_tagged
        described = describe(v(version))["paths"][path]["get"]
        assert ("304" in described["responses"]) == is_tagged
