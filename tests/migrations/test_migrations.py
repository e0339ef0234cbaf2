"""The revisions of the schema, one by one, and the commands that run them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command

from placement import cli
from placement.db import schema
from placement.db import tables as t
from placement.db.engine import Database
from tests.builders import settings

COLUMNS = (("inventories", "used"), ("inventories", "capacity"), ("resource_providers", "revision"))
ENVIRONMENT = "OS_PLACEMENT_DATABASE__CONNECTION"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'placement.db'}"


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    made = Database(settings(url).database)
    yield made
    made.dispose()


@pytest.fixture
def manage(url: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv(ENVIRONMENT, url)
    return lambda *arguments: cli.main(arguments)


def described(conn: sa.Connection, metadata: sa.MetaData) -> dict[str, Any]:
    inspector = sa.inspect(conn)
    found = {}
    for table in metadata.tables:
        columns = {
            column["name"]: (str(column["type"]), column["nullable"], bool(column["primary_key"]))
            for column in inspector.get_columns(table)
        }
        uniques = {
            (each["name"], tuple(each["column_names"]))
            for each in inspector.get_unique_constraints(table)
        }
        indexes = {
            (each["name"], tuple(each["column_names"]))
            for each in inspector.get_indexes(table)
            if not each["unique"]
        }
        found[table] = (columns, uniques, indexes)
    return found


def test_the_migrated_schema_is_the_declared_one(database: Database) -> None:
    database.write(schema.upgrade)
    other = sa.create_engine("sqlite://")
    with database.read() as migrated, other.connect() as declared:
        t.metadata.create_all(declared)
        assert described(migrated, t.metadata) == described(declared, t.metadata)
    other.dispose()


def existing(database: Database, version: str) -> None:
    """Make a database as openstack-placement leaves it, with an allocation in it."""
    with database.writer.begin() as conn:
        command.upgrade(schema._config(conn), "0001")
        conn.exec_driver_sql("DROP TABLE falcon_placement_version")
        conn.exec_driver_sql("UPDATE alembic_version SET version_num = ?", (version,))
        for statement in (
            "INSERT INTO resource_classes (id, name) VALUES (0, 'VCPU')",
            "INSERT INTO resource_providers (id, uuid, name, generation, root_provider_id) "
            "VALUES (1, 'u', 'n', 3, 1)",
            "INSERT INTO inventories (resource_provider_id, resource_class_id, total, reserved, "
            "min_unit, max_unit, step_size, allocation_ratio) VALUES (1, 0, 10, 1, 1, 10, 1, 1.5)",
            "INSERT INTO projects (id, external_id) VALUES (1, 'p')",
            "INSERT INTO users (id, external_id) VALUES (1, 'u')",
            "INSERT INTO consumers (uuid, project_id, user_id, generation) VALUES ('c', 1, 1, 1)",
            "INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used) "
            "VALUES (1, 'c', 0, 4)",
        ):
            conn.exec_driver_sql(statement)


def derived(database: Database) -> tuple[int, int, int]:
    with database.read() as conn:
        used, capacity = conn.exec_driver_sql("SELECT used, capacity FROM inventories").one()
        revision = conn.exec_driver_sql("SELECT revision FROM resource_providers").scalar()
    return used, capacity, revision


@pytest.mark.parametrize("version", ["a082b8bb98d0", "422ece571366"])
@pytest.mark.parametrize("done", range(4))
def test_an_existing_database_is_adopted_even_after_an_interruption(
    database: Database, manage: Any, version: str, done: int
) -> None:
    existing(database, version)
    with database.writer.begin() as conn:
        for table, name in COLUMNS[:done]:
            conn.exec_driver_sql(f"ALTER TABLE {table} ADD COLUMN {name} BIGINT DEFAULT 0 NOT NULL")
    assert manage("db", "sync") == 0
    used, capacity, revision = derived(database)
    assert (used, capacity) == (4, 13)
    assert revision > 0
    with database.read() as conn:
        assert schema.adopted_version(conn) == version
        assert schema.version(conn) == schema.newest()


def test_db_sync_recounts_after_a_stay_elsewhere(database: Database, manage: Any) -> None:
    existing(database, "a082b8bb98d0")
    assert manage("db", "sync") == 0
    revision = derived(database)[2]
    with database.writer.begin() as conn:
        conn.exec_driver_sql("UPDATE allocations SET used = 7")
        conn.exec_driver_sql("UPDATE inventories SET total = 20")
    assert manage("db", "sync") == 0
    used, capacity, renewed = derived(database)
    assert (used, capacity) == (7, 28)
    assert renewed != revision


def test_an_unknown_schema_is_refused_in_one_line_and_left_alone(
    database: Database, manage: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    existing(database, "b4ed3a175331")
    assert manage("db", "sync") == 1
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "b4ed3a175331" in line
    with database.read() as conn:
        columns = sa.inspect(conn).get_columns("inventories")
    assert not {"used", "capacity"} & {column["name"] for column in columns}


def test_versions_are_printed_and_stamped(manage: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert manage("db", "version") == 0
    assert capsys.readouterr().out == "none (no tables)\n"
    assert manage("db", "sync") == 0
    assert manage("db", "version") == 0
    assert capsys.readouterr().out == "0002 (tables of a082b8bb98d0)\n"
    assert manage("db", "stamp", "0001") == 0
    assert manage("db", "version") == 0
    assert capsys.readouterr().out.startswith("0001 ")
    assert manage("db", "sync") == 0
    assert manage("db", "stamp", "nothing") == 1
    assert "nothing" in capsys.readouterr().err


def test_help_and_its_exit_codes(manage: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert manage() == 1
    assert "load-cloud" in capsys.readouterr().out
    assert manage("db") == 0
    assert "sync" in capsys.readouterr().out
    with pytest.raises(SystemExit) as stopped:
        manage("--version")
    assert not stopped.value.code


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("", "connection is not set"),
        ("sqlite:////no/such/directory/placement.db", "unable to open"),
        ("nonsense", "connection cannot be used"),
        ("nothing://host/name", "connection cannot be used"),
    ],
)
def test_a_database_that_cannot_be_used_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], url: str, words: str
) -> None:
    monkeypatch.setenv(ENVIRONMENT, url)
    assert cli.main(["db", "sync"]) == 1
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert words in line
