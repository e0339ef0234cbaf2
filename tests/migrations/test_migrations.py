"""The revisions of the schema, one at a time, and the commands that run them."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from placement import cli
from placement.db import revisions, schema
from placement.db import tables as t
from placement.db.dialects.errors import RIGHT
from placement.db.engine import Database
from placement.entry import app, status
from placement.errors import ConfigurationError, DatabaseUnusable
from placement.objects import catalog, derived
from tests.kit import charsets
from tests.kit.builders import database_url, settings
from tests.kit.engines import FAMILY, empty_database
from tests.kit.processes import REPOSITORY
from tests.kit.rows import assert_nothing_else_changed, contents
from tests.kit.service import Client, Service, claim
from tests.migrations import existing
from tests.migrations.conftest import ENVIRONMENT

ADOPTABLE = ["a082b8bb98d0", "422ece571366"]

# Forked after the imports, which take longer than a sync, so the syncs also start closer together.
SYNCS = """
import os
from placement.entry import app
from placement.cli import main

for _ in range(3):
    if os.fork() == 0:
        os._exit(main(["db", "sync"]))
print([os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(3)])
"""


def described(conn: sa.Connection, names: Iterable[str]) -> dict[str, Any]:
    inspector = sa.inspect(conn)
    found = {}
    for table in names:
        columns = {
            column["name"]: (str(column["type"]), column["nullable"], column["default"])
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
        keys = {
            (tuple(each["constrained_columns"]), each["referred_table"])
            for each in inspector.get_foreign_keys(table)
        }
        primary = tuple(inspector.get_pk_constraint(table)["constrained_columns"])
        found[table] = (columns, uniques, indexes, keys, primary)
    return found


@pytest.fixture
def declared(tmp_path: Path) -> dict[str, Any]:
    """The tables that the service declares, as the engine describes them."""
    other = Database(settings(empty_database(tmp_path)).database)
    with other.writer.begin() as conn:
        t.metadata.create_all(conn)
    with other.read() as conn:
        found = described(conn, t.metadata.tables)
    other.dispose()
    return found


def test_the_migrated_schema_is_the_declared_one(
    database: Database, declared: dict[str, Any]
) -> None:
    database.write(revisions.upgrade)
    with database.read() as conn:
        assert described(conn, t.metadata.tables) == declared


def test_a_sync_creates_lost_indexes(database: Database, declared: dict[str, Any]) -> None:
    existing.make(database)
    app.migrate(database)
    with database.writer.begin() as conn:
        for table in t.metadata.tables.values():
            for index in table.indexes:
                if not any(column.foreign_keys for column in index.columns):
                    index.drop(conn)
    app.migrate(database)
    with database.read() as conn:
        assert described(conn, declared) == declared


def derived_columns(database: Database) -> tuple[int, int, int]:
    with database.read() as conn:
        used, capacity = conn.execute(sa.text("SELECT used, capacity FROM inventories")).one()
        revision = conn.execute(
            sa.text("SELECT revision FROM resource_providers WHERE id = 1")
        ).scalar_one()
    return used, capacity, revision


def read(database: Database) -> Any:
    with database.read() as conn:
        return contents(conn)


@pytest.mark.parametrize("version", ADOPTABLE)
def test_an_existing_database_gets_our_columns_and_keeps_everything_else(
    database: Database, manage: Any, version: str
) -> None:
    existing.make(database, version)
    before = read(database)
    assert manage("db", "sync") == 0
    used, capacity, revision = derived_columns(database)
    assert (used, capacity) == (4, 13)
    assert revision > 0
    assert_nothing_else_changed(before, read(database))
    with database.read() as conn:
        assert schema.adopted_version(conn) == version
        assert schema.version(conn) == schema.newest()


@pytest.mark.skipif(FAMILY != "mariadb", reason="other databases have one encoding")
@pytest.mark.parametrize(("charset", "code"), [("utf8", 1), ("utf8mb4", 0)])
def test_a_connection_that_cannot_transfer_the_characters_of_columns_is_a_warning(
    database: Database,
    url: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    charset: str,
    code: int,
) -> None:
    existing.make(database)
    charsets.convert(database.writer, {t.resource_providers.c.name: "utf8mb4_bin"})
    monkeypatch.setenv(ENVIRONMENT, f"{url}{'&' if '?' in url else '?'}charset={charset}")
    status.main(["upgrade", "check", "--json"])
    checks = json.loads(capsys.readouterr().out)["checks"]
    (found,) = [each for each in checks if each["check"] == "Character Sets"]
    assert found["result"] == code
    assert ("has charset=utf8, which cannot transfer" in found["details"]) is bool(code)


@pytest.mark.skipif(FAMILY != "mariadb", reason="other databases have one encoding")
def test_a_database_of_nova_is_adopted_with_its_character_sets(
    database: Database, url: str, manage: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    existing.make_tables(database, "a082b8bb98d0")
    charsets.convert(database.writer, charsets.OF_NOVA)
    existing.fill(database)
    before = read(database)
    assert status.main(["upgrade", "check"]) == 1  # the schema
    out = capsys.readouterr().out
    for column in ("resource_providers.name (utf8mb3)", "projects.external_id (latin1)"):
        assert column in re.sub(r"[|\s]+", " ", out)
    assert manage("db", "sync") == 0
    assert_nothing_else_changed(before, read(database))
    capsys.readouterr()
    assert manage("db", "check") == 0
    assert manage("audit") == 0
    with Service(Path(), url=url) as service:
        found = service.get("/allocation_candidates?resources=VCPU:2")
        (candidate,) = found["allocation_requests"]
        assert candidate["allocations"].keys() == {existing.ROOT}
        service.expect(
            204, "PUT", f"/allocations/{existing.CHILD}", claim({existing.ROOT: {"VCPU": 2}})
        )
        assert service.get("/usages?project_id=p")["usages"]["unknown"]["VCPU"] == 4
        assert service.get(f"/allocations/{existing.CHILD}")["project_id"] == "project"


def test_a_sync_says_what_it_did(
    database: Database, manage: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    existing.make(database)
    assert manage("db", "sync") == 0
    classes, traits = len(catalog.STANDARD_CLASSES) - 1, len(catalog.STANDARD_TRAITS)
    assert capsys.readouterr().out.splitlines() == [
        f"schema: {schema.newest()}, was none",
        "tables: of version a082b8bb98d0",
        "trees: 1, all with a new revision",
        "inventories: used filled in of 1, capacity of 1",
        f"added: {classes} standard resource classes, {traits} standard traits",
    ]
    assert manage("db", "sync") == 0
    assert capsys.readouterr().out.splitlines() == [
        f"schema: {schema.newest()} as before",
        "tables: of version a082b8bb98d0",
        "trees: 1, all with a new revision",
        "inventories: used corrected of 0, capacity of 0",
        "added: 0 standard resource classes, 0 standard traits",
    ]


READS = ("SELECT", "PRAGMA", "SHOW", "DESCRIBE")
CHANGES_OF_THE_SCHEMA = ("ALTER", "CREATE")


# Other engines change the schema in one transaction.
@pytest.mark.parametrize("after_each_change", [False, True] if FAMILY == "mariadb" else [False])
@pytest.mark.parametrize("make", [lambda database: None, existing.make])
def test_a_sync_that_is_interrupted_again_and_again_gets_there(
    database: Database,
    declared: dict[str, Any],
    make: Callable[[Database], None],
    after_each_change: bool,
) -> None:
    make(database)
    left = 0

    def interrupt(_conn: Any, _cursor: Any, statement: str, *_more: Any) -> None:
        nonlocal left
        word = statement.split()[0].upper()
        left -= word in CHANGES_OF_THE_SCHEMA if after_each_change else word not in READS
        if left < 0:
            raise KeyboardInterrupt

    sa.event.listen(database.writer, "before_cursor_execute", interrupt)
    for attempt in range(200):
        left = 1 if after_each_change else attempt
        try:
            app.migrate(database)
            break
        except KeyboardInterrupt:
            continue
    assert 3 < attempt < 199
    with database.read() as conn:
        schema.check(conn)
        assert described(conn, declared) == declared
        assert schema.adopted_version(conn) == "a082b8bb98d0"
    if make is existing.make:
        assert derived_columns(database)[:2] == (4, 13)


@pytest.mark.parametrize("make", [lambda database: None, existing.make])
def test_syncs_at_once_end_right(
    database: Database, url: str, make: Callable[[Database], None]
) -> None:
    make(database)
    done = subprocess.run(
        [sys.executable, "-c", SYNCS],
        env={**os.environ, ENVIRONMENT: url},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines()[-1:] == ["[0, 0, 0]"], done.stdout + done.stderr
    with database.read() as conn:
        schema.check(conn)
    if make is existing.make:
        assert derived_columns(database)[:2] == (4, 13)


def test_the_columns_have_defaults_for_software_that_does_not_know_them(database: Database) -> None:
    existing.make_tables(database, "a082b8bb98d0")
    database.write(revisions.upgrade)
    existing.fill(database)
    assert derived_columns(database) == (0, 0, 0)


def test_db_sync_recounts_after_a_stay_elsewhere(database: Database, manage: Any) -> None:
    existing.make(database)
    assert manage("db", "sync") == 0
    revision = derived_columns(database)[2]
    with database.writer.begin() as conn:
        conn.execute(sa.text("UPDATE allocations SET used = 7"))
        conn.execute(sa.text("UPDATE inventories SET total = 20"))
    before = read(database)
    assert manage("db", "sync") == 0
    used, capacity, renewed = derived_columns(database)
    assert (used, capacity) == (7, 28)
    assert renewed != revision
    assert_nothing_else_changed(before, read(database))


@pytest.mark.parametrize(
    "since",
    [
        None,  # an interrupted sync
        "UPDATE allocations SET used = 5",
        "UPDATE inventories SET total = total + 1",
        "INSERT INTO resource_providers (uuid, name, generation, root_provider_id)"
        " VALUES ('new', 'new', 0, 1)",
    ],
)
@pytest.mark.parametrize("sync", [False, True])
def test_a_start_corrects_derived_columns_and_logs_it(
    database: Database, caplog: pytest.LogCaptureFixture, since: str | None, sync: bool
) -> None:
    existing.make(database)
    if since is None:
        database.write(revisions.upgrade)
    else:
        app.migrate(database)
        with database.writer.begin() as conn:
            conn.execute(sa.text(since))
    app.prepare(database, sync=sync)
    (_cause, outcome) = [each for each in caplog.messages if "correct" in each]
    assert "run placement-manage db check" in outcome
    with database.read() as conn:
        assert derived.is_correct(conn)
    caplog.clear()
    app.prepare(database, sync=sync)
    assert not any("correct" in each for each in caplog.messages)


@pytest.mark.parametrize("version", ["b4ed3a175331", "ffffffffffff", None])
@pytest.mark.parametrize("been_here", [False, True])
def test_an_unknown_schema_is_refused_in_one_line_and_left_alone(
    database: Database,
    manage: Any,
    capsys: pytest.CaptureFixture[str],
    version: str | None,
    been_here: bool,
) -> None:
    existing.make(database)
    if been_here:
        app.migrate(database)
    with database.writer.begin() as conn:
        if version is None:
            conn.execute(sa.text("DELETE FROM alembic_version"))
        else:
            conn.execute(sa.text("UPDATE alembic_version SET version_num = :new"), {"new": version})
    before = read(database)
    assert manage("db", "sync") == 1
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert (version or "without a version") in line
    assert read(database) == before
    with database.read() as conn:
        columns = sa.inspect(conn).get_columns("inventories")
    assert ("capacity" in {column["name"] for column in columns}) == been_here
    if not been_here:
        check_that_others_refuse_with(line, database, manage, capsys)


def check_that_others_refuse_with(
    line: str, database: Database, manage: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Check that a start, and commands that need the schema, print what `db sync` has printed."""
    with pytest.raises(ConfigurationError) as refusal:
        app.prepare(database, sync=False)
    assert f"placement: {refusal.value}" == line
    for words in (["db", "check"], ["audit"]):
        assert manage(*words) == 1
        assert capsys.readouterr().err.strip() == line


def test_sync_refuses_a_schema_of_a_later_release_as_a_start_does(
    database: Database, manage: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    app.migrate(database)
    with database.writer.begin() as conn:
        conn.execute(sa.text(f"UPDATE {schema.VERSION_TABLE} SET version_num = '9999'"))
    assert manage("db", "sync") == 1
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "start the release that made it" in line
    check_that_others_refuse_with(line, database, manage, capsys)


def test_the_database_of_other_software_is_refused_and_left_alone(
    database: Database, manage: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with database.writer.begin() as conn:
        conn.execute(sa.text("CREATE TABLE alembic_version (version_num VARCHAR(32))"))
        conn.execute(sa.text("INSERT INTO alembic_version VALUES ('960aac0e09ea')"))
    assert manage("db", "sync") == 1
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "960aac0e09ea" in line
    assert "[placement_database] connection" in line
    with database.read() as conn:
        assert sa.inspect(conn).get_table_names() == ["alembic_version"]


@pytest.mark.parametrize(
    ("damage", "word"),
    [
        ("UPDATE resource_providers SET root_provider_id = NULL", "root id"),
        ("DELETE FROM consumers", "record"),
    ],
)
def test_incomplete_rows_are_refused_with_the_command_that_completes_them(
    database: Database, manage: Any, capsys: pytest.CaptureFixture[str], damage: str, word: str
) -> None:
    existing.make(database)
    with database.writer.begin() as conn:
        conn.execute(sa.text(damage))
    assert manage("db", "sync") == 1
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert word in line
    assert "online_data_migrations" in line
    assert manage("db", "online_data_migrations") == 0
    assert manage("db", "sync") == 0
    assert derived_columns(database)[:2] == (4, 13)


def test_a_migration_without_a_privilege_is_not_attempted_again(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts: list[object] = []

    def refuse(work: object) -> None:
        attempts.append(work)
        raise DatabaseUnusable(RIGHT.reason, "CREATE TABLE: permission denied")

    monkeypatch.setattr(app, "MIGRATE_PAUSE", 0)
    monkeypatch.setattr(database, "write", refuse)
    with pytest.raises(DatabaseUnusable):
        app.migrate(database)
    assert len(attempts) == 1


def test_a_failed_start_leaves_no_connection_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stated = settings(database_url(tmp_path))
    disposed: list[Database] = []

    def fail(*_arguments: object, **_options: object) -> None:
        raise ConfigurationError("the start fails")

    monkeypatch.setattr(app, "prepare", fail)
    monkeypatch.setattr(Database, "dispose", lambda database: disposed.append(database))
    with pytest.raises(ConfigurationError, match="the start fails"):
        app.start(stated)
    assert len(disposed) == 1


def test_the_first_class_has_id_0_on_empty_tables(database: Database, manage: Any) -> None:
    existing.make_tables(database, "a082b8bb98d0")
    assert manage("db", "sync") == 0
    with database.read() as conn:
        rows = conn.execute(sa.text("SELECT id, name FROM resource_classes ORDER BY id LIMIT 2"))
        assert [tuple(row) for row in rows] == [(0, "VCPU"), (1, "MEMORY_MB")]


def test_versions_are_printed_and_stamped(manage: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert manage("db", "version") == 0
    assert capsys.readouterr().out == "none (tables of no version)\n"
    assert manage("db", "sync") == 0
    assert capsys.readouterr().out.startswith(f"schema: {schema.newest()}, was none\n")
    assert manage("db", "version") == 0
    assert capsys.readouterr().out == f"{schema.newest()} (tables of a082b8bb98d0)\n"
    assert manage("db", "stamp", "0001") == 0
    assert manage("db", "version") == 0
    assert capsys.readouterr().out.startswith("0001 ")
    assert manage("db", "sync") == 0
    assert manage("db", "stamp", "nothing") == 1
    assert "nothing" in capsys.readouterr().err


def test_several_versions_are_one_line_and_give_way_to_the_one_that_is_stamped(
    database: Database, manage: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert manage("db", "sync") == 0
    with database.writer.begin() as conn:
        conn.execute(sa.text(f"INSERT INTO {schema.VERSION_TABLE} VALUES ('9999')"))
    for command_ in ("version", "check", "sync"):
        capsys.readouterr()
        assert manage("db", command_) == 1
        (line,) = capsys.readouterr().err.strip().splitlines()
        assert f"2 versions, {schema.newest()}, 9999: run placement-manage db stamp" in line
    assert manage("db", "stamp", "head") == 0
    assert manage("db", "sync") == 0


@pytest.mark.parametrize("revision", ["", "+1", "head-1", "0003:0001", "%", "00"])
def test_what_is_no_revision_is_not_stamped(
    manage: Any, capsys: pytest.CaptureFixture[str], revision: str
) -> None:
    assert manage("db", "sync") == 0
    capsys.readouterr()
    assert manage("db", "stamp", revision) == 1
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "cannot stamp" in line
    assert manage("db", "version") == 0
    assert capsys.readouterr().out.startswith(f"{schema.newest()} ")


def test_a_database_that_lacks_parts_of_its_version_is_migrated_again(
    database: Database, manage: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    existing.make(database)
    with database.writer.begin() as conn:
        conn.execute(sa.text(f"CREATE TABLE {schema.VERSION_TABLE} (version_num VARCHAR(32))"))
        conn.execute(sa.text(f"INSERT INTO {schema.VERSION_TABLE} VALUES ('{schema.newest()}')"))
    assert manage("db", "check") == 1
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "run placement-manage db sync" in line
    assert manage("db", "sync") == 0
    assert derived_columns(database)[:2] == (4, 13)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("", "connection is not set"),
        ("sqlite:////no/such/directory/placement.db", "unable to open"),
        ("nonsense", "connection cannot be used"),
        ("nothing://host/name", "connection cannot be used"),
        ("mysql+pymysql://u:a@hidden@127.0.0.1:1/d", "as %40"),
        ("mysql+pymysql://u:a@b:hidden@127.0.0.1:1/d", "as %40"),
        ("mysql+pymysql://u:a@b/hidden@127.0.0.1:1/d", "as %40"),
        (
            "mysql+pymysql://u@127.0.0.1:1/d?ssl_ca=/no/ca.pem&password=hidden",
            "cannot read ssl_ca=/no/ca.pem",
        ),
        ("mysql+pymysql://u@127.0.0.1:1/d?conect_timeout=1&password=hidden", "conect_timeout"),
        ("mysql+pymysql://u@127.0.0.1:1/d?connect_timeout=x&password=hidden", "connection"),
    ],
)
def test_a_database_that_cannot_be_used_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], url: str, words: str
) -> None:
    monkeypatch.setenv(ENVIRONMENT, url)
    assert cli.main(["db", "sync"]) == 1
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert words in line
    assert "hidden" not in line


def test_the_additions_are_removed_as_documented_and_come_back(
    database: Database, manage: Any
) -> None:
    existing.make(database)
    with database.read() as conn:
        before = {*sa.inspect(conn).get_table_names()}
    assert manage("db", "sync") == 0
    client = Client(app.create_app(settings(str(database.writer.url)), database))
    cursor = client.get("/changes", "2.0")["cursor"]
    client.expect(200, "POST", "/resource_providers", {"name": "new"})
    while not client.get(f"/changes?since={cursor}", "2.0")["changes"]:
        pass  # changes are numbered each second
    page = (REPOSITORY / "docs/operations/adopting.rst").read_text()
    tables = re.findall(r"^    (DROP TABLE \w+);", page, re.MULTILINE)
    with database.writer.begin() as conn:
        for statement in tables:
            conn.execute(sa.text(statement))
    with database.read() as conn:
        assert {*sa.inspect(conn).get_table_names()} == before
    assert manage("db", "sync") == 0
    client.expect(410, "GET", f"/changes?since={cursor}", version="2.0")
    assert client.get("/changes", "2.0")["changes"] == []
