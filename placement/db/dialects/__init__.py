"""Differences between engines: one module for each engine, behind one protocol.

No other code depends on the name of an engine. To add an engine, add a module and list it below.
"""

from collections.abc import Mapping

from sqlalchemy.engine import URL, Connection

from placement.db.dialects.mysql import MySql
from placement.db.dialects.postgresql import PostgreSql
from placement.db.dialects.protocol import ONE_VIEW, Dialect, Role
from placement.db.dialects.sqlite import Sqlite

__all__ = [
    "DIALECTS",
    "ONE_VIEW",
    "Dialect",
    "Role",
    "dialect_named",
    "dialect_of",
    "dialect_of_url",
]

DIALECTS: tuple[Dialect, ...] = (Sqlite(), MySql(), PostgreSql())

_BY_NAME: Mapping[str, Dialect] = {name: each for each in DIALECTS for name in each.names}


def dialect_named(name: str) -> Dialect:
    """Return the dialect with this SQLAlchemy name.

    Raises:
        ValueError: the database is not supported.
    """
    if name not in _BY_NAME:
        raise ValueError(f"the database {name} is not supported: use {', '.join(_BY_NAME)}")
    return _BY_NAME[name]


def dialect_of_url(url: URL) -> Dialect:
    """Return the dialect of a URL.

    Raises:
        ValueError: the database is not supported.
    """
    return dialect_named(url.get_backend_name())


def dialect_of(conn: Connection) -> Dialect:
    """Return the dialect of a connection."""
    return dialect_named(conn.dialect.name)
