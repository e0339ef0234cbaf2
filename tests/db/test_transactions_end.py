"""No connection returns to the pool with an open transaction."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from placement.db.engine import Database
from placement.errors import LostRace, PlacementError
from tests.kit.builders import make_database
from tests.kit.drivers import failure
from tests.kit.engines import FAMILY

# The statement was interrupted: what KILL QUERY and pg_cancel_backend do to a ROLLBACK.
INTERRUPTED = {"sqlite": "SQLITE_INTERRUPT", "mariadb": 1317, "postgresql": "57014"}[FAMILY]
ADD = sa.text("INSERT INTO consumer_types (name) VALUES (:name)")
FAILED = (sa.exc.DBAPIError, PlacementError)
NAMES = sa.text("SELECT name FROM consumer_types")


@pytest.fixture
def database(tmp_path: Path) -> Database:
    made = make_database(tmp_path, placement_database={"write_timeout": 1.0})[1]
    for engine in (made.reader, made.writer):  # the first connection of an engine rolls back too
        engine.connect().close()
    return made


def add(database: Database, name: str) -> None:
    database.write(lambda conn: conn.execute(ADD, {"name": name}))


def names(database: Database) -> set[str]:
    with database.read() as conn:
        return set(conn.execute(NAMES).scalars())


@contextmanager
def interrupted(engine: sa.Engine, what: str) -> Iterator[list[object]]:
    """Make each COMMIT or ROLLBACK fail without any effect. Collect the connections."""
    seen: list[object] = []

    def fail(connection: Any) -> None:
        seen.append(connection.dbapi_connection)
        raise failure(INTERRUPTED)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine.dialect, f"do_{what}", fail)
        yield seen


def connection_of(conn: sa.Connection) -> object:
    return conn.connection.dbapi_connection


def test_a_write_whose_rollback_fails_leaves_nothing_to_the_next(database: Database) -> None:
    def refuse(conn: sa.Connection) -> None:
        conn.execute(ADD, {"name": "REFUSED"})
        raise LostRace

    with interrupted(database.writer, "rollback") as seen, pytest.raises(LostRace):
        database.write(refuse)
    add(database, "NEXT")
    assert names(database) == {"NEXT"}
    assert len(seen) == 1
    assert seen[0] is not database.write(connection_of)


def test_a_write_whose_statement_and_rollback_fail_leaves_a_sound_connection(
    database: Database,
) -> None:
    def fail(conn: sa.Connection) -> None:
        conn.execute(ADD, {"name": "FAILED"})
        conn.execute(sa.text("SELECT missing FROM consumer_types"))

    with interrupted(database.writer, "rollback"), pytest.raises(FAILED):
        database.write(fail)
    add(database, "NEXT")
    assert names(database) == {"NEXT"}


def test_a_commit_that_fails_leaves_nothing_to_the_next(database: Database) -> None:
    with interrupted(database.writer, "commit"), pytest.raises(PlacementError):
        add(database, "FAILED")
    add(database, "NEXT")
    assert names(database) == {"NEXT"}


def test_a_read_whose_commit_fails_is_answered_and_its_snapshot_is_gone(
    database: Database,
) -> None:
    with interrupted(database.reader, "commit") as seen:
        assert names(database) == set()
    add(database, "NEXT")
    assert names(database) == {"NEXT"}
    with database.read() as conn:
        assert seen
        assert connection_of(conn) is not seen[0]


def test_a_read_whose_statement_and_rollback_fail_leaves_a_sound_connection(
    database: Database,
) -> None:
    def fail() -> None:
        with database.read() as conn:
            conn.execute(sa.text("SELECT missing FROM consumer_types"))

    with interrupted(database.reader, "rollback"), pytest.raises(FAILED):
        fail()
    assert names(database) == set()


def test_connections_of_transactions_that_end_well_are_kept(database: Database) -> None:
    def refuse(conn: sa.Connection) -> None:
        seen.add(connection_of(conn))
        raise LostRace

    seen = {database.write(connection_of), database.write(connection_of)}
    with pytest.raises(LostRace):
        database.write(refuse)
    assert seen == {database.write(connection_of)}
