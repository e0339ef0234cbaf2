"""The command `placement-manage headroom`, and the client's function and method for it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from falcon_placement_client import ReportClient
from falcon_placement_client import headroom as client_headroom
from falcon_placement_client.identity import connect
from placement import cli
from placement.api.operations import providers
from tests.kit.builders import make_app
from tests.kit.listener import listening
from tests.kit.service import Client, inventories

RACK = "aaaaaaaa-0000-0000-0000-0000000000a1"
LARGE = "resources:VCPU=4"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with two hosts of 8 and 6 processors, the second one in a rack."""
    application = make_app(tmp_path_factory.mktemp("headroom"))
    uuids = add_hosts(Client(application), {"VCPU": 8}, {"VCPU": 6})
    body = {"aggregates": [RACK], "resource_provider_generation": 1}
    Client(application).expect(200, "PUT", f"/resource_providers/{uuids[1]}/aggregates", body)
    with listening(application) as url:
        yield url


def add_hosts(client: Client, *hosts: Mapping[str, int]) -> list[str]:
    """Add hosts with these inventories."""
    uuids = []
    for number, totals in enumerate(hosts, 1):
        uuid = f"00000000-0000-0000-0000-0000000000c{number}"
        client.expect(200, "POST", "/resource_providers", {"name": f"host-{number}", "uuid": uuid})
        body = inventories(0, **totals)
        client.expect(200, "PUT", f"/resource_providers/{uuid}/inventories", body)
        uuids.append(uuid)
    return uuids


@pytest.fixture
def headroom(capsys: pytest.CaptureFixture[str], url: str) -> Any:
    def run(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = cli.main(["headroom", *arguments, "--url", url])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def test_a_table_says_at_least_where_more_may_fit(
    headroom: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_headroom, "MAX_LIMIT", 2)
    _code, out, _err = headroom("--flavor", LARGE)
    assert "at least 2" in out


def test_a_table_shows_how_many_fit_and_what_limits_the_hosts(headroom: Any) -> None:
    code, out, _err = headroom("--flavor", LARGE)
    assert code == 0
    cells = [cell.strip() for cell in out.splitlines()[3].split("|")[1:-1]]
    assert cells == ["flavor", "all hosts", "3", "2", "2", "VCPU on 2 hosts"]


GPUS = ({"VCPU": 6, "VGPU": 8}, {"VCPU": 80, "VGPU": 2})


@pytest.mark.parametrize(
    ("hosts", "words"),
    [
        (GPUS, "VCPU on 1 host, VGPU on 1 host"),
        ((), "VGPU (no_inventory) on 3 hosts"),
        (({"VCPU": 2, "VGPU": 8},), "VCPU on 1 host, VGPU (no_inventory) on 3 hosts"),
    ],
)
def test_hosts_without_the_class_are_no_bottleneck_if_others_serve(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    hosts: Sequence[Mapping[str, int]],
    words: str,
) -> None:
    application = make_app(tmp_path)
    add_hosts(Client(application), *[{"VCPU": 40}] * 3, *hosts)
    flavor = ["--flavor", "resources:VCPU=4", "resources:VGPU=1"]
    with listening(application) as url:
        cli.main(["headroom", *flavor, "--url", url])
        cells = [cell.strip() for cell in capsys.readouterr().out.splitlines()[3].split("|")[1:-1]]
        assert cells[-1] == words
        cli.main(["headroom", *flavor, "--url", url, "--json"])
        (row,) = json.loads(capsys.readouterr().out)
    (lacking,) = [each for each in row["limited_by"] if each["code"] == "no_inventory"]
    assert (lacking["resource_class"], lacking["hosts"]) == ("VGPU", 3)
    assert sum(each["hosts"] for each in row["limited_by"]) == 3 + len(hosts)


def test_a_file_names_flavors_and_requests(headroom: Any, tmp_path: Path) -> None:
    path = tmp_path / "flavors.yaml"
    path.write_text(
        'm1.small: {"resources:VCPU": 2}\nm1.huge: {groups: {"": {resources: {VCPU: 7}}}}\n'
    )
    code, out, _err = headroom("--file", str(path), "--json", "--by-aggregate")
    rows = {(row["name"], row["aggregate"]): row["fits"] for row in json.loads(out)}
    assert rows == {
        ("m1.small", None): 7,
        ("m1.small", RACK): 3,
        ("m1.huge", None): 1,
        ("m1.huge", RACK): 0,
    }
    assert code == 0


def test_aggregates_are_read_from_all_pages_of_hosts(
    headroom: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(providers, "MAX_WITH_PARTS", 1)
    _code, out, _err = headroom("--flavor", LARGE, "--json", "--by-aggregate")
    assert [row["aggregate"] for row in json.loads(out)] == [None, RACK]


def test_the_exit_code_says_that_a_flavor_does_not_fit(headroom: Any) -> None:
    assert headroom("--flavor", "resources:VCPU=9")[0] == 3


@pytest.mark.parametrize(
    ("content", "complaint"),
    [("", "the file is empty"), ("m1: 5", "m1: expected"), ("m1: {a: 1}", "m1: ")],
)
def test_a_faulty_file_is_named(
    headroom: Any, tmp_path: Path, content: str, complaint: str
) -> None:
    path = tmp_path / "flavors.yaml"
    path.write_text(content)
    code, out, err = headroom("--file", str(path))
    assert (code, out) == (1, "")
    assert str(path) in err
    assert complaint in err


def test_a_flavor_or_a_file_is_needed(headroom: Any) -> None:
    assert headroom()[0] == 2


def test_the_client_returns_the_numbers(url: str) -> None:
    client = ReportClient(connect(url, "admin"))
    request: Any = {"groups": {"": {"resources": {"VCPU": 4}}}}
    found = client.headroom({"requests": {"m1.large": request}, "by": [RACK]})["m1.large"]
    assert (found["fits"], found["exact"], found["by"][RACK]["fits"]) == (3, True, 1)
    assert found["limited_by"][0]["resource_class"] == "VCPU"
