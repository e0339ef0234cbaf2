"""Columns of ours: `inventories.used` and `.capacity`, `resource_providers.revision`.

All have database defaults, so that a writer who does not know them can still insert. They are
filled by every `placement-manage db sync`, after the revisions.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

COLUMNS = (("inventories", "used"), ("inventories", "capacity"), ("resource_providers", "revision"))


def lacking(inspector: sa.Inspector) -> list[str]:
    """The columns that are not there."""
    present = {
        f"{table}.{column['name']}"
        for table in {table for table, _name in COLUMNS}
        for column in inspector.get_columns(table)
    }
    return [f"{table}.{name}" for table, name in COLUMNS if f"{table}.{name}" not in present]


def upgrade() -> None:
    """Add the columns that are not there."""
    for table, _dot, name in map(_parts, lacking(sa.inspect(op.get_bind()))):
        op.add_column(table, sa.Column(name, sa.BigInteger, nullable=False, server_default="0"))


def _parts(name: str) -> tuple[str, str, str]:
    return name.partition(".")
