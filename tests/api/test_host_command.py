"""The command `placement-manage host`, which takes hosts out of use and returns them."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from falcon_placement_client import hosts
from placement import cli
from tests.kit.builders import make_app
from tests.kit.listener import answering, listening
from tests.kit.printed import complaints
from tests.kit.service import Client

H1 = "00000000-0000-0000-0000-0000000000c1"
CHILD = "00000000-0000-0000-0000-000000000010"


@pytest.fixture(params=[["CUSTOM_MAINTENANCE", "CUSTOM_DEDICATED"], []])
def server(tmp_path: Path, request: Any) -> Iterator[tuple[str, Client, bool]]:
    """A server with two hosts; its URL, a client of it, and whether it has taints."""
    application = make_app(tmp_path, placement={"taints": request.param})
    client = Client(application)
    for number, name in ((1, "compute-1"), (2, "compute-2")):
        body = {"name": name, "uuid": f"00000000-0000-0000-0000-0000000000c{number}"}
        client.expect(200, "POST", "/resource_providers", body)
    child = {"name": "numa", "uuid": CHILD, "parent_provider_uuid": H1}
    client.expect(200, "POST", "/resource_providers", child)
    with listening(application) as url:
        yield url, client, bool(request.param)


@pytest.fixture
def host(capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = cli.main(["host", *arguments])
        printed = capsys.readouterr()
        return code, printed.out, "".join(f"{line}\n" for line in complaints(printed.err))

    return run


def traits_of(client: Client, uuid: str) -> list[str]:
    traits: list[str] = client.get(f"/resource_providers/{uuid}/traits")["traits"]
    return sorted(traits)


@pytest.mark.parametrize("named", ["compute-1", H1])
def test_a_host_is_tainted_listed_and_put_back(
    host: Any, server: tuple[str, Client, bool], named: str
) -> None:
    url, client, has_taints = server
    client.expect(201, "PUT", "/traits/CUSTOM_DEDICATED")
    others = ["CUSTOM_DEDICATED", "HW_CPU_X86_AVX2"]
    body = {"traits": others, "resource_provider_generation": 0}
    client.expect(200, "PUT", f"/resource_providers/{H1}/traits", body)
    for _ in range(2):  # the second time changes nothing
        code, out, err = host("taint", named, "--url", url)
        assert (code, "compute-1" in out) == (0 if has_taints else 3, True)
        assert re.search(rf"CUSTOM_MAINTENANCE +\| {'yes' if has_taints else 'no'} ", out)
        assert ("CUSTOM_MAINTENANCE is no taint of the service" in err) is not has_taints
        assert "HW_CPU_X86_AVX2" not in out
        assert traits_of(client, H1) == sorted([*others, "CUSTOM_MAINTENANCE"])
    code, out, _err = host("list", "--tainted", "--url", url, "--json")
    taints = ["CUSTOM_DEDICATED"] if has_taints else []
    row = {"uuid": H1, "name": "compute-1", "taints": [*taints, "CUSTOM_MAINTENANCE"]}
    assert (code, json.loads(out)) == (0, [{**row, "excluded": has_taints}])
    code, out, _err = host("untaint", named, "--url", url, "--json")
    assert (code, json.loads(out)[0]["taints"]) == (0, taints)
    assert traits_of(client, H1) == others
    assert json.loads(host("list", "--url", url, "--json")[1]) == []


def test_without_a_reported_reason_only_the_trait_of_the_command_is_shown(
    host: Any, server: tuple[str, Client, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, client, _has_taints = server
    body = {"traits": ["HW_CPU_X86_AVX2"], "resource_provider_generation": 0}
    client.expect(200, "PUT", f"/resource_providers/{H1}/traits", body)
    monkeypatch.setattr(hosts, "_EXPLAINED", (2, 9))  # which the service does not support
    code, out, err = host("taint", "compute-1", "--url", url, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)[0]["taints"] == ["CUSTOM_MAINTENANCE"]


def test_several_hosts_are_tainted(host: Any, server: tuple[str, Client, bool]) -> None:
    url, _client, has_taints = server
    code, out, err = host("taint", "compute-1", "compute-2", "--url", url, "--json")
    assert code == (0 if has_taints else 3)
    assert [(each["name"], each["taints"], each["excluded"]) for each in json.loads(out)] == [
        ("compute-1", ["CUSTOM_MAINTENANCE"], has_taints),
        ("compute-2", ["CUSTOM_MAINTENANCE"], has_taints),
    ]
    assert err.count("\n") == (0 if has_taints else 1)
    assert ("still find compute-1, compute-2: add it to [placement] taints" in err) != has_taints


def test_a_host_that_does_not_exist_leaves_all_others_unchanged(
    host: Any, server: tuple[str, Client, bool]
) -> None:
    url, client, _has_taints = server
    code, out, err = host("taint", "compute-1", "compute-9", "--url", url)
    assert (code, out, err) == (
        1,
        "",
        "placement: compute-9: there is no such host; did you mean compute-2?\n",
    )
    assert traits_of(client, H1) == []


def test_another_trait(host: Any, server: tuple[str, Client, bool]) -> None:
    url, client, _has_taints = server
    code, _out, err = host("list", "--tainted", "--trait", "CUSTOM_NONE", "--url", url)
    assert (code, "No such trait: CUSTOM_NONE" in err) == (1, True)
    code, _out, err = host("taint", "compute-2", "--trait", "CUSTOM_OTHER", "--url", url)
    assert (code, "CUSTOM_OTHER is no taint of the service" in err) == (3, True)
    assert "the hosts have the trait already" in err
    assert traits_of(client, "00000000-0000-0000-0000-0000000000c2") == ["CUSTOM_OTHER"]


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b'{"resource_providers": 1}'])
@pytest.mark.parametrize("arguments", [("list",), ("taint", "compute-1")])
def test_a_server_of_another_kind_is_one_line(
    host: Any, arguments: tuple[str, ...], body: bytes
) -> None:
    with answering(200, body) as url:
        code, out, err = host(*arguments, "--url", url)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "GET /: the response lists no versions of placement" in err


def test_repeated_requests_are_logged_only_with_debug(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__SYNC_AT_STARTUP", "true")  # no option
    program = Path(sys.executable).with_name("placement-manage")
    with answering(503, b"") as url:
        quiet, verbose = (
            subprocess.run(
                [program, "host", "list", "--url", url, *more],
                capture_output=True, text=True, check=False,
            ).stderr
            for more in ([], ["--debug"])
        )  # fmt: skip
    assert quiet.count("\n") == 1
    assert "Retriable status code 503" in verbose


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("taint", "compute-9"), "compute-9: there is no such host; did you mean compute-2?"),
        (("taint", "x"), "x: there is no such host; 'openstack resource provider list' shows"),
        (("taint", ""), "'': there is no such host; 'openstack resource provider list' shows"),
        (("taint", "h\udcff"), r"'\udcff' is not a character of utf-8"),
        (("taint", "numa"), f"numa: this provider belongs to the host {H1}; name that"),
        (("untaint", CHILD), f"{CHILD}: this provider belongs to the host"),
        (("taint", "compute-1", "--trait", "NO_SUCH_TRAIT"), "No such trait"),
    ],
)
def test_what_cannot_be_tainted_is_one_line(
    host: Any, server: tuple[str, Client, bool], arguments: tuple[str, ...], complaint: str
) -> None:
    code, out, err = host(*arguments, "--url", server[0])
    assert (code, out) == (1, "")
    assert complaint in err
    assert err.count("\n") == 1
