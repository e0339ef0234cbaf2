"""A dry run has the same response as the write, and changes nothing."""

import random
import uuid as uuids
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import falcon.testing
import pytest

from placement.api.routes import ROUTES
from placement.runtime import events
from placement.runtime.events import Event
from tests.api.test_atomicity import CONSUMER, OTHER, RP, WRITES, claim
from tests.kit import service as kit
from tests.kit.cloud import aggregate_uuid, building, provider_uuid
from tests.kit.service import Service

HEADER = "placement-dry-run"
INVENTORIES = f"{RP}/{provider_uuid(3)}/inventories"
STATED = {"resource_provider_generation": 0}

# Further writes, which need few statements.
MORE_WRITES: dict[str, tuple[Any, ...]] = {
    "one more inventory": ("POST", INVENTORIES, {"resource_class": "PCPU", "total": 4, **STATED}),
    "one inventory": ("PUT", f"{INVENTORIES}/VCPU", {"total": 4, **STATED}),
    "no inventory": ("DELETE", f"{INVENTORIES}/VCPU"),
    "no inventories": ("DELETE", INVENTORIES),
    "no traits": ("DELETE", f"{RP}/{provider_uuid(2)}/traits"),
    "a class": ("POST", "/resource_classes", {"name": "CUSTOM_NEW"}),
    "ensured class": ("PUT", "/resource_classes/CUSTOM_NEW"),
    "no class": ("DELETE", "/resource_classes/CUSTOM_OLD"),
    "a trait": ("PUT", "/traits/CUSTOM_NEW"),
    "no trait": ("DELETE", "/traits/CUSTOM_OLD"),
}
# All UUIDs are in the request, so both responses are equal.
CREATE = ("POST", RP, {**WRITES["create"][2], "uuid": str(uuids.UUID(int=9))})
ALL_WRITES = {**WRITES, **MORE_WRITES, "create": CREATE}
REFUSED: dict[str, tuple[Any, ...]] = {
    "too much": ("PUT", f"/allocations/{OTHER}", claim(3, 9, None)),
    "generation": ("PUT", f"{INVENTORIES}/VCPU", {"total": 4, "resource_provider_generation": 7}),
    "unknown provider": ("DELETE", f"{RP}/{uuids.UUID(int=99)}"),
    "taken name": ("POST", RP, {"name": "root"}),
    "malformed body": ("POST", RP, {"title": "new"}),
    "malformed name": ("PUT", "/traits/NEW"),
}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with Service(tmp_path) as service:
        with building(service.database.writer) as cloud:
            root = cloud.add("root", {"VCPU": 8}, aggregates=[aggregate_uuid(1)])
            cloud.add("child", {"VCPU": 8}, parent=root, traits=["HW_CPU_X86_AVX2"])
            cloud.add("elsewhere", {"VCPU": 8})
        service.expect(204, "PUT", f"/allocations/{CONSUMER}", claim(1, 2, None))
        service.expect(201, "PUT", "/traits/CUSTOM_OLD")
        service.expect(201, "PUT", "/resource_classes/CUSTOM_OLD")
        yield service


def send(service: Service, request: tuple[Any, ...], query: str = "") -> falcon.testing.Result:
    """Send a write at 2.0. Random choices are the same each time."""
    random.seed(1)
    method, path, body = (*request[:3], None)[:3]
    return service.send(method, f"{path}{query}", body, "2.0")


def shown(answer: falcon.testing.Result) -> tuple[int, str, dict[str, str]]:
    """Return the common parts of two equal responses, without request ids and times."""
    apart = {"x-openstack-request-id", "last-modified", HEADER}
    headers = {name: value for name, value in answer.headers.items() if name not in apart}
    request_id = answer.headers["x-openstack-request-id"]
    return answer.status_code, answer.text.replace(request_id, ""), headers


def test_every_operation_that_writes_is_tried_below() -> None:
    tried = {(request[0], request[1].count("/")) for request in ALL_WRITES.values()}
    assert tried >= {
        (route.method, route.path.count("/"))
        for route in ROUTES
        if route.method != "GET" and not route.reads
    }


@pytest.mark.parametrize("name", list(ALL_WRITES))
def test_a_dry_run_is_answered_as_the_write_and_changes_no_row(service: Service, name: str) -> None:
    before = service.dump()
    dry = send(service, ALL_WRITES[name], "?dry_run=true")
    assert service.dump() == before
    assert dry.status_code < 300
    assert dry.headers[HEADER] == "true"
    assert "etag" not in dry.headers
    real = send(service, ALL_WRITES[name])
    assert HEADER not in real.headers
    assert shown(real) == shown(dry)
    assert service.dump() != before


@pytest.mark.parametrize("name", list(REFUSED))
def test_a_dry_run_is_refused_as_the_write(service: Service, name: str) -> None:
    before = service.dump()
    dry = send(service, REFUSED[name], "?dry_run=true")
    assert dry.headers[HEADER] == "true"
    assert dry.status_code >= 400
    assert shown(dry) == shown(send(service, REFUSED[name]))
    assert service.dump() == before


@pytest.mark.parametrize(
    ("query", "named", "header"),
    [
        ("dry_run=yes", "dry_run='yes'", None),
        ("dry_run=True", "dry_run='True'", None),
        ("dry_run", "dry_run=''", None),
        ("dry_run=true&dry_run=true", "dry_run: ", None),
        ("dry_run=true&dryrun=1", "dryrun='1'", "true"),
        ("limit=1", "limit='1'", None),
    ],
)
@pytest.mark.parametrize("name", ["claim", "find and claim", "a class", "search"])
def test_no_other_query_is_allowed(
    service: Service, name: str, query: str, named: str, header: str | None
) -> None:
    search = ("POST", "/allocation_candidates", {"groups": {"": {"resources": {"VCPU": 1}}}})
    before = service.dump()
    answer = send(service, {**ALL_WRITES, "search": search}[name], f"?{query}")
    assert answer.status_code == 400
    assert answer.json["errors"][0]["detail"].startswith(named)
    assert answer.headers.get(HEADER) == header
    assert service.dump() == before


@pytest.mark.parametrize("query", ["dry_run=true", "dry_run=false", "dry%5Frun=true", "dry_run"])
def test_below_its_version_a_write_with_dry_run_is_refused(service: Service, query: str) -> None:
    before = service.dump()
    method, path, body = WRITES["claim"]
    answer = service.send(method, f"{path}?{query}", body, "1.39")
    assert answer.status_code == 400
    assert "dry_run" in answer.text
    assert "placement 2.0" in answer.text
    assert service.dump() == before


def test_a_caller_without_the_right_is_refused_as_at_the_write(service: Service) -> None:
    method, path, body = WRITES["claim"]
    headers = {"X-Auth-Token": "demo", "X-Roles": "reader"}
    answer = service.send(method, f"{path}?dry_run=true&a=b", body, "2.0", headers)
    assert answer.status_code == 403
    assert answer.headers[HEADER] == "true"


def test_a_claim_that_is_rolled_back_is_neither_counted_nor_cached(service: Service) -> None:
    request = {"groups": {"": {"resources": {"VCPU": 8}, "in_tree": provider_uuid(3)}}}
    body = {
        "request": request,
        "consumer_uuid": OTHER,
        "project_id": "new",
        "user_id": "new",
        "consumer_type": "NEW",
    }
    counted: list[Event] = []
    stop = events.listen(lambda event, _details: counted.append(event))
    for _ in range(3):
        assert send(service, ("POST", "/claims", body), "?dry_run=true").status_code == 201
    stop()
    assert Event.CLAIM not in counted
    found = send(service, ("POST", "/allocation_candidates", request)).json
    assert len(found["allocation_requests"]) == 1
    assert send(service, ("POST", "/claims", body)).status_code == 201


def test_dry_runs_concurrent_with_writes_change_nothing(service: Service) -> None:
    """The generation of a provider counts only its real writes, and no dry runs."""
    rounds, writers = 15, 2

    def write(number: int) -> None:
        for turn in range(rounds):
            consumer = str(uuids.UUID(int=1000 + number * rounds + turn))
            kind = "PUT", f"/allocations/{consumer}"
            service.expect(204, *kind, kit.claim({provider_uuid(3): {"VCPU": 1}}))
            service.expect(204, "DELETE", kind[1])

    def rehearse(number: int) -> None:
        for turn in range(rounds):
            consumer = str(uuids.UUID(int=2000 + number * rounds + turn))
            path = f"/allocations/{consumer}?dry_run=true"
            body = kit.claim({provider_uuid(3): {"VCPU": 1}, provider_uuid(2): {"VCPU": 1}})
            service.expect(204, "PUT", path, body, "2.0")

    before = service.dump()
    with ThreadPoolExecutor(2 * writers) as pool:
        for done in [pool.submit(run, n) for run in (write, rehearse) for n in range(writers)]:
            done.result()
    providers = {row["uuid"]: row for row in service.get(RP)["resource_providers"]}
    assert providers[provider_uuid(3)]["generation"] == writers * rounds
    assert providers[provider_uuid(2)]["generation"] == 0
    after = service.dump()
    assert after["allocations"] == before["allocations"]
    assert after["consumers"] == before["consumers"]
    service.check_used()
