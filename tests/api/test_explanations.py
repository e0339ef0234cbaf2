"""Permissions for explanations, and the log of empty results."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from oslo_log.formatters import JSONFormatter

from placement.api.operations import candidates
from placement.api.operations.candidates import MAX_LOGGED_BODY
from placement.foresight.explanation import explained_hosts
from placement.runtime import events
from placement.runtime.events import Details, Event
from tests.kit.cloud import building
from tests.kit.service import Service, inventories

PATH = "/allocation_candidates"
ASKED = f"{PATH}?resources=VCPU:1"
TOO_MUCH = f"{PATH}?resources=VCPU:9"
BODY = {"groups": {"": {"resources": {"VCPU": 1}}}}
READER = {"X-Auth-Token": "user:own", "X-Roles": "reader"}
RULE = "placement:allocation_candidates:explain"
LOGGER = "placement.api.operations.candidates"
PROVIDER = "00000000-0000-0000-0000-000000000001"
NOWHERE = "99999999-0000-0000-0000-000000000001"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A host with 8 VCPU, in a service where any caller may request candidates."""
    directory = tmp_path_factory.mktemp("explanations")
    policy = directory / "policy.yaml"
    policy.write_text('"placement:allocation_candidates:list": "@"')
    with Service(directory, oslo_policy={"policy_file": str(policy)}) as service:
        service.expect(200, "POST", "/resource_providers", {"name": "cn", "uuid": PROVIDER})
        path = f"/resource_providers/{PROVIDER}/inventories"
        service.expect(200, "PUT", path, inventories(0, VCPU=8))
        yield service


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == LOGGER]


@pytest.mark.parametrize("detail", ["summary", "providers"])
def test_permission_for_candidates_does_not_include_explanations(
    service: Service, detail: str
) -> None:
    answer = service.send("GET", ASKED, version="2.0", headers=READER)
    assert answer.status_code == 200, answer.text
    body = {**BODY, "explain": detail}
    for refused in (
        service.send("GET", f"{ASKED}&explain={detail}", version="2.0", headers=READER),
        service.send("POST", PATH, body, "2.0", READER),
    ):
        assert refused.status_code == 403
        assert RULE in refused.text
        assert "it needs the role admin or service" in refused.text
    answer = service.send("GET", f"{ASKED}&explain={detail}", version="2.0")
    assert answer.status_code == 200
    assert answer.json["explanation"]["text"] == "1 of 1 host can serve the request."


@pytest.mark.parametrize("version", ["1.10", "1.12", "1.39", "2.0"])
def test_an_empty_answer_is_one_line_at_every_version(
    service: Service, caplog: pytest.LogCaptureFixture, version: str
) -> None:
    with caplog.at_level(logging.INFO, LOGGER):
        service.get(TOO_MUCH, version)
    assert said(caplog) == [
        "no candidates for resources=VCPU:9: The only host looked at cannot serve the request. "
        "1 has no provider with 9 VCPU free (the most is 8)."
    ]


def test_the_line_of_an_empty_answer_is_about_a_sample_of_many_hosts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explained_hosts, "MAX_REFUSED", 2)
    with Service(tmp_path) as made:
        with building(made.database.writer) as cloud:
            for number in range(5):
                cloud.add(f"host{number}", {"VCPU": 8 + number})
        isolated = "/allocation_candidates?resources1=VCPU:1&resources2=VCPU:1&group_policy=isolate"
        with caplog.at_level(logging.INFO, LOGGER):
            made.get(isolated, "1.39")
    (line,) = said(caplog)
    assert "None of the 2 hosts looked at of 5 can serve the request." in line


def test_an_answer_with_candidates_is_no_line(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, LOGGER):
        service.get(ASKED)
        service.expect(200, "POST", PATH, BODY, "2.0")
    assert not said(caplog)


def test_a_line_of_the_log_is_bounded_and_printable(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    groups: Any = {f"_{number}": {"resources": {"VCPU": 9}} for number in range(100)}
    groups["_T"] = {"resources": {"VCPU": 9}, "required": [["HW_CPU_X86_AVX2"] * 4000]}
    with caplog.at_level(logging.INFO, LOGGER):
        service.expect(200, "POST", PATH, {"groups": groups}, "2.0")
    (line,) = said(caplog)
    assert line.isprintable()
    assert len(line) < MAX_LOGGED_BODY + 1000
    assert line.startswith('no candidates for {"groups":{"_0":{"resources":{"VCPU":9}}')


# -- codes and counts of empty responses ----------------------------------------------------------


ISOLATED = f"{PATH}?resources1=VCPU:1&resources2=VCPU:1&group_policy=isolate"
EMPTY = [
    (TOO_MUCH, "capacity", {"capacity": 1}, 1),
    (f"{ASKED}&required=HW_CPU_X86_AVX2", "trait_missing", {"trait_missing": 1}, 1),
    (ISOLATED, "isolate", {"isolate": 1}, 1),
    (f"{ASKED}&member_of={NOWHERE}", "unknown_aggregate", {}, 0),
    (f"{ASKED}&in_tree={NOWHERE}", "unknown_tree", {}, 0),
]


@pytest.mark.parametrize(("path", "code", "counts", "hosts"), EMPTY)
def test_the_line_of_an_empty_answer_has_its_facts_as_fields(
    service: Service,
    caplog: pytest.LogCaptureFixture,
    path: str,
    code: str,
    counts: Mapping[str, int],
    hosts: int,
) -> None:
    with caplog.at_level(logging.INFO, LOGGER):
        service.get(path, "1.39")
    (record,) = [each for each in caplog.records if each.name == LOGGER]
    assert json.loads(JSONFormatter().format(record))["extra"] == {
        "request": path.partition("?")[2],
        "code": code,
        "counts": counts,
        "hosts": hosts,
    }


@pytest.mark.parametrize("level", [logging.INFO, logging.WARNING])
def test_an_empty_answer_is_counted_by_its_code_at_any_level_of_the_log(
    service: Service, caplog: pytest.LogCaptureFixture, level: int
) -> None:
    codes: list[object] = []

    def listen(event: Event, details: Details) -> None:
        if event is Event.REFUSAL:
            codes.append(details["code"])

    stop = events.listen(listen)
    try:
        with caplog.at_level(level, LOGGER):
            for path, _code, _counts, _hosts in EMPTY:
                service.get(path, "1.39")
            service.get(ASKED, "1.39")
            alternatives = [{"groups": {"": {"resources": {"VCPU": units}}}} for units in (9, 10)]
            service.expect(200, "POST", PATH, {"first_available": alternatives}, "2.0")
    finally:
        stop()
    assert codes == [*(code for _path, code, _counts, _hosts in EMPTY), "capacity"]


def test_the_log_decides_whether_an_empty_answer_is_explained(
    service: Service, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_args: object) -> None:
        raise AssertionError("explained for no line")

    monkeypatch.setattr(candidates, "explain_refused", fail)
    with caplog.at_level(logging.WARNING, LOGGER):
        service.get(TOO_MUCH)
    assert not said(caplog)
