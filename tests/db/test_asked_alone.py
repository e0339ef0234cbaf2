"""A single statement takes one round trip, without a transaction before or after it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from placement.db.dialects import dialect_of_url
from placement.db.engine import Database
from placement.db.statement import Query
from placement.errors import DatabaseUnavailable, ProviderNotFound
from tests.kit.builders import make_database
from tests.kit.drivers import failure
from tests.kit.engines import ENGINE, TEARS_VIEWS
from tests.kit.service import NEWEST, Service
from tests.kit.statements import text_of

ADD = sa.text("INSERT INTO consumer_types (name) VALUES (:name)")
NAMES = Query(sa.select(sa.column("name")).select_from(sa.table("consumer_types")))
HOST = "c0ffee00-0000-4000-8000-000000000000"
NOBODY = "c0ffee00-0000-4000-8000-000000000404"


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return make_database(tmp_path)[1]


def add(database: Database, name: str) -> None:
    database.write(lambda conn: conn.execute(ADD, {"name": name}))


def names(conn: sa.Connection) -> set[str]:
    return {name for (name,) in NAMES.rows(conn)}


@contextmanager
def sent(database: Database) -> Iterator[list[str]]:
    """Collect the statements that are sent for reads, including statements about transactions."""
    seen: list[str] = []

    def execute(conn: sa.Connection, _cursor: Any, statement: str, *_rest: Any) -> None:
        seen.append(text_of(conn, statement).split()[0])

    def end(_conn: sa.Connection) -> None:
        seen.append("COMMIT")

    def undo(_conn: sa.Connection) -> None:
        seen.append("ROLLBACK")

    listeners: list[tuple[str, Callable[..., None]]] = [
        ("before_cursor_execute", execute),
        ("rollback", undo),
        ("commit", end),
    ]
    for event, listener in listeners:
        sa.event.listen(database.reader, event, listener)
    try:
        yield seen
    finally:
        for event, listener in listeners:
            sa.event.remove(database.reader, event, listener)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"/resource_providers/{HOST}", 200),
        (f"/resource_providers/{NOBODY}", 404),
        ("/resource_classes", 200),
        ("/resource_classes/VCPU", 200),
        ("/traits/HW_CPU_X86_AVX2", 204),
        pytest.param(
            f"/allocations/{NOBODY}",
            200,
            marks=pytest.mark.skipif(TEARS_VIEWS, reason="it is read twice"),
        ),
    ],
)
def test_what_takes_one_statement_takes_one_round_trip(
    tmp_path: Path, path: str, status: int
) -> None:
    with Service(tmp_path) as service:
        service.expect(200, "POST", "/resource_providers", {"name": "host", "uuid": HOST})
        with sent(service.database) as seen:
            assert service.send("GET", path, None, NEWEST).status_code == status
    assert seen == ["SELECT"]


def test_several_statements_take_a_transaction(tmp_path: Path) -> None:
    with Service(tmp_path) as service:
        service.expect(200, "POST", "/resource_providers", {"name": "host", "uuid": HOST})
        with sent(service.database) as seen:
            service.expect(200, "GET", f"/resource_providers/{HOST}/inventories")
    assert seen[0] in ("BEGIN", "START")
    assert seen[-1] == "COMMIT"
    assert len(seen) > 3


@pytest.mark.skipif(ENGINE != "postgresql", reason="others prepare nothing")
def test_statements_stay_prepared_when_reads_end_also_with_an_error(tmp_path: Path) -> None:
    kept = "SELECT count(*) FROM pg_prepared_statements WHERE statement ~ 'inventories'"
    with Service(tmp_path) as service:
        service.expect(200, "POST", "/resource_providers", {"name": "host", "uuid": HOST})
        for _ in range(8):  # psycopg prepares what it has been asked for five times
            service.expect(200, "GET", f"/resource_providers/{HOST}/inventories")
            service.expect(404, "GET", f"/resource_providers/{NOBODY}/inventories")
        with service.database.read() as conn:
            assert conn.execute(sa.text(kept)).scalar_one() > 0


def test_each_sees_what_was_committed_before_it_on_the_same_connection(database: Database) -> None:
    def seen(conn: sa.Connection) -> tuple[object, set[str]]:
        return conn.connection.dbapi_connection, names(conn)

    first, before = database.read_one(seen)
    add(database, "LATER")
    second, after = database.read_one(seen)
    assert first is second
    assert after - before == {"LATER"}
    with database.read() as conn:
        assert conn.connection.dbapi_connection is first
        assert names(conn) == after


def test_a_read_after_it_has_one_snapshot(database: Database) -> None:
    before = database.read_one(names)
    with database.read() as conn:
        assert names(conn) == before
        add(database, "MEANWHILE")
        assert names(conn) == before
    assert database.read_one(names) == before | {"MEANWHILE"}


def test_a_second_statement_is_refused_for_it_may_see_another_state(database: Database) -> None:
    with pytest.raises(RuntimeError, match="too many statements without a transaction"):
        database.read_one(lambda conn: names(conn) | names(conn))


def test_a_domain_error_keeps_the_connection(database: Database) -> None:
    connections: list[object] = []

    def miss(conn: sa.Connection) -> None:
        connections.append(conn.connection.dbapi_connection)
        raise ProviderNotFound(HOST)

    for _ in range(2):
        with pytest.raises(ProviderNotFound):
            database.read_one(miss)
    assert connections[0] is connections[1]


def test_any_other_error_closes_the_connection(database: Database) -> None:
    connections: list[object] = []

    def break_off(conn: sa.Connection) -> None:
        connections.append(conn.connection.dbapi_connection)
        raise MemoryError

    for _ in range(2):
        with pytest.raises(MemoryError):
            database.read_one(break_off)
    assert connections[0] is not connections[1]


@pytest.mark.skipif(ENGINE == "sqlite", reason="a file is not restarted")
@pytest.mark.parametrize("failures", [1, 2])
def test_one_whose_database_was_restarted_is_sent_again_once(
    database: Database, failures: int
) -> None:
    code = sorted(dialect_of_url(database.reader.url).errors.reconnect, key=str)[0]
    attempts: list[str] = []

    @sa.event.listens_for(database.reader, "do_execute")
    def execute(_cursor: Any, statement: str, *_rest: Any) -> None:
        if "consumer_types" not in statement:
            return  # SQLAlchemy asks a new connection what it is
        attempts.append(statement)
        if len(attempts) <= failures:
            raise failure(code)

    if failures == 1:
        assert isinstance(database.read_one(names), set)
    else:
        with pytest.raises(DatabaseUnavailable):
            database.read_one(names)
    assert len(attempts) == 2


@pytest.mark.skipif(ENGINE == "sqlite", reason="a file takes no connections")
def test_a_database_that_takes_no_connection_is_tried_once(database: Database) -> None:
    code = sorted(dialect_of_url(database.reader.url).errors.reconnect, key=str)[0]
    attempts: list[object] = []
    database.reader.dispose()

    @sa.event.listens_for(database.reader, "do_connect")
    def connect(*args: Any) -> None:
        attempts.append(args)
        raise failure(code)

    with pytest.raises(DatabaseUnavailable):
        database.read_one(names)
    assert len(attempts) == 1
