"""The derived columns: `inventories.used` and `.capacity`, `resource_providers.revision`.

They have server defaults, so that software that does not use them can insert rows. Each run of
`placement-manage db sync` computes their values after the revisions.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

COLUMNS = (("inventories", "used"), ("inventories", "capacity"), ("resource_providers", "revision"))


def lacking(inspector: sa.Inspector) -> list[str]:
    missing = []
    for table, name in COLUMNS:
        if name not in {column["name"] for column in inspector.get_columns(table)}:
            missing.append(f"{table}.{name}")
    return missing


def upgrade() -> None:
    for column in lacking(sa.inspect(op.get_bind())):
        table, name = column.split(".")
        op.add_column(table, sa.Column(name, sa.BigInteger, nullable=False, server_default="0"))
