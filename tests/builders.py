"""What tests build on: databases that are migrated and have their catalogues, and services."""

from __future__ import annotations

import functools
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from placement import app, config
from placement.api import outer, policy
from placement.config import Settings
from placement.db.engine import Database

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication


def settings(database_url: str, **overrides: dict[str, object]) -> Settings:
    """Settings as a service without files has them; overrides: group -> option -> value."""
    conf = config.options()
    config.parse(conf, [], [])
    conf.set_override("auth_strategy", "noauth2", group="api")
    conf.set_override("connection", database_url, group="placement_database")
    conf.set_override("sqlite_synchronous", False, group="placement_database")
    outer.register_options(conf)
    policy.register_options(conf)
    for group, options in overrides.items():
        for name, value in options.items():
            conf.set_override(name, value, group=group)
    return config.settings(conf)


@functools.cache
def _template() -> Path:
    """A ready SQLite database, made once: copying it takes a millisecond."""
    path = Path(tempfile.mkdtemp(prefix="placement-tests-")) / "template.db"
    database = Database(settings(f"sqlite:///{path}").database)
    app.prepare(database, sync=True)
    with database.writer.connect() as conn:
        conn.exec_driver_sql("COMMIT")
        conn.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        conn.exec_driver_sql("BEGIN")
    database.dispose()
    return path


def make_database(database_url: str, **overrides: dict[str, object]) -> tuple[Settings, Database]:
    """A database that is ready to serve; a new SQLite one is a copy of the template."""
    prefix = "sqlite:///"
    if database_url.startswith(prefix) and not Path(database_url.removeprefix(prefix)).exists():
        shutil.copyfile(_template(), database_url.removeprefix(prefix))
    made = settings(database_url, **overrides)
    return made, Database(made.database)


def make_app(database_url: str, **overrides: dict[str, object]) -> WSGIApplication:
    """A service with noauth2 on a ready database."""
    return app.create_app(*make_database(database_url, **overrides))
