"""Whether the database is one that the service can work with."""

from sqlalchemy.engine import Connection

from placement.db.engine import Database
from placement.db.statements import integrity as statements


def check(database: Database) -> None:
    """Look at the columns of every table, and at what writes have met last.

    Raises DatabaseUnavailable, or DatabaseUnusable when waiting will not help.
    """
    with database.read() as conn:
        check_shape(conn)
    database.refuse_if_writes_fail()


def check_shape(conn: Connection) -> None:
    """Raise DatabaseUnusable, from the block that reads, unless every column can be read."""
    statements.shape().rows(conn)
