"""`placement-manage`: what an operator does by hand (contract config.md section 4)."""

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from oslo_config import cfg
from sqlalchemy.exc import SQLAlchemyError

from placement import config
from placement.db import dialect, schema
from placement.db.engine import Database
from placement.errors import ConfigurationError, PlacementError
from placement.loader import load_cloud
from placement.objects import catalog, recount


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    conf = config.options()
    parsers: dict[str, Any] = {}
    conf.register_cli_opt(
        cfg.SubCommandOpt(
            "category", title="commands", handler=lambda found: _commands(found, parsers)
        )
    )
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        if not arguments:
            config.parse(conf, ["db"])
            conf.print_help()
            return 1
        config.parse(conf, arguments)
        config.setup_logging(conf)
        action: Callable[[cfg.ConfigOpts], int] | None = getattr(conf.category, "action", None)
        if action is None:
            parsers[conf.category.name].print_help()
            return 0
        return action(conf)
    except (ConfigurationError, PlacementError) as error:
        config.fail(error)
    except SQLAlchemyError as error:
        config.fail(ConfigurationError(dialect.one_line(error)))
    return 1


def _commands(subparsers: Any, parsers: dict[str, Any]) -> None:
    db = parsers["db"] = subparsers.add_parser("db", help="the schema of the database")
    actions = db.add_subparsers(title="actions")
    for action, function, text in (
        ("sync", _sync, "migrate to the newest schema and recount what is derived"),
        ("version", _version, "print the schema's version"),
        ("stamp", _stamp, "record a version without migrating"),
    ):
        parser = actions.add_parser(action, help=text)
        parser.set_defaults(action=function)
        if action == "stamp":
            parser.add_argument("revision", help="one of the revisions of this release")
    load = subparsers.add_parser("load-cloud", help="load a cloud file into a server over REST")
    load.set_defaults(action=_load)
    load.add_argument("file", help="YAML; etc/demo-cloud.yaml shows the format")
    load.add_argument("--url", default="http://127.0.0.1:8778", help="where the server's API is")
    load.add_argument(
        "--token",
        default=os.environ.get("OS_TOKEN", "admin"),
        help="sent as X-Auth-Token; default: the environment's OS_TOKEN, or admin",
    )
    load.add_argument(
        "--if-empty", action="store_true", help="do nothing on a server that has other providers"
    )
    load.add_argument(
        "--wait", type=float, default=0.0, help="seconds to wait for the server to answer"
    )


def _database(conf: cfg.ConfigOpts) -> Database:
    database = Database(config.database_settings(conf))
    database.connect_first()
    return database


def _sync(conf: cfg.ConfigOpts) -> int:
    """Migrate; recount in any case, since another software may have written meanwhile."""
    database = _database(conf)
    database.write(schema.upgrade)
    database.write(recount.recount)
    database.write(catalog.sync)
    return 0


def _version(conf: cfg.ConfigOpts) -> int:
    with _database(conf).read() as conn:
        adopted = schema.adopted_version(conn)
        print(
            schema.version(conn) or "none", f"(tables of {adopted})" if adopted else "(no tables)"
        )
    return 0


def _stamp(conf: cfg.ConfigOpts) -> int:
    _database(conf).write(lambda conn: schema.stamp(conn, conf.category.revision))
    return 0


def _load(conf: cfg.ConfigOpts) -> int:
    options = conf.category
    return load_cloud(
        options.file, options.url, options.token, if_empty=options.if_empty, wait=options.wait
    )
