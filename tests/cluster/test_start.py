"""Starts of processes: many at once, before the database, and on a foreign schema."""

from pathlib import Path

import pytest
import sqlalchemy as sa

from placement import __version__, cli
from placement.objects import catalog
from tests.kit.builders import database_url
from tests.kit.engines import ENGINE, empty_database, server
from tests.kit.processes import Process, send

MANY = 6


def test_many_processes_start_at_once_on_an_empty_database(tmp_path: Path) -> None:
    url = empty_database(tmp_path)
    processes = [
        Process(tmp_path / str(number), url, OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP="true")
        for number in range(MANY)
    ]
    try:
        for process in processes:
            process.await_answer()
        for process in processes:
            assert send(process.port, "PUT", "/traits/CUSTOM_SEEN").status in {201, 204}
    finally:
        for process in processes:
            process.stop()
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as conn:
        names = conn.exec_driver_sql("SELECT name FROM resource_classes").scalars().all()
        assert sorted(names) == sorted(catalog.STANDARD_CLASSES)
        names = conn.exec_driver_sql("SELECT name FROM traits").scalars().all()
        assert sorted(names) == sorted([*catalog.STANDARD_TRAITS, "CUSTOM_SEEN"])
        versions = conn.exec_driver_sql("SELECT version_num FROM falcon_placement_version").all()
        assert len(versions) == 1


def test_a_process_refuses_a_schema_with_a_pending_migration_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = database_url(tmp_path)
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", url)
    assert cli.main(["db", "stamp", "0001"]) == 0
    process = Process(tmp_path / "server", url)
    assert process.ended() != 0
    (line,) = [text for text in process.complaint().splitlines() if "placement-manage" in text]
    assert "run placement-manage db sync" in line
    process = Process(tmp_path / "other", url, OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP="true")
    try:
        process.await_answer()
    finally:
        process.stop()


@pytest.mark.skipif(ENGINE == "sqlite", reason="SQLite has no server")
def test_a_process_that_starts_before_its_database_waits_for_it(tmp_path: Path) -> None:
    url = database_url(tmp_path)
    server().kill()
    process = Process(tmp_path / "server", url, OS_PLACEMENT_DATABASE__RETRY_INTERVAL="1")
    try:
        with pytest.raises(RuntimeError):
            process.await_answer(1)
        server().start()
        process.await_answer()
    finally:
        process.stop()


def test_a_good_start_is_one_line_and_a_warning_of_believed_tokens(tmp_path: Path) -> None:
    process = Process(tmp_path / "server", database_url(tmp_path), workers=2)
    try:
        process.await_answer()
        [ready] = [
            line for line in process.log().splitlines() if " INFO placement.entry.app " in line
        ]
        [warning] = [line for line in process.log().splitlines() if " WARNING " in line]
    finally:
        process.stop()
    product = {"sqlite": "SQLite", "mariadb": "MariaDB", "mysql": "MySQL"}.get(ENGINE, "PostgreSQL")
    assert f"placement {__version__} on {product} " in ready
    assert "[api] auth_strategy is noauth2: every token is accepted" in warning
