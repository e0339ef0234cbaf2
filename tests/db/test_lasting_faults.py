"""Permanent faults: a missing privilege or column, and a database that refuses the login."""

from __future__ import annotations

import logging
import sqlite3
from pathlib import Path
from typing import Any

import psycopg.errors
import pymysql
import pytest
import sqlalchemy as sa
from sqlalchemy import exc

from placement import cli
from placement.api.request_log import REQUEST_LOG
from placement.config import Settings
from placement.db.dialects import DIALECTS
from placement.db.dialects.errors import LOGIN, RIGHT, SHAPE, TLS, Fault
from placement.db.engine import COMMAND_PATIENCE, Database
from placement.db.failures import permanent_fault, unusable_error
from placement.entry import app
from placement.errors import ConfigurationError
from tests.kit.builders import make_database, settings
from tests.kit.drivers import failure
from tests.kit.engines import ENGINE, FAMILY, server
from tests.kit.ports import free_port
from tests.kit.service import Client
from tests.migrations.conftest import ENVIRONMENT


def as_reader(url: str) -> tuple[Settings, Database]:
    """The database for a user with read access only."""
    made = sa.make_url(url)
    if ENGINE == "sqlite":
        made = made.set(database=f"file:{made.database}", query={"mode": "ro", "uri": "true"})
    elif FAMILY == "mariadb":
        with sa.create_engine(url).begin() as conn:
            conn.exec_driver_sql("CREATE USER IF NOT EXISTS reader@'localhost'")
            conn.exec_driver_sql(f"GRANT SELECT ON {made.database}.* TO reader@'localhost'")
            conn.exec_driver_sql("CREATE USER IF NOT EXISTS reader@'127.0.0.1'")
            conn.exec_driver_sql(f"GRANT SELECT ON {made.database}.* TO reader@'127.0.0.1'")
        made = made.set(username="reader")
    else:
        with sa.create_engine(url).begin() as conn:
            if not conn.exec_driver_sql("SELECT FROM pg_roles WHERE rolname = 'reader'").all():
                conn.exec_driver_sql("CREATE USER reader")
            conn.exec_driver_sql("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
        made = made.set(username="reader")
    text = made.render_as_string(hide_password=False)
    known = settings(text)
    return known, Database(known.database)


def complaints(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The lines of the log, without the lines of requests, each of which may be slow."""
    return [
        record.getMessage()
        for record in caplog.records
        if record.levelno >= logging.WARNING and record.name != REQUEST_LOG.name
    ]


def put(client: Client) -> Any:
    return client.send("PUT", "/traits/CUSTOM_A")


def test_a_missing_right_is_said_with_the_command_and_health_is_lost(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    known, _database = make_database(tmp_path)
    reader, database = as_reader(known.database.connection)
    client = Client(app.create_app(reader, database))
    assert client.send("GET", "/healthcheck").status_code == 200
    with caplog.at_level(logging.WARNING):
        answer = put(client)
    assert answer.status_code == 503
    assert "retry-after" not in answer.headers
    detail = answer.json["errors"][0]["detail"]
    assert RIGHT.reason in detail
    assert "retry" not in detail
    (line,) = complaints(caplog)
    for words in (RIGHT.reason, "INSERT", RIGHT.remedy):
        assert words in line
    health = client.send("GET", "/healthcheck")
    assert health.status_code == 503
    assert RIGHT.reason in health.text
    assert "reader" not in health.text
    assert client.send("GET", "/traits").status_code == 200
    database.dispose()


def test_health_returns_with_the_right(tmp_path: Path) -> None:
    known, database = make_database(tmp_path)
    client = Client(app.create_app(known, database))
    database._writes_fail = unusable_error(
        exc.OperationalError("INSERT", None, pymysql.err.OperationalError(1142, "denied"))
    )
    assert client.send("GET", "/healthcheck").status_code == 503
    assert put(client).status_code == 201
    assert client.send("GET", "/healthcheck").status_code == 200


@pytest.mark.parametrize(
    ("damage", "name"),
    [
        ("ALTER TABLE inventories RENAME COLUMN capacity TO volume", "capacity"),
        ("ALTER TABLE projects RENAME TO tasks", "projects"),
    ],
)
def test_a_missing_column_or_table_is_named_and_health_is_lost(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str, name: str
) -> None:
    known, database = make_database(tmp_path)
    client = Client(app.create_app(known, database))
    with database.writer.begin() as conn:
        conn.exec_driver_sql(damage)
    for path in ("/healthcheck", "/usages?project_id=p", "/resource_providers?resources=VCPU:1"):
        caplog.clear()
        answer = client.send("GET", path)
        if path == "/healthcheck" or answer.status_code != 200:
            assert answer.status_code == 503
            assert SHAPE.reason in answer.text
            assert name not in answer.text
            assert "retry-after" not in answer.headers
            (line,) = complaints(caplog)
            assert name in line
            assert SHAPE.remedy in line
    assert client.send("GET", "/traits").status_code == 200
    with pytest.raises(ConfigurationError, match=name):
        app.prepare(database, sync=False)


@pytest.mark.skipif(ENGINE == "sqlite", reason="SQLite lets everybody in")
@pytest.mark.parametrize("wrong", [{"username": "nobody"}, {"database": "nowhere"}])
def test_a_database_that_does_not_let_the_service_in_is_not_waited_for(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    wrong: dict[str, str],
) -> None:
    url = sa.make_url(server().url(server().admin)).set(**wrong)  # type: ignore[arg-type]
    monkeypatch.setenv(ENVIRONMENT, url.render_as_string(hide_password=False))
    monkeypatch.setattr("time.sleep", lambda _seconds: pytest.fail("waited"))
    assert cli.main(["db", "version"]) == 1
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert next(iter(wrong.values())) in line


REFUSED_PARAMETERS = {
    "sqlite": [],
    "mariadb": ["ssl_check_hostname=true"],
    "postgresql": [
        "sslmode=require",
        "sslmode=verify-full&sslrootcert=/missing",
        "sslmode=unknown",
        "unknown=1",
        "connect_timeout=x",
        "options=-c%20unknown%3D1",
        "channel_binding=require",
    ],
}


@pytest.mark.parametrize("parameters", REFUSED_PARAMETERS[FAMILY])
def test_a_parameter_that_the_database_cannot_meet_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, parameters: str
) -> None:
    monkeypatch.setattr("time.sleep", lambda _seconds: pytest.fail("waited"))
    database = Database(settings(f"{server().url(server().admin)}?{parameters}").database)
    with pytest.raises(ConfigurationError, match=r"; see the .*parameters of"):
        database.connect_first()


@pytest.mark.skipif(FAMILY != "mariadb", reason="others have no such setting")
def test_a_session_that_the_database_refuses_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("time.sleep", lambda _seconds: pytest.fail("waited"))
    options = {"mysql_sql_mode": "UNKNOWN"}
    url = server().url(server().admin)
    database = Database(settings(url, placement_database=options).database)
    with pytest.raises(ConfigurationError, match=r"see .*mysql_sql_mode"):
        database.connect_first()


@pytest.mark.parametrize(
    ("retries", "patience", "attempts"),
    [(2, None, "3"), (10, 30.0, "4"), (1, 30.0, "2"), (-1, 30.0, "4"), (10, 0, "1")],
)
def test_attempts_to_open_the_database_are_numbered_and_limited(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    retries: int,
    patience: float | None,
    attempts: str,
) -> None:
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    options = {"max_retries": retries, "retry_interval": 10}
    url = f"mysql+pymysql://root@127.0.0.1:{free_port()}/placement"
    database = Database(settings(url, placement_database=options).database)
    with pytest.raises(ConfigurationError, match="Can't connect"):
        database.connect_first(patience=patience)
    assert slept == [10] * (int(attempts) - 1)
    for number, line in enumerate(complaints(caplog), 1):
        assert line.startswith(
            f"attempt {number} of {attempts} to open the database failed: Can't connect"
        )


def test_a_command_gives_up_after_half_a_minute(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    monkeypatch.setenv(ENVIRONMENT, f"mysql+pymysql://root@127.0.0.1:{free_port()}/placement")
    assert cli.main(["db", "check"]) == 1
    assert sum(slept) == COMMAND_PATIENCE
    assert "cannot open the database" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ("certificate verify failed: self-signed certificate in certificate chain", TLS),
        ("TLS/SSL error: SSL is required, but the server does not support it", TLS),
        ("TLS/SSL error: Certificate verification failure: The certificate is NOT trusted.", TLS),
        ("Connections using insecure transport are prohibited", TLS),
        ("SSL error: certificate verify failed", TLS),
        ('server certificate for "a" does not match host name "b"', TLS),
        ("FATAL:  connection requires a valid client certificate", TLS),
        ('FATAL:  Peer authentication failed for user "placement"', LOGIN),
        ('FATAL:  role "placement" is not permitted to log in', LOGIN),
        ("fe_sendauth: no password supplied", LOGIN),
    ],
)
def test_messages_without_a_code_of_their_own_are_recognised(message: str, fault: Fault) -> None:
    origin = pymysql.err.OperationalError(2026, message)
    assert permanent_fault(exc.OperationalError(None, None, origin)) is fault


@pytest.mark.parametrize(
    ("code", "fault"),
    [pair for dialect in DIALECTS for pair in dialect.errors.permanent.items()],
)
def test_all_codes_are_distinct(code: object, fault: Fault) -> None:
    error = exc.DBAPIError("UPDATE t", None, failure(code))
    assert permanent_fault(error) is fault
    refusal = unusable_error(error)
    assert refusal is not None
    assert refusal.complaint.count("UPDATE") == 1
    assert refusal.retry_after is None


def test_what_may_pass_is_no_lasting_fault() -> None:
    for origin in (
        pymysql.err.OperationalError(1213, "deadlock"),
        sqlite3.OperationalError("near x: syntax error"),
        psycopg.OperationalError("connection failed: FATAL:  the database system is starting up"),
        pymysql.err.OperationalError(2026, "SSL connection error: unexpected end of file"),
        psycopg.OperationalError("SSL error: unexpected eof while reading"),
    ):
        assert unusable_error(exc.OperationalError("X", None, origin)) is None
    denied = psycopg.OperationalError('connection failed: FATAL:  role "x" does not exist')
    assert permanent_fault(exc.OperationalError(None, None, denied)) is LOGIN
