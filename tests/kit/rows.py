"""Rows of a database of any origin, which can be written, read and compared."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from placement.db import schema
from placement.db.engine import Database
from placement.objects.catalog import STANDARD_CLASSES, STANDARD_TRAITS

OUR_TABLES = {"claim_records", "tree_changes", "change_batches", "change_feed"}
OURS = (("inventories", "used"), ("inventories", "capacity"), ("resource_providers", "revision"))
STANDARD = {"resource_classes": set(STANDARD_CLASSES), "traits": STANDARD_TRAITS}

UNCHECKED = {
    "mysql": "SET foreign_key_checks = 0",
    "postgresql": "SET session_replication_role = replica",
    "sqlite": "PRAGMA foreign_keys = OFF",
}

Contents = Mapping[str, tuple[list[str], set[tuple[Any, ...]]]]


def insert(conn: sa.Connection, table: str, *rows: Mapping[str, object]) -> None:
    """Insert rows, with or without ids."""
    columns: list[sa.ColumnClause[Any]] = [
        # Without a type, sqlite3 would convert the time, which is deprecated since Python 3.12.
        sa.column(name, sa.DateTime() if isinstance(value, datetime) else None)
        for name, value in rows[0].items()
    ]
    conn.execute(sa.insert(sa.table(table, *columns)), [dict(row) for row in rows])
    if conn.dialect.name == "postgresql" and "id" in rows[0]:
        sequence = f"pg_get_serial_sequence('{table}', 'id')"
        conn.execute(
            sa.text(f"SELECT setval({sequence}, MAX(id)) FROM {table} WHERE {sequence} IS NOT NULL")
        )


def contents(conn: sa.Connection) -> Contents:
    """Table -> the columns and rows of openstack-placement's schema."""
    inspector = sa.inspect(conn)
    found = {}
    for table in sorted({*inspector.get_table_names()} - {schema.VERSION_TABLE, *OUR_TABLES}):
        names = [
            column["name"]
            for column in inspector.get_columns(table)
            if (table, column["name"]) not in OURS
        ]
        columns: list[sa.ColumnClause[Any]] = [sa.column(name) for name in names]
        query = sa.select(*columns).select_from(sa.table(table))
        found[table] = names, {tuple(row) for row in conn.execute(query)}
    return found


def assert_nothing_else_changed(before: Contents, after: Contents) -> None:
    """Assert that only standard names were added between two snapshots."""
    assert before.keys() == after.keys()
    for table, (columns, rows) in before.items():
        columns_after, rows_after = after[table]
        assert columns == columns_after, table
        assert not rows - rows_after, table
        added = [dict(zip(columns, row, strict=True)) for row in rows_after - rows]
        assert all(row.get("name") in STANDARD.get(table, ()) for row in added), (table, added)


def damage(database: Database, statements: Sequence[str]) -> None:
    """Make changes that only other software, or a database without constraints, would allow."""
    engine = sa.create_engine(database.writer.url, poolclass=sa.NullPool)
    with engine.begin() as conn:
        conn.exec_driver_sql(UNCHECKED[conn.dialect.name])
        for statement in statements:
            conn.exec_driver_sql(statement)


def wrong_usages(database: Database) -> list[int]:
    """Return the ids of inventories whose usage is not the sum of their allocations."""
    with database.read() as conn:
        query = (
            "SELECT i.id FROM inventories i LEFT JOIN allocations a"
            " ON a.resource_provider_id = i.resource_provider_id"
            " AND a.resource_class_id = i.resource_class_id"
            " GROUP BY i.id, i.used HAVING i.used <> COALESCE(SUM(a.used), 0)"
        )
        return list(conn.execute(sa.text(query)).scalars())
