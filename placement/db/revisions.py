"""Migration of the schema by Alembic, and records of its version.

PERF: Alembic is imported only here, because a start on a migrated database does not need it.
"""

import logging

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy.engine import Connection

from placement.db.dialects import dialect_of
from placement.db.schema import (
    ADOPTABLE,
    ADOPTED_TABLE,
    MIGRATIONS,
    VERSION_TABLE,
    SchemaMismatch,
    is_later,
    version,
)
from placement.errors import ConfigurationError

LOG = logging.getLogger(__name__)

# The revision that has the same tables as an adoptable schema.
FIRST = "0001"
# Maximum number of names in a message.
MAX_SHOWN = 5


def _config(conn: Connection | None = None) -> Config:
    config = Config(attributes={"connection": conn, "version_table": VERSION_TABLE})
    config.set_main_option("script_location", f"{MIGRATIONS}:")  # the colon marks a package
    return config


def _script() -> ScriptDirectory:
    return ScriptDirectory.from_config(_config())


def _migration_context(conn: Connection) -> MigrationContext:
    return MigrationContext.configure(conn, opts={"version_table": VERSION_TABLE})


def upgrade(conn: Connection) -> None:
    """Upgrade the schema to the newest revision, unless a compatible later one is recorded.

    Raises:
        SchemaMismatch: the version is unknown, or another process changes it concurrently.
    """
    try:
        with dialect_of(conn).migration_lock(conn):
            recorded = version(conn)
            if is_later(recorded):
                return
            missing = [] if recorded is None else lacking(conn, recorded)
            if missing:
                # Start with the first revision; the revisions that are complete already do nothing.
                LOG.warning("version %s lacks %s; migrating again", recorded, ", ".join(missing))
                _migration_context(conn).stamp(_script(), "base")
            command.upgrade(_config(conn), "head")
    except CommandError as error:
        raise SchemaMismatch(f"cannot migrate the database: {error}") from None


def lacking(conn: Connection, revision: str) -> list[str]:
    """Return the tables, columns and indexes of a revision that the database does not have.

    Raises:
        CommandError: the revision is unknown.
    """
    script, inspector = _script(), sa.inspect(conn)
    script.get_revision(revision)
    # The oldest revision comes first, because each revision builds upon the earlier ones.
    for migration in reversed(list(script.iterate_revisions(revision, "base"))):
        missing = migration.module.lacking(inspector)
        if missing:
            return list(missing)
    return []


def stamp(conn: Connection, revision: str) -> None:
    """Record a revision of this service or of an adopted schema, without migrating.

    Raises:
        ConfigurationError: the revision is unknown, or the database lacks tables of it.
    """
    adopted = revision in ADOPTABLE
    if not revision:
        raise ConfigurationError("cannot stamp an empty revision")
    try:
        missing = lacking(conn, FIRST if adopted else revision)
        if missing:
            more = ", …" if len(missing) > MAX_SHOWN else ""
            raise ConfigurationError(
                f"cannot stamp {revision}: the database lacks {', '.join(missing[:MAX_SHOWN])}"
                f"{more}; run placement-manage db sync, or create them"
            )
        if adopted:
            _stamp_adopted(conn, revision)
        else:
            # Replace any recorded revision, including unknown revisions.
            if sa.inspect(conn).has_table(VERSION_TABLE):
                conn.execute(sa.delete(sa.table(VERSION_TABLE)))
            _migration_context(conn).stamp(_script(), revision)
    except CommandError as error:
        known = sorted(each.revision for each in _script().walk_revisions())
        raise ConfigurationError(
            f"cannot stamp {revision}: {error}; this release has {', '.join(known)}"
        ) from None


def _stamp_adopted(conn: Connection, revision: str) -> None:
    column = sa.Column("version_num", sa.String(32), primary_key=True)
    table = sa.Table(ADOPTED_TABLE, sa.MetaData(), column, mysql_engine="InnoDB")
    table.create(conn, checkfirst=True)
    conn.execute(sa.delete(table))
    conn.execute(sa.insert(table).values(version_num=revision))
