"""An existing database of openstack-placement: a tree of two providers with one allocation."""

from datetime import datetime

import sqlalchemy as sa
from alembic import command

from placement.db import revisions, schema
from placement.db.engine import Database
from tests.kit.rows import insert

STAMP = datetime(2023, 4, 5, 6, 7, 8)
ROOT, CHILD = "3c1aa3b0-0000-4000-8000-000000000001", "3c1aa3b0-0000-4000-8000-000000000002"
CONSUMER = "c0000000-0000-4000-8000-000000000001"

ROWS: dict[str, list[dict[str, object]]] = {
    "resource_classes": [{"id": 0, "name": "VCPU"}, {"id": 10000, "name": "CUSTOM_OWN"}],
    "traits": [{"id": 7, "name": "CUSTOM_TRAIT"}],
    "resource_providers": [
        {
            "id": number,
            "uuid": uuid,
            "name": f"provider {number}",
            "generation": number,
            "root_provider_id": 1,
            "parent_provider_id": parent,
        }
        for number, uuid, parent in ((1, ROOT, None), (2, CHILD, 1))
    ],
    "inventories": [
        {
            "id": 5,
            "resource_provider_id": 1,
            "resource_class_id": 0,
            "total": 10,
            "reserved": 1,
            "min_unit": 1,
            "max_unit": 10,
            "step_size": 1,
            "allocation_ratio": 1.5,
        }
    ],
    "projects": [{"id": 1, "external_id": "p"}],
    "users": [{"id": 1, "external_id": "u"}],
    "consumers": [{"id": 4, "uuid": CONSUMER, "project_id": 1, "user_id": 1, "generation": 1}],
    "allocations": [
        {
            "id": 9,
            "resource_provider_id": 1,
            "consumer_id": CONSUMER,
            "resource_class_id": 0,
            "used": 4,
        }
    ],
    "placement_aggregates": [{"id": 3, "uuid": "a0000000-0000-4000-8000-000000000001"}],
    "resource_provider_traits": [{"trait_id": 7, "resource_provider_id": 2}],
    "resource_provider_aggregates": [{"aggregate_id": 3, "resource_provider_id": 1}],
}


def make_tables(database: Database, version: str) -> None:
    """Create the empty tables of a version of openstack-placement's schema."""
    with database.writer.begin() as conn:
        command.upgrade(revisions._config(conn), "0001")
        conn.execute(sa.text(f"DROP TABLE {schema.VERSION_TABLE}"))
        conn.execute(sa.text("UPDATE alembic_version SET version_num = :new"), {"new": version})
        if conn.dialect.name == "mysql":
            conn.execute(
                sa.text("ALTER TABLE resource_classes MODIFY id INT NOT NULL AUTO_INCREMENT")
            )


def fill(database: Database) -> None:
    """Insert the rows without the columns that this service adds."""
    with database.writer.begin() as conn:
        if conn.dialect.name == "mysql":
            conn.execute(sa.text("SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'"))
        for table, rows in ROWS.items():
            insert(conn, table, *({"created_at": STAMP, **row} for row in rows))
    database.dispose()


def make(database: Database, version: str = "a082b8bb98d0") -> None:
    """Create an existing database."""
    make_tables(database, version)
    fill(database)
