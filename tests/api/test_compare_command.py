"""The command `placement-manage compare`, which sends the same reads to two services."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from placement import cli
from tests.kit.builders import make_app
from tests.kit.listener import listening
from tests.kit.printed import complaints
from tests.kit.service import Client

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

HOSTS = [f"00000000-0000-0000-0000-0000000000c{number}" for number in range(1, 6)]
CONSUMER = "cccccccc-0000-0000-0000-000000000001"
SEARCH = "/allocation_candidates?resources=VCPU:1"
Headers = list[tuple[str, str]]


@pytest.fixture
def service(tmp_path: Path) -> tuple[WSGIApplication, Client]:
    """Five hosts with a trait and an aggregate, and a consumer of the first."""
    application = make_app(tmp_path)
    client = Client(application)
    for uuid in HOSTS:
        path = f"/resource_providers/{uuid}"
        client.expect(200, "POST", "/resource_providers", {"name": uuid[-2:], "uuid": uuid})
        bodies: dict[str, Any] = {
            "inventories": {"inventories": {"VCPU": {"total": 8}, "DISK_GB": {"total": 100}}},
            "traits": {"traits": ["HW_CPU_X86_AVX2"]},
            "aggregates": {"aggregates": [CONSUMER]},
        }
        for generation, (part, body) in enumerate(bodies.items()):
            stated = {**body, "resource_provider_generation": generation}
            client.expect(200, "PUT", f"{path}/{part}", stated)
    allocate(client)
    return application, client


def allocate(client: Client, number: int = 1, host: str = HOSTS[0]) -> None:
    body = {
        "allocations": {host: {"resources": {"VCPU": 2, "DISK_GB": 10}}},
        "project_id": "a project", "user_id": "u",
        "consumer_type": "INSTANCE", "consumer_generation": None,
    }  # fmt: skip
    client.expect(204, "PUT", f"/allocations/{CONSUMER[:-1]}{number}", body)


Change = Callable[[str, Headers, bytes], tuple[str, Headers, bytes]]


def planted(application: WSGIApplication, path: str, change: Change) -> WSGIApplication:
    """Return the application with a change to the responses to a path."""

    def planting(environ: WSGIEnvironment, respond: StartResponse) -> Iterable[bytes]:
        if environ["PATH_INFO"] != path:
            return application(environ, respond)
        started: list[Any] = []
        parts = application(environ, lambda *arguments: started.extend(arguments[:2]))  # type: ignore
        body = b"".join(parts)
        parts.close()  # type: ignore[attr-defined]
        status, headers, body = change(started[0], started[1], body)
        kept = [each for each in headers if each[0].lower() != "content-length"]
        respond(status, kept)
        return [body]

    return planting


def responding(body: Any, status: str = "200 OK") -> Change:
    """Return a change of responses to a JSON value, or to a text."""
    raw = (body if isinstance(body, str) else json.dumps(body)).encode()
    return lambda _status, headers, _body: (status, headers, raw)


@pytest.fixture
def compare(capsys: pytest.CaptureFixture[str], service: Any) -> Iterator[Any]:
    application, _client = service
    with listening(application) as url:

        def run(other: WSGIApplication, *arguments: str) -> tuple[int, str, list[str]]:
            capsys.readouterr()
            with listening(other) as second:
                code = cli.main(["compare", second, "--url", url, *arguments])
            printed = capsys.readouterr()
            return code, printed.out, complaints(printed.err)

        yield run


def log(tmp_path: Path, *targets: str) -> str:
    file = tmp_path / "access.log"
    file.write_text("".join(f'1.1.1.1 - - [x] "GET {each} HTTP/1.1" 200 1\n' for each in targets))
    return str(file)


def rows(out: str) -> dict[str, dict[str, Any]]:
    return {row["kind"]: row for row in json.loads(out)}


def test_a_service_does_not_differ_from_itself(compare: Any, service: Any) -> None:
    code, out, _err = compare(service[0], "--requests", "200", "--microversion", "1.39", "--json")
    assert code == 0
    found = rows(out)
    assert sum(row["requests"] for row in found.values()) == 200
    assert {(row["different"], row["changed"], *row["announced"]) for row in found.values()} == {
        (0, 0)
    }
    assert {
        "/", "/allocations/{}", "/allocation_candidates", "/allocation_candidates?limit",
        "/resource_providers", "/resource_providers/{}/inventories", "/usages?project_id",
        "/resource_providers?in_tree", "/resource_providers?member_of", "/traits",
    } <= found.keys()  # fmt: skip
    assert all(0 < row["median"] <= row["p99"] for row in found.values())


@pytest.mark.parametrize(
    ("change", "aspect", "lines"),
    [
        (lambda status, headers, body: ("203 Other", headers, body), "status", ["- 200", "+ 203"]),
        (
            lambda status, headers, body: (status, headers, body.replace(b"AVX2", b"AVX")),
            "body",
            ['- traits: "HW_CPU_X86_AVX2"', '+ traits: "HW_CPU_X86_AVX"'],
        ),
        (
            lambda status, headers, body: (
                status,
                [each for each in headers if each[0].lower() != "vary"],
                body,
            ),
            "vary",
            ['- "openstack-api-version"', '+ ""'],
        ),
    ],
)
def test_a_planted_difference_is_found(
    compare: Any, service: Any, tmp_path: Path, change: Change, aspect: str, lines: list[str]
) -> None:
    path = f"/resource_providers/{HOSTS[0]}/traits"
    file = log(tmp_path, path, "/resource_providers", path)
    other = planted(service[0], path, change)
    code, out, _err = compare(other, "--access-log", file, "--json")
    row = rows(out)["/resource_providers/{}/traits"]
    assert (code, row["requests"], row["different"]) == (3, 2, 2)
    assert row["examples"][0] == {
        "request": f"GET {path} at 1.39",
        "aspect": aspect,
        "lines": lines,
    }
    code, out, _err = compare(other, "--access-log", file)
    assert code == 3
    # Both requests have one cause.
    assert out.count(f"GET {path}") == 1
    assert f"  2 × GET {path} at 1.39: {aspect}\n  {lines[0]}\n  {lines[1]}\n" in out
    assert out.endswith(
        "3 requests: 2 with differences that are not announced, 0 of providers that have changed\n"
    )


def test_an_announced_difference_is_listed_with_its_page(
    compare: Any, service: Any, tmp_path: Path
) -> None:
    path = f"/resource_providers/{HOSTS[0]}/traits"

    def add_time(status: str, headers: Headers, body: bytes) -> tuple[str, Headers, bytes]:
        return status, [each for each in headers if each[0].lower() != "last-modified"], body

    other = planted(service[0], path, add_time)
    code, out, _err = compare(other, "--access-log", log(tmp_path, path))
    assert code == 0
    assert (
        "1 × every response with Cache-Control has Last-Modified "
        "(docs/reference/compatibility.rst, Errors)"
    ) in out


def test_a_limited_search_may_return_other_candidates_of_the_same_search(
    compare: Any, service: Any, tmp_path: Path
) -> None:
    def others(status: str, headers: Headers, body: bytes) -> tuple[str, Headers, bytes]:
        found = json.loads(body)
        if len(found["allocation_requests"]) == 1:
            mapping = found["allocation_requests"][0]
            text = json.dumps(mapping).replace(next(iter(mapping["allocations"])), host)
            found["allocation_requests"] = [json.loads(text)]
        return status, headers, json.dumps(found).encode()

    other = planted(service[0], "/allocation_candidates", others)
    file = log(tmp_path, SEARCH, f"{SEARCH}&limit=1")
    host = HOSTS[4]
    assert compare(other, "--access-log", file)[0] == 0
    host = CONSUMER  # which is no provider
    code, out, _err = compare(other, "--access-log", file)
    assert code == 3
    assert f"GET {SEARCH}&limit=1 at 1.39: body\n  + " in out
    assert compare(other, "--access-log", log(tmp_path, f"{SEARCH}&limit=1"))[0] == 0


def test_providers_that_have_changed_since_the_copy_are_counted_apart(
    capsys: pytest.CaptureFixture[str], service: Any, tmp_path: Path
) -> None:
    """The other service is the copy: the responses of the running service before a change."""
    application, client = service
    targets = [
        f"/resource_providers/{HOSTS[0]}/usages",
        f"/resource_providers/{HOSTS[1]}/usages",
        f"/allocations/{CONSUMER}",
        "/usages?project_id=a%20project",
        "/resource_providers",
        SEARCH,
    ]
    copies = {}
    for target in targets:
        response = client.expect(200, "GET", target, version="1.39")
        copies[target] = (response.status, [*response.headers.items()], response.content)

    def copy(environ: WSGIEnvironment, respond: StartResponse) -> Iterable[bytes]:
        query = environ["QUERY_STRING"]
        target = f"{environ['PATH_INFO']}{'?' if query else ''}{query}"
        if target not in copies:
            return application(environ, respond)  # type: ignore[no-any-return]
        status, headers, body = copies[target]
        respond(status, headers)
        return [body]

    def run() -> dict[str, tuple[int, int]]:
        capsys.readouterr()
        with listening(application) as url, listening(copy) as other:
            cli.main(
                ["compare", other, "--url", url, "--access-log", log(tmp_path, *targets), "--json"]
            )
        found = rows(capsys.readouterr().out)
        return {kind: (row["changed"], row["different"]) for kind, row in found.items()}

    assert set(run().values()) == {(0, 0)}
    allocate(client, 2)
    client.expect(204, "DELETE", f"/allocations/{CONSUMER}")
    assert run() == {
        "/resource_providers/{}/usages": (1, 0),
        "/allocations/{}": (1, 0),
        "/usages?project_id": (0, 0),
        "/resource_providers": (1, 0),
        "/allocation_candidates": (0, 0),
    }
    body = copies[targets[1]][2].replace(b'"VCPU":0', b'"VCPU":1')
    copies[targets[1]] = (*copies[targets[1]][:2], body)
    assert run()["/resource_providers/{}/usages"] == (1, 1)


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["http://127.0.0.1:1"], 1, "connection refused"),
        (["nowhere"], 1, "'nowhere' is not the URL of a server"),
        (["http://127.0.0.1:1", "--microversion", "2.0"], 2, "'2.0' is no version from 1.0"),
        (["http://127.0.0.1:1", "--microversion", "1.40"], 2, "'1.40' is no version from 1.0"),
        (["http://127.0.0.1:1", "--requests", "-4"], 2, "-4: expected a number of at least 1"),
        (["http://127.0.0.1:1", "--access-log", "/nowhere"], 1, ": /nowhere: No such file"),
    ],
)
def test_what_cannot_be_compared(
    capsys: pytest.CaptureFixture[str],
    service: Any,
    arguments: list[str],
    code: int,
    complaint: str,
) -> None:
    with listening(service[0]) as url:
        try:
            found = cli.main(["compare", *arguments, "--url", url])
        except SystemExit as exit:
            found = int(exit.code or 0)
    assert (found, complaint in capsys.readouterr().err) == (code, True)


@pytest.mark.parametrize("providers", [0, 1])
def test_services_without_a_common_provider_are_no_copies(
    compare: Any, tmp_path: Path, providers: int
) -> None:
    (tmp_path / "other").mkdir()
    unrelated = make_app(tmp_path / "other")
    for number in range(providers):
        Client(unrelated).expect(200, "POST", "/resource_providers", {"name": f"{number}"})
    code, out, [error] = compare(unrelated)
    assert (code, out) == (1, "")
    assert "have no provider in common" in error


HTML, DEEP = "<html>Not placement</html>", "[" * 100_000
INVENTORY = {"total": 8, "min_unit": 1, "max_unit": 8, "step_size": 1}
PART = f"/resource_providers/{HOSTS[0]}"
HELD = {"allocations": {HOSTS[0]: {"resources": {"VCPU": 1}}}}


@pytest.mark.parametrize(
    ("path", "body", "problem"),
    [
        (f"{PART}/inventories", HTML, "does not respond in JSON"),
        (f"{PART}/inventories", {"inventories": []}, "inventories is missing"),
        (f"{PART}/inventories", {"inventories": {"VCPU": 1}}, "inventories.VCPU is missing"),
        *(
            (f"{PART}/inventories", {"inventories": {"VCPU": {**INVENTORY, name: "8"}}}, name)
            for name in INVENTORY
        ),
        (f"{PART}/traits", {"traits": {}}, "traits is missing"),
        (f"{PART}/traits", {"traits": [1]}, "traits[0] is missing"),
        (f"{PART}/aggregates", [], "the body is missing"),
        (f"{PART}/aggregates", {"aggregates": [None]}, "aggregates[0] is missing"),
        (f"{PART}/allocations", {"allocations": []}, "allocations is missing"),
        (f"{PART}/allocations", {"allocations": {CONSUMER: 1}}, f"allocations.{CONSUMER} is m"),
        (f"/allocations/{CONSUMER}", {}, "allocations is missing"),
        (f"/allocations/{CONSUMER}", {"allocations": {"a": {}}}, "allocations.a.resources is m"),
        (f"/allocations/{CONSUMER}", {"allocations": {"a": {"resources": {"A": []}}}}, "es.A is m"),
        (f"/allocations/{CONSUMER}", {**HELD, "user_id": "u"}, "project_id is missing"),
        (f"/allocations/{CONSUMER}", {**HELD, "project_id": "p", "user_id": 1}, "user_id is m"),
    ],
)
def test_a_malformed_object_of_the_service_is_one_line(
    capsys: pytest.CaptureFixture[str], service: Any, path: str, body: Any, problem: str
) -> None:
    with listening(planted(service[0], path, responding(body))) as url:
        assert cli.main(["compare", url, "--url", url]) == 1
    [line] = complaints(capsys.readouterr().err)
    assert f"GET {path}" in line
    assert url in line
    assert problem in line


def test_a_log_without_reads_is_refused(compare: Any, service: Any) -> None:
    code, _out, err = compare(service[0], "--access-log", __file__)
    assert (code, err) == (1, [f"placement: {__file__}: no GET of an access log"])
