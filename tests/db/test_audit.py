"""`placement-manage audit`: its findings, its statements, and its deletions."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from placement import cli
from placement.db import tables as t
from placement.operate import checks
from placement.operate.findings import WITHOUT_OWNER, Inspection, Owners, Row
from tests.kit.cloud import SHARING, aggregate_uuid, building, consumer_uuid, provider_uuid
from tests.kit.service import Service, claim
from tests.kit.statements import counted

FIRST, SECOND, SHARED = provider_uuid(1), provider_uuid(3), provider_uuid(4)

FUTURE = datetime(2100, 1, 1)

UNCHECKED = "Owners of consumers were not checked: --owners FILE names them.\n"

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """Two hosts, the first with a child, and storage that both reach.

    host1 VCPU 8            host2 VCPU 8     storage DISK_GB 1000 (shares)
     +- child VGPU 4
    """
    with Service(tmp_path) as service:
        with building(service.database.writer) as cloud:
            own = [aggregate_uuid(1)]
            host = cloud.add("host1", {"VCPU": 8}, aggregates=own)
            cloud.add("child", {"VGPU": 4}, parent=host)
            cloud.add("host2", {"VCPU": 8}, aggregates=own)
            cloud.add("storage", {"DISK_GB": 1000}, traits=[SHARING], aggregates=own)
        yield service


@pytest.fixture
def run(
    service: Service, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Run the command on the service's database. Return its exit code, output and errors."""

    def audit_command(*arguments: str, stdin: str = "") -> tuple[int, str, str]:
        url = service.settings.database.connection
        monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", url)
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        capsys.readouterr()
        code = cli.main(["audit", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return audit_command


def use(service: Service, number: int, *amounts: tuple[str, str, int], **owner: Any) -> str:
    """Create a consumer with these (provider, class, amount) allocations. Return its uuid."""
    uuid = consumer_uuid(number)
    body = claim({provider: {name: n} for provider, name, n in amounts}, **owner)
    service.expect(204, "PUT", f"/allocations/{uuid}", body)
    return uuid


def owners(tmp_path: Path, *uuids: str) -> str:
    path = tmp_path / "owners"
    path.write_text("".join(f"{uuid}\n" for uuid in uuids))
    return str(path)


def shrink(service: Service, provider: str, name: str, **record: int) -> None:
    path = f"/resource_providers/{provider}/inventories"
    body = service.get(path)
    body["inventories"][name] |= record
    service.expect(200, "PUT", path, body)


def rows(output: str, name: str) -> Any:
    return json.loads(output)[name]["rows"]


# -- what is found ----------------------------------------------------------------------------


def test_a_sound_cloud_has_nothing_to_tell(service: Service, run: Run, tmp_path: Path) -> None:
    known = use(service, 1, (FIRST, "VCPU", 8), (provider_uuid(2), "VGPU", 1))
    assert run() == (0, f"Nothing was found.\n{UNCHECKED}", "")
    assert run("-f", "value") == (0, "", UNCHECKED)
    assert run("--check", "several-trees") == (0, "Nothing was found.\n", "")
    every = ("--owners", owners(tmp_path, known), "--older-than=-60")
    assert run(*every) == (0, "Nothing was found.\n", "")
    assert run(*every, "-f", "value") == (0, "", "")


def test_inventories_over_capacity_are_listed_with_the_excess(service: Service, run: Run) -> None:
    use(service, 1, (FIRST, "VCPU", 6))
    shrink(service, FIRST, "VCPU", total=5, reserved=1)
    code, out, _err = run("-f", "json")
    assert code == 3
    assert rows(out, "over-capacity") == [
        {
            "provider": FIRST,
            "name": "host1",
            "resource_class": "VCPU",
            "used": 6,
            "capacity": 4,
            "excess": 2,
        }
    ]
    assert run("-f", "value") == (3, f"over-capacity {FIRST} host1 VCPU 6 4 2\n", UNCHECKED)
    assert run("--check", "several-trees")[0] == 0
    table = run()[1].splitlines()
    assert table[0] == "over-capacity: 1 inventories whose usage exceeds their capacity"
    assert [cell.strip() for cell in table[4].strip("|").split("|")][1:] == (
        ["host1", "VCPU", "6", "4", "2"]
    )


def test_hosts_that_lack_the_trait_of_nova_are_listed_if_others_have_it(
    service: Service, run: Run
) -> None:
    assert run("--check", "without-nova") == (0, "Nothing was found.\n", "")
    body = {"resource_provider_generation": 0, "traits": ["OWNER_NOVA"]}
    service.expect(200, "PUT", f"/resource_providers/{FIRST}/traits", body)
    found = f"without-nova {SECOND} host2\n"  # neither the child nor the storage
    assert run("--check", "without-nova", "-f", "value") == (3, found, "")


def test_consumers_without_owner_are_missing_in_the_list(
    service: Service, run: Run, tmp_path: Path
) -> None:
    known = use(service, 1, (FIRST, "VCPU", 1))
    lost = use(service, 2, (FIRST, "VCPU", 1), project="p", user="u", kind="MIGRATION")
    path = owners(tmp_path, "ID", "", f'"{known.upper()}"', provider_uuid(9))
    every = ("--owners", path, "--older-than=-60")
    code, out, _err = run(*every, "-f", "json")
    assert code == 3
    (row,) = rows(out, "without-owner")
    assert row | {"created": ""} == {
        "consumer": lost,
        "type": "MIGRATION",
        "project": "p",
        "user": "u",
        "created": "",
        "generation": 1,
    }
    assert run(*every, "--consumer-type", "INSTANCE")[0] == 0
    assert run(*every, "--consumer-type", "INSTANCE", "--consumer-type", "MIGRATION")[0] == 3
    # Young ones may be of servers that were made after the list.
    assert run("--owners", path)[0] == 0
    code, out, _err = run("--owners", "-", "--older-than=-60", "-f", "value", stdin=lost)
    assert (code, out.split()[:2]) == (3, ["without-owner", known])


@pytest.mark.parametrize(
    "stored", [str.upper, lambda uuid: uuid.replace("-", "")], ids=["capitals", "no dashes"]
)
def test_an_owner_is_recognised_in_any_form_of_its_uuid(
    service: Service, run: Run, tmp_path: Path, stored: Callable[[str], str]
) -> None:
    """Rows of an adopted database may not have the canonical form."""
    known, lost = (use(service, number, (FIRST, "VCPU", 1)) for number in (1, 2))
    with service.database.writer.begin() as conn:
        for column in (t.consumers.c.uuid, t.allocations.c.consumer_id):
            for uuid in (known, lost):
                assert stored(uuid) != uuid
                new = {column.name: stored(uuid)}
                conn.execute(sa.update(column.table).where(column == uuid).values(new))
    every = ("--owners", owners(tmp_path, known), "--older-than=-60", "-f", "value")
    code, out, _err = run(*every)
    assert (code, [line.split()[1] for line in out.splitlines()]) == (3, [stored(lost)])
    code, _out, err = run(*every, "--delete", "--yes")
    assert (code, err.splitlines()[-1]) == (0, "deleted: 1; changed or deleted since: 0")
    assert service.get(f"/allocations/{stored(known)}")["allocations"]
    assert not service.get(f"/allocations/{stored(lost)}")["allocations"]
    service.check_used()


def test_a_consumer_without_type_is_of_the_type_unknown(
    service: Service, run: Run, tmp_path: Path
) -> None:
    body = claim({FIRST: {"VCPU": 1}})
    del body["consumer_type"]
    service.expect(204, "PUT", f"/allocations/{consumer_uuid(1)}", body, "1.37")
    every = ("--owners", owners(tmp_path, FIRST), "--older-than=-60", "-f", "value")
    assert run(*every, "--consumer-type", "unknown")[0] == 3
    assert run(*every, "--consumer-type", "INSTANCE")[0] == 0


def test_consumers_on_several_trees_are_listed_except_for_shared_storage(
    service: Service, run: Run
) -> None:
    use(service, 1, (FIRST, "VCPU", 1), (provider_uuid(2), "VGPU", 1), (SHARED, "DISK_GB", 5))
    assert run()[0] == 0
    both = use(service, 2, (FIRST, "VCPU", 1), (SECOND, "VCPU", 1), (SHARED, "DISK_GB", 5))
    others = use(service, 3, (SECOND, "VCPU", 1), (provider_uuid(2), "VGPU", 1))
    code, out, _err = run("-f", "json", "--check", "several-trees")
    assert code == 3
    assert rows(out, "several-trees") == [
        {"consumer": uuid, "trees": 2, "roots": ["host1", "host2"]} for uuid in (both, others)
    ]
    assert run("-f", "value")[1].splitlines()[0] == f"several-trees {both} 2 host1,host2"


def test_cards_that_serve_in_several_ways_are_listed(
    service: Service, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    card, below = provider_uuid(2), provider_uuid(5)  # the child is the card
    created = {"name": "slice", "uuid": below, "parent_provider_uuid": card}
    service.expect(200, "POST", "/resource_providers", created)
    for path in ("/traits/CUSTOM_CARD", "/resource_classes/CUSTOM_SLICE"):
        service.expect(201, "PUT", path)
    traits = {"resource_provider_generation": 0, "traits": ["CUSTOM_CARD"]}
    service.expect(200, "PUT", f"/resource_providers/{card}/traits", traits)
    for provider, generation, classes in (
        (card, 1, ("PGPU", "VGPU")),
        (below, 0, ("CUSTOM_SLICE",)),
    ):
        inventories = {name: {"total": 4} for name in classes}
        body = {"resource_provider_generation": generation, "inventories": inventories}
        service.expect(200, "PUT", f"/resource_providers/{provider}/inventories", body)
    use(service, 1, (card, "VGPU", 1))
    use(service, 2, (below, "CUSTOM_SLICE", 1))
    assert run("--check", "exclusive") == (0, "Nothing was found.\n", "")
    monkeypatch.setenv("OS_PLACEMENT__EXCLUSIVE", "CUSTOM_CARD")
    code, out, _err = run("--check", "exclusive", "-f", "json")
    assert code == 3
    row = {"provider": card, "name": "child", "serves": ["VGPU"], "below": ["CUSTOM_SLICE"]}
    assert rows(out, "exclusive") == [row]
    service.expect(204, "DELETE", f"/allocations/{consumer_uuid(1)}")
    assert run("--check", "exclusive") == (0, "Nothing was found.\n", "")
    use(service, 3, (card, "VGPU", 1))
    use(service, 4, (card, "PGPU", 1))
    out = run("--check", "exclusive", "-f", "value")[1]
    assert out == f"exclusive {card} child PGPU,VGPU CUSTOM_SLICE\n"


def test_empty_projects_are_listed_and_not_wrong(service: Service, run: Run) -> None:
    uuid = use(service, 1, (FIRST, "VCPU", 1), project="left")
    use(service, 2, (FIRST, "VCPU", 1), project="busy")
    service.expect(204, "DELETE", f"/allocations/{uuid}")
    assert run("-f", "value") == (0, "empty-projects left\n", UNCHECKED)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "the list of owners is empty"),
        ("ID\n\n", "the list of owners is empty"),
        (f"{FIRST}\n<html>\n", ":2: '<html>' is not a UUID"),
        (None, "cannot be read: No such file or directory"),
        ("\udcff", "cannot be read: it is not UTF-8 text"),
    ],
)
def test_a_list_that_is_none_is_refused(
    run: Run, tmp_path: Path, text: str | None, complaint: str
) -> None:
    path = tmp_path / "owners"
    if text is not None:
        path.write_bytes(text.encode(errors="surrogateescape"))
    code, out, err = run("--owners", str(path))
    assert (code, out) == (1, "")
    assert complaint in err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--delete"], "--delete needs --owners"),
        (["--check", "without-owner"], "needs --owners"),
        (["--delete", "--owners", "owners"], "--delete needs --yes"),
        (["--older-than", "99999999999", "--owners", "owners"], "is before the first year"),
        (["--older-than", "9" * 20, "--owners", "owners"], "is before the first year"),
    ],
)
def test_what_is_asked_must_fit_together(run: Run, arguments: list[str], complaint: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert complaint in err


# -- how much is asked ------------------------------------------------------------------------


@pytest.mark.parametrize("count", [5, 300])
def test_the_number_of_statements_does_not_follow_that_of_consumers(
    service: Service, count: int
) -> None:
    fill(service, count)
    everybody = Owners({FIRST}, FUTURE)
    with counted(service.database) as statements, service.database.read() as conn:
        inspection = Inspection(conn, owners=everybody)
        found = {check.name: check.find(inspection).count for check in checks.REVIEWS}
    assert found["without-owner"] == found["several-trees"] == count
    assert len(statements) == 7  # a page of consumers, an empty one, and five more


@pytest.mark.parametrize("count", [5, 100])
def test_deleting_takes_as_many_statements_for_one_as_for_a_hundred(
    service: Service, count: int
) -> None:
    fill(service, count)
    listed = found_without_owner(service)
    work = partial(checks.delete_unchanged, listed)
    with counted(service.database) as statements:
        assert service.database.write(work) == count
    assert len(statements) <= 12
    assert found_without_owner(service) == []
    service.check_used()


def test_consumers_are_read_in_pages(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(service, 7)
    monkeypatch.setattr("placement.operate.findings.PAGE", 3)
    assert [row["consumer"] for row in found_without_owner(service)] == [
        consumer_uuid(number) for number in range(1, 8)
    ]


def fill(service: Service, count: int) -> None:
    """Create this number of consumers, which use two trees each."""
    for host in (FIRST, SECOND):
        path = f"/resource_providers/{host}/inventories"
        body = service.get(path)
        body["inventories"]["VCPU"] |= {"total": 1000, "max_unit": 1000}
        service.expect(200, "PUT", path, body)
    claims = {
        consumer_uuid(number): claim({FIRST: {"VCPU": 1}, SECOND: {"VCPU": 1}})
        for number in range(1, count + 1)
    }
    service.expect(204, "POST", "/allocations", claims)


def found_without_owner(service: Service) -> Sequence[Row]:
    (check,) = (each for each in checks.REVIEWS if each.name == WITHOUT_OWNER)
    with service.database.read() as conn:
        return check.find(Inspection(conn, owners=Owners({FIRST}, FUTURE))).rows


# -- what is deleted --------------------------------------------------------------------------


def test_only_consumers_without_owner_are_deleted(
    service: Service, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("placement.cli.audit.BATCH", 2)
    known = use(service, 1, (FIRST, "VCPU", 1))
    for number in range(2, 7):
        use(service, number, (FIRST, "VCPU", 1), (SHARED, "DISK_GB", 10))
    every = ("--owners", owners(tmp_path, known), "--older-than=-60", "-f", "value", "--delete")
    code, out, err = run(*every, "--yes")
    assert code == 0
    assert len(out.splitlines()) == 5
    assert err.splitlines()[-1] == "deleted: 5; changed or deleted since: 0"
    assert service.get(f"/allocations/{known}")["allocations"]
    assert service.get(f"/resource_providers/{FIRST}/usages")["usages"] == {"VCPU": 1}
    assert service.get(f"/resource_providers/{SHARED}/usages")["usages"] == {"DISK_GB": 0}
    service.check_used()


def test_a_concurrently_changed_consumer_stays(service: Service) -> None:
    written, again, gone, lost = (
        use(service, number, (FIRST, "VCPU", 1)) for number in range(1, 5)
    )
    listed = found_without_owner(service)
    # One is written again, one is deleted and claimed again, and one is deleted.
    body = claim({FIRST: {"VCPU": 2}}, generation=1)
    service.expect(204, "PUT", f"/allocations/{written}", body)
    for uuid in (again, gone):
        service.expect(204, "DELETE", f"/allocations/{uuid}")
    use(service, 2, (FIRST, "VCPU", 1))
    assert service.database.write(partial(checks.delete_unchanged, listed)) == 1
    assert service.get(f"/allocations/{lost}")["allocations"] == {}
    for uuid in (written, again):
        assert service.get(f"/allocations/{uuid}")["allocations"]
    service.check_used()


def test_the_confirmation_can_be_declined(
    service: Service, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(service, 1, (FIRST, "VCPU", 1))
    monkeypatch.setattr("placement.cli.audit._can_ask", lambda: True)
    every = ("--owners", owners(tmp_path, FIRST), "--older-than=-60", "--delete")
    for answer in ("", "n", "nonsense"):
        code, out, _err = run(*every, stdin=f"{answer}\n")
        assert code == 3
        assert out.endswith("Delete the allocations of 1 consumers? [y/N] ")
    assert run(*every, stdin="")[0] == 3  # Ctrl-D
    assert len(found_without_owner(service)) == 1
    assert run(*every, stdin="y\n")[0] == 0
    assert found_without_owner(service) == []


def test_a_database_that_is_not_migrated_is_one_line(service: Service, run: Run) -> None:
    with service.database.writer.begin() as conn:
        conn.execute(sa.text("DROP TABLE falcon_placement_version"))
    code, out, err = run()
    assert (code, out) == (1, "")
    assert len(err.splitlines()) == 1
