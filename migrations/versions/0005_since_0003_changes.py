"""Three tables of numbered changes, for `GET /changes`.

Releases that require 0003 or 0004 ignore these tables. The tables are empty until the first
request.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0005_since_0003"
down_revision = "0004_since_0003"
branch_labels = None
depends_on = None

metadata = sa.MetaData()


def _table(name: str, *items: sa.schema.SchemaItem) -> None:
    sa.Table(name, metadata, *items, mysql_engine="InnoDB", mysql_charset="utf8mb3")


_table(
    "tree_changes",
    sa.Column("provider_id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column(
        "uuid",
        sa.String(36).with_variant(
            mysql.VARCHAR(36, charset="ascii", collation="ascii_bin"), "mysql", "mariadb"
        ),
        primary_key=True,
    ),
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


def lacking(inspector: sa.Inspector) -> list[str]:
    return [name for name in metadata.tables if not inspector.has_table(name)]


def upgrade() -> None:
    metadata.create_all(op.get_bind(), checkfirst=True)
