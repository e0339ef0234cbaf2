"""What this service adds to the tables of openstack-placement, which ignores it.

The revision adds the following objects:

* the derived columns `inventories.used`, `inventories.capacity` and `resource_providers.revision`.
  They have server defaults, so that software that does not use them can insert rows. Each run of
  `placement-manage db sync` computes their values after the revisions.
* an index of inventories by class and max_unit. With this index, a search detects that no host has
  the requested amount, regardless of the size of the cloud. Claims do not change its columns.
* a table of holds, spread groups and stored requests, with one row for each such consumer
* three tables of numbered changes, for `GET /changes`, which are empty until the first request

Databases of all releases have this revision. The revisions 0002 to 0004 were parts of it.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0005_since_0003"
down_revision = "0001"
branch_labels = None
depends_on = None

COLUMNS = (("inventories", "used"), ("inventories", "capacity"), ("resource_providers", "revision"))

metadata = sa.MetaData()


def _ascii(length: int) -> sa.types.TypeEngine[str]:
    of_mysql = mysql.VARCHAR(length, charset="ascii", collation="ascii_bin")
    return sa.String(length).with_variant(of_mysql, "mysql", "mariadb")


def _json() -> sa.types.TypeEngine[str]:
    return sa.Text().with_variant(mysql.MEDIUMTEXT(), "mysql", "mariadb")


def _table(name: str, *items: sa.schema.SchemaItem) -> None:
    sa.Table(name, metadata, *items, mysql_engine="InnoDB", mysql_charset="utf8mb3")


_table(
    "claim_records",
    sa.Column("created_at", sa.DateTime),
    sa.Column("updated_at", sa.DateTime),
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("consumer_id", sa.Integer, nullable=False),
    sa.Column("consumer_uuid", _ascii(36), nullable=False),
    sa.Column("consumer_created_at", sa.DateTime, nullable=False),
    sa.Column("project_id", sa.Integer, nullable=False),
    sa.Column("spread_group", _ascii(64)),
    sa.Column("max_per_host", sa.Integer),
    sa.Column("hold_generation", sa.Integer),
    sa.Column("held_since", sa.BigInteger),
    sa.Column("expires_at", sa.BigInteger),
    sa.Column("mappings", _json()),
    sa.Column("request", _json()),
    sa.UniqueConstraint(
        "consumer_id", "consumer_uuid", "consumer_created_at", name="uniq_claim_records0consumer"
    ),
    sa.Index("claim_records_project_group_idx", "project_id", "spread_group"),
    sa.Index("claim_records_expires_at_idx", "expires_at"),
)
_table(
    "tree_changes",
    sa.Column("provider_id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("uuid", _ascii(36), primary_key=True),
    sa.Column("revision", sa.BigInteger, nullable=False),
    sa.Column("position", sa.BigInteger, nullable=False),
    sa.Index("tree_changes_position_idx", "position"),
)
_table(
    "change_batches",
    sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("token", sa.BigInteger, nullable=False),
    sa.Column("numbered_at", sa.BigInteger, nullable=False),
)
_table(
    "change_feed",
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("position", sa.BigInteger, nullable=False),
    sa.Column("token", sa.BigInteger, nullable=False),
    sa.Column("numbered_at", sa.BigInteger, nullable=False),
    sa.Column("revision_sum", sa.BigInteger, nullable=False),
)

# Of an existing table, only the columns of the additional index.
inventories = sa.Table(
    "inventories",
    sa.MetaData(),
    sa.Column("resource_class_id", sa.Integer),
    sa.Column("max_unit", sa.Integer),
    sa.Index("inventories_resource_class_max_unit_idx", "resource_class_id", "max_unit"),
)

TABLES = (inventories, *metadata.tables.values())


def lacking(inspector: sa.Inspector) -> list[str]:
    missing = [f"{table}.{name}" for table, name in _missing_columns(inspector)]
    missing += [name for name in metadata.tables if not inspector.has_table(name)]
    return missing + [
        str(index.name)
        for table in TABLES
        for index in table.indexes
        if not inspector.has_index(table.name, str(index.name))
    ]


def _missing_columns(inspector: sa.Inspector) -> list[tuple[str, str]]:
    return [
        (table, name)
        for table, name in COLUMNS
        if name not in {column["name"] for column in inspector.get_columns(table)}
    ]


def upgrade() -> None:
    """Create the missing objects.

    A table exists without its indexes if an engine commits each statement separately and a run was
    interrupted after the first one.
    """
    connection = op.get_bind()
    for owner, name in _missing_columns(sa.inspect(connection)):
        op.add_column(owner, sa.Column(name, sa.BigInteger, nullable=False, server_default="0"))
    metadata.create_all(connection, checkfirst=True)
    for table in TABLES:
        for index in table.indexes:
            index.create(connection, checkfirst=True)
