"""The differences between engines. Each engine has a module, and all modules share a protocol.

Apart from the types of columns in `tables.py`, the modules of drivers and the hazards of
`db preflight`, no other code depends on the name of an engine. To add an engine, add a module and
list it below.
"""

from collections.abc import Mapping

from sqlalchemy.engine import URL, Connection
from sqlalchemy.engine import Dialect as EngineDialect

from placement.db.dialects.mysql import MySql
from placement.db.dialects.postgresql import PostgreSql
from placement.db.dialects.protocol import ONE_VIEW, Dialect, Role
from placement.db.dialects.sqlite import Sqlite
from placement.runtime.suggestions import did_you_mean, nearest

DIALECTS: tuple[Dialect, ...] = (Sqlite(), MySql(), PostgreSql())

_BY_NAME: Mapping[str, Dialect] = {name: each for each in DIALECTS for name in each.names}

# Names of the databases by SQLAlchemy's name of the dialect.
_PRODUCTS = {"mariadb": "MariaDB", "mysql": "MySQL", "postgresql": "PostgreSQL", "sqlite": "SQLite"}


def dialect_named(name: str) -> Dialect:
    """Return the dialect with this SQLAlchemy name. Raises ValueError if there is none."""
    if name not in _BY_NAME:
        hint = did_you_mean(nearest(name, _BY_NAME))
        raise ValueError(f"the database {name} is not supported: use {', '.join(_BY_NAME)}{hint}")
    return _BY_NAME[name]


def dialect_of_url(url: URL) -> Dialect:
    """Return the dialect of a URL. Raises ValueError if the database is not supported."""
    return dialect_named(url.get_backend_name())


def dialect_of(conn: Connection) -> Dialect:
    return dialect_named(conn.dialect.name)


def product(dialect: EngineDialect) -> str:
    """Return the name of a database. After the first connection, include its version."""
    numbers = [str(part) for part in dialect.server_version_info or () if isinstance(part, int)]
    name = _PRODUCTS["mariadb" if getattr(dialect, "is_mariadb", False) else dialect.name]
    return f"{name} {'.'.join(numbers)}".rstrip()
