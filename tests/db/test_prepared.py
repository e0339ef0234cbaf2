"""Prepared statements on PostgreSQL, including statements that the server has lost."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.kit.engines import ENGINE
from tests.kit.service import Service

pytestmark = pytest.mark.skipif(ENGINE != "postgresql", reason="others prepare nothing")

HOST = "c0ffee00-0000-4000-8000-000000000000"
PROVIDER = f"/resource_providers/{HOST}"
READS = (PROVIDER, f"{PROVIDER}/inventories", f"{PROVIDER}/traits", "/resource_classes")
PREPARED = sa.text("SELECT count(*) FROM pg_prepared_statements WHERE statement ~ 'inventories'")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """A service whose reads and writes are prepared, which psycopg does after five executions."""
    with Service(tmp_path) as made:
        made.expect(200, "POST", "/resource_providers", {"name": "host", "uuid": HOST})
        for turn in range(8):
            rename(made, turn)
            for path in READS:
                made.expect(200, "GET", path)
        with made.database.read() as conn:
            assert conn.execute(PREPARED).scalar_one() > 0
        yield made


def rename(service: Service, turn: int) -> None:
    service.expect(200, "PUT", PROVIDER, {"name": f"host {turn}"})


def statuses(service: Service, path: str) -> list[int]:
    return [service.send("GET", path).status_code for _ in range(3)]


def test_connections_prepare_no_two_statements_under_one_name(service: Service) -> None:
    with Service(Path(), url=str(service.database.writer.url)) as other:
        names: list[str] = []
        for database in (service.database, other.database):
            for engine in (database.reader, database.writer):
                with engine.connect() as conn:
                    for _ in range(7):
                        conn.execute(PREPARED)
                    sql = "SELECT name FROM pg_prepared_statements"
                    names += conn.exec_driver_sql(sql).scalars()
        assert len(names) == len(set(names)) >= 4


def test_without_prepared_statements_none_is_prepared(tmp_path: Path) -> None:
    with Service(tmp_path, placement_database={"postgresql_prepared_statements": False}) as made:
        for _ in range(8):
            made.expect(200, "GET", "/resource_classes")
        for engine in (made.database.reader, made.database.writer):
            with engine.connect() as conn:
                counts = [conn.execute(PREPARED).scalar_one() for _ in range(8)]
                assert counts == [0] * 8


def test_a_column_that_gets_another_type_costs_one_answer_at_most(service: Service) -> None:
    with sa.create_engine(service.database.writer.url, poolclass=sa.NullPool).begin() as conn:
        for table in ("resource_classes", "traits"):
            conn.exec_driver_sql(f"ALTER TABLE {table} ALTER COLUMN name TYPE VARCHAR(300)")
        conn.exec_driver_sql("ALTER TABLE resource_providers ALTER COLUMN generation TYPE BIGINT")
    answers = [status for path in READS for status in statuses(service, path)]
    assert answers.count(200) >= len(answers) - 1
    assert set(answers) <= {200, 503}
    rename(service, 9)


def test_statements_that_the_server_has_forgotten_cost_one_answer_at_most(
    service: Service,
) -> None:
    """Simulates a proxy that distributes transactions among its connections."""
    for engine in (service.database.reader, service.database.writer):
        with engine.connect() as conn:
            # In a block, for psycopg listens.
            conn.exec_driver_sql("DO $$ BEGIN EXECUTE 'DEALLOCATE ALL'; END $$")
            conn.commit()
    answers = [status for path in READS for status in statuses(service, path)]
    assert answers.count(200) >= len(answers) - 1
    assert set(answers) <= {200, 503}
    rename(service, 9)
