"""The version of the schema, as Alembic revisions in a version table of this service.

An adopted database has another version table, `alembic_version`, which names the schema of the
software that created it. It shows whether the service knows that schema. Migrations never change
it.

The name of a revision states which releases can work with it. Releases that need 0003 or 0004 can
work with `0005_since_0003`, because it only adds items that they ignore. Only releases with the
revision itself can work with `0005`. So an older release can determine from the recorded version
whether it can use the database.
"""

import logging
import re

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy.engine import Connection

from placement.db import tables as t
from placement.db.dialects import dialect_of
from placement.errors import ConfigurationError

LOG = logging.getLogger(__name__)

# The package of the revisions; in a checkout it is the directory `migrations`.
MIGRATIONS = "placement.migrations"
VERSION_TABLE = "falcon_placement_version"
ADOPTED_TABLE = "alembic_version"
# Versions of openstack-placement's schema that can be adopted.
ADOPTABLE = frozenset({"422ece571366", "a082b8bb98d0"})
# The revision that has the same tables as an adoptable schema.
FIRST = "0001"
# Maximum number of names in a message.
MAX_SHOWN = 5
# Tables that show that a database has a placement schema.
TABLES = frozenset({"resource_providers", "inventories", "allocations", "consumers"})
_REVISION = re.compile(r"(?P<number>[0-9]{4})(?:_since_(?P<since>[0-9]{4}))?")


class SchemaMismatch(ConfigurationError):
    """The recorded version does not match the existing tables."""


def _config(conn: Connection | None = None) -> Config:
    config = Config(attributes={"connection": conn, "version_table": VERSION_TABLE})
    config.set_main_option("script_location", f"{MIGRATIONS}:")  # the colon marks a package
    return config


def _script() -> ScriptDirectory:
    return ScriptDirectory.from_config(_config())


def newest() -> str | None:
    """Return the revision that this release needs."""
    return _script().get_current_head()


def version(conn: Connection) -> str | None:
    """Return the revision that the database records, or None.

    Raises:
        ConfigurationError: it records several.
    """
    heads = _migration_context(conn).get_current_heads()
    if len(heads) > 1:
        raise ConfigurationError(
            f"{VERSION_TABLE} has {len(heads)} versions, {', '.join(sorted(heads))}: "
            f"run placement-manage db stamp with the one that the database has"
        )
    return next(iter(heads), None)


def is_later(recorded: str | None) -> bool:
    """Return whether a later release created the schema, and this release can use it."""
    needed, made = _numbers(newest()), _numbers(recorded)
    return needed is not None and made is not None and made[1] <= needed[0] < made[0]


def fits(conn: Connection) -> bool:
    """Return whether the schema is this release's own or a compatible later schema."""
    recorded = version(conn)
    return recorded == newest() or is_later(recorded)


def _numbers(revision: str | None) -> tuple[int, int] | None:
    """Return the number of a revision, and of the oldest release that can use it."""
    match = _REVISION.fullmatch(revision or "")
    if match is None:
        return None
    return (int(match["number"]), int(match["since"] or match["number"]))


def _is_known(recorded: str) -> bool:
    return any(recorded == each.revision for each in _script().walk_revisions())


def _migration_context(conn: Connection) -> MigrationContext:
    return MigrationContext.configure(conn, opts={"version_table": VERSION_TABLE})


def adopted_version(conn: Connection) -> str | None:
    """Return the version that `alembic_version` records, or None."""
    if not sa.inspect(conn).has_table(ADOPTED_TABLE):
        return None
    column: sa.ColumnClause[str] = sa.column("version_num")
    return conn.execute(sa.select(column).select_from(sa.table(ADOPTED_TABLE))).scalar()


def refuse_unknown(conn: Connection) -> bool:
    """Return whether the database has the tables that migrations start from.

    Raises:
        ConfigurationError: the schema is unknown.
    """
    tables = TABLES & set(sa.inspect(conn).get_table_names())
    adopted = adopted_version(conn)
    known = ", ".join(sorted(ADOPTABLE))
    if tables and adopted is None:
        raise ConfigurationError(
            f"the database has tables of a schema without a version: if it is one of {known}, "
            f"record it with placement-manage db stamp"
        )
    if tables and adopted not in ADOPTABLE:
        raise ConfigurationError(
            f"the database has tables of schema {adopted}, which is not one of {known}: "
            f"upgrade it with the software that made it"
        )
    if adopted is not None and adopted not in ADOPTABLE:
        raise ConfigurationError(
            f"the database belongs to other software, whose schema is {adopted}: "
            f"name one of its own in [placement_database] connection"
        )
    return tables == TABLES


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


def gather_statistics(conn: Connection) -> None:
    """Update the statistics of the query planner."""
    dialect_of(conn).gather_statistics(conn, list(t.metadata.tables))


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
                f"{more}; run placement-manage db sync"
            )
        if adopted:
            _stamp_adopted(conn, revision)
        else:
            # Replace any recorded revision, including unknown revisions.
            if sa.inspect(conn).has_table(VERSION_TABLE):
                conn.execute(sa.delete(sa.table(VERSION_TABLE)))
            _migration_context(conn).stamp(_script(), revision)
    except CommandError as error:
        raise ConfigurationError(f"cannot stamp {revision}: {error}") from None


def _stamp_adopted(conn: Connection, revision: str) -> None:
    column = sa.Column("version_num", sa.String(32), primary_key=True)
    table = sa.Table(ADOPTED_TABLE, sa.MetaData(), column, mysql_engine="InnoDB")
    table.create(conn, checkfirst=True)
    conn.execute(sa.delete(table))
    conn.execute(sa.insert(table).values(version_num=revision))


def check(conn: Connection) -> None:
    """Raise ConfigurationError unless this release can work with the schema."""
    recorded = version(conn)
    if fits(conn):
        if is_later(recorded):
            LOG.info("the database schema is at %s, of a later release", recorded)
        return
    if recorded is not None and not _is_known(recorded):
        raise ConfigurationError(
            f"the database schema is at {recorded}, which this release (it needs {newest()}) does "
            f"not know or cannot work on: start the release that made it, or a later one"
        )
    raise ConfigurationError(
        f"the database schema is at {recorded or 'no version'}, this release needs {newest()}: "
        f"run placement-manage db sync, or set [placement_database] sync_on_startup"
    )
