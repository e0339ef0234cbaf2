"""The version of the schema: an Alembic revision in a version table of this service.

An adopted database contains another version table, `alembic_version`, with the schema version of
the software that created it. The service uses it to check whether it knows the schema. Migrations
never change this table.

The name of a revision contains the releases that can use it. Releases that require 0005 or a later
revision can use `0007_since_0005`, because it only adds objects that they ignore. Only releases
that contain the revision itself can use `0007`. Thus, an older release can determine from the
recorded version whether it can use the database.
"""

import logging
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from placement.db import tables as t
from placement.db.dialects import dialect_of
from placement.errors import ConfigurationError

LOG = logging.getLogger(__name__)

# The package of the revisions. In a checkout, it is the directory `migrations`.
MIGRATIONS = "placement.migrations"
VERSION_TABLE = "falcon_placement_version"
ADOPTED_TABLE = "alembic_version"
# Versions of the schema of openstack-placement that can be adopted.
ADOPTABLE = frozenset({"422ece571366", "a082b8bb98d0"})
# Tables that only a database with a placement schema contains.
TABLES = frozenset({"resource_providers", "inventories", "allocations", "consumers"})
_REVISION = re.compile(r"(?P<number>[0-9]{4})(?:_since_(?P<since>[0-9]{4}))?")


class SchemaMismatch(ConfigurationError):
    """The recorded version does not match the existing tables."""


@cache
def _revisions() -> Sequence[str]:
    """Return the revisions of this release, the oldest one first.

    PERF: the names of the files contain them. Alembic would import and order all scripts, and takes
    a seventh of the time of a start.
    """
    files = resources.files(f"{MIGRATIONS}.versions").iterdir()
    names = (file.name for file in files if file.name.endswith(".py"))
    return sorted(match[0] for match in map(_REVISION.match, names) if match)


def newest() -> str:
    """Return the revision that this release requires."""
    return _revisions()[-1]


def version(conn: Connection) -> str | None:
    """Return the revision that is recorded in the database, or None.

    Raises:
        ConfigurationError: it records several.
    """
    versions = _recorded(conn, VERSION_TABLE)
    if len(versions) > 1:
        raise ConfigurationError(
            f"{VERSION_TABLE} has {len(versions)} versions, {', '.join(sorted(versions))}: "
            f"run placement-manage db stamp with the one that the database has"
        )
    return next(iter(versions), None)


def _recorded(conn: Connection, table: str) -> Sequence[str]:
    """Return the versions in a version table. Empty if the table does not exist."""
    if not sa.inspect(conn).has_table(table):
        return []
    column: sa.ColumnClause[str] = sa.column("version_num")
    return conn.execute(sa.select(column).select_from(sa.table(table))).scalars().all()


def is_later(recorded: str | None) -> bool:
    """Return whether a later release has created the schema and this release can use it."""
    needed, made = _numbers(newest()), _numbers(recorded)
    return needed is not None and made is not None and made[1] <= needed[0] < made[0]


def fits(conn: Connection) -> bool:
    """Return whether the schema is the schema of this release or a compatible later one."""
    recorded = version(conn)
    return recorded == newest() or is_later(recorded)


def _numbers(revision: str | None) -> tuple[int, int] | None:
    """Return the number of a revision, and of the oldest release that can use it."""
    match = _REVISION.fullmatch(revision or "")
    if match is None:
        return None
    return (int(match["number"]), int(match["since"] or match["number"]))


def adopted_version(conn: Connection) -> str | None:
    """Return the version in `alembic_version`, or None."""
    return next(iter(_recorded(conn, ADOPTED_TABLE)), None)


def existing_tables(conn: Connection) -> frozenset[str]:
    """Return which of the tables from which migrations start the database contains."""
    return TABLES & set(sa.inspect(conn).get_table_names())


def refuse_unknown(conn: Connection) -> bool:
    """Return whether the database contains the tables from which migrations start.

    Raises:
        ConfigurationError: the schema is unknown.
    """
    recorded = version(conn)
    if recorded is not None and recorded not in _revisions() and not is_later(recorded):
        raise ConfigurationError(
            f"the database schema is at {recorded}, which this release (it needs {newest()}) does "
            f"not know or cannot work on: start the release that made it, or a later one"
        )
    tables = existing_tables(conn)
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


def charsets(conn: Connection) -> Mapping[str, str]:
    """Return the character set of each column with names that clients choose freely.

    The keys are `table.column`. Empty if the database has one encoding.
    """
    known = dialect_of(conn).charsets(conn)
    columns = map(str, (t.resource_providers.c.name, t.NAMES["project"], t.NAMES["user"]))
    return {column: known[column] for column in columns if column in known}


def gather_statistics(conn: Connection) -> None:
    dialect_of(conn).gather_statistics(conn, list(t.metadata.tables))


def check(conn: Connection) -> None:
    """Raise ConfigurationError unless this release can use the schema."""
    recorded = version(conn)
    if fits(conn):
        if is_later(recorded):
            LOG.info("the database schema is at %s, of a later release", recorded)
        return
    raise ConfigurationError(
        f"the database schema is at {recorded or 'no version'}, this release needs {newest()}: "
        f"run placement-manage db sync, or set [placement_database] sync_on_startup"
    )
