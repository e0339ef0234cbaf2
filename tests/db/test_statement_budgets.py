"""The number of statements of each request is low, and equal for 10 and 1,000 hosts."""

import json
import uuid as uuids
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from placement.db.conditions import ProviderCondition
from placement.db.statement import Queries
from placement.db.statements import provider_list
from tests.kit.cloud import SHARING, aggregate_uuid, building, provider_uuid
from tests.kit.engines import TEARS_VIEWS
from tests.kit.service import NEWEST, Service
from tests.kit.service import claim as claim_of
from tests.kit.statements import counted

SIZES = (10, 1000)
STOCK = {"VCPU": 64, "MEMORY_MB": 65536}


class CountedService(Service):
    """A service on flat hosts, NUMA hosts and shared storage, whose statements are counted."""

    def __init__(self, directory: Path, hosts: int) -> None:
        super().__init__(directory)
        with building(self.database.writer) as cloud:
            for number in range(hosts):
                traits, own = ["HW_CPU_X86_AVX2"], [aggregate_uuid(1)]
                if number % 2:
                    root = cloud.add(f"numa{number}", {"DISK_GB": 100}, aggregates=own)
                    for node in range(2):
                        below = cloud.add(f"n{number}-{node}", STOCK, parent=root, traits=traits)
                        cloud.add(f"g{number}-{node}", {"VGPU": 4}, parent=below)
                else:
                    stock = {**STOCK, "DISK_GB": 100}
                    cloud.add(f"flat{number}", stock, traits=traits, aggregates=own)
            cloud.add(
                "shared", {"DISK_GB": 10**6}, traits=[SHARING], aggregates=[aggregate_uuid(1)]
            )

    def claim(self, request: object) -> int:
        """Return the number of statements of a request."""
        body = {
            "request": request,
            "consumer_uuid": str(uuids.uuid4()),
            "project_id": "p",
            "user_id": "p",
            "consumer_type": "P",
        }
        return self.count("POST", "/claims", body, "2.0")[0]

    def count(
        self, method: str, path: str, body: object = None, version: str = NEWEST
    ) -> tuple[int, Any]:
        """Return the number of statements and the response, which must be a success."""
        with counted(self.database) as statements:
            answer = self.send(method, path, body, version)
        assert answer.status_code < 300, answer.text
        return len(statements), answer


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[CountedService]]:
    directory = tmp_path_factory.mktemp("budgets")
    made = [CountedService(directory, hosts) for hosts in SIZES]
    yield made
    for service in made:
        service.close()


def claim(
    amounts: Mapping[int, int], *, project: str = "p", generation: int | None = None
) -> Mapping[str, object]:
    return {
        "allocations": {
            provider_uuid(row): {"resources": {"VCPU": n}} for row, n in amounts.items()
        },
        "project_id": project,
        "user_id": project,
        "consumer_generation": generation,
        "consumer_type": project.upper(),
    }


FLAT = "/allocation_candidates?resources=VCPU:1,MEMORY_MB:64&limit=10"
NESTED = (
    "/allocation_candidates?resources=DISK_GB:5&resources_C=VCPU:1&required_C=HW_CPU_X86_AVX2"
    "&resources_G=VGPU:1&group_policy=none&same_subtree=_C,_G&limit=10"
)


BODIES: Mapping[str, Any] = {
    FLAT: {"groups": {"": {"resources": {"VCPU": 1, "MEMORY_MB": 64}}}},
    NESTED: {
        "groups": {
            "": {"resources": {"DISK_GB": 5}},
            "_C": {"resources": {"VCPU": 1}, "required": ["HW_CPU_X86_AVX2"]},
            "_G": {"resources": {"VGPU": 1}},
        },
        "same_subtree": [{"of": ["_C", "_G"]}],
    },
}


@pytest.mark.parametrize("path", [FLAT, NESTED])
def test_candidates_take_1_statement_with_known_trees_and_3_without(
    services: list[CountedService], path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for service in services:
        service.restart()
    cold = [service.count("GET", path)[0] for service in services]
    warm = [service.count("GET", path)[0] for service in services]
    with capsys.disabled():
        print(f"\nGET {path}: {cold} cold, {warm} warm statements at {SIZES} hosts")
    assert (cold, warm) == ([3, 3], [1, 1])  # names with a window; members and names of traits


def test_writes_of_allocations_take_as_many_statements_for_1000_hosts_as_for_10(
    services: list[CountedService], capsys: pytest.CaptureFixture[str]
) -> None:
    found: dict[str, list[int]] = {}
    for service in services:
        consumer, other = (f"/allocations/{uuids.uuid4()}" for _ in range(2))
        steps = {
            "first claim of a project": ("PUT", consumer, claim({1: 1}, project="new")),
            "its change": ("PUT", consumer, claim({1: 2}, project="new", generation=1)),
            "new consumer": ("PUT", other, claim({1: 1}, project="new")),
            "other host": ("PUT", consumer, claim({3: 1, 5: 1}, project="new", generation=2)),
            "read": ("GET", consumer, None),
            "delete": ("DELETE", consumer, None),
        }
        for name, step in steps.items():
            found.setdefault(name, []).append(service.count(*step)[0])
            service.check_used()
    with capsys.disabled():
        print(f"\nallocations: {found} statements at {SIZES} hosts")
    budgets = {
        "first claim of a project": 9,
        "its change": 6,
        "new consumer": 5,
        "other host": 6,
        "read": 1 + TEARS_VIEWS,
        "delete": 5,
    }
    assert found == {name: [budget] * len(SIZES) for name, budget in budgets.items()}


@pytest.mark.parametrize("path", [FLAT, NESTED])
def test_a_claim_of_what_a_search_finds_takes_4_statements_more_than_the_search(
    services: list[CountedService], path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A tree that has not changed is not read again."""
    request = BODIES[path]
    for service in services:
        # From here on project, user, type and trees are known.
        service.claim(request)
        service.count("GET", path)
    claims = [service.claim(request) for service in services]
    for service in services:
        service.count("GET", path)  # reads a shared disk again if the claim has used it
    searches = [service.count("GET", path)[0] for service in services]
    with capsys.disabled():
        print(f"\nPOST /claims: {claims} statements, GET {path}: {searches} at {SIZES} hosts")
    assert claims == [number + 4 for number in searches]
    for service in services:
        service.check_used()


CUSTOM, AGGREGATE = "CUSTOM_BUDGET", aggregate_uuid(1)


def records(**totals: int) -> dict[str, object]:
    return {"inventories": {name: {"total": total} for name, total in totals.items()}}


def traits(*names: str) -> dict[str, object]:
    return {"traits": names}


def aggregates(*spellings: str) -> dict[str, object]:
    return {"aggregates": spellings}


# Steps in the life of a host: request, body, and statements. The host is its own root. A PUT gets
# the current generation, and `new` is an aggregate without a row.
LIFE_OF_A_HOST: Sequence[tuple[str, str, Mapping[str, object] | None, int]] = [
    ("POST", "", {"name": "{host}", "uuid": "{host}"}, 3),
    ("PUT", "/inventories", records(VCPU=8, MEMORY_MB=64), 3),
    ("PUT", "/inventories", records(VCPU=9, DISK_GB=64), 5),  # one of each: new, changed, gone
    ("PUT", "/inventories", records(VCPU=9, DISK_GB=64), 2),
    ("PUT", "/inventories", records(VCPU=9, CUSTOM_BUDGET=1), 5),  # the class is locked
    ("POST", "/inventories", {"resource_class": "VGPU", "total": 1}, 3),
    ("PUT", "/inventories/VGPU", {"total": 2}, 3),
    ("DELETE", "/inventories/VGPU", None, 3),
    ("PUT", "/traits", traits("HW_CPU_X86_AVX", "HW_CPU_X86_AVX2"), 3),
    ("PUT", "/traits", traits("HW_CPU_X86_AVX"), 3),
    ("PUT", "/traits", traits("HW_CPU_X86_SSE"), 4),
    ("PUT", "/traits", traits("HW_CPU_X86_SSE"), 1),
    ("PUT", "/aggregates", aggregates(AGGREGATE), 3),
    ("PUT", "/aggregates", aggregates(AGGREGATE), 2),
    ("PUT", "/aggregates", aggregates(AGGREGATE, "{new}"), 5),
    ("PUT", "/aggregates", aggregates(), 3),
    ("DELETE", "/inventories", None, 3),
    ("DELETE", "/traits", None, 3),
    ("DELETE", "/traits", None, 1),
    ("PUT", "/inventories", records(VCPU=8), 3),
    ("PUT", "", {"name": "{new}"}, 4),
    ("DELETE", "", None, 5),
]


@pytest.mark.parametrize("is_child", [False, True])
def test_no_write_of_a_host_takes_more_statements_than_its_budget(
    services: list[CountedService], is_child: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Incrementing the generation of a provider below a root takes an additional statement."""
    for service in services:
        service.count("PUT", f"/resource_classes/{CUSTOM}")
        host = str(uuids.uuid4())
        path = f"/resource_providers/{host}"
        numbers, budgets = [], []
        for method, part, template, budget in LIFE_OF_A_HOST:
            body: Any = template
            if template is not None:
                new = str(uuids.uuid4())
                text = json.dumps(template).replace("{host}", host).replace("{new}", new)
                body = json.loads(text)
            if method == "POST" and not part and is_child:
                body["parent_provider_uuid"] = provider_uuid(1)
            if method == "PUT" and part:
                provider = service.count("GET", path)[1].json
                body["resource_provider_generation"] = provider["generation"]
            where = path if part or method != "POST" else "/resource_providers"
            numbers.append(service.count(method, f"{where}{part}", body)[0])
            moves = part and budget > 1
            budgets.append(budget + (1 if is_child and moves else 0))
        if is_child:
            budgets[0], budgets[-1] = 3, 4  # its parent's tree is locked; nothing refers to itself
        for place, (method, part, _template, _budget) in enumerate(LIFE_OF_A_HOST):
            creates_root = method == "POST" and not part and not is_child
            if TEARS_VIEWS and not creates_root:
                budgets[place] += 1  # a look at the revision
        with capsys.disabled():
            print(f"\nwrites of a host: {numbers} statements")
        assert numbers == budgets
        service.check_used()


@pytest.mark.parametrize(
    ("path", "budget"),
    [
        ("/resource_providers", 2),
        ("/resource_providers?resources=VCPU:1&required=HW_CPU_X86_AVX2", 3),
        (f"/resource_providers?in_tree={provider_uuid(2)}", 2),
        (
            f"/resource_providers?member_of={aggregate_uuid(1).upper()}&member_of=!{aggregate_uuid(2)}",
            3,
        ),
        (f"/resource_providers/{provider_uuid(2)}/inventories", 2 + TEARS_VIEWS),
        (f"/resource_providers/{provider_uuid(2)}/usages", 2 + TEARS_VIEWS),
        (f"/resource_providers/{provider_uuid(2)}/allocations", 2 + TEARS_VIEWS),
        ("/usages?project_id=p", 2),
        ("/traits", 1),
    ],
)
def test_reads_take_one_to_three_statements(
    services: list[CountedService], path: str, budget: int
) -> None:
    for service in services:
        service.restart()
    numbers = [service.count("GET", path)[0] for service in services]
    assert numbers == [budget] * 2


def test_a_list_is_one_statement_and_another_for_the_providers_of_changed_trees(
    services: list[CountedService], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []

    among = provider_list.listed_with_ids

    def counted_among(condition: ProviderCondition, ids: Collection[int]) -> Queries:
        read.append(len(ids))
        return among(condition, ids)

    monkeypatch.setattr(provider_list, "listed_with_ids", counted_among)
    for service in services:
        service.restart()
        read.clear()
        number, answer = service.count("GET", "/resource_providers")
        providers = len(answer.json["resource_providers"])
        numbers = [number, service.count("GET", "/resource_providers")[0]]
        for rows in ([3], [1, 5]):  # in a tree of five; on a flat host, and in the same tree
            service.count("PUT", f"/allocations/{uuids.uuid4()}", claim(dict.fromkeys(rows, 1)))
            numbers += [service.count("GET", "/resource_providers")[0] for _ in range(2)]
        assert numbers == [2, 1, 2, 1, 2, 1]
        assert read == [providers, 5, 6]
        # A list with conditions has the same text.
        filtered = "/resource_providers?resources=VCPU:1&required=HW_CPU_X86_AVX2"
        assert service.count("GET", filtered)[0] == 2
        service.count("PUT", f"/allocations/{uuids.uuid4()}", claim({1: 1}))
        assert [service.count("GET", filtered)[0] for _ in range(2)] == [3, 2]
        assert read == [providers, 5, 6, 1]
        # Versions with the same text share it.
        assert service.count("GET", "/resource_providers", version="1.14")[0] == 1
        assert service.count("GET", "/resource_providers", version="1.13")[0] == 2


INCLUDED = {
    "limit=5": 1,
    f"limit=5&marker={provider_uuid(2)}": 2,
    f"limit=500&marker={provider_uuid(2)}&required=HW_CPU_X86_AVX2": 2,
    "include=inventories": 2,
    "include=usages": 2,
    "include=inventories,usages": 2,
    "include=traits": 3,
    "include=aggregates": 2,
    "include=allocations": 2,
    f"include=inventories,usages,traits,aggregates,allocations&marker={provider_uuid(1)}": 7,
    "include=inventories,usages,traits,aggregates,allocations&resources=VCPU:1": 7,
}


@pytest.mark.parametrize("query", INCLUDED)
def test_a_list_with_parts_takes_as_many_statements_for_1000_providers_as_for_10(
    services: list[CountedService], query: str
) -> None:
    cold: list[int] = []
    warm: list[int] = []
    for service in services:
        service.restart()
        for numbers in (cold, warm):
            with counted(service.database) as statements:
                answer = service.send("GET", f"/resource_providers?{query}", version="2.0")
            assert answer.status_code == 200, answer.text
            assert answer.json["resource_providers"]
            numbers.append(len(statements))
    # Where views may be torn, the page is looked at twice.
    assert cold == [INCLUDED[query] + TEARS_VIEWS] * len(SIZES)
    has_names = any(word in query for word in ("marker", "required", "resources"))
    assert warm == [1 + has_names + TEARS_VIEWS] * len(SIZES)


UNMODIFIED = {
    "": 1,
    "?limit=5": 1,
    f"?include=inventories,allocations&marker={provider_uuid(2)}": 2,
    "?required=HW_CPU_X86_AVX2": 2,
    f"/{provider_uuid(2)}": 1,
    f"/{provider_uuid(2)}/inventories": 1,
    f"/{provider_uuid(2)}/inventories/DISK_GB": 1,
    f"/{provider_uuid(2)}/allocations": 1,
}


@pytest.mark.parametrize("path", UNMODIFIED)
def test_what_a_client_has_costs_a_statement_and_another_to_look_up_names(
    services: list[CountedService], path: str
) -> None:
    url = f"/resource_providers{path}"
    for service in services:
        stated = {"If-None-Match": service.send("GET", url, version="2.0").headers["etag"]}
        with counted(service.database) as statements:
            answer = service.send("GET", url, version="2.0", headers=stated)
        assert answer.status_code == 304
        assert len(statements) == UNMODIFIED[path]


@pytest.mark.parametrize(
    ("name", "status", "statements"),
    [("VGPU", 409, 2), ("CUSTOM_UNKNOWN", 400, 2), ("DISK_GB", 409, 1)],
)
def test_a_class_is_looked_up_only_if_no_provider_of_the_claim_has_it(
    tmp_path: Path, name: str, status: int, statements: int
) -> None:
    with Service(tmp_path) as service:
        with building(service.database.writer) as cloud:
            cloud.add("flat", STOCK)
            cloud.add("disk", {"DISK_GB": 100})
        amounts = {provider_uuid(1): {name: 1}, provider_uuid(2): {"DISK_GB": 1}}
        with counted(service.database) as seen:
            answer = service.send("PUT", f"/allocations/{uuids.uuid4()}", claim_of(amounts))
        assert (answer.status_code, len(seen)) == (status, statements), answer.text
