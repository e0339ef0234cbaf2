"""Every fault that `db check` detects is created in a database, detected and repaired."""

from __future__ import annotations

import io
import json
import sys
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa

from placement.cli import database as cli_database
from placement.db import tables as t
from placement.db.engine import Database
from placement.entry import app
from placement.objects import derived
from placement.operate import checks
from tests.kit.rows import contents, damage
from tests.migrations import existing

ADD_INVENTORY = (
    "INSERT INTO inventories (resource_provider_id, resource_class_id, total, reserved, min_unit,"
    " max_unit, step_size, allocation_ratio, capacity) VALUES ({}, {}, 1, 0, 1, 1, 1, 1, 1)"
)
ADD_ROOT = (
    "INSERT INTO resource_providers (id, uuid, name, generation, root_provider_id)"
    " VALUES ({0}, 'root {0}', 'root {0}', 0, {0})"
)
ADD_ALLOCATION = (
    "INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used)"
    f" VALUES ({{}}, '{existing.CONSUMER}', {{}}, 2)"
)
ADD_CONSUMER = (
    "INSERT INTO consumers (uuid, project_id, user_id, generation) VALUES ('idle', 1, 1, 0)"
)

MENDED = {
    "parents": ["UPDATE resource_providers SET parent_provider_id = 77 WHERE id = 2"],
    "roots": ["UPDATE resource_providers SET root_provider_id = 2 WHERE id = 2"],
    "lost-inventories": [ADD_INVENTORY.format(77, 0)],
    "lost-allocations": [ADD_ALLOCATION.format(77, 0)],
    "lost-traits": [
        "INSERT INTO resource_provider_traits (resource_provider_id, trait_id) VALUES (1, 7777)"
    ],
    "lost-aggregates": [
        "INSERT INTO resource_provider_aggregates (resource_provider_id, aggregate_id)"
        " VALUES (77, 3)"
    ],
    "no-consumer": ["DELETE FROM consumers"],
    "idle-consumers": [ADD_CONSUMER],
    "lost-records": [
        "INSERT INTO claim_records (consumer_id, consumer_uuid, consumer_created_at, project_id)"
        " VALUES (77, 'lost', '2001-01-01 00:00:00', 1)"
    ],
    "revision": ["UPDATE resource_providers SET revision = 0"],
    "used": ["UPDATE allocations SET used = 9"],
    "capacity": ["UPDATE inventories SET total = 11"],
}
HARMLESS = {"idle-consumers", "lost-records"}
LEFT = {
    "loops": ["UPDATE resource_providers SET parent_provider_id = 2 WHERE id = 1"],
    "unknown-classes": [ADD_INVENTORY.format(1, 7777)],
    "no-inventory": [ADD_ALLOCATION.format(1, 10000)],
    "no-owner": ["UPDATE consumers SET project_id = 77"],
}


def names(database: Database) -> list[str]:
    with database.read() as conn:
        return [each.name for each, _ in checks.find_faults(conn)]


@pytest.fixture
def adopted(database: Database) -> Database:
    existing.make(database)
    app.migrate(database)
    return database


def test_there_is_a_test_for_every_check() -> None:
    assert [each.name for each in checks.FAULTS if each.repair] == list(MENDED)
    assert {each.name for each in checks.FAULTS if not each.repair and each.wrong} == set(LEFT)


def test_a_sound_database_passes(adopted: Database, manage: Any, capsys: Any) -> None:
    assert manage("db", "check") == 0
    sound, unchecked = capsys.readouterr().out.splitlines()
    assert sound == "Nothing is wrong."
    assert unchecked.endswith("run: placement-manage db check --repair")
    assert manage("db", "check", "--repair") == 0
    assert capsys.readouterr().out.splitlines() == [
        "Repaired. Running services read all 1 trees again.",
        "Nothing is wrong.",
    ]


@pytest.mark.parametrize("name", MENDED)
def test_a_fault_is_found_and_mended(
    adopted: Database, manage: Any, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    damage(adopted, MENDED[name])
    assert manage("db", "check") == int(name not in HARMLESS)
    assert manage("db", "check", "--strict") == 1
    capsys.readouterr()
    manage("db", "check")
    lines = {line.partition(":")[0]: line for line in capsys.readouterr().out.splitlines()}
    assert "=" in lines[name]
    assert manage("db", "check", "--repair") == 0
    out = capsys.readouterr().out
    assert out.index("    repair: ") < out.index("Repaired.")
    assert names(adopted) == []
    assert manage("db", "check", "--strict") == 0


@pytest.mark.parametrize(
    ("name", "healed"),
    [
        ("lost-allocations", "UPDATE allocations SET resource_provider_id = 1"),
        ("no-consumer", f"UPDATE consumers SET uuid = '{existing.CONSUMER}'"),
    ],
)
def test_what_others_mend_meanwhile_is_left_alone(
    adopted: Database, monkeypatch: pytest.MonkeyPatch, name: str, healed: str
) -> None:
    damage(adopted, {**MENDED, "no-consumer": ["UPDATE consumers SET uuid = 'other'"]}[name])
    write = Database.write

    def late(database: Database, work: Any) -> Any:
        monkeypatch.setattr(Database, "write", write)
        damage(adopted, [healed])
        return write(database, work)

    (repair,) = [each.repair for each in checks.FAULTS if each.name == name]
    assert repair is not None
    before = rows(adopted)
    monkeypatch.setattr(Database, "write", late)
    repair(checks.Repair(adopted, ("project", "user")))
    assert rows(adopted) == before


def rows(database: Database) -> list[int]:
    """Return the numbers of allocations and of consumers."""
    with database.read() as conn:
        tables = (t.allocations, t.consumers)
        counts = [sa.select(sa.func.count()).select_from(table) for table in tables]
        return [conn.execute(count).scalar_one() for count in counts]


@pytest.mark.parametrize("last", [1, 2, 7])
def test_every_tree_is_counted(
    adopted: Database, monkeypatch: pytest.MonkeyPatch, last: int
) -> None:
    monkeypatch.setattr(derived, "TREES_PER_TRANSACTION", 2)
    monkeypatch.setattr(derived, "TREES_PER_CHECK", 3)
    roots = range(11, 18)
    damage(adopted, [ADD_ROOT.format(number) for number in roots])
    damage(adopted, [ADD_INVENTORY.format(number, 1) for number in roots])
    adopted.write(partial(derived.heal_next, after=10))
    with adopted.read() as conn:
        ids = conn.execute(sa.text("SELECT id FROM inventories ORDER BY id")).scalars().all()
    wrong = sorted({ids[0], ids[len(ids) // 2], ids[-last % len(ids)]})
    for row_id in wrong:
        damage(
            adopted,
            [f"UPDATE inventories SET used = used + 1, capacity = 77 WHERE id = {row_id}"],
        )
    with adopted.read() as conn:
        windows = list(derived.windows(conn))
        assert [len(window) for window in windows] == [3, 3, 2]
        for find in (derived.wrong_used, derived.wrong_capacities):
            assert sorted(row_id for each in windows for row_id in find(conn, each)) == wrong
    assert derived.heal(adopted) == (len(roots) + 1, len(wrong), len(wrong))
    assert names(adopted) == []


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("arguments", "verbs"),
    [
        (("db", "sync"), ["counting"]),
        (("db", "check"), ["checking"]),
        (("db", "check", "--repair"), ["checking", "repairing"]),
    ],
)
def test_a_terminal_is_shown_how_far_a_command_is(
    adopted: Database, manage: Any, monkeypatch: pytest.MonkeyPatch, arguments: Any, verbs: Any
) -> None:
    damage(adopted, MENDED["used"])
    terminal = Terminal()
    monkeypatch.setattr(cli_database, "PROGRESS_DELAY", 0)
    monkeypatch.setattr(sys, "stderr", terminal)
    manage(*arguments)
    for verb in verbs:
        assert f"{verb}: 100%" in terminal.getvalue()


@pytest.mark.parametrize("name", LEFT)
def test_a_fault_for_an_operator_is_reported_and_not_repaired(
    adopted: Database, manage: Any, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    damage(adopted, LEFT[name])
    with adopted.read() as conn:
        before = contents(conn)
    assert manage("db", "check", "--repair") == 1
    out = capsys.readouterr().out
    assert "left to the operator" in out
    assert names(adopted) == [name]
    with adopted.read() as conn:
        assert contents(conn) == before


def test_all_faults_at_once(adopted: Database, manage: Any) -> None:
    for damages in (*MENDED.values(), *LEFT.values()):
        damage(adopted, damages)
    assert manage("db", "check", "--repair") == 1
    assert set(names(adopted)) <= {*LEFT, "overcommitted"}


def test_more_used_than_there_is_is_no_fault(
    adopted: Database, manage: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    full = "total = used, reserved = 0, allocation_ratio = 1, capacity = used"
    damage(adopted, [f"UPDATE inventories SET {full}"])
    assert manage("db", "check", "--strict") == 0
    capsys.readouterr()
    damage(adopted, ["UPDATE inventories SET total = 2, reserved = 1, capacity = 1"])
    assert manage("db", "check") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("overcommitted: 1 ")
    assert lines[1] == "Nothing is wrong: the findings are harmless."
    assert manage("db", "check", "--strict") == 1
    assert manage("db", "check", "--strict", "--json") == 1
    assert manage("db", "check", "--strict", "--repair") == 1  # no repair changes it


def overcharge(database: Database, number: int) -> None:
    """Create this number of consumers without allocations."""
    damage(
        database,
        [ADD_CONSUMER.replace("idle", f"idle-{each:03}") for each in range(number)],
    )


def test_everything_is_listed_as_json(
    adopted: Database, manage: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert manage("db", "check", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"found": []}
    overcharge(adopted, 9)
    damage(adopted, [*LEFT["no-owner"], *MENDED["used"]])
    assert manage("db", "check", "--json") == 1
    (idle, owner, used) = json.loads(capsys.readouterr().out)["found"]
    assert (idle["name"], idle["count"], idle["repairable"]) == ("idle-consumers", 9, True)
    assert [row["consumer"] for row in idle["rows"]] == [f"idle-{each:03}" for each in range(9)]
    assert (owner["name"], owner["count"], owner["repairable"]) == ("no-owner", 10, False)
    assert used["rows"] == [
        {"provider": existing.ROOT, "class": "VCPU", "used": 4, "capacity": 13, "right": 9}
    ]
    assert manage("db", "check", "--json", "--repair") == 1
    shown = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in shown["found"]] == ["idle-consumers", "no-owner", "used"]
    assert [each["name"] for each in shown["left"]] == ["no-owner"]


def test_what_is_mended_is_right(adopted: Database) -> None:
    damage(adopted, [*MENDED["no-consumer"], *MENDED["parents"], *MENDED["used"]])
    checks.repair(adopted, ("mine", "me"))
    with adopted.read() as conn:
        consumer = conn.execute(
            sa.text(
                "SELECT c.uuid, p.external_id, u.external_id, c.generation FROM consumers c"
                " JOIN projects p ON p.id = c.project_id JOIN users u ON u.id = c.user_id"
            )
        ).one()
        assert tuple(consumer) == (existing.CONSUMER, "mine", "me", 0)
        trees = conn.execute(
            sa.text(
                "SELECT id, root_provider_id, parent_provider_id FROM resource_providers"
                " WHERE revision <> 0 ORDER BY id"
            )
        )
        assert [tuple(row) for row in trees] == [(1, 1, None), (2, 2, None)]
        assert conn.execute(sa.text("SELECT used FROM inventories")).scalar_one() == 9


def test_what_is_not_migrated_cannot_be_checked(
    database: Database, manage: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    existing.make(database)
    assert manage("db", "check") == 1
    assert "db sync" in capsys.readouterr().err
