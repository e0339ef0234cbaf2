"""Fast bulk loading of empty tables.

PostgreSQL and MariaDB load a text with one line for each row, without checks of foreign keys. The
server must run on this machine and be allowed to read its files.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path

import sqlalchemy as sa

Row = Mapping[str, object]

BATCH = 2000  # rows of one INSERT
LINES = 20_000  # lines of one write


def copy_rows(conn: sa.Connection, table: sa.Table, rows: Iterator[Row]) -> None:
    """Write rows that have the same columns; their texts have no tabs, newlines or backslashes."""
    first = next(rows, None)
    if first is None:
        return
    rows = chain([first], rows)
    columns = ", ".join(first)
    if conn.dialect.name == "postgresql":
        conn.exec_driver_sql("SET LOCAL session_replication_role = replica")
        cursor = conn.connection.cursor()
        with cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
            for text in _texts(rows):
                copy.write(text)
    elif conn.dialect.name == "mysql":
        conn.exec_driver_sql("SET foreign_key_checks = 0, unique_checks = 0")
        with tempfile.NamedTemporaryFile("w") as file:
            file.writelines(_texts(rows))
            file.flush()
            Path(file.name).chmod(0o644)
            conn.exec_driver_sql(f"LOAD DATA INFILE '{file.name}' INTO TABLE {table} ({columns})")
        conn.exec_driver_sql("SET foreign_key_checks = 1, unique_checks = 1")
    else:
        while batch := list(islice(rows, BATCH)):
            conn.execute(sa.insert(table), batch)


def _texts(rows: Iterable[Row]) -> Iterator[str]:
    lines = (
        "\t".join(["\\N" if value is None else str(value) for value in row.values()]) + "\n"
        for row in rows
    )
    while text := "".join(islice(lines, LINES)):
        yield text
