"""Visibility of other transactions: reads see one snapshot, and writes see all commits."""

from pathlib import Path

import pytest
import sqlalchemy as sa

from placement.db.engine import Database
from placement.db.statement import Restart
from placement.errors import DatabaseUnavailable, LostRace
from tests.kit.builders import make_database
from tests.kit.engines import ENGINE

COUNT = sa.text("SELECT COUNT(*) FROM consumer_types")


def add(database: Database, name: str) -> None:
    database.write(
        lambda conn: conn.execute(
            sa.text("INSERT INTO consumer_types (name) VALUES (:name)"), {"name": name}
        )
    )


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return make_database(tmp_path, placement_database={"write_timeout": 1.0})[1]


def test_a_read_sees_one_moment_however_long_it_pauses(database: Database) -> None:
    with database.read() as conn:
        before = conn.execute(COUNT).scalar_one()
        add(database, "MEANWHILE")
        assert conn.execute(COUNT).scalar_one() == before
    with database.read() as conn:
        assert conn.execute(COUNT).scalar_one() == before + 1


def test_a_read_can_write_nothing(database: Database) -> None:
    if ENGINE == "sqlite":
        pytest.skip("nothing enforces it there")
    with pytest.raises((DatabaseUnavailable, sa.exc.DBAPIError)), database.read() as conn:
        conn.execute(sa.text("DELETE FROM consumer_types"))


def test_a_write_sees_what_others_committed_since_it_began(database: Database) -> None:
    if ENGINE == "sqlite":
        pytest.skip("one writer at a time: others have to wait")
    seen = []

    def work(conn: sa.Connection) -> None:
        seen.append(conn.execute(COUNT).scalar_one())
        add(database, "MEANWHILE")
        seen.append(conn.execute(COUNT).scalar_one())

    database.write(work)
    assert seen[1] == seen[0] + 1


def test_a_write_that_is_run_again_leaves_nothing_of_its_first_run(database: Database) -> None:
    runs = []

    def work(conn: sa.Connection) -> None:
        runs.append(conn.execute(COUNT).scalar_one())
        conn.execute(sa.text("INSERT INTO consumer_types (name) VALUES ('ONCE')"))
        if len(runs) < 3:
            raise Restart

    database.write(work)
    assert runs == runs[:1] * 3
    with database.read() as conn:
        assert conn.execute(COUNT).scalar_one() == runs[0] + 1


def test_a_race_that_is_never_won_is_given_up(database: Database) -> None:
    def work(_conn: sa.Connection) -> None:
        raise Restart

    with pytest.raises(LostRace):
        database.write(work)


def test_a_lock_that_is_never_released_is_given_up_as_unavailable(database: Database) -> None:
    update = sa.text("UPDATE resource_classes SET updated_at = NULL WHERE id = 0")
    with database.writer.connect() as holder, holder.begin():
        holder.execute(update)
        with pytest.raises(DatabaseUnavailable):
            database.write(lambda conn: conn.execute(update))
