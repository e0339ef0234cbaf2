"""Errors as the drivers raise them, and simulated failures of statements and COMMITs."""

import sqlite3
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import psycopg
import pymysql
import pytest
import sqlalchemy as sa

from placement.db import compounds
from tests.kit.engines import FAMILY, server
from tests.kit.statements import text_of

# MySQL codes that the client library generates.
OF_CLIENTS = range(2000, 3000)
OUT_OF_STEP = 2014


def failure(code: object) -> Exception:
    """The driver's exception for a code: a name of SQLite, an integer of MySQL, a SQLSTATE."""
    if isinstance(code, int):
        return _from_mariadb(code) if FAMILY == "mariadb" else _from_pymysql(code)
    text = str(code)
    if text.startswith("SQLITE_"):
        kind = sqlite3.IntegrityError if "CONSTRAINT" in text else sqlite3.OperationalError
        made = kind("injected")
        made.sqlite_errorname = text
        return made
    return psycopg.errors.lookup(text)("injected")


def _from_mariadb(code: int) -> Exception:
    """Return the exception of the present driver for a server's error code.

    Servers do not send the codes of client libraries, and MariaDB's library rejects them.
    """
    engine = sa.create_engine(server().url(server().admin), poolclass=sa.NullPool)
    if code in OF_CLIENTS:
        driver: Any = engine.dialect.loaded_dbapi
        kind = driver.ProgrammingError if code == OUT_OF_STEP else driver.OperationalError
        made: Exception = kind(code, "injected")
        return made
    signal = f"SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = {code}, MESSAGE_TEXT = 'injected'"
    with engine.connect() as conn, pytest.raises(sa.exc.DBAPIError) as raised:
        conn.exec_driver_sql(signal)
    assert isinstance(raised.value.orig, Exception)
    return raised.value.orig


def _from_pymysql(code: int) -> Exception:
    with pytest.raises(pymysql.err.Error) as raised:
        pymysql.err.raise_mysql_exception(b"\xff" + struct.pack("<H", code) + b"#HY000injected")
    made: Exception = raised.value
    return made


@contextmanager
def failing_once(
    engine: sa.Engine, statement: str, code: object, *, after: int = 0
) -> Iterator[None]:
    """Make one statement with this prefix fail in the driver, before it is executed.

    after: number of such statements that are executed before.
    """
    left = [failure(code)]
    executed = count()

    def execute(_cursor: Any, text: str, _params: Any, context: Any) -> None:
        is_one = left and text_of(context.root_connection, text).startswith(statement)
        if is_one and next(executed) == after:
            raise left.pop()

    sa.event.listen(engine, "do_execute", execute)
    try:
        yield
    finally:
        sa.event.remove(engine, "do_execute", execute)
    assert not left, f"no {statement} was sent"


@contextmanager
def losing_commit(engine: sa.Engine, code: object, *, happens: bool) -> Iterator[None]:
    """Make the first COMMIT fail in the driver, after or before it is executed.

    On MariaDB, the writes are sent without the COMMIT.
    """
    left = [failure(code)]
    commit = engine.dialect.do_commit

    def lose(connection: Any) -> None:
        if happens or not left:
            commit(connection)
        if left:
            raise left.pop()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine.dialect, "do_commit", lose)
        patch.setattr(compounds, "are_supported", lambda _conn: False)
        yield
    assert not left, "nothing was committed"
