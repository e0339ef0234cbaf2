"""This release on a database that a later release has migrated, as during an upgrade."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa

from placement.db import schema
from placement.db.engine import Database
from placement.entry import app
from placement.errors import ConfigurationError
from placement.objects import derived
from tests.migrations import existing

FITS = "0099_since_0003"
TOO_LATE = ("0099", "0099_since_0098")


def migrate_later(database: Database, revision: str) -> None:
    """Change the schema like a later release."""
    existing.make(database)
    app.migrate(database)
    with database.writer.begin() as conn:
        conn.execute(sa.text("ALTER TABLE inventories ADD COLUMN later INTEGER"))
        conn.execute(sa.text(f"UPDATE {schema.VERSION_TABLE} SET version_num = '{revision}'"))


def version(database: Database) -> str | None:
    with database.read() as conn:
        return schema.version(conn)


@pytest.mark.parametrize("sync", [False, True])
def test_a_process_starts_on_a_later_schema_that_only_adds(database: Database, sync: bool) -> None:
    migrate_later(database, FITS)
    app.prepare(database, sync=sync)
    assert version(database) == FITS


@pytest.mark.parametrize("revision", TOO_LATE)
def test_a_process_refuses_a_later_schema_that_takes_away_and_says_what_to_start(
    database: Database, revision: str
) -> None:
    migrate_later(database, revision)
    with pytest.raises(ConfigurationError, match=f"{revision}, .* start the release that made it"):
        app.prepare(database, sync=False)
    assert version(database) == revision


def test_a_sync_of_this_release_leaves_a_later_schema_and_says_so(
    database: Database, manage: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    migrate_later(database, FITS)
    with database.writer.begin() as conn:
        conn.execute(sa.text("UPDATE inventories SET used = 1"))
    assert manage("db", "sync") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == (
        f"schema: {FITS}, of a later release, is kept; this release needs {schema.newest()}"
    )
    assert "used corrected of 1" in lines[3]
    assert version(database) == FITS
    with database.read() as conn:
        assert derived.is_correct(conn)
        assert "later" in {column["name"] for column in sa.inspect(conn).get_columns("inventories")}
    assert manage("db", "check") == 0


@pytest.mark.parametrize("revision", TOO_LATE)
@pytest.mark.parametrize("command", ["sync", "check"])
def test_commands_refuse_in_one_line_what_they_cannot_work_on(
    database: Database,
    manage: Any,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    revision: str,
    command: str,
) -> None:
    monkeypatch.setattr(app, "MIGRATE_PAUSE", 0)
    migrate_later(database, revision)
    assert manage("db", command) == 1
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert revision in line
    assert version(database) == revision
