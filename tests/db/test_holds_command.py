"""Holds and spread groups for operators: `holds`, `audit`, `db check` and `db sync`."""

from __future__ import annotations

import json
import uuid as uuids
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from placement import cli
from placement.operate import checks, findings
from tests.kit.service import Service, claim, inventories
from tests.migrations.conftest import ENVIRONMENT

ONE = {"groups": {"": {"resources": {"VCPU": 1}}}}
HOST = "00000000-0000-0000-0000-000000000001"


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    with Service(tmp_path) as service:
        service.expect(200, "POST", "/resource_providers", {"name": "host", "uuid": HOST})
        path = f"/resource_providers/{HOST}/inventories"
        service.expect(200, "PUT", path, inventories(0, VCPU=9))
        url = service.database.writer.url.render_as_string(hide_password=False)
        monkeypatch.setenv(ENVIRONMENT, url)
        yield service
        service.check_used()


@pytest.fixture
def manage(service: Service, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def run(*arguments: str) -> str:
        capsys.readouterr()
        assert cli.main([*arguments]) == 0
        return capsys.readouterr().out

    return run


def hold(service: Service, **members: object) -> str:
    uuid = str(uuids.uuid4())
    body = {
        "request": ONE,
        "consumer_uuid": uuid,
        "project_id": "p",
        "user_id": "u",
        "consumer_type": "INSTANCE",
        **members,
    }
    service.expect(201, "POST", "/claims", body, "2.0")
    return uuid


def change(service: Service, statement: str) -> None:
    with service.database.writer.begin() as conn:
        conn.execute(sa.text(statement))


def test_holds_are_listed_and_released(service: Service, manage: Callable[..., str]) -> None:
    first, second = hold(service, expires_in=600), hold(service, expires_in=600)
    hold(service)
    listed = json.loads(manage("holds", "list", "--json"))
    assert [row["consumer"] for row in listed] == sorted([first, second])
    assert first in manage("holds", "list")
    change(service, f"UPDATE claim_records SET expires_at = 1 WHERE consumer_uuid = '{first}'")
    assert manage("holds", "release") == "released: 1 holds\n"
    assert manage("holds", "release") == "released: 0 holds\n"
    assert manage("holds", "release", "--all") == "released: 1 holds\n"
    assert json.loads(manage("holds", "list", "--json")) == []


def found(service: Service) -> dict[str, int]:
    with service.database.read() as conn:
        findings = checks.find_faults(conn)
    return {check.name: finding.count for check, finding in findings}


def test_ended_holds_and_rows_without_a_consumer_are_found(
    service: Service, manage: Callable[..., str]
) -> None:
    held, lost = hold(service, expires_in=600), hold(service, remember=True)
    assert found(service) == {}
    change(service, f"UPDATE claim_records SET expires_at = 1 WHERE consumer_uuid = '{held}'")
    change(service, f"UPDATE consumers SET created_at = NULL WHERE uuid = '{lost}'")
    assert found(service) == {"ended-holds": 1, "lost-records": 1}
    manage("db", "sync")
    assert found(service) == {"ended-holds": 1}
    manage("holds", "release")
    assert found(service) == {}


def crowded(service: Service) -> list[dict[str, Any]]:
    check = next(each for each in checks.REVIEWS if each.name == "spread-groups")
    with service.database.read() as conn:
        return [dict(row) for row in check.find(findings.Inspection(conn)).rows]


def test_an_audit_lists_groups_that_a_move_has_crowded(service: Service) -> None:
    other = HOST.replace("1", "2")
    service.expect(200, "POST", "/resource_providers", {"name": "other", "uuid": other})
    path = f"/resource_providers/{other}/inventories"
    service.expect(200, "PUT", path, inventories(0, VCPU=9))
    members = [hold(service, spread_group={"name": "web", "max_per_host": most}) for most in (2, 1)]
    assert crowded(service) == []
    for uuid in members:
        body = claim({HOST: {"VCPU": 1}}, 1, project="p", user="u")
        service.expect(204, "PUT", f"/allocations/{uuid}", body)
    assert crowded(service) == [
        {
            "project": "p",
            "group": "web",
            "host": HOST,
            "name": "host",
            "members": 2,
            "max_per_host": 1,
        }
    ]
