"""Settings for each engine, without a database."""

from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from sqlalchemy import exc
from sqlalchemy.engine import Connection, make_url

from placement.config import DatabaseSettings
from placement.db.dialects import DIALECTS, Dialect, Role, dialect_named, dialect_of_url
from placement.db.engine import Database
from placement.db.pools import make_pool
from placement.errors import ConfigurationError
from tests.kit.builders import settings

SETTINGS = settings("sqlite://").database
NAMES = [name for dialect in DIALECTS for name in dialect.names]


class Recorder:
    """A driver's connection, or SQLAlchemy's, that notes statements and answers nothing."""

    invalidated = False
    locked: int | None = 1  # what GET_LOCK answers

    def __init__(self) -> None:
        self.statements: list[str] = []
        self._prepared = SimpleNamespace()  # the counter of psycopg

    def cursor(self) -> "Recorder":
        return self

    def execute(self, statement: str) -> None:
        self.statements.append(statement)

    def exec_driver_sql(self, statement: str) -> "Recorder":
        self.statements.append(statement)
        return self

    def scalar(self) -> int | None:
        return self.locked

    def first(self) -> object:
        return None

    def commit(self) -> None:
        self.statements.append("commit()")

    def close(self) -> None:
        pass


def session(name: str, given: DatabaseSettings = SETTINGS, role: Role = Role.WRITE) -> list[str]:
    connection = Recorder()
    dialect_named(name).open_session(connection, role, given)
    return connection.statements


def test_every_name_is_that_of_one_dialect() -> None:
    assert len(NAMES) == len(set(NAMES))
    assert {dialect_named(name) for name in NAMES} == set(DIALECTS)
    assert dialect_of_url(make_url("mysql+pymysql://h/d")) is dialect_named("mariadb")


def test_an_unsupported_database_is_refused_with_the_supported_ones() -> None:
    with pytest.raises(ValueError, match="oracle is not supported: use sqlite, mysql"):
        dialect_named("oracle")


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("postgres://u:p@h/d", r"postgres is not supported: use .*; did you mean postgresql\?"),
        ("rubbish", "it is not a URL of a database: use a form like mysql\\+pymysql://"),
        ("mysql+pymysql://u:secret/d", "it is not a URL of a database"),
        ("mysql+foo://u:p@h/d", "there is no driver foo for mysql: use a form like mysql"),
        ("sqlite+foo://", "there is no driver foo for sqlite"),
        ("mysql+pymysql://u:p@ss@h/d", "write an @ within a name or a password as %40"),
    ],
)
def test_an_unusable_url_is_one_line_of_the_option(url: str, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"\[placement_database\] .*{problem}") as raised:
        Database(replace(SETTINGS, connection=url))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_read_has_one_snapshot_and_a_write_sees_what_others_commit(dialect: Dialect) -> None:
    reads = f"{dialect.one_view} {dialect.begin.get(Role.READ)} {dialect.isolation.get(Role.READ)}"
    # Every transaction of SQLite is a snapshot.
    assert dialect.is_file or "REPEATABLE READ" in reads
    assert dialect.is_file or "READ ONLY" in reads
    assert dialect.is_file or dialect.isolation[Role.WRITE] == "READ COMMITTED"


def test_no_code_belongs_to_two_engines() -> None:
    tables = [
        {*table.retriable, *table.reconnect, *table.unstorable, *table.duplicate, *table.too_long}
        for table in (dialect.errors for dialect in DIALECTS)
    ]
    assert sum(map(len, tables)) == len(set[object]().union(*tables))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_lasts_is_not_tried_again(dialect: Dialect) -> None:
    errors = dialect.errors
    assert errors.retriable.isdisjoint(errors.permanent)
    assert errors.reconnect.isdisjoint(errors.retriable)
    assert errors.read_only <= errors.reconnect
    assert errors.not_committed <= errors.retriable | errors.read_only


def test_sqlite_leaves_transactions_to_the_service() -> None:
    assert "PRAGMA synchronous=OFF" in session("sqlite")
    durable = replace(SETTINGS, sqlite_synchronous=True)
    assert "PRAGMA synchronous=FULL" in session("sqlite", durable)
    sqlite, url = dialect_named("sqlite"), make_url("sqlite://")
    assert sqlite.connect_args(url, replace(SETTINGS, write_timeout=1.5)) == {"timeout": 1.5}
    assert sqlite.connect_args(url, replace(SETTINGS, write_timeout=99)) == {"timeout": 5.0}


def test_mysql_waits_for_locks_and_nodes_as_stated() -> None:
    given = replace(SETTINGS, write_timeout=0.2, wsrep_sync_wait=None)
    statements = session("mysql", given)
    assert "SET SESSION innodb_lock_wait_timeout = 1" in statements
    assert not any("wsrep" in each for each in statements)
    assert "SET SESSION wsrep_sync_wait = 1" in session("mysql", replace(given, wsrep_sync_wait=1))


@pytest.mark.parametrize(("role", "commits"), [(Role.READ, True), (Role.WRITE, False)])
def test_mysql_gets_settings_in_sql_that_drivers_spell_differently(
    role: Role, commits: bool
) -> None:
    """A method of one, an attribute of another: only a cursor do all of them have."""
    assert ("SET SESSION autocommit = 1" in session("mysql", role=role)) == commits


@pytest.fixture
def migrating() -> Recorder:
    return Recorder()


def test_mysql_commits_before_it_lets_the_next_process_migrate(migrating: Recorder) -> None:
    with dialect_named("mysql").migration_lock(cast(Connection, migrating)):
        migrating.execute("CREATE TABLE x")
    words = [statement.split("(")[0] for statement in migrating.statements]
    assert words == ["SELECT GET_LOCK", "CREATE TABLE x", "COMMIT", "SELECT RELEASE_LOCK"]


@pytest.mark.parametrize(("invalidated", "released"), [(False, True), (True, False)])
def test_a_migration_that_fails_lets_go_unless_the_connection_is_gone(
    migrating: Recorder, invalidated: bool, released: bool
) -> None:
    migrating.invalidated = invalidated
    lock = dialect_named("mysql").migration_lock(cast(Connection, migrating))
    with pytest.raises(RuntimeError), lock:
        raise RuntimeError
    assert "COMMIT" not in migrating.statements
    assert any("RELEASE" in statement for statement in migrating.statements) == released


@pytest.mark.parametrize("locked", [0, None])
def test_mysql_migrates_nothing_while_another_process_does(
    migrating: Recorder, locked: int | None
) -> None:
    migrating.locked = locked
    lock = dialect_named("mysql").migration_lock(cast(Connection, migrating))
    with pytest.raises(ConfigurationError, match="another process has been migrating"), lock:
        raise AssertionError
    assert [statement.split("(")[0] for statement in migrating.statements] == ["SELECT GET_LOCK"]


def test_a_driver_that_does_not_end_its_reads_is_refused() -> None:
    url = make_url("postgresql+psycopg2://h/d")
    with pytest.raises(exc.ArgumentError, match="psycopg2 is not supported"):
        make_pool(url, Role.READ, SETTINGS)


@pytest.mark.parametrize(
    ("options", "connections"),
    [
        ({}, 15),
        ({"max_pool_size": 3, "max_overflow": 1}, 4),
        ({"max_pool_size": 3, "max_overflow": 0}, 3),
        ({"max_pool_size": 1, "max_overflow": 1000}, 1001),
        ({"max_pool_size": 3, "max_overflow": -1}, 0),  # SQLAlchemy's number for no limit
        ({"max_pool_size": 0, "max_overflow": 3}, 0),
    ],
)
def test_a_pool_keeps_all_connections_that_the_two_options_allow(
    options: Mapping[str, object], connections: int
) -> None:
    given = settings("sqlite://", placement_database=options).database
    pool = cast(Any, make_pool(make_url("mysql+pymysql://h/d"), Role.WRITE, given).pool)
    assert pool.size() == connections
    assert pool._max_overflow == (0 if connections else -1)


@pytest.mark.parametrize("driver", ["pymysql", "mysqldb"])
def test_a_connection_that_cannot_transfer_all_characters_is_refused(driver: str) -> None:
    url = make_url(f"mysql+{driver}://h/d?charset=latin1")
    with pytest.raises(ValueError, match=r"charset=latin1: .*use utf8mb4"):
        dialect_of_url(url).connect_args(url, SETTINGS)
