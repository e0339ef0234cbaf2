"""Who owns what clients of the first versions allocate, who name no owner."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import falcon.testing
import pytest

from tests.kit.builders import make_app

PROVIDER = "00000000-0000-4000-8000-000000000001"
CONSUMER = "c0000000-0000-4000-8000-000000000001"


def send(client: falcon.testing.TestClient, version: str, method: str, path: str, body: Any) -> Any:
    headers = {"X-Auth-Token": "admin", "OpenStack-API-Version": f"placement {version}"}
    answer = client.simulate_request(method, path, json=body, headers=headers)
    assert answer.status_code < 300, answer.text
    return answer


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"incomplete_consumer_project_id": "nobody's", "incomplete_consumer_user_id": "nobody"},
    ],
)
def test_allocations_without_an_owner_belong_to_the_configured_one(
    tmp_path: Path, options: dict[str, object]
) -> None:
    client = falcon.testing.TestClient(make_app(tmp_path, placement=options))
    send(client, "1.0", "POST", "/resource_providers", {"name": "cn", "uuid": PROVIDER})
    record = {"resource_class": "VCPU", "total": 4}
    send(client, "1.0", "POST", f"/resource_providers/{PROVIDER}/inventories", record)
    item = {"resource_provider": {"uuid": PROVIDER}, "resources": {"VCPU": 1}}
    send(client, "1.7", "PUT", f"/allocations/{CONSUMER}", {"allocations": [item]})
    headers = {"X-Auth-Token": "admin", "OpenStack-API-Version": "placement 1.12"}
    shown = client.simulate_get(f"/allocations/{CONSUMER}", headers=headers).json
    nil = "00000000-0000-0000-0000-000000000000"
    assert shown["project_id"] == options.get("incomplete_consumer_project_id", nil)
    assert shown["user_id"] == options.get("incomplete_consumer_user_id", nil)
