"""The content of a torn view is neither cached, tagged nor used for decisions.

Of two transactions in one tree the second has waited for the first. At one statement of a request,
whichever it is, the view shows the second alone.
"""

import uuid as uuids
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.kit.engines import ENGINE, EXAMPLES
from tests.kit.service import Service, claim
from tests.kit.statements import counted
from tests.kit.tearing import Rows, become, moving, rows, tearing, torn

pytestmark = pytest.mark.skipif(ENGINE != "mariadb", reason="views of this engine are whole")

#   HOST  VCPU 10
#     |
#   NODE  DISK_GB 10
HOST, NODE = (str(uuids.UUID(int=number)) for number in (1, 2))
CONSUMER, OTHER = (str(uuids.UUID(int=number)) for number in (11, 12))
AGGREGATES = [str(uuids.UUID(int=number)) for number in (21, 22)]
TRAITS = ["HW_CPU_X86_AVX", "HW_CPU_X86_AVX2"]
MOST_STATEMENTS = 12

Act = Callable[["Cloud"], Any]


class Cloud(Service):
    """A service with one tree of two providers."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        for uuid, parent, stock in ((HOST, None, {"VCPU": 10}), (NODE, HOST, {"DISK_GB": 10})):
            body = {"name": uuid, "uuid": uuid, "parent_provider_uuid": parent}
            self.expect(200, "POST", "/resource_providers", body)
            self.put(uuid, "inventories", {name: {"total": total} for name, total in stock.items()})
            self.put(uuid, "traits", TRAITS[:1])
            self.put(uuid, "aggregates", AGGREGATES[:1])
        self.allocate(OTHER, {HOST: {"VCPU": 1}, NODE: {"DISK_GB": 1}})

    def generation(self, uuid: str) -> int:
        return int(self.get(f"/resource_providers/{uuid}")["generation"])

    def put(self, uuid: str, part: str, value: Any, generation: int | None = None) -> Any:
        """Replace a part of what a provider has."""
        stated = self.generation(uuid) if generation is None else generation
        body = {"resource_provider_generation": stated, part: value}
        return self.send("PUT", f"/resource_providers/{uuid}/{part}", body)

    def allocate(self, consumer: str, amounts: Any, generation: int | None = None) -> None:
        body = claim(amounts, generation)
        self.expect(204, "PUT", f"/allocations/{consumer}", body)

    def record(self, first: Act, second: Act) -> tuple[Rows, Rows, Rows]:
        """Return the tables before, between and after two transactions. Undo both transactions."""
        before = rows(self.database)
        first(self)
        between = rows(self.database)
        second(self)
        after = rows(self.database)
        assert before != between != after
        become(self.database.writer, after, before)
        self.restart()
        return before, between, after


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[Cloud]:
    with Cloud(tmp_path) as made:
        yield made


def stock(uuid: str, name: str, **record: int) -> Act:
    return lambda cloud: cloud.put(uuid, "inventories", {name: {"total": 10, **record}})


# What the view does not show: of the child, and of the root.
FIRST: Mapping[str, Act] = {
    "inventories": stock(NODE, "DISK_GB", max_unit=2),
    "traits": lambda cloud: cloud.put(NODE, "traits", TRAITS[1:]),
    "aggregates": lambda cloud: cloud.put(NODE, "aggregates", AGGREGATES[1:]),
    "a claim": lambda cloud: cloud.allocate(CONSUMER, {NODE: {"DISK_GB": 2}}),
    "another claim": lambda cloud: cloud.allocate(OTHER, {NODE: {"DISK_GB": 2}}, generation=1),
    "inventories of the root": stock(HOST, "VCPU", max_unit=2),
    "traits of the root": lambda cloud: cloud.put(HOST, "traits", TRAITS[1:]),
}
# What it shows.
SECOND: Mapping[str, Act] = {
    "on the root": lambda cloud: cloud.put(HOST, "aggregates", AGGREGATES),
    "on the child": lambda cloud: cloud.put(NODE, "aggregates", AGGREGATES),
}

CANDIDATES = "/allocation_candidates?resources1=VCPU:4&resources2=DISK_GB:4&group_policy=none"
READS = [
    *(
        f"/resource_providers/{uuid}{part}"
        for uuid in (HOST, NODE)
        for part in ("", "/inventories", "/usages", "/traits", "/aggregates", "/allocations")
    ),
    f"/resource_providers/{NODE}?include=inventories,traits,aggregates,allocations",
    "/resource_providers?limit=9&include=inventories,usages,traits,aggregates,allocations",
    "/resource_providers",
    "/resource_providers?required=HW_CPU_X86_AVX",
    f"/resource_providers?in_tree={NODE}",
    CANDIDATES,
    f"{CANDIDATES}&required2=HW_CPU_X86_AVX2",
]


@pytest.mark.parametrize("first", FIRST)
def test_an_answer_with_the_tag_of_a_revision_has_its_content_and_nothing_else_is_kept(
    cloud: Cloud, first: str
) -> None:
    second = "on the child" if first in {"traits of the root", "a claim"} else "on the root"
    before, between, after = cloud.record(FIRST[first], SECOND[second])
    torn = 0
    # The versions have the same statements, but not the same content.
    versions = ("1.39", "2.0") if first in {"inventories", "traits of the root"} else ("2.0",)
    for path, version in product(READS, versions):
        if version == "1.39" and ("include" in path or "limit" in path):
            continue
        become(cloud.database.writer, before, after)
        cloud.restart()
        truth = cloud.send("GET", path, version=version)
        for statement in range(MOST_STATEMENTS):
            become(cloud.database.writer, after, before)
            cloud.restart()
            cloud.send("GET", path, version=version)  # what there was before is in memory
            with tearing(cloud.database, before, between, after, statement) as tear:
                answer = cloud.send("GET", path, version=version)
            if not tear.done:
                break
            torn += 1
            case = (path, version, statement)
            assert cloud.send("GET", path, version=version).json == truth.json, case
            if "etag" in answer.headers and answer.headers["etag"] == truth.headers["etag"]:
                assert answer.json == truth.json, case
            generation = "resource_provider_generation"
            if answer.json.get(generation, -1) == truth.json.get(generation):
                assert answer.json == truth.json, case
        assert statement
    assert torn > 2 * len(READS)


# What has a generation together with several parts, and the member with its pieces, of which each
# must be of one moment.
PARTS = "include=inventories,usages,traits,aggregates,allocations"
WHOLE = {
    f"/resource_providers?in_tree={NODE}&{PARTS}": "resource_providers",
    f"/resource_providers/{NODE}?{PARTS}": "",
    f"/provider_trees/{HOST}": "",
}
MOVES = 100  # more than the statements of a response


def pieces(answer: Any, member: str) -> list[Any]:
    return answer[member] if member else [answer]


def pieces_at(cloud: Cloud, path: str, states: Sequence[Rows]) -> list[Any]:
    """Return the pieces that the tables have in these states, in turn."""
    found = []
    for state in states:
        become(cloud.database.writer, rows(cloud.database), state)
        cloud.restart()
        found += pieces(cloud.get(path, "2.0"), WHOLE[path])
    return found


def test_each_provider_of_a_page_and_each_tree_is_of_one_moment(cloud: Cloud) -> None:
    """Whether the transactions commit between two statements, or tear a view."""
    for first in ("a claim", "traits of the root"):
        before, between, after = cloud.record(FIRST[first], SECOND["on the child"])
        for path, member in WHOLE.items():
            moments = pieces_at(cloud, path, [before, between, after])
            for missed, statement in product((between, before), range(MOST_STATEMENTS)):
                become(cloud.database.writer, rows(cloud.database), before)
                cloud.restart()
                with tearing(cloud.database, before, missed, after, statement) as tear:
                    answer = cloud.get(path, "2.0")
                assert tear.done == (statement < tear.seen)
                for piece in pieces(answer, member):
                    assert piece in moments, (first, path, missed is before, statement)
        become(cloud.database.writer, rows(cloud.database), before)


def test_content_that_keeps_changing_is_read_a_few_times_and_marked(cloud: Cloud) -> None:
    states = [rows(cloud.database)]
    for number in range(MOVES):
        cloud.allocate(CONSUMER, {NODE: {"DISK_GB": number % 4 + 1}}, generation=number or None)
        cloud.put(HOST, "traits", [TRAITS[number % 2]])
        states.append(rows(cloud.database))
    for path, moves in product(WHOLE, (1, MOST_STATEMENTS // 2, MOVES)):
        moments = pieces_at(cloud, path, states[: moves + 1]) if moves < MOVES else []
        become(cloud.database.writer, rows(cloud.database), states[0])
        cloud.restart()
        with moving(cloud.database, states[: moves + 1]), counted(cloud.database) as statements:
            answer = cloud.send("GET", path, version="2.0")
        assert len(statements) < MOVES
        for piece in pieces(answer.json, WHOLE[path]):
            assert piece.get("changing", False) == (moves == MOVES)
            assert piece in moments or moves == MOVES
        if moves == MOVES:
            assert "etag" not in answer.headers


def test_allocations_match_the_returned_generation(cloud: Cloud) -> None:
    """A view that lacks a write still contains the rows that the write has replaced."""
    path = f"/allocations/{OTHER}"
    before, between, after = cloud.record(
        lambda cloud: cloud.allocate(OTHER, {NODE: {"DISK_GB": 2}}, generation=1),
        lambda cloud: cloud.allocate(OTHER, {HOST: {"VCPU": 2}}, generation=2),
    )
    assert len(torn(before, between, after)) > len(after)
    for statement in range(MOST_STATEMENTS):
        with tearing(cloud.database, before, between, after, statement) as tear:
            answer = cloud.get(path)
        if not tear.done:
            break
        truth = cloud.get(path)
        assert answer["consumer_generation"] != 3 or answer == truth
        become(cloud.database.writer, after, before)
    assert statement > 1


# -- writes -----------------------------------------------------------------------------------

GENERATION = "resource_provider_generation"
NEW_AGGREGATE = str(uuids.UUID(int=23))


def _inventories(totals: Mapping[str, int]) -> dict[str, Any]:
    return {"inventories": {name: {"total": total} for name, total in totals.items()}}


def _reshape(generation: int) -> dict[str, Any]:
    node = {GENERATION: generation, **_inventories({"DISK_GB": 9})}
    return {"inventories": {NODE: node}, "allocations": {}}


def _demand(**resources: int) -> dict[str, Any]:
    return {
        "claims": [
            {
                "request": {"groups": {"1": {"resources": resources, "required": TRAITS[:1]}}},
                "consumer_uuid": CONSUMER,
                "project_id": "project",
                "user_id": "user",
                "consumer_type": "INSTANCE",
            }
        ]
    }


PROVIDER = "/resource_providers/{uuid}"
MOVED = {"name": "moved", "parent_provider_uuid": None}
# name -> method, path and body of a write of a provider, and its version. What has a generation
# states the provider's.
WRITES: Mapping[str, tuple[str, str, Any, str]] = {
    "inventories": ("PUT", f"{PROVIDER}/inventories", _inventories({"DISK_GB": 20}), "1.39"),
    "other inventories": ("PUT", f"{PROVIDER}/inventories", _inventories({"VGPU": 1}), "1.39"),
    "an inventory": ("PUT", f"{PROVIDER}/inventories/DISK_GB", {"total": 20}, "1.39"),
    "a new inventory": (
        "POST",
        f"{PROVIDER}/inventories",
        {"resource_class": "VGPU", "total": 20},
        "1.39",
    ),
    "no inventory": ("DELETE", f"{PROVIDER}/inventories/DISK_GB", None, "1.39"),
    "no inventories": ("DELETE", f"{PROVIDER}/inventories", None, "1.39"),
    "traits": ("PUT", f"{PROVIDER}/traits", {"traits": [TRAITS[0], "HW_CPU_X86_SSE"]}, "1.39"),
    "the same traits": ("PUT", f"{PROVIDER}/traits", {"traits": TRAITS[:1]}, "1.39"),
    "no traits": ("DELETE", f"{PROVIDER}/traits", None, "1.39"),
    "aggregates": ("PUT", f"{PROVIDER}/aggregates", {"aggregates": [NEW_AGGREGATE]}, "1.39"),
    "aggregates without a generation": ("PUT", f"{PROVIDER}/aggregates", AGGREGATES[:1], "1.1"),
    "a name": ("PUT", PROVIDER, {"name": "renamed"}, "1.39"),
    "another tree": ("PUT", PROVIDER, MOVED, "1.39"),
    "no provider": ("DELETE", PROVIDER, None, "1.39"),
    "a claim": (
        "PUT",
        f"/allocations/{CONSUMER}",
        claim({HOST: {"VCPU": 3}, NODE: {"DISK_GB": 3}}),
        "1.39",
    ),
    "a claim that changes": (
        "PUT",
        f"/allocations/{OTHER}",
        claim({NODE: {"DISK_GB": 3}}, generation=1),
        "1.39",
    ),
    "no claim": ("DELETE", f"/allocations/{OTHER}", None, "1.39"),
    "a claim of what is found": ("POST", "/claims", _demand(DISK_GB=3), "2.0"),
    "a reshape": ("POST", "/reshaper", _reshape(0), "1.39"),
}
# What the view misses, and what it shows.
PAIRS: Mapping[str, tuple[Act, Act]] = {
    **{name: (FIRST[name], SECOND["on the root"]) for name in ("inventories", "a claim")},
    "traits of the root": (FIRST["traits of the root"], SECOND["on the child"]),
    "a child": (
        lambda cloud: cloud.expect(
            200, "POST", "/resource_providers", {"name": "child", "parent_provider_uuid": NODE}
        ),
        SECOND["on the root"],
    ),
}


# Each write with two of the pairs, and with all of them in long runs.
@pytest.mark.parametrize(
    ("pair", "write"),
    [
        (pair, write)
        for (row, pair), (column, write) in product(enumerate(PAIRS), enumerate(WRITES))
        if EXAMPLES >= 1 or (row + column) % 2
    ],
)
def test_a_write_that_succeeds_does_what_it_does_after_both_transactions(
    cloud: Cloud, pair: str, write: str
) -> None:
    """A refusal must be justified by the state at one of these times."""
    before, between, after = cloud.record(*PAIRS[pair])
    uuid = HOST if pair == "traits of the root" else NODE

    def act(generation: int) -> int:
        method, path, body, version = WRITES[write]
        if write == "a reshape":
            body = _reshape(generation)
        elif isinstance(body, dict) and method == "PUT" and "resource_providers/{uuid}/" in path:
            body = {GENERATION: generation, **body}
        answer = cloud.send(method, path.format(uuid=uuid), body, version)
        assert answer.status_code < 500, answer.text
        return answer.status_code

    def at(state: Rows, generation: int) -> tuple[int, Any, bool]:
        become(cloud.database.writer, rows(cloud.database), state)
        cloud.restart()
        present = shown(cloud)
        status = act(generation)
        result = shown(cloud)
        return status, result, status < 300 and result == present

    for known in (before, after):
        generation = _generation(known, uuid)
        truths = [at(state, generation) for state in (before, between, after)]
        allowed = {status for status, _shown, _nothing in truths if status >= 400}
        become(cloud.database.writer, rows(cloud.database), after)
        unchanged = shown(cloud)
        changes_nothing = [(status, unchanged) for status, _shown, nothing in truths if nothing]
        for statement in range(MOST_STATEMENTS):
            become(cloud.database.writer, rows(cloud.database), before)
            cloud.restart()
            with tearing(cloud.database, before, between, after, statement) as tear:
                status = act(generation)
            if not tear.done:
                break
            if status < 300:
                assert (status, shown(cloud)) in [truths[-1][:2], *changes_nothing], statement
            else:
                assert status in allowed, statement
            cloud.check_used()


def _generation(state: Rows, uuid: str) -> int:
    (provider,) = [row for (_table, _key), row in state.items() if row.get("uuid") == uuid]
    return int(provider["generation"])


def shown(cloud: Cloud) -> Any:
    """Return the complete content of the API."""
    listed = cloud.get(
        "/resource_providers?limit=9&include=inventories,usages,traits,aggregates,allocations",
        "2.0",
    )
    providers = {each["name"]: each for each in listed["resource_providers"]}
    for each in providers.values():
        if each["uuid"] not in (HOST, NODE):
            del each["uuid"], each["links"]
        for part in ("traits", "aggregates"):
            each[part] = sorted(each[part])
    return providers, cloud.get(f"/allocations/{OTHER}"), cloud.get(f"/allocations/{CONSUMER}")
