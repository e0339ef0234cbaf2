"""The command `placement-manage drain-check`, which shows the hosts that can be emptied."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from placement import cli
from tests.kit.builders import make_app
from tests.kit.listener import listening
from tests.kit.printed import complaints
from tests.kit.service import Client

HOSTS = [f"00000000-0000-0000-0000-0000000000c{number}" for number in (1, 2, 3)]
CONSUMERS = [f"cccccccc-0000-0000-0000-00000000000{number}" for number in (1, 2)]
CHILD = "00000000-0000-0000-0000-000000000010"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, Client]]:
    """A large host, a small one and an empty one, with a consumer on each of the first two."""
    client = Client(make_app(tmp_path))
    for uuid, total in zip(HOSTS, (8, 2, 0), strict=True):
        body: dict[str, Any] = {"name": f"compute-{uuid[-1]}", "uuid": uuid}
        client.expect(200, "POST", "/resource_providers", body)
        inventories = {"VCPU": {"total": total}} if total else {}
        stocked = {"inventories": inventories, "resource_provider_generation": 0}
        client.expect(200, "PUT", f"/resource_providers/{uuid}/inventories", stocked)
    child = {"name": "numa", "uuid": CHILD, "parent_provider_uuid": HOSTS[2]}
    client.expect(200, "POST", "/resource_providers", child)
    for consumer, host, amount in zip(CONSUMERS, HOSTS, (4, 2), strict=False):
        body = {
            "allocations": {host: {"resources": {"VCPU": amount}}},
            "project_id": "p",
            "user_id": "u",
            "consumer_type": "INSTANCE",
            "consumer_generation": None,
        }
        client.expect(204, "PUT", f"/allocations/{consumer}", body)
    with listening(client.application) as url:
        yield url, client


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str], server: tuple[str, Client]) -> Any:
    def run(*arguments: str) -> tuple[int, str, list[str]]:
        capsys.readouterr()
        code = cli.main(["drain-check", *arguments, "--url", server[0]])
        printed = capsys.readouterr()
        return code, printed.out, list(complaints(printed.err))

    return run


def test_a_host_whose_consumers_fit_elsewhere(check: Any) -> None:
    code, out, _err = check("compute-2", HOSTS[2])
    assert code == 0
    assert out == "2 of 2 hosts can be emptied, one at a time\n"


def test_a_host_with_a_consumer_that_fits_nowhere_else(check: Any) -> None:
    code, out, _err = check("compute-1", "compute-2")
    assert code == 3
    assert "1 of 2 hosts can be emptied" in out
    (line,) = [line for line in out.splitlines() if CONSUMERS[0] in line]
    assert "compute-1" in line
    assert "capacity" in line or "max_unit" in line


def test_all_hosts_as_json(check: Any) -> None:
    code, out, _err = check("--all", "--json")
    rows = json.loads(out)
    assert code == 3
    assert [(row["name"], row["evacuable"], row["moves"]) for row in rows] == [
        ("compute-1", False, 0),
        ("compute-2", True, 1),
        ("compute-3", True, 0),
    ]
    assert [each["consumer"] for each in rows[0]["stuck"]] == [CONSUMERS[0]]


def test_an_interrupted_run_is_continued(
    check: Any, server: tuple[str, Client], tmp_path: Path
) -> None:
    file = tmp_path / "results"
    _url, client = server
    assert check("compute-1", "--resume", str(file))[0] == 3
    (first,) = file.read_text().splitlines()
    file.write_text(f"{first}\n{first[:20]}")  # stopped within a line
    client.expect(204, "DELETE", f"/allocations/{CONSUMERS[0]}")
    code, out, _err = check("--all", "--resume", str(file))
    assert (code, "2 of 3 hosts" in out) == (3, True)  # the first result is kept
    assert len(file.read_text().splitlines()) == 3


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        ([], 2, "name hosts, or state --all"),
        (["compute-1", "--all"], 2, "name hosts, or state --all"),
        (["compute-9"], 1, "there is no such host"),
        ([CHILD], 1, "belongs to the host"),
        (["compute-1", "--resume", __file__], 1, "no result of drain-check"),
    ],
)
def test_what_cannot_be_checked(
    check: Any, arguments: list[str], code: int, complaint: str
) -> None:
    found, _out, err = check(*arguments)
    assert (found, complaint in "".join(err)) == (code, True), err
