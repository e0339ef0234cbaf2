"""Every way that writes a part of a provider accepts the same values and stores the same.

Each table lists values with their verdict. Each way tries all of them on new providers. A refused
value must not change the database.
"""

from __future__ import annotations

import io
import uuid as uuids
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

import pytest
import sqlalchemy as sa
import yaml

from falcon_placement_client import ProviderTree, ReportClient
from falcon_placement_client.errors import ClientError
from falcon_placement_client.loader import load_cloud
from falcon_placement_client.loader.expansion import escape_braces
from falcon_placement_client.rest import MAX_V1, V2
from placement.db import tables as t
from placement.direct import PlacementDirect
from placement.objects import identifiers
from tests.kit.service import Service

if TYPE_CHECKING:
    from keystoneauth1.adapter import Adapter

RP = "/resource_providers"
MAX = 2**31 - 1
AGGREGATE = "5ac00000-0000-4000-8000-00000000000a"
OTHER = "5ac00000-0000-4000-8000-00000000000b"
RACK_A = str(uuids.uuid5(uuids.NAMESPACE_URL, "urn:placement:aggregate:rack-a"))
AVX2, SSE = "HW_CPU_X86_AVX2", "HW_CPU_X86_SSE"
REFUSED = "refused"


class Case(NamedTuple):
    """A value and its verdict."""

    # The value of the part.
    value: Any
    # What is stored, or REFUSED.
    verdict: Any
    # Way -> its verdict if it differs on purpose.
    but: Mapping[str, Any] = MappingProxyType({})

    def of(self, way: str) -> Any:
        """Return the verdict of a way. Lists are sorted."""
        verdict = self.but.get(way, self.verdict)
        return sorted(verdict) if isinstance(verdict, list) else verdict


class World:
    """A service with a client of each kind."""

    def __init__(self, service: Service, adapter: Adapter, directory: Path) -> None:
        self.service = service
        self.adapter = adapter
        self.directory = directory

    def new(self) -> str:
        """Create a provider, with an inventory, and return its UUID. It is also its name."""
        uuid = str(uuids.uuid4())
        self.service.expect(
            200,
            "PUT",
            f"/provider_trees/{uuid}",
            {"providers": [entry(uuid, inventories={"VCPU": {"total": 8}})]},
            "2.0",
        )
        return uuid

    def send(self, method: str, path: str, body: object, version: str = "1.39") -> bool:
        """Send a request. Return whether it was accepted; otherwise, it must be a 400."""
        answer = self.service.send(method, path, body, version)
        assert answer.status_code in {200, 201, 204, 400}, answer.text
        return answer.status_code != 400

    def state(self, uuid: str) -> Mapping[str, Any] | None:
        """Return a provider with its parts, or None if it does not exist."""
        answer = self.service.send("GET", f"/provider_trees/{uuid}", version="2.0")
        return answer.json["providers"][0] if answer.status_code == 200 else None


def entry(uuid: str, name: object = None, **parts: object) -> dict[str, Any]:
    name = uuid if name is None else name
    return {"uuid": uuid, "name": name, "parent_provider_uuid": None, **parts}


# -- ways: each writes one part of a provider, and returns whether the value was accepted ----------

Way = Callable[[World, str, Any], bool]
NameWay = Callable[[World, Any], bool]


def by_part(part: str) -> Way:
    def write(world: World, uuid: str, value: Any) -> bool:
        body = {part: value, "resource_provider_generation": 1}
        return world.send("PUT", f"{RP}/{uuid}/{part}", body)

    return write


def by_tree(part: str, **members: Any) -> Way:
    def write(world: World, uuid: str, value: Any) -> bool:
        body = {"providers": [entry(uuid, **{part: value})], **members}
        return world.send("PUT", f"/provider_trees/{uuid}", body, "2.0")

    return write


def by_addition(part: str) -> Way:
    def write(world: World, uuid: str, value: Any) -> bool:
        body = {"providers": [entry(uuid, **{part: {"add": value}})]}
        return world.send("PUT", f"/provider_trees/{uuid}", body, "2.0")

    return write


def by_reshape(world: World, uuid: str, value: Any) -> bool:
    stock = {"inventories": value, "resource_provider_generation": 1}
    return world.send("POST", "/reshaper", {"inventories": {uuid: stock}, "allocations": {}})


def by_record(world: World, uuid: str, value: Any) -> bool:
    body = {**value["VCPU"], "resource_provider_generation": 1}
    return world.send("PUT", f"{RP}/{uuid}/inventories/VCPU", body)


def by_post(world: World, uuid: str, value: Any) -> bool:
    world.service.expect(204, "DELETE", f"{RP}/{uuid}/inventories")
    return world.send(
        "POST", f"{RP}/{uuid}/inventories", {"resource_class": "VCPU"} | value["VCPU"]
    )


def by_client(part: str, version: tuple[int, int]) -> Way:
    def write(world: World, uuid: str, value: Any) -> bool:
        client = ReportClient(world.adapter, version)
        tree = client.get_provider_tree(uuid)
        if not tree.exists(uuid):
            tree.new_root(uuid, uuid)
        try:
            getattr(tree, f"update_{part}")(uuid, value)
            client.update_from_provider_tree(tree)
        except ClientError:
            return False
        return True

    return write


def by_file(part: str) -> Way:
    def write(world: World, uuid: str, value: Any) -> bool:
        return load(world, {"name": uuid, "uuid": uuid, part: value})

    return write


def load(world: World, provider: Mapping[str, Any], **keys: Any) -> bool:
    path = world.directory / "cloud.yaml"
    path.write_text(yaml.safe_dump({"providers": [provider], **keys}))
    return load_cloud(str(path), None, world.adapter, out=io.StringIO()) == 0


PARTS: Mapping[str, Mapping[str, Way]] = {
    "inventories": {
        "PUT set": by_part("inventories"),
        "PUT tree": by_tree("inventories"),
        "reshaper": by_reshape,
        "client 2.0": by_client("inventory", V2),
        "client 1.39": by_client("inventory", MAX_V1),
        "load-cloud": by_file("inventories"),
    },
    "records": {"PUT record": by_record, "POST record": by_post},
    "traits": {
        "PUT set": by_part("traits"),
        "PUT tree": by_tree("traits"),
        "PUT tree, add": by_addition("traits"),
        "client 2.0": by_client("traits", V2),
        "client 1.39": by_client("traits", MAX_V1),
        "load-cloud": by_file("traits"),
    },
    "aggregates": {
        "PUT set": by_part("aggregates"),
        "PUT tree": by_tree("aggregates"),
        "PUT tree, add": by_addition("aggregates"),
        "client 2.0": by_client("aggregates", V2),
        "client 1.39": by_client("aggregates", MAX_V1),
        "load-cloud": by_file("aggregates"),
    },
}
# Ways that create the provider with the part.
CREATING = {"PUT tree", "client 2.0", "client 1.39", "load-cloud"}

# -- tables ----------------------------------------------------------------------------------------

DEFAULTS = {
    "reserved": 0, "min_unit": 1, "max_unit": MAX, "step_size": 1, "allocation_ratio": 1.0,
}  # fmt: skip


NO_NUMBERS: list[Any] = ["5", "", True, None, [], {}]
NO_TEXTS: list[Any] = [None, 5, True, [], {}]
NOT_BY_CLIENT = {"client 2.0": REFUSED, "client 1.39": REFUSED}


def records() -> Iterator[Case]:
    """Yield records of an inventory."""
    for member in ("total", "reserved", "min_unit", "max_unit", "step_size"):
        base: dict[str, Any] = {} if member == "total" else {"total": MAX}
        least = 0 if member == "reserved" else 1
        for amount in (least, 5, MAX):
            record: dict[str, Any] = {**base, member: amount}
            yield Case(record, {**DEFAULTS, **record})
        for wrong in (least - 1, -MAX, MAX + 1, 2**64, 5.5, *NO_NUMBERS):
            yield Case({**base, member: wrong}, REFUSED)
        # 5.0 is an integer in JSON, but not in Python.
        record = {**base, member: 5.0}
        yield Case(record, {**DEFAULTS, **record}, NOT_BY_CLIENT)
    for ratio in (0, 1, 16, 1.5, 0.25, 2.0**100):
        record = {"total": 8, "allocation_ratio": ratio}
        yield Case(record, {**DEFAULTS, **record})
    for wrong in (-1, -0.5, 3.5e38, 1e300, *NO_NUMBERS):
        yield Case({"total": 8, "allocation_ratio": wrong}, REFUSED)
    for record in ({}, {"reserved": 1}, {"total": 8, "totl": 8}, {"total": 8, "used": 0}):
        yield Case(record, REFUSED)
    # All units may be reserved, and no more. Truncated capacities are compared.
    for reserved, ratio, verdict in (
        (8, 1.0, "stored"), (9, 1.0, REFUSED), (MAX, 1.0, REFUSED), (9, 16.0, REFUSED),
        (MAX, 2.0**100, REFUSED), (9, 0.5, "stored"), (10, 0.5, REFUSED), (MAX, 0.0, "stored"),
    ):  # fmt: skip
        record = {"total": 8, "reserved": reserved, "allocation_ratio": ratio}
        yield Case(record, REFUSED if verdict == REFUSED else {**DEFAULTS, **record})
    record = {"total": 1, "min_unit": 9, "max_unit": 3, "step_size": 7}
    yield Case(record, {**DEFAULTS, **record})


RECORDS = [
    Case({"VCPU": value}, REFUSED if verdict == REFUSED else {"VCPU": verdict}, but)
    for value, verdict, but in records()
]
SHORT = {"VCPU": {**DEFAULTS, "total": 5}}
INVENTORIES = [
    Case({}, {}),
    Case({"VCPU": 5}, REFUSED, {"load-cloud": SHORT}),
    *(
        Case({name: {"total": 5}}, REFUSED)
        for name in ("", "vcpu", " VCPU", "VCPU\n", "VCPÜ", "V" * 255, "V" * 256, "UNKNOWN_CLASS")
    ),
    *(Case({"VCPU": value}, REFUSED) for value in (None, [], "5", True, [8])),
    *(Case(value, REFUSED) for value in (None, [], "VCPU", 5, True, ["VCPU"])),
]
TRAITS = [
    Case([], []),
    Case([AVX2], [AVX2]),
    Case([SSE, AVX2], [SSE, AVX2]),
    # A repetition in a file is probably a mistake.
    Case([AVX2, AVX2], [AVX2], {"load-cloud": REFUSED}),
    *(
        Case([AVX2, name], REFUSED)
        for name in (
            "", AVX2.lower(), AVX2 + "\n", " " + AVX2, "X" * 255, "X" * 256, "HW_NO_SUCH", "\0",
            "Ü", "CUSTOM_a", *NO_TEXTS,
        )
    ),
    *(Case(value, REFUSED) for value in (None, AVX2, 5, True)),
]  # fmt: skip
AGGREGATES = [
    Case([], []),
    Case([AGGREGATE], [AGGREGATE]),
    Case([AGGREGATE, OTHER], [AGGREGATE, OTHER]),
    Case([AGGREGATE.upper()], [AGGREGATE]),
    Case([AGGREGATE.replace("-", "")], [AGGREGATE]),
    # The client takes a set.
    Case([AGGREGATE, AGGREGATE], REFUSED, {"client 2.0": [AGGREGATE], "client 1.39": [AGGREGATE]}),
    Case([f"{{{AGGREGATE}}}"], [AGGREGATE], {"load-cloud": REFUSED}),
    Case([f"urn:uuid:{AGGREGATE}"], [AGGREGATE]),
    # A file may also contain names of aggregates, from which UUIDs are derived.
    Case(["rack-a"], REFUSED, {"load-cloud": [RACK_A]}),
    *(
        Case([AGGREGATE, text], REFUSED)
        for text in ("", AGGREGATE + "\n", AGGREGATE[:-1] + "!", "Ü", "\0", *NO_TEXTS)
    ),
    *(Case(value, REFUSED) for value in (None, AGGREGATE, 5, True)),
]
TABLES = {
    "inventories": [*RECORDS, *INVENTORIES], "records": RECORDS, "traits": TRAITS,
    "aggregates": AGGREGATES,
}  # fmt: skip


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    directory = tmp_path_factory.mktemp("verdicts")
    with ExitStack() as exits:
        service = exits.enter_context(Service(directory))
        adapter = exits.enter_context(PlacementDirect(service.settings))
        yield World(service, adapter, directory)


@pytest.mark.parametrize(
    ("part", "way"), [(part, way) for part, ways in PARTS.items() for way in ways]
)
def test_a_part_of_an_existing_provider_has_one_verdict(world: World, part: str, way: str) -> None:
    other_verdicts = []
    uuid = world.new()
    before = world.state(uuid)
    for case in TABLES[part]:
        accepted = PARTS[part][way](world, uuid, case.value)
        after = world.state(uuid)
        verdict = part_of(after, part) if accepted else REFUSED
        if verdict != case.of(way):
            other_verdicts.append((case.value, verdict))
        if accepted or way == "POST record":
            world.service.expect(204, "DELETE", f"{RP}/{uuid}")
            uuid = world.new()
            before = world.state(uuid)
        else:
            assert after == before, case.value
    assert other_verdicts == []


@pytest.mark.parametrize(
    ("part", "way"),
    [(part, way) for part in PARTS for way in PARTS[part] if way in CREATING],
)
def test_a_part_of_a_new_provider_has_one_verdict(world: World, part: str, way: str) -> None:
    other_verdicts = []
    for case in TABLES[part]:
        uuid = str(uuids.uuid4())
        accepted = PARTS[part][way](world, uuid, case.value)
        after = world.state(uuid)
        verdict = part_of(after, part) if accepted else REFUSED
        if verdict != case.of(way):
            other_verdicts.append((case.value, verdict))
        if after is not None:
            # Before 2.0, a new provider is created before its parts are sent.
            assert accepted or way == "client 1.39", case.value
            world.service.expect(204, "DELETE", f"{RP}/{uuid}")
    assert other_verdicts == []


@pytest.mark.parametrize("way", PARTS["inventories"])
def test_a_ratio_that_a_database_rounds_makes_no_negative_capacity(world: World, way: str) -> None:
    uuid = world.new()
    record = {"total": 8, "reserved": 9, "allocation_ratio": 1 - 1e-12}
    PARTS["inventories"][way](world, uuid, {"VCPU": record})
    with world.service.database.read() as conn:
        capacities = conn.execute(sa.select(t.inventories.c.capacity)).scalars()
        assert min(capacities) >= 0


def part_of(provider: Mapping[str, Any] | None, part: str) -> Any:
    assert provider is not None
    value = provider["inventories" if part == "records" else part]
    return value if isinstance(value, dict) else sorted(value)


# -- names and UUIDs of providers ------------------------------------------------------------------


def name_by_post(world: World, uuid: str, name: Any) -> bool:
    return world.send("POST", RP, {"uuid": uuid, "name": name})


def name_by_put(world: World, uuid: str, name: Any) -> bool:
    world.service.expect(200, "POST", RP, {"uuid": uuid, "name": uuid})
    return world.send("PUT", f"{RP}/{uuid}", {"name": name})


def name_by_tree(world: World, uuid: str, name: Any) -> bool:
    body = {"providers": [{"uuid": uuid, "name": name, "parent_provider_uuid": None}]}
    return world.send(
        "PUT", f"/provider_trees/{identifiers.canonical(str(uuid)) or DASHED}", body, "2.0"
    )


def name_by_tree_of_old(world: World, uuid: str, name: Any) -> bool:
    world.service.expect(200, "POST", RP, {"uuid": uuid, "name": uuid})
    return name_by_tree(world, uuid, name)


def name_by_client(version: tuple[int, int]) -> Way:
    def write(world: World, uuid: str, name: Any) -> bool:
        tree = ProviderTree()
        try:
            tree.new_root(name, uuid)
            ReportClient(world.adapter, version).update_from_provider_tree(tree)
        except ClientError:
            return False
        return True

    return write


def name_by_file(world: World, uuid: str, name: Any) -> bool:
    return load(
        world, {"uuid": uuid, "name": escape_braces(name) if isinstance(name, str) else name}
    )


NAME_WAYS: Mapping[str, Way] = {
    "POST": name_by_post,
    "PUT": name_by_put,
    "PUT tree, new": name_by_tree,
    "PUT tree, old": name_by_tree_of_old,
    "client 2.0": name_by_client(V2),
    "client 1.39": name_by_client(MAX_V1),
    "load-cloud": name_by_file,
}
NAMES = [
    *(
        Case(name, name)
        for name in (
            "a", "a" * 200, "ü" * 200, " ", "a b", " a", "a ", "a\n", "\t", "\x01", "a/b", "%_",
            "\\'\"`", "{n}", "{", "🙂", "null", "5", "true", "1e3", "- a", "#a", AGGREGATE,
        )
    ),
    # openstack-placement accepts an empty name in this request only.
    Case("", REFUSED, {"PUT": ""}),
    *(
        Case(name, REFUSED)
        for name in ("a" * 201, "a\0", *NO_TEXTS)
    ),
]  # fmt: skip


@pytest.mark.parametrize("way", NAME_WAYS)
def test_the_name_of_a_provider_has_one_verdict(world: World, way: str) -> None:
    other_verdicts = []
    for case in NAMES:
        uuid = str(uuids.uuid4())
        accepted = NAME_WAYS[way](world, uuid, case.value)
        after = world.state(uuid)
        verdict = after["name"] if after and accepted else REFUSED
        if verdict != case.of(way):
            other_verdicts.append((case.value, verdict))
        if after is not None:
            assert accepted or after["name"] == uuid
            world.service.expect(204, "DELETE", f"{RP}/{uuid}")
    assert other_verdicts == []


PLAIN = "0123456789abcdef0123456789abcdef"
DASHED = str(uuids.UUID(PLAIN))
UUIDS = [
    *(
        Case(text, DASHED)
        for text in (DASHED, DASHED.upper())
    ),
    # A file contains the common form.
    *(
        Case(text, DASHED, {"load-cloud": REFUSED})
        for text in (PLAIN, f"{{{DASHED}}}", f"urn:uuid:{DASHED}", f"uuid:{PLAIN}")
    ),
    *(
        Case(text, REFUSED)
        for text in ("", PLAIN[1:], f"{DASHED}0", f"{DASHED}\n", f"g{PLAIN[1:]}", *NO_TEXTS[1:])
    ),
]  # fmt: skip


@pytest.mark.parametrize("way", [way for way in NAME_WAYS if way not in {"PUT", "PUT tree, old"}])
def test_the_uuid_of_a_provider_has_one_verdict(world: World, way: str) -> None:
    other_verdicts = []
    for case in UUIDS:
        accepted = NAME_WAYS[way](world, case.value, "host")
        after = world.state(DASHED)
        verdict = after["uuid"] if after else REFUSED
        assert accepted == (after is not None), case.value
        if verdict != case.of(way):
            other_verdicts.append((case.value, verdict))
        if after is not None:
            world.service.expect(204, "DELETE", f"{RP}/{DASHED}")
    assert other_verdicts == []


# -- names of custom classes and traits ------------------------------------------------------------


def new_by_tree(part: str) -> NameWay:
    def write(world: World, name: Any) -> bool:
        uuid = str(uuids.uuid4())
        value = {name: {"total": 1}} if part == "inventories" else [name]
        body = {"providers": [entry(uuid, **{part: value})], "create_names": True}
        return world.send("PUT", f"/provider_trees/{uuid}", body, "2.0")

    return write


def new_by_path(path: str) -> NameWay:
    def write(world: World, name: Any) -> bool:
        answer = world.service.send("PUT", f"{path}/{quote(name, safe='')}")
        return answer.status_code in {201, 204}

    return write


def new_by_file(key: str) -> NameWay:
    def write(world: World, name: Any) -> bool:
        return load(world, {"name": "host"}, **{key: [name]})

    return write


def new_by_provider(part: str) -> NameWay:
    def write(world: World, name: Any) -> bool:
        return load(world, {"name": "host", part: {name: 1} if part == "inventories" else [name]})

    return write


def new_by_post(world: World, name: Any) -> bool:
    return world.send("POST", "/resource_classes", {"name": name})


NEW_NAME_WAYS: Mapping[str, tuple[str, NameWay]] = {
    "class, POST": ("/resource_classes", new_by_post),
    "class, PUT": ("/resource_classes", new_by_path("/resource_classes")),
    "class, PUT tree": ("/resource_classes", new_by_tree("inventories")),
    "class, list of load-cloud": ("/resource_classes", new_by_file("resource_classes")),
    "class, provider of load-cloud": ("/resource_classes", new_by_provider("inventories")),
    "trait, PUT": ("/traits", new_by_path("/traits")),
    "trait, PUT tree": ("/traits", new_by_tree("traits")),
    "trait, list of load-cloud": ("/traits", new_by_file("traits")),
    "trait, provider of load-cloud": ("/traits", new_by_provider("traits")),
}
NEW_NAMES = [
    *((name, True) for name in ("CUSTOM_A", "CUSTOM_A_1", "CUSTOM__", "CUSTOM_" + "A" * 248)),
    *(
        (name, False)
        for name in (
            "CUSTOM_", "CUSTOM", "GOLD", "custom_a", "CUSTOM_a", "CUSTOM_A B", "CUSTOM_A ",
            "CUSTOM_A\n", "CUSTOM_Ä", "CUSTOM_A-B", "CUSTOM_\0", "CUSTOM_" + "A" * 249, " CUSTOM_A",
            "XCUSTOM_A",
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize("way", NEW_NAME_WAYS)
def test_the_name_of_a_new_class_or_trait_has_one_verdict(tmp_path: Path, way: str) -> None:
    path, write = NEW_NAME_WAYS[way]
    with Service(tmp_path) as service, PlacementDirect(service.settings) as adapter:
        world = World(service, adapter, tmp_path)
        before = catalogue(world, path)
        verdicts = [(name, write(world, name)) for name, _ in NEW_NAMES]
        new = catalogue(world, path) - before
    assert verdicts == NEW_NAMES
    assert new == {name for name, accepted in NEW_NAMES if accepted}


def catalogue(world: World, path: str) -> set[str]:
    names = world.service.get(path)[path.removeprefix("/")]
    return {each if isinstance(each, str) else each["name"] for each in names}
