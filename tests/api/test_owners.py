"""Owners of allocations from clients of the first versions, which send no owner."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kit.service import Service

PROVIDER = "00000000-0000-4000-8000-000000000001"
CONSUMER = "c0000000-0000-4000-8000-000000000001"


@pytest.mark.parametrize(
    "options",
    [{}, {"incomplete_consumer_project_id": "nobody's", "incomplete_consumer_user_id": "nobody"}],
)
def test_allocations_without_an_owner_belong_to_the_configured_one(
    tmp_path: Path, options: dict[str, object]
) -> None:
    inventory = {"resource_class": "VCPU", "total": 4}
    claim = {"allocations": [{"resource_provider": {"uuid": PROVIDER}, "resources": {"VCPU": 1}}]}
    path = f"/resource_providers/{PROVIDER}/inventories"
    with Service(tmp_path, placement=options) as service:
        service.expect(201, "POST", "/resource_providers", {"name": "cn", "uuid": PROVIDER}, "1.0")
        service.expect(201, "POST", path, inventory, "1.0")
        service.expect(204, "PUT", f"/allocations/{CONSUMER}", claim, "1.7")
        allocations = service.get(f"/allocations/{CONSUMER}", "1.12")
    nil = "00000000-0000-0000-0000-000000000000"
    assert allocations["project_id"] == options.get("incomplete_consumer_project_id", nil)
    assert allocations["user_id"] == options.get("incomplete_consumer_user_id", nil)
