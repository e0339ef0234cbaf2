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


def upgrade() -> None:
    """Add the columns that are not there."""
    inspector = sa.inspect(op.get_bind())
    for table, name in COLUMNS:
        if name not in {column["name"] for column in inspector.get_columns(table)}:
            op.add_column(table, sa.Column(name, sa.BigInteger, nullable=False, server_default="0"))
