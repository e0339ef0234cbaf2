"""A table of holds, spread groups and stored requests, with one row for each such consumer.

Releases that require 0003 ignore this table.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0004_since_0003"
down_revision = "0003"
branch_labels = None
depends_on = None

TABLE = "claim_records"


def _ascii(length: int) -> sa.types.TypeEngine[str]:
    of_mysql = mysql.VARCHAR(length, charset="ascii", collation="ascii_bin")
    return sa.String(length).with_variant(of_mysql, "mysql", "mariadb")


def _json() -> sa.types.TypeEngine[str]:
    return sa.Text().with_variant(mysql.MEDIUMTEXT(), "mysql", "mariadb")


table = sa.Table(
    TABLE,
    sa.MetaData(),
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
    mysql_engine="InnoDB",
    mysql_charset="utf8mb3",
)


def lacking(inspector: sa.Inspector) -> list[str]:
    return [] if inspector.has_table(TABLE) else [TABLE]


def upgrade() -> None:
    table.create(op.get_bind(), checkfirst=True)
