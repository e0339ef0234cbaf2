"""Character sets and collations of single columns, on MariaDB."""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from placement.db import tables as t

COLUMNS: Sequence[sa.Column[Any]] = [
    column
    for table in t.metadata.sorted_tables
    for column in table.c
    if isinstance(column.type, sa.String)
]

# The columns in the tables that nova created, before they became a database of placement.
OF_NOVA: Mapping[sa.Column[Any], str] = {
    t.resource_providers.c.uuid: "latin1_swedish_ci",
    t.resource_providers.c.name: "utf8mb3_bin",
    t.allocations.c.consumer_id: "latin1_swedish_ci",
    t.consumers.c.uuid: "latin1_swedish_ci",
    t.projects.c.external_id: "latin1_swedish_ci",
    t.users.c.external_id: "latin1_swedish_ci",
    t.resource_classes.c.name: "utf8mb3_bin",
    t.traits.c.name: "utf8mb3_bin",
    t.placement_aggregates.c.uuid: "latin1_swedish_ci",
}


def convert(engine: sa.Engine, collations: Mapping[sa.Column[Any], str]) -> None:
    """Convert columns to other collations."""
    with engine.begin() as conn:
        for table in {column.table for column in collations}:
            changes = [
                _change(column, collations[column])
                for column in table.c.values()
                if column in collations
            ]
            conn.exec_driver_sql(f"ALTER TABLE {table} {', '.join(changes)}")


def _change(column: sa.Column[Any], collation: str) -> str:
    length = getattr(column.type, "length", None)
    kind = f"VARCHAR({length})" if length else "MEDIUMTEXT"
    null = "NULL" if column.nullable else "NOT NULL"
    charset = collation.partition("_")[0]
    return f"MODIFY {column.name} {kind} CHARACTER SET {charset} COLLATE {collation} {null}"
