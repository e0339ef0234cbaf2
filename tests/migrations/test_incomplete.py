"""Rows of very old databases: `db online_data_migrations` and `placement-status upgrade check`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import sqlalchemy as sa

from placement.cli import online_migrations
from placement.config import NIL_UUID
from placement.db import schema
from placement.db.engine import Database
from placement.entry import app, status
from tests.kit.printed import complaints
from tests.kit.rows import insert
from tests.migrations import existing
from tests.migrations.conftest import ENVIRONMENT

CONSUMERS = 3
NAMES = ("set_root_provider_ids", "create_incomplete_consumers")


def empty_rows(database: Database) -> None:
    """Create a tree of two providers without root ids, and consumers that only have allocations."""
    existing.make(database)
    with database.writer.begin() as conn:
        conn.execute(sa.text("UPDATE resource_providers SET root_provider_id = NULL"))
        conn.execute(sa.text("DELETE FROM consumers"))
        insert(
            conn,
            "allocations",
            *(
                {
                    "resource_provider_id": 1,
                    "consumer_id": f"c0000000-0000-4000-8000-00000000000{number}",
                    "resource_class_id": 0,
                    "used": 1,
                }
                for number in (1, 2, 2, 3)
            ),
        )


@pytest.fixture
def upgrade_check(manage: Any) -> Callable[..., int]:  # manage sets the environment
    return lambda *arguments: status.main(["upgrade", "check", *arguments])


def counts(out: str) -> dict[str, list[int]]:
    """Return the rows of the table that the command prints."""
    cells = [line.strip("|").split("|") for line in out.splitlines() if line.startswith("|")]
    assert [cell.strip() for cell in cells[0]] == ["Migration", "Total Found", "Completed"]
    return {row[0].strip(): [int(cell) for cell in row[1:]] for row in cells[1:]}


def test_all_rows_are_completed(
    database: Database, manage: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    empty_rows(database)
    assert manage("db", "online_data_migrations") == 0
    out = capsys.readouterr().out
    assert counts(out) == {NAMES[0]: [2, 2], NAMES[1]: [CONSUMERS, CONSUMERS]}
    assert manage("db", "online_data_migrations") == 0
    assert counts(capsys.readouterr().out) == {name: [0, 0] for name in NAMES}
    with database.read() as conn:
        roots = conn.execute(sa.text("SELECT root_provider_id FROM resource_providers"))
        assert [row[0] for row in roots] == [1, 1]
        consumers = conn.execute(
            sa.text(
                "SELECT p.external_id, u.external_id, c.generation, c.consumer_type_id"
                " FROM consumers c JOIN projects p ON p.id = c.project_id"
                " JOIN users u ON u.id = c.user_id"
            )
        )
        assert [tuple(row) for row in consumers] == [(NIL_UUID, NIL_UUID, 0, None)] * CONSUMERS


def test_rows_are_completed_a_few_at_a_time(
    database: Database, manage: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    empty_rows(database)
    done = []
    while manage("db", "online_data_migrations", "--max-count", "2") == 1:
        done.append(counts(capsys.readouterr().out))
    assert done == [
        {NAMES[0]: [2, 2]},
        {NAMES[0]: [0, 0], NAMES[1]: [2, 2]},
        {NAMES[0]: [0, 0], NAMES[1]: [1, 1]},
    ]


def test_an_empty_database_has_nothing_to_complete(
    database: Database, manage: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert manage("db", "online_data_migrations") == 2
    printed = capsys.readouterr()
    assert (printed.out, complaints(printed.err)) == (
        "",
        [f"placement: {online_migrations.NO_TABLES}"],
    )


def test_failed_items_are_reported_and_the_rest_is_done(
    database: Database, manage: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    empty_rows(database)
    with database.writer.begin() as conn:
        conn.execute(sa.text("UPDATE resource_providers SET parent_provider_id = 2 WHERE id = 1"))
    assert manage("db", "online_data_migrations") == 2
    printed = capsys.readouterr()
    [complaint] = complaints(printed.err)
    assert complaint.startswith(f"placement: {NAMES[0]} failed: ")
    assert "cycle" in complaint
    assert counts(printed.out) == {NAMES[0]: [0, 0], NAMES[1]: [CONSUMERS, CONSUMERS]}


def test_trees_that_are_completed_get_a_new_revision(database: Database, manage: Any) -> None:
    existing.make(database)
    app.migrate(database)
    with database.writer.begin() as conn:
        conn.execute(sa.text("UPDATE resource_providers SET root_provider_id = NULL WHERE id = 2"))
    query = sa.text("SELECT revision FROM resource_providers WHERE id = 1")
    with database.read() as conn:
        before = conn.execute(query).scalar_one()
    assert manage("db", "online_data_migrations") == 0
    with database.read() as conn:
        assert conn.execute(query).scalar_one() not in {0, before}


def test_the_upgrade_check_tells_the_worst(
    database: Database, manage: Any, upgrade_check: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    empty_rows(database)
    assert upgrade_check() == 2
    out = capsys.readouterr().out
    for words in ("Missing Root Provider IDs", "Failure", "Incomplete Consumers", "Warning"):
        assert words in out
    assert manage("db", "online_data_migrations", "--max-count", "2") == 1
    assert upgrade_check() == 1
    assert manage("db", "online_data_migrations") == 0
    assert upgrade_check() == 1  # the schema is still that of openstack-placement
    assert manage("db", "sync") == 0
    capsys.readouterr()
    assert upgrade_check("--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert [each["result"] for each in shown["checks"]] == [0] * 8


def test_an_upgrade_check_of_an_empty_database_names_the_command(
    database: Database, upgrade_check: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert upgrade_check("--json") == 2
    shown = json.loads(capsys.readouterr().out)
    # One check states the reason.
    assert [each["result"] for each in shown["checks"]] == [0, 0, 0, 0, 2]
    assert shown["checks"][-1]["check"] == "Schema Revision"
    assert shown["checks"][-1]["details"] == status.NO_TABLES


def test_an_upgrade_check_of_an_older_schema_names_the_command(
    database: Database,
    manage: Any,
    upgrade_check: Any,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    existing.make(database)
    assert manage("db", "sync") == 0
    with database.writer.begin() as conn:
        conn.execute(sa.text(f"UPDATE {schema.VERSION_TABLE} SET version_num = '0001'"))
    capsys.readouterr()
    compared = Mock(side_effect=schema.fits)
    monkeypatch.setattr(schema, "fits", compared)
    assert upgrade_check("--json") == 1
    assert compared.call_count == 1
    *_others, last = json.loads(capsys.readouterr().out)["checks"]
    assert last["details"] == status.OLD_SCHEMA.format("0001", schema.newest())


def test_an_upgrade_check_of_an_unknown_schema_says_what_db_sync_would(
    database: Database, manage: Any, upgrade_check: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    existing.make(database, "b4ed3a175331")
    assert manage("db", "sync") == 1
    refusal = capsys.readouterr().err.strip().removeprefix("placement: ")
    assert upgrade_check("--json") == 2
    shown = json.loads(capsys.readouterr().out)
    assert [each["details"] for each in shown["checks"]].count(refusal) == 1
    assert shown["checks"][-1]["details"] == refusal
    assert upgrade_check() == 2
    assert "b4ed3a175331" in capsys.readouterr().out


def test_a_policy_file_of_json_is_a_failure(
    database: Database, upgrade_check: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    existing.make(database)
    path = tmp_path / "policy.json"
    path.write_text('{"placement:traits:list": "@"}')
    monkeypatch.setenv("OS_OSLO_POLICY__POLICY_FILE", str(path))
    assert upgrade_check() == 2


def test_an_upgrade_check_without_a_database_is_255(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(ENVIRONMENT, "")
    assert status.main(["upgrade", "check"]) == 255
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "connection is not set" in line
