"""`placement-manage explain`, from its arguments to what it prints."""

import json
from pathlib import Path
from typing import Any

import pytest

from placement import cli
from tests.kit.listener import answering

Run = tuple[int, str, str]  # exit code, standard output, standard error

EXPLANATION: dict[str, Any] = {
    "hosts": {"all": 2, "looked": 2, "served": 1, "complete": True},
    "groups": {"": [{"code": "capacity", "detail": "", "before": 2, "after": 1}]},
    "together": [],
    "blocked": [],
    "relaxations": [],
    "text": "One of two hosts has room.",
}


@pytest.fixture
def explain(capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: str) -> Run:
        code = cli.main(["explain", *arguments])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "explain: expected a query, or --flavor with a file or key=value"),
        (("resources=VCPU:1", "--flavor", "vcpus=1"), "explain: expected a query, or --flavor"),
        (("resources=VCPU",), "resources=VCPU: expected CLASS:AMOUNT pairs"),
        (("--flavor", "vcpus=x"), "vcpus=x: expected a whole number of at least 0"),
        (("--flavor", "nowhere.flavor"), "nowhere.flavor: cannot be read: No such file"),
        (("resources=VCPU:1", "--url", "localhost"), "'localhost' is not the URL of a server"),
        (
            ("resources=VCPU:1", "--url", "http://127.0.0.1:1"),
            "cannot reach http://127.0.0.1:1: connection refused",
        ),
    ],
)
def test_what_cannot_be_asked_is_one_line(
    explain: Any, arguments: tuple[str, ...], complaint: str
) -> None:
    code, out, err = explain(*arguments)
    assert (code, out) == (1, "")
    assert err.startswith(f"placement: {complaint}")
    assert err.count("\n") == 1


OLD = {"status": 406, "detail": "no", "max_version": "1.39", "min_version": "1.0"}


@pytest.mark.parametrize(
    ("status", "body", "complaint"),
    [
        (
            406,
            {"errors": [OLD]},
            "the server does not speak version 2.0 (406): it offers 1.0 to 1.39",
        ),
        (
            403,
            {},
            "the token does not permit POST /allocation_candidates (403); use an administrator's",
        ),
        (401, {}, "the server does not accept the token (401); give one with --token or OS_TOKEN"),
        (
            400,
            {"errors": [{"detail": "groups._A: no such trait: X"}]},
            "groups._A: no such trait: X",
        ),
        (
            404,
            {},
            "URL is not a placement server: POST /allocation_candidates was refused with 404: "
            "Not Found",
        ),
        (200, {"allocation_requests": []}, "URL is not a placement server that explains"),
        (200, None, "POST /allocation_candidates: URL does not answer in JSON"),
    ],
)
def test_a_server_that_does_not_explain_is_one_line(
    explain: Any, status: int, body: Any, complaint: str
) -> None:
    with answering(status, b"<html>" if body is None else json.dumps(body).encode()) as url:
        answer = explain("resources=VCPU:1", "--url", url)
    assert answer == (1, "", f"placement: {complaint.replace('URL', url)}\n")


@pytest.mark.parametrize(("served", "code"), [(1, 0), (0, 3)])
def test_the_exit_code_says_whether_a_host_can_serve_it(
    explain: Any, served: int, code: int
) -> None:
    document = {**EXPLANATION, "hosts": {**EXPLANATION["hosts"], "served": served}}
    with answering(200, json.dumps({"explanation": document}).encode()) as url:
        assert explain("resources=VCPU:1", "--url", url)[0] == code
        printed = explain("resources=VCPU:1", "--json", "--url", url)
    assert (printed[0], json.loads(printed[1])) == (code, document)


def test_a_flavor_is_asked_for_from_a_file_and_from_its_keys(explain: Any, tmp_path: Path) -> None:
    path = tmp_path / "large.flavor"
    path.write_text("vcpus=4\nhw:cpu_policy=dedicated\n")
    with answering(200, json.dumps({"explanation": EXPLANATION}).encode()) as url:
        code, out, err = explain("--flavor", str(path), "resources:VCPU=8", "--url", url)
    assert code == 0
    assert "Group without suffix: resources=VCPU:8" in out
    assert err == "hw:cpu_policy asks the placement service for nothing\n"
