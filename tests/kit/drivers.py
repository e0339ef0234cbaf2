"""Errors as the drivers raise them, and statements and COMMITs that fail with them."""

import sqlite3
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pymysql
import pytest
import sqlalchemy as sa


def failure(code: object) -> Exception:
    """The driver's exception for a code: SQLite has names, MySQL integers, PostgreSQL states."""
    if isinstance(code, int):
        try:
            pymysql.err.raise_mysql_exception(b"\xff" + struct.pack("<H", code) + b"#HY000injected")
        except pymysql.err.Error as error:
            raised: Exception = error
            return raised
    text = str(code)
    if text.startswith("SQLITE_"):
        kind = sqlite3.IntegrityError if "CONSTRAINT" in text else sqlite3.OperationalError
        made = kind("injected")
        made.sqlite_errorname = text
        return made
    return psycopg.errors.lookup(text)("injected")


@contextmanager
def failing_once(engine: sa.Engine, statement: str, code: object) -> Iterator[None]:
    """Have the first statement that begins so fail in the driver, carried out not at all."""
    left = [failure(code)]

    def execute(_cursor: Any, text: str, *_rest: Any) -> None:
        if left and text.startswith(statement):
            raise left.pop()

    sa.event.listen(engine, "do_execute", execute)
    try:
        yield
    finally:
        sa.event.remove(engine, "do_execute", execute)
    assert not left, f"no {statement} was sent"


@contextmanager
def losing_commit(engine: sa.Engine, code: object, *, happens: bool) -> Iterator[None]:
    """Have the first COMMIT fail in the driver, carried out before or not at all."""
    left = [failure(code)]
    commit = engine.dialect.do_commit

    def lose(connection: Any) -> None:
        if happens or not left:
            commit(connection)
        if left:
            raise left.pop()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine.dialect, "do_commit", lose)
        yield
    assert not left, "nothing was committed"
