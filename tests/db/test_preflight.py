"""The command `db preflight` on servers with safe and unsafe settings."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from placement import cli
from placement.db.engine import Database
from placement.entry import status
from placement.operate import preflight
from placement.operate.hazards import TABLES, Hazard, read_hazards
from placement.operate.preflight import Workers
from tests.kit.builders import database_url, make_database, prepare, settings
from tests.kit.engines import ENGINE, FAMILY, SERVERS, Server, empty_database, server
from tests.kit.pooler import pooled
from tests.kit.ports import free_port
from tests.kit.proxy import Proxy
from tests.kit.replication import DATABASE, MySqlGroup, await_true, replicated
from tests.kit.statements import counted
from tests.migrations.conftest import ENVIRONMENT

# Options of a server -> the dangers.
CASES: dict[str, list[tuple[Sequence[str], list[str]]]] = {
    "mariadb": [
        (["--innodb-flush-log-at-trx-commit=1"], []),
        (["--innodb-flush-log-at-trx-commit=0"], ["flush"]),
        (["--skip-innodb-doublewrite"], ["flush", "doublewrite"]),
        (["--innodb-flush-log-at-trx-commit=1", "--log-bin", "--sync-binlog=0"], ["binary-log"]),
        (["--innodb-flush-log-at-trx-commit=1", "--log-bin", "--sync-binlog=1"], []),
        (["--innodb-flush-log-at-trx-commit=1", "--max-connections=50"], ["connections"]),
    ],
    "postgresql": [
        (["-c", "fsync=on"], []),
        (["-c", "fsync=on", "-c", "synchronous_commit=off"], ["flush"]),
        (["-c", "full_page_writes=off"], ["fsync", "full-page-writes"]),
        (["-c", "fsync=on", "-c", "max_connections=50"], ["connections"]),
    ],
}  # fmt: skip
# The danger of the server of the tests.
UNFLUSHED = {"sqlite": "synchronous", "mariadb": "flush", "postgresql": "fsync"}[FAMILY]
# The danger of a primary whose commits no replica confirms.
UNCONFIRMED = {"sqlite": "", "mariadb": "replicas", "postgresql": "standbys"}[FAMILY]

Run = Callable[..., Any]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command on a database, and return its exit code and its document."""

    def run(url: str, *arguments: str, **options: str) -> tuple[int, Any]:
        monkeypatch.setenv(ENVIRONMENT, url)
        monkeypatch.setenv("OS_API__AUTH_STRATEGY", "noauth2")
        monkeypatch.delenv("WEB_CONCURRENCY", raising=False)
        if ENGINE == "sqlite":
            monkeypatch.setenv("OS_PLACEMENT_DATABASE__SQLITE_SYNCHRONOUS", "false")
        for name, value in options.items():
            monkeypatch.setenv(f"OS_PLACEMENT_DATABASE__{name}", value)
        capsys.readouterr()
        code = cli.main(["db", "preflight", "--json", *arguments])
        return code, json.loads(capsys.readouterr().out)

    return run


def names(document: Any, *, wrong: bool = True) -> list[str]:
    """Return the names of the dangers, or of the notes."""
    return [each["name"] for each in document["found"] if each["wrong"] is wrong]


@pytest.fixture
def start() -> Iterator[Callable[[Sequence[str]], Server]]:
    """Start servers with options."""
    servers: list[Server] = []

    def start(options: Sequence[str]) -> Server:
        servers.append(SERVERS[ENGINE](options=options))
        return servers[-1]

    yield start
    for each in servers:
        each.discard()


@pytest.mark.parametrize(("options", "dangers"), CASES.get(FAMILY, []))
def test_dangers_of_a_server_are_found(
    start: Any, run: Run, options: Sequence[str], dangers: list[str]
) -> None:
    started = start(options)
    started.execute("CREATE DATABASE placement")
    prepare(started.url("placement"))
    code, document = run(started.url("placement"))
    assert names(document) == dangers
    assert names(document, wrong=False) == []
    assert code == bool(dangers)
    assert document["commit"]["claims_per_second_on_one_host"] > 0


def test_the_values_in_the_table_exist(tmp_path: Path) -> None:
    made, database = make_database(tmp_path)
    table = TABLES[ENGINE]
    with disposing(database):
        values = preflight.read_values(database, table, made.database, Workers())
    # Values of replicas and clusters, and of the first comparison.
    known = {*values, "lag", "lag_error", "replica", "wsrep_cluster_size", "variable", "value"}
    # Names that only the other server or a plugin has.
    mysql = "(?i)wsrep_|rpl_|group_|slaves_"
    others = {"mysql": mysql, "mariadb": "Innodb_redo|group_"}.get(ENGINE, "-")
    for hazard in read_hazards(table):
        texts = hazard.state + hazard.consequence + hazard.remedy
        compared = re.findall(r"([\w/]+) (?:=|!=|<|>) ", hazard.unsafe)
        for name in compared + re.findall(r"{(\w+)}", texts):
            assert re.match(others, name) or known & {*name.split("/")}, (hazard.name, name)


def test_a_measured_commit_changes_nothing(tmp_path: Path) -> None:
    _made, database = make_database(tmp_path)
    with disposing(database):
        before = content(database)
        with counted(database) as statements:
            latency = preflight.measure_commits(database)
        assert content(database) == before
        assert latency is not None
        assert 0 < latency.median <= latency.longest
        assert latency.claims_per_second > 0
        assert sum("DELETE" in text for text in statements) == preflight.COMMITS


def test_a_measured_commit_includes_no_statement(tmp_path: Path) -> None:
    _made, database = make_database(tmp_path)
    with disposing(database), counted(database, together=True) as statements:
        assert preflight.measure_commits(database) is not None
        assert sum("INSERT" in text for text in statements) == preflight.COMMITS
        assert sum("DELETE" in text for text in statements) == preflight.COMMITS
        assert not any(text.startswith("BEGIN NOT ATOMIC") for text in statements)


@contextmanager
def disposing(database: Database) -> Iterator[None]:
    yield
    database.dispose()


def content(database: Database) -> dict[str, list[Any]]:
    """Return the rows of all tables."""
    with database.read() as conn:
        return {
            table: sorted(map(str, conn.exec_driver_sql(f"SELECT * FROM {table}")))
            for table in sa.inspect(conn).get_table_names()
        }


def test_an_empty_database_is_checked_without_a_commit(tmp_path: Path, run: Run) -> None:
    code, document = run(empty_database(tmp_path))
    assert code == 1
    assert names(document) == [UNFLUSHED]
    assert document["commit"] is None


def test_lines_name_the_danger_and_the_remedy(
    tmp_path: Path, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    run(database_url(tmp_path), "--threads", "1")
    assert cli.main(["db", "preflight", "--threads", "1"]) == 1
    danger, commit, assumed = capsys.readouterr().out.splitlines()
    assert danger.startswith(f"danger {UNFLUSHED}: ")
    assert "power failure" in danger
    assert "claims a second on one host" in commit
    assert "--processes 2 and --threads 1, which may open 8 connections" in assumed
    assert status.main(["upgrade", "check", "--json"]) == 0
    checks = json.loads(capsys.readouterr().out)["checks"]
    (details,) = [each["details"] for each in checks if each["check"] == "Database Settings"]
    assert f"{UNFLUSHED} (" in details
    assert "db preflight" in details


@pytest.mark.parametrize(
    ("wrong", "arguments", "code"), [(True, [], 1), (False, [], 0), (False, ["--strict"], 1)]
)
def test_the_exit_code_depends_on_dangers_and_on_request_on_notes(
    tmp_path: Path,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    wrong: bool,
    arguments: list[str],
    code: int,
) -> None:
    hazard = Hazard("h", "", "state", "consequence", "remedy", wrong)
    monkeypatch.setattr(preflight, "inspect", lambda *_arguments: [hazard])
    assert run(database_url(tmp_path), *arguments)[0] == code


@pytest.mark.skipif(ENGINE == "sqlite", reason="a file has no connections")
def test_a_note_is_an_error_only_if_requested(start: Any, run: Run) -> None:
    (options, _dangers), *_others = CASES[FAMILY]
    started = start(options)
    encoding = {
        "mariadb": "CHARACTER SET utf8mb3",
        "postgresql": "TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'",
    }[FAMILY]
    started.execute(f"CREATE DATABASE placement {encoding}")
    prepare(started.url("placement"))
    if FAMILY == "mariadb":
        engine = sa.create_engine(started.url("placement"), poolclass=sa.NullPool)
        with engine.begin() as conn:
            conn.exec_driver_sql("ALTER TABLE users CONVERT TO CHARACTER SET latin1")
    code, document = run(started.url("placement"))
    assert (code, names(document), names(document, wrong=False)) == (0, [], ["characters"])
    assert run(started.url("placement"), "--strict")[0] == 1


@pytest.mark.skipif(ENGINE == "sqlite", reason="a file has no connections")
def test_a_proxy_that_moves_transactions_is_found(tmp_path: Path, run: Run) -> None:
    direct = database_url(tmp_path)
    url, pooler = pooled(direct, seed=1)
    with closing(pooler):
        code, document = run(url)
    assert code == 1
    assert ("proxy" in names(document) + names(document, wrong=False)) == (ENGINE != "mysql")
    assert "session" not in names(document)
    document = run(direct)[1]
    assert names(document) + names(document, wrong=False) == [UNFLUSHED]


@pytest.mark.skipif(ENGINE == "sqlite", reason="a file has no connections")
def test_a_proxy_that_loses_variables_is_found(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, pooler = pooled(database_url(tmp_path), seed=1)
    monkeypatch.setattr(type(pooler), "variables", lambda _pooler, _command: ())
    variable = {"mariadb": "lock_wait_timeout", "postgresql": "lock_timeout"}[FAMILY]
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with closing(pooler), engine.connect() as conn:  # of another program
        conn.exec_driver_sql(f"SET SESSION {variable} = 7")
        document = run(url)[1]
    (session,) = (each for each in document["found"] if each["name"] == "session")
    assert session["wrong"] == (FAMILY == "mariadb")
    assert variable in session["state"]


@pytest.mark.skipif(ENGINE == "sqlite", reason="a file has no replicas")
def test_a_server_that_is_no_replica_has_no_lag_and_must_respond(tmp_path: Path, run: Run) -> None:
    url = database_url(tmp_path)
    document = run(url, SLAVE_CONNECTION=url)[1]
    assert names(document) + names(document, wrong=False) == [UNFLUSHED]
    away = url.replace(f":{server().port}/", f":{free_port()}/")
    assert names(run(url, SLAVE_CONNECTION=away)[1]) == [UNFLUSHED, "replication"]


@pytest.mark.skipif(FAMILY != "mariadb", reason="PostgreSQL requires no privilege")
def test_a_missing_privilege_is_reported(tmp_path: Path, run: Run) -> None:
    url = database_url(tmp_path)
    user = f"reader{os.getpid()}"  # other runs may use the same server at the same time
    server().execute(f"CREATE USER {user} IDENTIFIED BY ''", f"GRANT SELECT ON *.* TO {user}")
    document = run(url, SLAVE_CONNECTION=url.replace("//root@", f"//{user}@"))[1]
    assert names(document) == [UNFLUSHED]
    assert names(document, wrong=False) == ["lag"]
    assert "a privilege is missing" in document["found"][1]["state"]
    refused = url.replace("//root@", "//nobody:x@")
    assert names(run(url, SLAVE_CONNECTION=refused)[1]) == [UNFLUSHED, "replication"]


def hazards(url: str, **options: object) -> dict[str, bool]:
    """Return the hazards of a database except for hazards of the test server."""
    made = settings(url, placement_database=options).database
    database = Database(made)
    with disposing(database):
        found = preflight.inspect(database, made, Workers())
    return {each.name: each.wrong for each in found if each.name not in {UNFLUSHED, "binary-log"}}


@pytest.mark.skipif(ENGINE == "sqlite", reason="a file has no replicas")
def test_replicas_are_judged(run: Run) -> None:
    with replicated() as pair:
        replica = pair.replica.url(DATABASE)  # of an account that may read the lag
        assert hazards(pair.url()) == {}
        await_true(lambda: hazards(pair.url(), slave_connection=replica) == {"stale-reads": False})
        assert hazards(pair.replica_url()) == {"read-only": True}
        code, document = run(pair.replica_url())
        assert (code, document["commit"]) == (1, None)
        pair.stop_replication()
        await_true(lambda: hazards(pair.url()) == {UNCONFIRMED: True})


@pytest.mark.skipif(ENGINE == "sqlite", reason="a file has no replicas")
def test_a_replica_that_confirms_no_commits_is_a_danger() -> None:
    with replicated() as pair:
        pair.acknowledge_early()
        url = pair.primary.url(DATABASE)  # of an account that may see the replicas
        await_true(lambda: hazards(url) == {UNCONFIRMED: True})


@pytest.mark.skipif(ENGINE != "mysql", reason="others have no replication groups")
def test_members_of_a_replication_group_are_judged() -> None:
    weak = ["EVENTUAL", "BEFORE_ON_PRIMARY_FAILOVER", "AFTER"]
    with replicated(MySqlGroup) as group:
        assert isinstance(group, MySqlGroup)
        every = Proxy(*(node.port for node in group.nodes))
        url = group.primary.url(DATABASE)
        balanced = url.replace(f":{group.primary.port}/", f":{every.port}/")
        for value in (*weak, "BEFORE", "BEFORE_AND_AFTER"):
            for node in group.nodes:
                node.execute(f"SET GLOBAL group_replication_consistency = '{value}'")
            assert hazards(group.url()) == ({"stale-reads": False} if value in weak else {}), value
            assert hazards(balanced).keys() - {"read-only"} == {"writers"}, value
        assert hazards(group.replica_url()) == {"read-only": True}
        every.close()


def test_the_document_is_complete_if_the_user_may_not_write(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_database: Database) -> None:
        raise sa.exc.ProgrammingError("INSERT", {}, Exception("permission denied"))

    url = database_url(tmp_path)
    before, document = run(url)
    assert document["commit"] is not None
    monkeypatch.setattr(preflight, "measure_commits", refuse)
    code, of_reader = run(url)
    assert of_reader == {**document, "commit": None}
    assert code == before
