"""`placement-manage why`: from the id of a request to its log and to its explanation."""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from oslo_log.formatters import ContextFormatter, JSONFormatter

from placement import cli, config
from placement.api.operations.candidates import MAX_LOGGED_BODY
from tests.kit.listener import listening
from tests.kit.printed import complaints
from tests.kit.service import Service, inventories

HOST = "00000000-0000-0000-0000-000000000001"
GLOBAL = "req-00000000-0000-4000-8000-000000000000"
PATH = "/allocation_candidates"
TOO_MUCH = f"{PATH}?resources=VCPU:9"
ID = "x-openstack-request-id"
NEGATIVE = 3


class Log:
    """The log of a service that is written to a file."""

    def __init__(self, service: Service, path: Path) -> None:
        self.service = service
        self.path = path

    def request(self, path: str, body: object = None, **headers: str) -> str:
        """Send a GET, or a POST with the body, and return the id of the request."""
        method = "GET" if body is None else "POST"
        version = "1.36" if body is None else "2.0"
        response = self.service.send(method, path, body, version, headers)
        return response.headers[ID]


@pytest.fixture(params=["text", "json"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Log]:
    """A service with a host of 8 VCPU. Its log has one of the two formats."""
    path = tmp_path / "placement.log"
    conf = config.options()
    config.parse(conf, [], [])
    conf.set_override("use_json", request.param == "json")
    handler = logging.FileHandler(path)
    handler.setFormatter(JSONFormatter() if conf.use_json else ContextFormatter(config=conf))
    logger = logging.getLogger("placement")
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    with Service(tmp_path) as service:
        service.expect(200, "POST", "/resource_providers", {"name": "cn", "uuid": HOST})
        path_of_host = f"/resource_providers/{HOST}/inventories"
        service.expect(200, "PUT", path_of_host, inventories(0, VCPU=8))
        yield Log(service, path)
    logger.removeHandler(handler)
    logger.setLevel(level)
    handler.close()


@pytest.fixture
def why(log: Log, capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: str) -> tuple[int, str, list[str]]:
        capsys.readouterr()
        with listening(log.service.application) as url:
            code = cli.main(["why", *arguments, "--url", url])
        printed = capsys.readouterr()
        return code, printed.out, complaints(printed.err)

    return run


def test_an_id_leads_to_the_reason_the_request_and_its_explanation(log: Log, why: Any) -> None:
    log.request(f"{PATH}?resources=VCPU:99")  # another request
    code, out, err = why(log.request(TOO_MUCH), str(log.path))
    assert (code, err) == (NEGATIVE, [])
    reason, access, _empty, request, *_explanation = out.splitlines()
    assert reason.endswith(
        "no candidates for resources=VCPU:9: The only host looked at cannot serve the request. "
        "1 has no provider with 9 VCPU free (the most is 8)."
    )
    assert f'"GET {TOO_MUCH}" status: 200 ' in access
    assert request == 'The request today: {"groups": {"": {"resources": {"VCPU": 9}}}}'
    assert "With 8 VCPU, 1 host would serve." in " ".join(out.split())
    assert "VCPU:99" not in out


def test_the_explanation_is_that_of_today(log: Log, why: Any) -> None:
    sought = log.request(TOO_MUCH)
    path = f"/resource_providers/{HOST}/inventories"
    log.service.expect(200, "PUT", path, inventories(1, VCPU=16))
    code, out, _err = why(sought, str(log.path))
    assert code == 0
    assert "no candidates for" in out
    assert "1 of 1 host can serve the request." in out
    assert out.endswith("Then, no host could serve it; today, 1 host can.\n")


def test_the_id_of_a_client_leads_to_all_of_its_requests(log: Log, why: Any) -> None:
    log.request("/traits", **{ID: GLOBAL})
    log.request(TOO_MUCH, **{ID: GLOBAL})
    code, out, _err = why(GLOBAL, str(log.path))
    assert code == NEGATIVE
    assert '"GET /traits" status: 200' in out
    assert f'"GET {TOO_MUCH}" status: 200' in out
    assert out.count("The request today:") == 1


def test_a_request_in_a_body_is_that_of_the_log(log: Log, why: Any) -> None:
    group = {"resources": {"VCPU": 9}, "required": ["HW_CPU_X86_AVX2"]}
    code, out, _err = why(log.request(PATH, {"groups": {"": group}}), str(log.path))
    assert code == NEGATIVE
    assert '"required": ["HW_CPU_X86_AVX2"]' in out
    assert "9 VCPU asked, the most free is 8" in out


def test_a_body_that_the_log_has_cut_short_is_an_error_after_the_lines(log: Log, why: Any) -> None:
    required = [["HW_CPU_X86_AVX2"] * (MAX_LOGGED_BODY // 17)]
    groups = {"": {"resources": {"VCPU": 9}, "required": required}}
    code, out, err = why(log.request(PATH, {"groups": groups}), str(log.path))
    assert code == 1
    assert "no candidates for {" in out
    assert err == ["placement: the log does not contain the complete body of this request"]


def test_an_empty_claim_is_negative_without_an_explanation(log: Log, why: Any) -> None:
    request = {"groups": {"": {"resources": {"VCPU": 9}}}}
    owner = {"project_id": "p", "user_id": "u", "consumer_type": "T", "consumer_uuid": HOST}
    sought = log.request("/claims", {**owner, "request": request})
    code, out, err = why(sought.removeprefix("req-"), str(log.path))
    assert (code, err) == (NEGATIVE, [])
    assert "no candidates for consumer" in out
    assert out.endswith(
        "The log does not contain the request of this claim: run explain with it.\n"
    )


def test_other_requests_are_only_lines(log: Log, why: Any) -> None:
    code, out, err = why(log.request("/traits"), str(log.path))
    assert (code, err) == (0, [])
    assert '"GET /traits" status: 200' in out
    assert "today" not in out


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("resources=VCPU:1&required=CUSTOM_NONE", "400: required: No such trait: CUSTOM_NONE"),
        ("resources=NO_CLASS:1", "400: "),
        ("resources=VCPU", "400: "),
        (f"resources=VCPU:1&{'required=HW_CPU_X86_AVX2&' * 4000}", "414: "),
    ],
)
def test_a_refused_search_has_its_reason_in_the_log(
    log: Log, why: Any, query: str, reason: str
) -> None:
    code, out, err = why(log.request(f"{PATH}?{query}"), str(log.path))
    assert (code, err) == (NEGATIVE, [])
    refused, access = out.splitlines()
    assert f" refused with {reason}" in refused
    assert f"status: {reason[:3]}" in access


def test_a_search_that_had_candidates_is_no_failure(log: Log, why: Any) -> None:
    """The host is full today."""
    sought = log.request(f"{PATH}?resources=VCPU:8")
    in_body = log.request(PATH, {"groups": {"": {"resources": {"VCPU": 8}}}})
    path = f"/resource_providers/{HOST}/inventories"
    log.service.expect(200, "PUT", path, inventories(1, VCPU=4))
    code, out, _err = why(sought, str(log.path))
    assert code == 0
    then, today = out.index("Then, 1 candidate was returned."), out.index("The request today: ")
    assert out.index("status: 200") < then < today
    assert out.endswith("\nThe only host cannot serve the request.\n")
    code, out, err = why(in_body, str(log.path))
    assert (code, err) == (0, [])
    assert out.endswith(
        "\nThen, 1 candidate was returned. If nova found no valid host, see its filters.\n"
    )


def test_the_log_is_several_files_or_the_standard_input(
    log: Log, why: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sought = log.request(TOO_MUCH)
    older = tmp_path / "older.log"
    older.write_text("")
    assert why(sought, str(older), str(log.path))[0] == NEGATIVE
    monkeypatch.setattr(sys, "stdin", io.StringIO(log.path.read_text()))
    assert why(sought)[0] == NEGATIVE


def test_an_unknown_id_and_a_missing_file_are_one_line(log: Log, why: Any) -> None:
    log.request(TOO_MUCH)
    missing = why("req-x", str(log.path))
    (line,) = missing[2]
    assert missing[:2] == (1, "")
    assert line.startswith("placement: no line of the log belongs to the request req-x: the level")
    code, out, (complaint,) = why("req-x", "/nowhere.log")
    assert (code, out) == (1, "")
    assert complaint == "placement: /nowhere.log: No such file or directory"
