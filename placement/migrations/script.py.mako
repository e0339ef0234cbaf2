"""${message}

Every step looks before it acts, so that the revision can be run again after an interruption.
It must suit the release before it, which may still be serving.
"""

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None


def upgrade() -> None:
    ${upgrades if upgrades else "pass"}
