"""The version of the schema: Alembic's revisions, in a version table of our own.

An adopted database has another table, `alembic_version`, which names the schema of the
software that made it. It is read to tell whether we know that schema, and never changed.
"""

import importlib.util
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy.engine import Connection

from placement.db import dialect
from placement.errors import ConfigurationError

VERSION_TABLE = "falcon_placement_version"
ADOPTED_TABLE = "alembic_version"
ADOPTABLE = frozenset({"422ece571366", "a082b8bb98d0"})
TABLES = frozenset({"resource_providers", "inventories", "allocations", "consumers"})


class Overtaken(ConfigurationError):
    """The version that the database records does not fit what a migration finds."""


def migrations() -> Path:
    """Where the revisions are: inside the installed package, or beside it in a checkout."""
    spec = importlib.util.find_spec("placement.migrations")
    if spec is not None and spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations)))
    return Path(__file__).parents[2] / "migrations"


def _config(conn: Connection | None = None) -> Config:
    config = Config(attributes={"connection": conn})
    # Alembic reads "%" as the start of a placeholder.
    config.set_main_option("script_location", str(migrations()).replace("%", "%%"))
    return config


def newest() -> str | None:
    """The revision that this release needs."""
    return ScriptDirectory.from_config(_config()).get_current_head()


def version(conn: Connection) -> str | None:
    """The revision of our own that the database has, or None."""
    return _migration_context(conn).get_current_revision()


def _migration_context(conn: Connection) -> MigrationContext:
    return MigrationContext.configure(conn, opts={"version_table": VERSION_TABLE})


def adopted_version(conn: Connection) -> str | None:
    """The schema that `alembic_version` names, or None."""
    if not sa.inspect(conn).has_table(ADOPTED_TABLE):
        return None
    found: Any = conn.execute(
        sa.select(sa.column("version_num")).select_from(sa.table(ADOPTED_TABLE))
    )
    return found.scalar()  # type: ignore[no-any-return]


def refuse_unknown(conn: Connection) -> bool:
    """Whether there are tables to build upon.

    Raises ConfigurationError for a database whose schema we do not know.
    """
    present = TABLES & set(sa.inspect(conn).get_table_names())
    adopted = adopted_version(conn)
    if present and adopted not in ADOPTABLE:
        raise ConfigurationError(
            f"the database has tables of schema {adopted or 'without a version'}, which is not "
            f"one of {', '.join(sorted(ADOPTABLE))}: upgrade it with the software that made it"
        )
    return present == TABLES


def upgrade(conn: Connection) -> None:
    """Bring the schema to the newest revision.

    Raises Overtaken when the version is none of ours, or is changed by somebody else meanwhile.
    """
    try:
        with dialect.alone(conn):
            command.upgrade(_config(conn), "head")
    except CommandError as error:
        raise Overtaken(f"cannot migrate the database: {error}") from None


def stamp(conn: Connection, revision: str) -> None:
    """Record a revision without migrating.  Raises ConfigurationError for an unknown one."""
    script = ScriptDirectory.from_config(_config())
    try:
        script.get_revision(revision)
        _migration_context(conn).stamp(script, revision)
    except CommandError as error:
        raise ConfigurationError(f"cannot stamp {revision}: {error}") from None


def check(conn: Connection) -> None:
    """Raise ConfigurationError, one line, unless the schema is the newest."""
    present = version(conn)
    if present != newest():
        raise ConfigurationError(
            f"the database schema is at {present or 'no version'}, this release needs {newest()}: "
            f"run placement-manage db sync, or set [placement_database] sync_on_startup"
        )
