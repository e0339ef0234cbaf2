"""Equal behaviour of MariaDB through each driver: values, limits, real faults.

`PLACEMENT_MYSQL_DRIVER` selects the driver.
"""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import exc

from placement.db import codes
from placement.db.dialects.errors import codes_of
from placement.db.engine import Database
from placement.db.retries import Cause, cause_of
from placement.errors import ConfigurationError, DatabaseUnavailable
from tests.kit.builders import make_database, settings
from tests.kit.engines import ENGINE, FAMILY, server

pytestmark = pytest.mark.skipif(FAMILY != "mariadb", reason="SQLite and PostgreSQL have one driver")

SLEEP = "SELECT SLEEP(60) AS woken HAVING woken = 0"
ADD = sa.text("INSERT INTO traits (name) VALUES (:name)")
COUNT = sa.text("SELECT COUNT(*) FROM traits")
PATIENCE = 60.0  # seconds
LOST = 2013


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    made = make_database(tmp_path)[1]
    yield made
    made.dispose()


# -- values -------------------------------------------------------------------------------------

VALUES = {
    "VARCHAR(9) COLLATE utf8mb3_bin": "ä€",  # its collation does not make it bytes
    "TEXT": "ä€",
    "LONGTEXT COLLATE utf8mb4_bin": "\U0001f600\0'\"\\%s",
    "JSON": '{"a": "ä"}',
    "INTEGER": -(2**31),
    "BIGINT": 2**63 - 1,
    "BIGINT UNSIGNED": 2**64 - 1,
    "DECIMAL(30, 2)": Decimal("1234567890123456789012345678.25"),
    "FLOAT": 1.1,
    "DOUBLE": 0.1 + 0.2,
    "BOOLEAN": 1,
    "DATETIME(6)": datetime(2026, 2, 28, 23, 59, 59, 250000),
}
EXPRESSIONS = {
    "CONCAT('[', JSON_QUOTE(name), ',', big, ',', IFNULL(nothing, 'null'), ']')": (
        f'["ä€",{2**63 - 1},null]'
    ),
    "GROUP_CONCAT(big, ',', name)": f"{2**63 - 1},ä€",
    "CONCAT(big)": str(2**63 - 1),  # of a number alone, and still a text
    "CONCAT('\"', moment, '\"')": '"2026-02-28 23:59:59"',
    "SUM(big)": Decimal(2**63 - 1),
    "COALESCE(SUM(NULLIF(big, big)), 0)": Decimal(0),
    "COUNT(*)": 1,
    "MAX(name)": "ä€",
    "MAX(nothing)": None,
    "'50%' LIKE '50\\%'": 1,
}


@pytest.mark.parametrize("kind", VALUES)
def test_a_value_comes_back_as_it_was_stored(database: Database, kind: str) -> None:
    value = VALUES[kind]
    with database.writer.connect() as conn:
        conn.exec_driver_sql(f"CREATE TEMPORARY TABLE kept (value {kind}, nothing {kind})")
        conn.execute(sa.text("INSERT INTO kept VALUES (:value, NULL)"), {"value": value})
        for _ in range(2):  # the cursor for PyMySQL parses only the second result itself
            returned, nothing = conn.exec_driver_sql("SELECT * FROM kept").one()
            assert (returned, type(returned), nothing) == (value, type(value), None)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_has_one_type(database: Database, expression: str) -> None:
    value = EXPRESSIONS[expression]
    row = "SELECT 'ä€' name, 9223372036854775807 big, NULL nothing"
    one = f"{row}, TIMESTAMP '2026-02-28 23:59:59' moment"
    with database.reader.connect() as conn:
        for _ in range(2):
            returned = conn.execute(sa.text(f"SELECT {expression} FROM ({one}) one")).scalar_one()
            assert (returned, type(returned)) == (value, type(value))


def test_the_number_of_rows_counts_matched_rows(database: Database) -> None:
    """The number of rows that an UPDATE matches, not of rows that it changes."""
    with database.writer.connect() as conn:
        same = conn.exec_driver_sql("UPDATE traits SET name = name")
        assert same.rowcount == conn.execute(COUNT).scalar_one() > 0


# -- what is not to be had ------------------------------------------------------------------------


def test_a_server_gets_no_file_of_this_machine(database: Database, tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text("secret\n")
    with database.writer.connect() as conn:
        conn.exec_driver_sql("CREATE TEMPORARY TABLE stolen (line TEXT)")
        with pytest.raises(exc.DBAPIError, match=r"(?i)disabled the local|local data is disabled"):
            conn.exec_driver_sql(f"LOAD DATA LOCAL INFILE '{path}' INTO TABLE stolen")


def test_two_statements_in_one_are_refused(database: Database) -> None:
    with database.writer.connect() as conn, pytest.raises(exc.ProgrammingError, match="syntax"):
        conn.exec_driver_sql("SELECT 1; DELETE FROM traits")
    with database.read() as conn:
        assert conn.execute(COUNT).scalar_one() > 0


# -- parameters of the URL ------------------------------------------------------------------------


def with_parameters(database: Database, parameters: str) -> Database:
    url = database.writer.url.render_as_string(hide_password=False)
    return Database(settings(f"{url}?{parameters}").database)


def test_modes_and_limits_of_a_session_are_set(tmp_path: Path) -> None:
    options = {"mysql_sql_mode": "ANSI_QUOTES", "write_timeout": 7.0, "statement_timeout": 3.0}
    made = make_database(tmp_path, placement_database=options)[1]
    made.limit_statements()
    limit = "max_execution_time / 1000" if ENGINE == "mysql" else "max_statement_time"
    names = ("sql_mode", "innodb_lock_wait_timeout", limit, "autocommit", "character_set_client")
    variables = ", ".join(f"@@SESSION.{name}" for name in names)
    with made.reader.connect() as reading, made.writer.connect() as writing:
        read = reading.exec_driver_sql(f"SELECT {variables}").one()
        write = writing.exec_driver_sql(f"SELECT {variables}").one()
    assert read == ("ANSI_QUOTES", 7, Decimal(3), 1, "utf8mb4")
    assert write == ("ANSI_QUOTES", 7, Decimal(10), 0, "utf8mb4")
    made.dispose()


def test_a_server_that_does_not_answer_in_time_is_a_lost_connection(database: Database) -> None:
    hasty = with_parameters(database, "read_timeout=1")
    with pytest.raises(DatabaseUnavailable) as raised, hasty.read() as conn:
        conn.exec_driver_sql(SLEEP)
    error = raised.value.__cause__
    assert isinstance(error, exc.OperationalError)
    assert LOST in codes_of(error.orig)
    hasty.dispose()


def test_a_server_that_accepts_and_says_nothing_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"{server().scheme}@127.0.0.1:{silent.getsockname()[1]}/placement"
        made = Database(settings(f"{url}?connect_timeout=1&read_timeout=1").database)
        with pytest.raises(ConfigurationError, match="cannot open the database"):
            made.connect_first(patience=0)


# -- faults, for real -----------------------------------------------------------------------------


@contextmanager
def killed(how: str, conn: sa.Connection) -> Iterator[None]:
    """Kill a connection on the server as soon as it sleeps."""
    name = number(conn)
    watcher = sa.create_engine(server().url(server().admin), isolation_level="AUTOCOMMIT")
    look = f"SELECT info FROM information_schema.processlist WHERE id = {name}"

    def kill() -> None:
        deadline = time.monotonic() + PATIENCE
        with watcher.connect() as other:
            while other.exec_driver_sql(look).scalar_one() != SLEEP:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            other.exec_driver_sql(f"{how} {name}")
        watcher.dispose()

    thread = threading.Thread(target=kill)
    thread.start()
    yield
    thread.join()


@pytest.mark.parametrize(
    ("how", "cause"), [("KILL CONNECTION", Cause.CONNECTION), ("KILL QUERY", Cause.DATABASE)]
)
def test_a_statement_that_is_killed_is_run_again(
    database: Database, how: str, cause: Cause
) -> None:
    connections: list[object] = []
    errors: list[exc.DBAPIError] = []

    def work(conn: sa.Connection) -> None:
        connections.append(conn.connection.dbapi_connection)
        conn.execute(ADD, {"name": "KILLED"})
        if len(connections) > 1:
            return
        with killed(how, conn):
            try:
                conn.exec_driver_sql(SLEEP)
            except exc.DBAPIError as error:
                errors.append(error)
                raise

    database.write(work)
    (error,) = errors
    assert cause_of(error) is cause
    first, second = connections
    assert (first is not second) == (cause is Cause.CONNECTION)
    with database.read() as conn:
        seen = "SELECT COUNT(*) FROM traits WHERE name = 'KILLED'"
        assert conn.exec_driver_sql(seen).scalar_one() == 1


def number(conn: sa.Connection) -> int:
    """Return what the server calls the connection."""
    return int(conn.exec_driver_sql("SELECT CONNECTION_ID()").scalar_one())


def read(database: Database) -> int:
    with database.read() as conn:
        return number(conn)


def ask(database: Database) -> int:
    return database.read_one(number)


def write(database: Database) -> int:
    return database.write(number)


@pytest.mark.parametrize("use", [read, ask, write])
def test_a_connection_that_was_killed_in_the_pool_is_replaced(
    database: Database, use: Callable[[Database], int]
) -> None:
    before = use(database)
    assert use(database) == before
    server().execute(f"KILL CONNECTION {before}")
    after = use(database)
    assert after != before
    assert use(database) == after


def test_a_connection_that_is_killed_before_its_commit_has_an_unknown_outcome(
    database: Database,
) -> None:
    with database.writer.connect() as conn:
        conn.execute(ADD, {"name": "LOST"})
        server().execute(f"KILL CONNECTION {number(conn)}")
        with pytest.raises(exc.DBAPIError) as raised:
            conn.commit()
        assert codes.is_outcome_unknown(raised.value)
        assert codes.is_connection_lost(raised.value)


def test_one_of_two_deadlocked_transactions_gets_the_error(database: Database) -> None:
    change = sa.text("UPDATE traits SET name = name WHERE name = :name")
    both_have_one = threading.Barrier(2)
    errors: list[exc.DBAPIError] = []

    def turn(names: tuple[str, str]) -> None:
        with database.writer.connect() as conn:
            conn.execute(change, {"name": names[0]})
            both_have_one.wait()
            try:
                conn.execute(change, {"name": names[1]})
            except exc.DBAPIError as error:
                errors.append(error)

    database.write(lambda conn: [conn.execute(ADD, {"name": name}) for name in ("A", "B")])
    threads = [threading.Thread(target=turn, args=(names,)) for names in (("A", "B"), ("B", "A"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (error,) = errors
    assert cause_of(error) is Cause.DEADLOCK


def test_a_lock_that_is_waited_for_too_long_is_no_lost_connection(tmp_path: Path) -> None:
    made = make_database(tmp_path, placement_database={"write_timeout": 1.0})[1]
    lock = sa.text("SELECT id FROM traits FOR UPDATE")
    with made.writer.connect() as first, made.writer.connect() as second:
        first.execute(lock)
        with pytest.raises(exc.OperationalError) as raised:
            second.execute(lock)
    assert cause_of(raised.value) is Cause.DATABASE
    assert codes.is_retriable(raised.value)
    made.dispose()
