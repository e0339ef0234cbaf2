"""`placement-manage`: what an operator does by hand (contract config.md section 4)."""

import json
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import prettytable
from oslo_config import cfg
from sqlalchemy.exc import SQLAlchemyError

from placement import app, config, console
from placement.api import openapi
from placement.api.history import HISTORY, LATEST, LINES
from placement.db import schema
from placement.db.engine import Database
from placement.db.messages import one_line
from placement.errors import ConfigurationError, PlacementError
from placement.loader import load_cloud
from placement.objects import integrity, online_migrations
from placement.objects.integrity import Check, Finding

BATCH = 50  # rows completed in one transaction


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
        config.log_to_stderr(conf)
        action: Callable[[cfg.ConfigOpts], int] | None = getattr(conf.category, "action", None)
        if action is None:
            parsers[conf.category.name].print_help()
            return 0
        return action(conf)
    except (ConfigurationError, PlacementError) as error:
        console.fail(error)
    except SQLAlchemyError as error:
        console.fail(ConfigurationError(one_line(error)))
    return 1


def _commands(subparsers: Any, parsers: dict[str, Any]) -> None:
    db = parsers["db"] = subparsers.add_parser("db", help="the schema of the database")
    actions = db.add_subparsers(title="actions")
    for action, function, text in (
        ("sync", _sync, "migrate to the newest schema and recount what is derived"),
        ("version", _version, "print the schema's version"),
        ("stamp", _stamp, "record a version without migrating"),
        ("check", _check, "tell what is wrong in the database"),
        ("online_data_migrations", _complete, "complete the rows of very old databases"),
    ):
        parser = actions.add_parser(action, help=text)
        parser.set_defaults(action=function)
        if action == "stamp":
            parser.add_argument("revision", help="one of the revisions of this release")
        elif action == "check":
            parser.add_argument("--repair", action="store_true", help="mend what can be mended")
            parser.add_argument("--all", action="store_true", help="list every row, not the first")
            parser.add_argument("--json", action="store_true", help="list every row, as JSON")
        elif action == "online_data_migrations":
            parser.add_argument("--max-count", help="complete so many rows at the most")
    describe = subparsers.add_parser("openapi", help="print the API as an OpenAPI document")
    describe.set_defaults(action=_openapi)
    describe.add_argument(
        "--microversion", default=str(LATEST), help=f"default: {LATEST}, the latest"
    )
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


def _openapi(conf: cfg.ConfigOpts) -> int:
    """Print the document of a microversion.  Raises ConfigurationError where there is none."""
    documents = {str(version): version for version in HISTORY}
    stated = conf.category.microversion
    if stated not in documents:
        ranges = " and ".join(f"{line.oldest} to {line.newest}" for line in LINES)
        raise ConfigurationError(f"--microversion {stated}: there are {ranges}")
    print(json.dumps(openapi.describe(documents[stated]), indent=2))
    return 0


def _database(conf: cfg.ConfigOpts) -> Database:
    database = Database(config.database_settings(conf))
    database.connect_first()
    return database


def _sync(conf: cfg.ConfigOpts) -> int:
    """Migrate and say what was done."""
    done = app.migrate(_database(conf))
    before = " as before" if done.before == done.now else f", was {done.before or 'none'}"
    print(f"schema: {done.now}{before}")
    print(f"tables: those of {done.adopted}")
    print(f"trees: {done.corrections.trees}, all with a new revision")
    print(
        f"inventories: used corrected of {done.corrections.used}, "
        f"capacity of {done.corrections.capacity}"
    )
    print(f"added: {done.classes} standard resource classes, {done.traits} standard traits")
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


def _check(conf: cfg.ConfigOpts) -> int:
    """Print what is wrong, mend it if asked, and return 1 when something stays wrong."""
    database = _database(conf)
    options = conf.category
    consumer_owner = config.incomplete_consumer_owner(conf)
    most = None if options.all or options.json else integrity.EXAMPLES
    faults = left = _inspect(database, consumer_owner, most)
    if not options.json:
        _print_findings(faults, options.repair)
    repaired = options.repair and any(each.mend for each, _ in faults)
    if repaired:
        database.write(partial(integrity.mend, consumer_owner=consumer_owner))
        left = _inspect(database, consumer_owner, most)
    wrong = any(each.wrong for each, _ in left)
    if options.json:
        document = {"found": _as_json(faults)} | ({"left": _as_json(left)} if repaired else {})
        print(json.dumps(document, indent=2))
        return int(wrong)
    if repaired:
        print("Repaired. What is left:" if left else "Repaired.")
        _print_findings(left, False)
    if not wrong:
        print("Nothing is wrong.")
    return int(wrong)


def _inspect(
    database: Database, consumer_owner: tuple[str, str], most: int | None
) -> list[tuple[Check, Finding]]:
    with database.read() as conn:
        schema.check(conn)
        return integrity.inspect(conn, consumer_owner, most)


def _as_json(faults: Sequence[tuple[Check, Finding]]) -> list[dict[str, Any]]:
    return [
        {
            "name": each.name,
            "meaning": each.meaning,
            "wrong": each.wrong,
            "repairable": each.mend is not None,
            "remedy": each.remedy,
            "count": finding.count,
            "rows": [dict(example) for example in finding.examples],
        }
        for each, finding in faults
    ]


def _print_findings(found: Sequence[tuple[Check, Finding]], repair: bool) -> None:
    for each, finding in found:
        examples = "; ".join(
            " ".join(f"{name}={value}" for name, value in example.items())
            for example in finding.examples
        )
        more = "; …" if finding.count > len(finding.examples) else ""
        print(f"{each.name}: {finding.count} {each.meaning} ({examples}{more})")
        if repair:
            print(f"    {'repair' if each.mend else 'left to the operator'}: {each.remedy}")


def _complete(conf: cfg.ConfigOpts) -> int:
    """Complete rows in batches; the exit code is that of the contract."""
    most = conf.category.max_count
    if most is None:
        print(f"Running batches of {BATCH} until complete")
    elif not most.isdecimal() or not int(most):
        print("--max-count must be a positive number")
        return 127
    database = _database(conf)
    left = None if most is None else int(most)
    totals: dict[str, int] = {}
    failed = False
    for name, migration in online_migrations.MIGRATIONS.items():
        if left == 0:
            break
        try:
            totals[name] = _run(
                database,
                partial(migration, consumer_owner=config.incomplete_consumer_owner(conf)),
                left,
            )
            if left is not None:
                left -= totals[name]
        except (ConfigurationError, PlacementError, SQLAlchemyError) as error:
            database_says = isinstance(error, SQLAlchemyError)
            text = one_line(error) if database_says else console.describe(error)
            print(f"{name} failed: {text}")
            totals[name] = 0
            failed = True
    table = prettytable.PrettyTable(["Migration", "Total Found", "Completed"])
    table.add_rows([[name, total, total] for name, total in totals.items()])
    print(table)
    return 2 if failed else int(most is not None and any(totals.values()))


def _run(database: Database, migration: Callable[..., int], most: int | None) -> int:
    """Complete up to `most` rows, or all; return how many."""
    if most is not None:
        return database.write(partial(migration, limit=most))
    total = 0
    while done := database.write(partial(migration, limit=BATCH)):
        total += done
    return total


def _load(conf: cfg.ConfigOpts) -> int:
    options = conf.category
    return load_cloud(
        options.file, options.url, options.token, if_empty=options.if_empty, wait=options.wait
    )
