"""Migrated databases with their catalogues, and services on them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from placement import config
from placement.api import policy, wsgi_stack
from placement.config import Settings
from placement.db.engine import Database
from placement.entry import app
from tests.kit.engines import new_database

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication


def settings(url: str, **overrides: Mapping[str, object]) -> Settings:
    """Return the settings of a service without configuration files."""
    conf = config.options()
    config.parse(conf, [], [])
    conf.set_override("auth_strategy", "noauth2", group="api")
    # Results must not depend on the load of the machine.
    conf.set_override("request_deadline", 0.0, group="placement")
    conf.set_override("connection", url, group="placement_database")
    conf.set_override("sqlite_synchronous", False, group="placement_database")
    wsgi_stack.register_options(conf)
    policy.register_options(conf)
    for group, options in overrides.items():
        for name, value in options.items():
            conf.set_override(name, value, group=group)
    return config.settings(conf)


def prepare(url: str) -> None:
    """Migrate an empty database and fill its catalogues."""
    database = Database(settings(url).database)
    app.prepare(database, sync=True)
    if database.writer.dialect.name == "sqlite":
        # A copy of the file would lack what is still in the write-ahead log.
        with database.writer.connect() as conn:
            conn.exec_driver_sql("COMMIT")
            conn.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
            conn.exec_driver_sql("BEGIN")
    database.dispose()


def database_url(directory: Path) -> str:
    """The URL of a new database that is ready for use; on SQLite a file in the directory."""
    return new_database(directory, prepare)


def make_database(directory: Path, **overrides: Mapping[str, object]) -> tuple[Settings, Database]:
    """A new database that is ready for use."""
    made = settings(database_url(directory), **overrides)
    return made, Database(made.database)


def make_app(directory: Path, **overrides: Mapping[str, object]) -> WSGIApplication:
    """A service with noauth2 on a new database."""
    return app.create_app(*make_database(directory, **overrides))
