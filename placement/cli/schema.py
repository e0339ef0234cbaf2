"""`placement-manage db sync`, `version` and `stamp`: the schema of the database."""

from typing import Any

from oslo_config import cfg

from placement import app
from placement.cli.database import connect, patient_progress
from placement.db import schema


def add_commands(actions: Any) -> None:
    """Add the commands to the subparsers of `db`."""
    sync = actions.add_parser("sync", help="migrate to the newest schema, correct derived columns")
    sync.set_defaults(action=_sync)
    version = actions.add_parser("version", help="print the schema's version")
    version.set_defaults(action=_version)
    stamp = actions.add_parser("stamp", help="record a version without migrating")
    stamp.set_defaults(action=_stamp)
    stamp.add_argument("revision", help="one of the revisions of this release")


def _sync(conf: cfg.ConfigOpts) -> int:
    """Migrate and say what was done."""
    migration = app.migrate(connect(conf), patient_progress("counting"))
    before = ", was " + (migration.before or "none")
    if migration.before == migration.now:
        before = " as before"
    if schema.is_later(migration.now):
        before = ", of a later release, stays; this one needs " + str(schema.newest())
    print(f"schema: {migration.now}{before}")
    print(f"tables: those of {migration.adopted}")
    print(f"trees: {migration.corrections.trees}, all with a new revision")
    print(
        f"inventories: used corrected of {migration.corrections.used}, "
        f"capacity of {migration.corrections.capacity}"
    )
    print(
        f"added: {migration.classes} standard resource classes, {migration.traits} standard traits"
    )
    return 0


def _version(conf: cfg.ConfigOpts) -> int:
    with connect(conf).read() as conn:
        adopted = schema.adopted_version(conn)
        print(schema.version(conn) or "none", f"(tables of {adopted or 'no version'})")
    return 0


def _stamp(conf: cfg.ConfigOpts) -> int:
    connect(conf).write(lambda conn: schema.stamp(conn, conf.category.revision))
    return 0
