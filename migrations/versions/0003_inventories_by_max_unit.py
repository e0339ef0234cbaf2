"""An index of inventories by class and max_unit.

With this index, a search detects that no host has the requested amount, regardless of the size of
the cloud. Claims do not change the indexed columns.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

INDEX = "inventories_resource_class_max_unit_idx"


def lacking(inspector: sa.Inspector) -> list[str]:
    names = {index["name"] for index in inspector.get_indexes("inventories")}
    return [] if INDEX in names else [INDEX]


def upgrade() -> None:
    if lacking(sa.inspect(op.get_bind())):
        op.create_index(INDEX, "inventories", ["resource_class_id", "max_unit"])
