"""Errors as the drivers raise them."""

import sqlite3
import struct

import psycopg
import pymysql


def failure(code: object) -> Exception:
    """The driver's exception for a code: SQLite has names, MySQL integers, PostgreSQL states."""
    if isinstance(code, int):
        try:
            pymysql.err.raise_mysql_exception(b"\xff" + struct.pack("<H", code) + b"#HY000injected")
        except pymysql.err.Error as error:
            return error
    text = str(code)
    if text.startswith("SQLITE_"):
        kind = sqlite3.IntegrityError if "CONSTRAINT" in text else sqlite3.OperationalError
        made = kind("injected")
        made.sqlite_errorname = text
        return made
    return psycopg.errors.lookup(text)("injected")
