"""The command `placement-manage drain-check`, which shows the hosts that can be emptied."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

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


NODE = "00000000-0000-0000-0000-000000000011"
POOL = "00000000-0000-0000-0000-000000000501"
RACK = "aaaaaaaa-0000-0000-0000-000000000001"
THIRD = "cccccccc-0000-0000-0000-000000000003"


def add_pool(client: Client) -> None:
    """A storage pool of compute-1, and PCPU below compute-1 alone."""
    client.expect(200, "POST", "/resource_providers", {"name": "pool", "uuid": POOL})
    traits = {"traits": ["MISC_SHARES_VIA_AGGREGATE"], "resource_provider_generation": 0}
    client.expect(200, "PUT", f"/resource_providers/{POOL}/traits", traits)
    child = {"name": "node", "uuid": NODE, "parent_provider_uuid": HOSTS[0]}
    client.expect(200, "POST", "/resource_providers", child)
    for uuid, name, generation in ((POOL, "DISK_GB", 1), (NODE, "PCPU", 0)):
        body = {"inventories": {name: {"total": 100}}, "resource_provider_generation": generation}
        client.expect(200, "PUT", f"/resource_providers/{uuid}/inventories", body)
    for uuid in (HOSTS[0], POOL):
        generation = client.get(f"/resource_providers/{uuid}")["generation"]
        joined = {"aggregates": [RACK], "resource_provider_generation": generation}
        client.expect(200, "PUT", f"/resource_providers/{uuid}/aggregates", joined)


def hold(client: Client, allocations: dict[str, dict[str, int]]) -> None:
    body = {
        "allocations": {uuid: {"resources": amounts} for uuid, amounts in allocations.items()},
        "project_id": "p",
        "user_id": "u",
        "consumer_type": "INSTANCE",
        "consumer_generation": None,
    }
    client.expect(204, "PUT", f"/allocations/{THIRD}", body)


def reason(check: Any, host: str) -> str:
    _code, out, _err = check(host, "--json")
    (row,) = json.loads(out)
    (text,) = (each["text"] for each in row["stuck"] if each["consumer"] == THIRD)
    return str(text)


def test_allocations_have_their_amounts_as_names_in_reasons(
    check: Any, server: tuple[str, Client]
) -> None:
    add_pool(server[1])
    hold(server[1], {HOSTS[0]: {"VCPU": 1}, NODE: {"PCPU": 2}})
    assert reason(check, "compute-1") == (
        "None of 2 hosts can serve the request (1 sharing provider is not counted). "
        "2 have no inventory of PCPU for the allocation of 2 PCPU."
    )


def test_a_pool_that_no_other_host_reaches_has_its_name_in_the_reason(
    check: Any, server: tuple[str, Client]
) -> None:
    add_pool(server[1])
    hold(server[1], {HOSTS[0]: {"VCPU": 1}, POOL: {"DISK_GB": 2}})
    text = "2 hosts do not reach pool, which the consumer uses as well."
    assert text in reason(check, "compute-1")
    assert reason(check, "pool").startswith("pool serves it only as a sharing provider")


def test_storage_pools_are_no_hosts(check: Any, server: tuple[str, Client]) -> None:
    client = server[1]
    add_pool(client)
    shares = {"inventories": {"DISK_GB": {"total": 9}}, "traits": ["MISC_SHARES_VIA_AGGREGATE"]}
    for name, of_root, of_child in (("rack", {}, shares), ("san", shares, {})):
        root, child = str(uuid4()), str(uuid4())
        providers = [
            {"uuid": root, "name": name, "parent_provider_uuid": None, **of_root},
            {"uuid": child, "name": f"{name}-0", "parent_provider_uuid": root, **of_child},
        ]
        client.expect(200, "PUT", f"/provider_trees/{root}", {"providers": providers}, "2.0")
    _code, out, _err = check("--all", "--json")
    assert [row["name"] for row in json.loads(out)] == ["compute-1", "compute-2", "compute-3"]


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        ([], 2, "name hosts, or state --all"),
        (["compute-1", "--all"], 2, "name hosts, or state --all"),
        (["compute-9"], 1, "there is no such host"),
        ([""], 1, "there is no such host"),
        ([CHILD], 1, "belongs to the host"),
        (["compute-1", "--resume", __file__], 1, "no result of drain-check"),
    ],
)
def test_what_cannot_be_checked(
    check: Any, arguments: list[str], code: int, complaint: str
) -> None:
    found, _out, err = check(*arguments)
    assert (found, complaint in "".join(err)) == (code, True), err
