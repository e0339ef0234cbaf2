"""The permissions of roles: every operation is sent in every role."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from placement.api.history import HISTORY
from tests.api.test_policy import RULES
from tests.kit.service import Client, Service

PROVIDER = "00000000-0000-0000-0000-000000000001"
NOBODY = "00000000-0000-0000-0000-000000000009"
PLACES = {
    "uuid": PROVIDER,
    "root": PROVIDER,
    "consumer": "cccccccc-0000-0000-0000-000000000001",
    "resource_class": "VCPU",
}
NAMES = {"/resource_classes/{name}": "VCPU", "/traits/{name}": "HW_CPU_X86_AVX"}
QUERIES = {
    "/traits": "?name=in:",
    "/allocation_candidates": "?resources=VCPU:1",
    "/allocations": "?in_tree=a0000000-0000-4000-8000-000000000001",
}

# Deletions are requested for a provider that does not exist.
DELETED = {
    "/resource_providers/{uuid}",
    "/resource_providers/{uuid}/inventories",
    "/resource_providers/{uuid}/traits",
}

# Responses to permitted callers; nothing changes, because every body is an empty object.
STATUSES = {"GET": 200, "POST": 400, "PUT": 400, "DELETE": 404}
OTHER_STATUSES = {
    ("GET", "/traits/{name}"): 204,
    ("GET", "/resource_providers/{uuid}/inventories/{resource_class}"): 404,
    ("GET", "/consumers/{consumer}"): 404,
    ("DELETE", "/resource_classes/{name}"): 400,
    ("DELETE", "/traits/{name}"): 400,
}

# Caller -> the headers that identify it.
PROJECT = {"X-Auth-Token": "user:own"}
CALLERS = {
    "admin": {**PROJECT, "X-Roles": "admin"},
    "Admin": {**PROJECT, "X-Roles": "Admin"},  # roles are compared without case
    "no role": {**PROJECT, "X-Roles": ""},
    "service": {**PROJECT, "X-Roles": "service"},
    "reader": {**PROJECT, "X-Roles": "reader,member"},
    "admin of the system": {
        **PROJECT,
        "X-Roles": "admin,service,reader",
        "OpenStack-System-Scope": "all",
    },
}
POWERFUL = {"admin", "Admin", "service"}

# Usages are requested by project, and a reader may see its own project.
USAGES = {
    "/usages?project_id=own": ({*POWERFUL, "reader"}, 200),
    "/usages?project_id=other": (POWERFUL, 200),
    "/usages": (POWERFUL, 400),
}


def requests() -> Iterator[tuple[str, str, str, set[str], int]]:
    """Yield method, path, rule, permitted callers, and the status for them."""
    for (method, path), rule in RULES.items():
        if path == "/usages":
            for asked, (allowed, status) in USAGES.items():
                yield method, asked, rule, allowed, status
            continue
        places = {**PLACES, "name": NAMES.get(path, "")}
        if method == "DELETE" and path in DELETED:
            places["uuid"] = NOBODY
        query = QUERIES.get(path, "") if method == "GET" else ""
        allowed = {"service"} if path == "/reshaper" else POWERFUL
        status = OTHER_STATUSES.get((method, path), STATUSES[method])
        yield method, path.format_map(places) + query, rule, allowed, status


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with Service(tmp_path_factory.mktemp("roles")) as service:
        service.expect(200, "POST", "/resource_providers", {"name": "cn", "uuid": PROVIDER})
        yield service


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize(("method", "path", "rule", "allowed", "status"), list(requests()))
def test_a_role_is_allowed_or_gets_the_name_of_the_rule(
    service: Client, caller: str, method: str, path: str, rule: str, allowed: set[str], status: int
) -> None:
    body: object = {} if method in {"POST", "PUT"} else None
    json = {"Accept": "application/json", "Content-Type": "application/json"}
    # At the last of all versions, which has every operation.
    headers = {**CALLERS[caller], **json}
    answer = service.send(method, path, body, str(max(HISTORY)), headers)
    if caller in allowed:
        assert answer.status_code == status
        return
    assert answer.status_code == 403
    (error,) = answer.json["errors"]
    assert (error["status"], error["code"]) == (403, "placement.undefined_code")
    assert f"placement:{rule} " in error["detail"]
