"""Who may ask why."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kit.service import Service

ASKED = "/allocation_candidates?resources=VCPU:1"
BODY = {"groups": {"": {"resources": {"VCPU": 1}}}}
READER = {"X-Auth-Token": "user:own", "X-Roles": "reader"}
RULE = "placement:allocation_candidates:explain"


@pytest.fixture
def service(tmp_path: Path) -> Service:
    """A service where everybody may ask for candidates."""
    policy = tmp_path / "policy.yaml"
    policy.write_text('"placement:allocation_candidates:list": "@"')
    return Service(tmp_path, oslo_policy={"policy_file": str(policy)})


@pytest.mark.parametrize("detail", ["summary", "providers"])
def test_who_may_ask_for_candidates_may_not_ask_why(service: Service, detail: str) -> None:
    answer = service.send("GET", ASKED, version="2.0", headers=READER)
    assert answer.status_code == 200, answer.text
    body = {**BODY, "explain": detail}
    for refused in (
        service.send("GET", f"{ASKED}&explain={detail}", version="2.0", headers=READER),
        service.send("POST", "/allocation_candidates", body, "2.0", READER),
    ):
        assert refused.status_code == 403
        assert RULE in refused.text
        assert "it needs the role admin or service" in refused.text
    answer = service.send("GET", f"{ASKED}&explain={detail}", version="2.0")
    assert answer.status_code == 200
    assert answer.json["explanation"]["text"] == "There is no host."
