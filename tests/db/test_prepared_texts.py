"""Prepared statements on MariaDB, and the behaviour if none can be prepared."""

import time
import uuid as uuids
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pymysql
import pytest
import sqlalchemy as sa
from pymysql.cursors import Cursor
from sqlalchemy.engine import Connection

from placement.compat.sqlalchemy import execute_text
from placement.db import prepared
from placement.db import tables as t
from placement.db.engine import Database
from placement.db.statement import Unmatched, Write
from tests.db.test_statement_timeout import SHORT
from tests.kit.engines import ENGINE, MYSQL_DRIVER
from tests.kit.service import Service, claim, inventories

pytestmark = pytest.mark.skipif(ENGINE != "mariadb", reason="others prepare nothing this way")

HOST = "c0ffee00-0000-4000-8000-000000000000"
PROVIDER = f"/resource_providers/{HOST}"
CANDIDATES = "/allocation_candidates?resources=VCPU:1&limit=10"
TRAITS = ["HW_CPU_X86_AVX", "HW_CPU_X86_SSE"]
DELETE_TRAIT = sa.delete(t.traits).where(t.traits.c.name == sa.bindparam("name"), t.traits.c.id < 0)
OTHER_CONNECTIONS = (
    "SELECT COUNT(*) FROM information_schema.processlist"
    " WHERE db = DATABASE() AND id <> CONNECTION_ID()"
)
OFF = {"mariadb_prepared_statements": False}


def service_on(directory: Path, **options: object) -> Service:
    made = Service(directory, placement_database=options)
    made.expect(200, "POST", "/resource_providers", {"name": "host", "uuid": HOST})
    made.expect(200, "PUT", f"{PROVIDER}/inventories", inventories(0, VCPU=100))
    body = {"resource_provider_generation": 1, "traits": TRAITS}
    made.expect(200, "PUT", f"{PROVIDER}/traits", body)
    return made


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with service_on(tmp_path) as made:
        yield made


def answers(service: Service) -> list[Any]:
    """Read and claim four times, until all statements are prepared, and return the responses."""
    texts_of_answers = []
    for number in range(4):
        consumer = str(uuids.UUID(int=number + 1))
        path = f"/allocations/{consumer}"
        for method, target, body in (
            ("PUT", path, claim({HOST: {"VCPU": 1 + number}})),
            ("GET", path, None),
            ("PUT", path, claim({HOST: {"VCPU": 200}}, generation=1)),
            ("GET", CANDIDATES, None),
            ("GET", f"{CANDIDATES}&required={TRAITS[0]}&member_of={uuids.UUID(int=1)}", None),
            ("GET", f"{PROVIDER}/usages", None),
            ("DELETE", path, None),
            ("DELETE", path, None),
        ):
            answer = service.send(method, target, body)
            assert answer.status_code < 500, answer.text
            members: Any = answer.json if answer.text else None
            if answer.status_code >= 400:
                for error in members["errors"]:
                    del error["request_id"]
            texts_of_answers.append((answer.status_code, members))
    return texts_of_answers


def statuses(answered: list[Any]) -> list[int]:
    return [status for status, _members in answered]


def count(database: Database) -> int:
    """Return how many statements the connections of a process have prepared."""
    total = 0
    for engine in (database.reader, database.writer):
        with engine.connect() as conn:
            total += len(calls(conn))
    return total


def calls(conn: Connection) -> Any:
    found = conn.info.get(prepared.OPTION)
    return {} if found is None else found.calls


def execute(conn: Connection, sql: str, values: Any) -> list[Any]:
    return list(prepared.execute(conn, sql, values, execute_text).rows)


def prepared_by_server(conn: Connection) -> int:
    row = conn.exec_driver_sql("SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'").one()
    return int(row[1])


def test_prepared_or_not_the_answers_are_the_same(tmp_path: Path, service: Service) -> None:
    with service_on(tmp_path / "plain", **OFF) as plain:
        assert answers(plain) == answers(service)
        assert count(plain.database) == 0
    assert count(service.database) > 3


def test_the_server_has_prepared_what_the_connections_say(service: Service) -> None:
    answers(service)
    kept = count(service.database)
    with service.database.reader.connect() as conn:
        before = prepared_by_server(conn)
    service.database.dispose()
    with service.database.reader.connect() as conn:
        # The server ends a connection some time after the client has closed it.
        for _ in range(60_000):
            if not conn.exec_driver_sql(OTHER_CONNECTIONS).scalar():
                break
            time.sleep(0.01)
        assert before - prepared_by_server(conn) == kept > 3


def test_queries_and_writes_of_claims_are_prepared(service: Service) -> None:
    answers(service)
    with service.database.writer.connect() as conn:
        words = {word.lstrip("(") for sql in calls(conn) for word in sql.split()}
    assert words > {"SELECT", "INSERT", "UPDATE", "DELETE"}


def test_a_prepared_write_that_misses_a_row_names_its_text(service: Service) -> None:
    write = Write(DELETE_TRAIT, {"name": "CUSTOM_NONE"}, matches=0)
    with service.database.writer.connect() as conn:
        for _ in range(3):
            write.execute(conn)
        assert any("DELETE FROM traits" in sql for sql in calls(conn))
        with pytest.raises(Unmatched, match=r"0 rows instead of 1: DELETE FROM traits"):
            replace(write, matches=1).execute(conn)


def test_a_connection_keeps_a_bounded_number_prepared(service: Service) -> None:
    with service.database.reader.connect() as conn:
        before = prepared_by_server(conn)
        for turn in range(2 * prepared.MAX_PREPARED):
            sql = f"SELECT %(n)s + {turn} {' ' * prepared.MIN_LENGTH}"
            for n in (1, 2, 3):
                assert execute(conn, sql, {"n": n}) == [(n + turn,)]
        assert len(calls(conn)) == prepared.MAX_PREPARED
        assert prepared_by_server(conn) - before == prepared.MAX_PREPARED


def test_a_server_that_keeps_none_gets_the_texts(service: Service) -> None:
    with service.database.writer.connect() as conn:
        (limit,) = conn.exec_driver_sql("SELECT @@GLOBAL.max_prepared_stmt_count").one()
        conn.exec_driver_sql("SET GLOBAL max_prepared_stmt_count = 0")
        try:
            answers(service)
            assert count(service.database) == 0
        finally:
            conn.exec_driver_sql(f"SET GLOBAL max_prepared_stmt_count = {limit}")


class FailingCursor:
    """A cursor on which the first PREPARE of a write fails, and rolls the transaction back."""

    failed = 0
    code = 0

    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)

    def execute(self, sql: str, values: Any = None) -> Any:
        if sql.startswith("PREPARE") and "UPDATE inventories" in values[0] and not self.failed:
            type(self).failed += 1
            self._cursor.execute("ROLLBACK")
            raise pymysql.err.OperationalError(self.code, "injected")
        return self._cursor.execute(sql, values)


def numbered(count: int, first: int = 0, source: str = "traits") -> list[str]:
    """Return statements that differ in the number they return."""
    return [
        f"SELECT {turn} + COUNT(*) FROM {source} WHERE id < %(n)s {' ' * prepared.MIN_LENGTH}"
        for turn in range(first, first + count)
    ]


def check_each(conn: Connection, texts: list[str]) -> None:
    """Execute statements, and check that each returns its own result."""
    for sql in texts:
        assert execute(conn, sql, {"n": -1}) == [(int(sql.split()[1]),)]


@contextmanager
def about_to_change(url: sa.URL, table: str) -> Iterator[None]:
    """Create a table that cannot be opened, because its next version waits for a transaction."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with ThreadPoolExecutor() as pool, engine.connect() as reader, engine.connect() as observer:
        reader.exec_driver_sql(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY)")
        reader.exec_driver_sql(f"SELECT * FROM {table}")
        alter = f"ALTER TABLE {table} FORCE, ALGORITHM=COPY"
        changed = pool.submit(sa.create_engine(url).connect().exec_driver_sql, alter)
        while not observer.exec_driver_sql(
            "SELECT 1 FROM information_schema.processlist"
            f" WHERE db = DATABASE() AND info = '{alter}' AND state LIKE '%% metadata lock'"
        ).scalar():
            time.sleep(0.01)
        yield
        reader.rollback()
        changed.result()


def test_a_prepare_that_waits_in_vain_leaves_each_name_to_its_statement(service: Service) -> None:
    texts, late = numbered(prepared.MAX_PREPARED), numbered(3, first=100, source="changing")
    with service.database.writer.connect() as conn:
        check_each(conn, [*texts, *texts])
        conn.exec_driver_sql("SET SESSION lock_wait_timeout = 0")
        conn.commit()
        with about_to_change(service.database.writer.url, "changing"):
            for sql in late * 2:
                with pytest.raises(sa.exc.DBAPIError) as caught:
                    execute(conn, sql, {"n": -1})
                assert 1205 in caught.value.orig.args  # type: ignore[union-attr]
                conn.rollback()
        assert set(calls(conn)) < set(texts)
        check_each(conn, [*late, *late, *late, *reversed(texts)])
        assert set(late) < set(calls(conn))


@pytest.mark.skipif(MYSQL_DRIVER != "pymysql", reason="the cursor fails with an error of PyMySQL")
@pytest.mark.parametrize("command", ["PREPARE", "DEALLOCATE"])
@pytest.mark.parametrize("happens", [False, True])
def test_an_interrupted_command_leaves_each_name_to_its_statement(
    service: Service, monkeypatch: pytest.MonkeyPatch, command: str, happens: bool
) -> None:
    """The interruption is reported before or after the server has carried the command out."""
    left = [pymysql.err.OperationalError(1317, "Query execution was interrupted")]
    run = Cursor.execute

    def interrupted(cursor: Cursor, sql: str, values: Any = None) -> Any:
        if not (left and sql.startswith(command)):
            return run(cursor, sql, values)
        if happens:
            run(cursor, sql, values)
        raise left.pop()

    texts, late = numbered(prepared.MAX_PREPARED), numbered(3, first=100)
    with service.database.reader.connect() as conn:
        check_each(conn, [*texts, *texts, *late])
        monkeypatch.setattr(Cursor, "execute", interrupted)
        with pytest.raises(sa.exc.DBAPIError, match="1317"):
            execute(conn, late[0], {"n": -1})
        check_each(conn, [*late, *late, *late, *reversed(texts)])


@pytest.mark.skipif(MYSQL_DRIVER != "pymysql", reason="the cursor fails with an error of PyMySQL")
@pytest.mark.parametrize("code", [1213, 1047, 2013], ids=["conflict", "no quorum", "lost"])
def test_a_transaction_that_ends_while_a_write_is_prepared_is_run_again(
    service: Service, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    cursor = pymysql.Connection.cursor
    monkeypatch.setattr(FailingCursor, "failed", 0)
    monkeypatch.setattr(FailingCursor, "code", code)
    monkeypatch.setattr(
        pymysql.Connection, "cursor", lambda self, *args: FailingCursor(cursor(self, *args))
    )
    for number in range(4):
        path = f"/allocations/{uuids.UUID(int=number + 1)}"
        service.expect(204, "PUT", path, claim({HOST: {"VCPU": 1}}))
        shown = service.expect(200, "GET", path).json
        assert shown["allocations"][HOST]["resources"] == {"VCPU": 1}
    assert FailingCursor.failed == 1
    service.check_used()


def test_what_the_server_has_forgotten_costs_no_answer(service: Service) -> None:
    """Simulates a proxy that sends each transaction over another connection."""
    expected = statuses(answers(service))
    for engine in (service.database.reader, service.database.writer):
        with engine.connect() as conn:
            assert calls(conn)
            for call in calls(conn).values():
                conn.exec_driver_sql(f"DEALLOCATE PREPARE {call.split()[1]}")
    assert statuses(answers(service)) == expected
    assert count(service.database) == 0


def test_the_limit_of_time_ends_prepared_statements_too(tmp_path: Path) -> None:
    with service_on(tmp_path, statement_timeout=SHORT) as service:
        service.database.limit_statements()
        service.database.reader.dispose()
        sql = f"SELECT SLEEP(%(seconds)s) {' ' * prepared.MIN_LENGTH}"
        with service.database.reader.connect() as conn:
            for _ in range(2):
                execute(conn, sql, {"seconds": 0.0})
            with pytest.raises(sa.exc.DBAPIError) as caught:
                execute(conn, sql, {"seconds": 20 * SHORT})
            assert 1969 in caught.value.orig.args  # type: ignore[union-attr]
