"""The database cancels a statement that takes too long, and its request has a response."""

import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import sqlalchemy as sa

from placement.db.dialects import sqlite
from placement.db.engine import Database
from placement.entry import app
from placement.errors import StatementTooLong
from tests.kit.builders import make_database
from tests.kit.engines import ENGINE, FAMILY, server

COUNT = """
WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {})
SELECT count(*) FROM numbers
"""


def slow_query(seconds: float) -> sa.TextClause:
    """Return a statement that takes this time. On SQLite, the time is approximate."""
    texts = {
        "sqlite": COUNT.format(round(seconds * 3_000_000)),
        "mariadb": f"SELECT SLEEP({seconds}) AS woken HAVING woken = 0",
        "postgresql": f"SELECT 1 FROM pg_sleep({seconds})",
    }
    return sa.text(texts[FAMILY])


RUNNING = {
    "mariadb": """
SELECT count(*) FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP%'
""",
    "postgresql": """
SELECT count(*) FROM pg_stat_activity
WHERE state = 'active' AND query LIKE 'SELECT 1 FROM pg_sleep%'
""",
}
LONG = 60.0  # seconds
# What others than `slow_query` may take: a server has to be given a core in this time.
SHORT = 0.2 if ENGINE == "sqlite" else 3.0


@pytest.fixture
def database(tmp_path: Path) -> Database:
    options = {"statement_timeout": SHORT, "write_timeout": 0.1}
    made = make_database(tmp_path, placement_database=options)[1]
    made.limit_statements()
    return made


def assert_nothing_runs() -> None:
    """The statement remains visible for a moment after its end.

    If it were running, for much longer.
    """
    if FAMILY in RUNNING:
        engine = sa.create_engine(server().url(server().admin), poolclass=sa.NullPool)
        deadline = time.monotonic() + LONG / 2
        with engine.connect() as conn:
            while conn.execute(sa.text(RUNNING[FAMILY])).scalar() != 0:
                assert time.monotonic() < deadline
                conn.rollback()
                time.sleep(0.05)


def test_a_read_that_takes_too_long_ends_in_the_database_too(database: Database) -> None:
    with pytest.raises(StatementTooLong, match="statement_timeout"), database.read() as conn:
        conn.execute(slow_query(LONG))
    assert_nothing_runs()
    with database.read() as conn:
        assert conn.execute(sa.text("SELECT count(*) FROM resource_providers")).scalar() == 0


def test_a_write_that_takes_too_long_is_not_run_again_and_leaves_nothing(
    database: Database,
) -> None:
    runs = 0

    def work(conn: sa.Connection) -> None:
        nonlocal runs
        runs += 1
        conn.execute(sa.text("INSERT INTO consumer_types (name) VALUES ('LEFT')"))
        conn.execute(slow_query(LONG))

    with pytest.raises(StatementTooLong):
        database.write(work)
    assert runs == 1
    assert_nothing_runs()
    with database.read() as conn:
        left = sa.text("SELECT count(*) FROM consumer_types WHERE name = 'LEFT'")
        assert conn.execute(left).scalar() == 0


def test_each_statement_has_its_own_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Together, the statements take longer than the limit for one statement."""
    database = make_database(tmp_path, placement_database={"statement_timeout": 5.0})[1]
    database.limit_statements()
    now = [0.0]
    if ENGINE == "sqlite":  # which looks at the clock of this process
        monkeypatch.setattr(sqlite, "time", SimpleNamespace(monotonic=lambda: now[0]))
    with database.read() as conn:
        for _ in range(6):
            conn.execute(slow_query(0.02 if ENGINE == "sqlite" else 1.0))
            now[0] += 4.0


def test_what_migrates_or_checks_has_no_limit(tmp_path: Path) -> None:
    made = make_database(tmp_path, placement_database={"statement_timeout": 0.05})[1]
    with made.read() as conn:
        conn.execute(slow_query(0.3))
    made.write(lambda conn: conn.execute(slow_query(0.3)) and None)


def test_no_time_means_no_limit(tmp_path: Path) -> None:
    made = make_database(tmp_path, placement_database={"statement_timeout": 0})[1]
    made.limit_statements()
    with made.read() as conn:
        conn.execute(slow_query(0.3))


def test_a_service_is_made_with_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is set only after the database has been prepared, which may take longer."""
    _settings, made = make_database(tmp_path)
    (tmp_path / "placement.conf").write_text("[api]\nauth_strategy = noauth2\n")
    monkeypatch.setenv("OS_PLACEMENT_CONFIG_DIR", str(tmp_path))
    url = made.writer.url.render_as_string(hide_password=False)
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", url)
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__STATEMENT_TIMEOUT", "0.2")
    databases: list[Database] = []
    prepare = app.prepare

    def take_time(database: Database, **options: bool) -> None:
        with database.read() as conn:
            conn.execute(slow_query(0.5))
        prepare(database, **options)
        databases.append(database)

    monkeypatch.setattr(app, "prepare", take_time)
    app.serve()
    with pytest.raises(StatementTooLong), databases[0].read() as conn:
        conn.execute(slow_query(LONG))


@pytest.mark.skipif(ENGINE != "postgresql", reason="others have nothing of the kind")
def test_postgresql_starts_no_other_processes_for_a_statement_that_must_end_soon(
    database: Database,
) -> None:
    with database.read() as conn:
        for name, value in (("max_parallel_workers_per_gather", "0"), ("jit", "off")):
            assert conn.execute(sa.text(f"SHOW {name}")).scalar() == value
