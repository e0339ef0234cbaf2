"""The health check of the database."""

from sqlalchemy.engine import Connection

from placement.db.engine import Database
from placement.db.statements import integrity as statements


def check(database: Database) -> None:
    """Read all columns of all tables, and check the outcome of the last write.

    Raises:
        DatabaseUnavailable: the database fails.
        DatabaseUnusable: the database fails permanently.
    """
    with database.read() as conn:
        check_shape(conn)
    database.refuse_if_writes_fail()


def check_shape(conn: Connection) -> None:
    """Raise DatabaseUnusable unless every column can be read."""
    statements.shape().rows(conn)
