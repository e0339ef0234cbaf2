"""The command `placement-manage db sync`, which migrates the database to this release."""

from typing import Any

from oslo_config import cfg

from placement.cli.database import connect, delayed_progress
from placement.db import schema
from placement.entry import app


def set_up(parser: Any) -> None:
    parser.set_defaults(action=_sync)


def _sync(conf: cfg.ConfigOpts) -> int:
    # A deployment may start this command together with its database.
    migration = app.migrate(connect(conf, patience=None), delayed_progress("counting"))
    before = ", was " + (migration.before or "none")
    if migration.before == migration.now:
        before = " as before"
    if schema.is_later(migration.now):
        before = ", of a later release, is kept; this release needs " + schema.newest()
    print(f"schema: {migration.now}{before}")
    print(f"tables: of version {migration.adopted}")
    if migration.corrections.trees:
        _print_corrections(migration)
    print(
        f"added: {migration.classes} standard resource classes, {migration.traits} standard traits"
    )
    return 0


def _print_corrections(migration: app.Migration) -> None:
    print(f"trees: {migration.corrections.trees}, all with a new revision")
    # In a first migration, the columns are new. There was nothing to correct.
    verb = "corrected" if migration.before else "filled in"
    print(
        f"inventories: used {verb} of {migration.corrections.used}, "
        f"capacity of {migration.corrections.capacity}"
    )
