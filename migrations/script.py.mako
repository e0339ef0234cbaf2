"""${message}

Every step looks before it acts, so that the revision can be run again after an interruption.

If the release before it can go on working on what it makes, as it has to while processes are
replaced one by one, its name says so: ${up_revision}_since_NUMBER, with the number of the oldest
revision whose release can. The file's name begins with it.
"""

import sqlalchemy as sa
from alembic import op

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None


def lacking(inspector: sa.Inspector) -> list[str]:
    """Return the tables, columns and indexes of it that the database does not have."""
    return []


def upgrade() -> None:
    ${upgrades if upgrades else "pass"}
