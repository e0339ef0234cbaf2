"""Services behind a proxy that lends a connection of the database for one transaction.

Each response must be equal to the response of a service that has its own connections to an equal
database. `PLACEMENT_POOLED` is the number of requests.
"""

import json
import os
import random
import uuid as uuids
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.kit.builders import database_url
from tests.kit.engines import ENGINE, FAMILY, seeded
from tests.kit.pooler import Pooler, pooled
from tests.kit.service import Service, claim, inventories

pytestmark = pytest.mark.skipif(ENGINE == "sqlite", reason="connections are not shared")

REQUESTS = int(os.environ.get("PLACEMENT_POOLED", "250"))
# Without prepared statements, connections differ in nothing that a gate could find.
PREPARED = [True, False] if "PLACEMENT_POOLED" in os.environ else [True]
SERVICES = 2
DISPOSE = 100  # one of so many requests closes the connections of its service first
HOSTS = [str(uuids.UUID(int=100 + number)) for number in range(6)]
TRAITS = ["HW_CPU_X86_AVX", "HW_CPU_X86_SSE", "STORAGE_DISK_SSD", "COMPUTE_NODE"]
AGGREGATES = [str(uuids.UUID(int=200 + number)) for number in range(3)]

Request = tuple[str, str, object]


@pytest.fixture
def direct(tmp_path: Path) -> Iterator[Service]:
    with Service(tmp_path) as made:
        create_hosts(made)
        yield made


@pytest.fixture
def pooler_and_services(
    tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[tuple[Pooler, list[Service]]]:
    url, pooler = pooled(database_url(tmp_path), seed=1)
    with ExitStack() as stack:
        options = {f"{FAMILY}_prepared_statements": request.param}
        services = [
            stack.enter_context(Service(tmp_path, url=url, placement_database=options))
            for _ in range(SERVICES)
        ]
        create_hosts(services[0])
        yield pooler, services
    pooler.close()


def create_hosts(service: Service) -> None:
    for number, host in enumerate(HOSTS):
        parent = {"parent_provider_uuid": HOSTS[number - 1]} if number % 3 else {}
        body = {"name": f"host{number}", "uuid": host, **parent}
        service.expect(200, "POST", "/resource_providers", body)
        totals = inventories(0, VCPU=16, MEMORY_MB=4096)
        service.expect(200, "PUT", f"/resource_providers/{host}/inventories", totals)


def some_request(rng: random.Random, generations: Mapping[str, int]) -> Request:
    """Return a random request. generations: of providers, for writes that may succeed."""
    host, trait, aggregate = rng.choice(HOSTS), rng.choice(TRAITS), rng.choice(AGGREGATES)
    provider, number = f"/resource_providers/{host}", rng.randrange(12)
    path = f"/allocations/{uuids.UUID(int=number + 1)}"
    body = claim({host: {"VCPU": rng.randrange(1, 9)}}, rng.choice([None, None, 1, 2]))
    generation = {"resource_provider_generation": generations[host]}
    query = rng.choice(
        [
            "",
            f"&required={trait}",
            f"&member_of={aggregate}",
            f"&required=!{trait}&in_tree={host}",
            f"&resources1=MEMORY_MB:{1 + number}&required1={trait}",
            f"&resources1=MEMORY_MB:1&member_of1=in:{','.join(AGGREGATES[:2])}&group_policy=none",
        ]
    )
    filters = [
        f"name=host{number}",
        f"uuid={host}",
        f"member_of={aggregate}",
        f"required={trait}",
        f"resources=VCPU:{number}",
        f"in_tree={host}&required={trait}",
        f"resources=VCPU:1,MEMORY_MB:{number}&member_of={aggregate}",
    ]
    requests: list[Request] = [
        ("PUT", path, body),
        ("PUT", path, body),
        ("POST", "/allocations", {str(uuids.UUID(int=number + 1)): body}),
        ("DELETE", path, None),
        ("GET", path, None),
        ("PUT", f"{provider}/traits", {**generation, "traits": rng.sample(TRAITS, 2)}),
        ("PUT", f"{provider}/aggregates", {**generation, "aggregates": rng.sample(AGGREGATES, 2)}),
        (
            "PUT",
            f"{provider}/inventories",
            inventories(generations[host], VCPU=8 + number, MEMORY_MB=4096),
        ),
        ("PUT", f"{provider}/inventories/DISK_GB", {**generation, "total": 9}),
        ("DELETE", f"{provider}/inventories/DISK_GB", None),
        ("PUT", provider, {"name": f"host{number}"}),
        ("GET", "/resource_classes", None),
        ("GET", f"/traits?name=in:{','.join(TRAITS)}", None),
        ("GET", f"/usages?project_id={'project' if number else 'none'}", None),
    ]
    parts = ("", "/usages", "/inventories", "/traits", "/aggregates", "/allocations")
    reads = [f"{provider}{part}" for part in parts]
    reads += [f"/allocation_candidates?resources=VCPU:{1 + number}{query}"] * 4
    reads += [f"/resource_providers?{each}" for each in rng.sample(filters, 4)]
    return rng.choice([*requests, *[("GET", read, None) for read in reads]])


def send(service: Service, request: Request) -> tuple[int, object]:
    """Return the status and the body of a response, with lists of objects in a fixed order."""
    response = service.send(*request)
    content: Any = response.json if response.text else {}
    for error in content.get("errors", ()):
        del error["request_id"]
    for name in ("allocation_requests", "resource_providers"):
        if name in content:
            content[name].sort(key=lambda each: json.dumps(each, sort_keys=True))
    return response.status_code, content


def compare(pooler: Pooler, services: list[Service], direct: Service, *, refused: bool) -> None:
    """Compare the responses to random requests.

    refused: whether a service may respond with 503, and must then be asked again.
    """
    rng = seeded("pooled")
    before = pooler.moved
    for number in range(REQUESTS):
        rows = direct.get("/resource_providers")["resource_providers"]
        generations = {row["uuid"]: row["generation"] for row in rows}
        request = some_request(rng, generations)
        service = rng.choice(services)
        if not rng.randrange(DISPOSE):
            service.database.dispose()
        response = send(service, request)
        while refused and response[0] == 503:
            response = send(service, request)
        assert response == send(direct, request), (number, request)
    assert pooler.moved - before > REQUESTS / 4
    services[0].check_used()


@pytest.mark.parametrize("pooler_and_services", PREPARED, indirect=True)
def test_responses_do_not_depend_on_the_connection(
    pooler_and_services: tuple[Pooler, list[Service]], direct: Service
) -> None:
    pooler, services = pooler_and_services
    # On PostgreSQL, a read fails if its statement is prepared on another connection.
    refused = services[0].settings.database.postgresql_prepared_statements
    compare(pooler, services, direct, refused=refused and ENGINE == "postgresql")
