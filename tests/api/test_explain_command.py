"""`placement-manage explain`, from its arguments to its output."""

import io
import json
import re
import shlex
import textwrap
from pathlib import Path
from typing import Any

import pytest

from falcon_placement_client import identity
from falcon_placement_client.loader import load_cloud
from placement import cli
from tests.kit.listener import answering, listening
from tests.kit.printed import complaints
from tests.kit.service import Service, claim, inventories

ROOT = Path(__file__).parents[2]
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
        capsys.readouterr()
        code = cli.main(["explain", *arguments])
        printed = capsys.readouterr()
        return code, printed.out, "".join(f"{line}\n" for line in complaints(printed.err))

    return run


def test_an_unreachable_default_is_an_error_that_names_the_option(
    explain: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity, "DEFAULT_URL", "http://127.0.0.1:1")
    code, _out, err = explain("resources=VCPU:1", "--url", "http://127.0.0.1:1")
    assert code == 1
    assert err == "placement: cannot reach http://127.0.0.1:1: connection refused; state --url\n"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "explain: expected a query, or --flavor, with a file or key=value"),
        (("resources=VCPU:1", "--flavor", "x"), "explain: expected a query, or --flavor, not both"),
        (("resources=VCPU",), "resources=VCPU: expected CLASS:AMOUNT pairs"),
        (("--flavor", "vcpus=x"), "vcpus=x: expected a whole number of at least 0"),
        (("--flavor", "nowhere.flavor"), "nowhere.flavor: cannot be read: No such file"),
        (
            ("resources=VCPU:1", "--url", "localhost:80"),
            "'localhost:80' is not the URL of a server; write it as http://localhost:80",
        ),
        (("resources=VCPU:1", "limit=x"), "limit"),
        (("resource=VCPU:1",), "resource: no such parameter; did you mean resources?"),
        (
            ("resources=VCPU:1", "--url", "http://127.0.0.1:1"),
            "cannot reach http://127.0.0.1:1: connection refused; check the URL, and that the ",
        ),
    ],
)
def test_what_cannot_be_asked_is_one_line(
    explain: Any, arguments: tuple[str, ...], complaint: str
) -> None:
    code, out, err = explain(*arguments)
    assert (code, out) == (2 if "explain:" in complaint else 1, "")
    assert err.startswith(f"placement: {complaint}")
    assert err.count("\n") == 1


OLD = {"status": 406, "detail": "no", "max_version": "1.39", "min_version": "1.0"}


@pytest.mark.parametrize(
    ("status", "body", "complaint"),
    [
        (
            406,
            {"errors": [OLD]},
            "the server does not support version 2.0 (406): it offers 1.0 to 1.39",
        ),
        (403, {}, "the token does not permit POST /allocation_candidates (403): Forbidden"),
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
        (
            503,
            None,
            "POST /allocation_candidates was refused with 503: Service Unavailable; see the log of "
            "URL",
        ),
        (200, {"allocation_requests": []}, "URL is not a placement server that explains requests"),
        (200, None, "POST /allocation_candidates: URL does not respond in JSON"),
    ],
)
def test_a_server_that_does_not_explain_is_one_line(
    explain: Any, status: int, body: Any, complaint: str
) -> None:
    with answering(status, b"<html>" if body is None else json.dumps(body).encode()) as url:
        answer = explain("resources=VCPU:1", "--url", url)
    assert answer == (1, "", f"placement: {complaint.replace('URL', url)}\n")


@pytest.mark.parametrize(
    ("member", "parameter"),
    [
        ('groups[""].required[0]', "required"),
        ('groups[""].resources.VCPUS', "resources"),
        ("groups._NIC.forbidden[1][0]", "required_NIC"),
        ("groups.1.not_member_of[2]", "member_of1"),
        ("root.required[0]", "root_required"),
        ("tolerate", "tolerate"),
    ],
)
def test_an_error_names_the_parameter_of_the_query(
    explain: Any, member: str, parameter: str
) -> None:
    body = {"errors": [{"status": 400, "code": "c", "detail": f"{member}: No such name: X"}]}
    with answering(400, json.dumps(body).encode()) as url:
        answer = explain("resources=VCPU:1", "--url", url)
    assert answer == (1, "", f"placement: {parameter}: No such name: X\n")


FLAVOR = ["vcpus=9", "disk=1", "swap=1", "trait:T=required", "required_1=in:U,V", "resources_1:X=1"]
NOVA = ["vcpus=9", "hw:cpu_policy=dedicated", "hw:cpu_thread_policy=require", "hw:tpm_version=2.0"]


@pytest.mark.parametrize(
    ("flavor", "path", "keys"),
    [
        (FLAVOR, 'groups[""].required[0]', "trait:T"),
        (FLAVOR, "groups._1.required[0][1]", "required_1"),
        (FLAVOR, "groups._1.resources.X", "resources_1:X"),
        (FLAVOR, 'groups[""].resources.VCPU', "vcpus"),
        (FLAVOR, 'groups[""].resources.DISK_GB', "disk and swap"),
        (FLAVOR, "root.required[0]", "root_required"),
        (NOVA, 'groups[""].resources.PCPU', "vcpus and hw:cpu_policy"),
        (NOVA, 'groups[""].required[0]', "hw:cpu_thread_policy"),
        (NOVA, 'groups[""].required[1]', "hw:tpm_version"),
    ],
)
def test_a_condition_of_a_flavor_has_the_keys_of_the_flavor(
    explain: Any, flavor: list[str], path: str, keys: str
) -> None:
    relaxed = {"reduce": path, "to": 1, "hosts": 1}
    body = {"explanation": {**EXPLANATION, "relaxations": [relaxed]}}
    with answering(200, json.dumps(body).encode()) as url:
        _code, out, _err = explain("--flavor", *flavor, "--url", url)
    assert out.endswith(f" ({keys})\n")
    error = {"errors": [{"status": 400, "code": "c", "detail": f"{path}: No such name: Y"}]}
    with answering(400, json.dumps(error).encode()) as url:
        answer = explain("--flavor", *flavor, "--url", url)
    assert answer == (1, "", f"placement: {keys}: No such name: Y\n")


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
    path.write_text("vcpus=4\nhw:mem_page_size=large\n")
    with answering(200, json.dumps({"explanation": EXPLANATION}).encode()) as url:
        code, out, err = explain("--flavor", str(path), "resources:VCPU=8", "--url", url)
    assert code == 0
    assert "Group without suffix: resources=VCPU:8" in out
    assert err == "hw:mem_page_size requests nothing from the placement service\n"


DOCUMENT = ROOT / "docs/operations/explaining.rst"
RACK_C = "5ac00000-0000-4000-8000-00000000000c"
# A command at a prompt, continued with backslashes, and what it prints: one indented block.
SHOWN = re.compile(r"^    \$ placement-manage explain ((?:.*\\\n)*.*)\n((?:(?:    .*)?\n)+)", re.M)


def test_the_document_shows_what_is_printed_of_the_demonstration(
    explain: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = SHOWN.findall(DOCUMENT.read_text())
    assert len(shown) == 5
    with Service(tmp_path) as service, listening(service.application) as url:
        assert load_cloud(str(ROOT / "etc/demo-cloud.yaml"), url, "admin", out=io.StringIO()) == 0
        for number, (command, text) in enumerate(shown):
            if number == len(shown) - 1:
                _take_all_memory(service, RACK_C)
            arguments = shlex.split(command.replace("\\\n    ", ""))
            code, out, err = explain(*arguments, "--url", url)
            assert code == 3, err
            assert [line.rstrip() for line in out.splitlines()] == (
                textwrap.dedent(text).rstrip().splitlines()
            ), command


def _take_all_memory(service: Service, aggregate: str) -> None:
    listed = service.get(f"/resource_providers?member_of={aggregate}")["resource_providers"]
    for number, host in enumerate(listed):
        # All that there is, in the two pieces that max_unit allows.
        for half, amount in enumerate((524288, 491520)):
            consumer = f"c0000000-0000-4000-8000-{2 * number + half:012}"
            body = claim({host["uuid"]: {"MEMORY_MB": amount}})
            service.expect(204, "PUT", f"/allocations/{consumer}", body)


@pytest.mark.parametrize("query", ["", "&in_tree=11111111-0000-4000-8000-000000000001"])
def test_names_of_providers_move_no_cursor(explain: Any, tmp_path: Path, query: str) -> None:
    uuid = "11111111-0000-4000-8000-000000000001"
    with Service(tmp_path) as service, listening(service.application) as url:
        body = {"name": "evil\x1b[31m\nhost", "uuid": uuid}
        service.expect(200, "POST", "/resource_providers", body)
        stock = inventories(0, VCPU=1)
        service.expect(200, "PUT", f"/resource_providers/{uuid}/inventories", stock)
        _code, out, _err = explain(f"resources=VCPU:2{query}", "--url", url)
    assert "evil\\x1b[31m\\nhost" in out
    assert out.replace("\n", "").isprintable()
