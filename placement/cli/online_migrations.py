"""The command `placement-manage db online_data_migrations`, which completes very old rows.

The exit code is 0 if all rows are complete, 1 if a run with --max-count has changed rows (run it
again), 2 if a migration has failed or there are no tables, and 127 if --max-count is invalid.
"""

from collections.abc import Callable
from typing import Any

import prettytable
from oslo_config import cfg
from sqlalchemy.exc import SQLAlchemyError

from placement import config
from placement.cli.database import connect
from placement.db import schema
from placement.db.engine import Database
from placement.entry import console
from placement.errors import ConfigurationError, PlacementError
from placement.operate import online_migrations

BATCH = 50  # rows that one transaction completes
FAILED = 2  # exit code
NO_TABLES = "the database has no tables of this service: run placement-manage db sync"


def set_up(parser: Any) -> None:
    parser.set_defaults(action=_complete)
    parser.add_argument("--max-count", help="complete at most this many rows")


def _complete(conf: cfg.ConfigOpts) -> int:
    """Complete rows in batches and print their number. Return the exit code."""
    max_count = conf.category.max_count
    if max_count is not None and (not max_count.isdecimal() or not int(max_count)):
        print("--max-count must be a positive number")
        return 127
    limit = None if max_count is None else int(max_count)
    database = connect(conf, patience=None)
    with database.primary().read() as conn:
        if not schema.existing_tables(conn):
            # Not 1, with which the caller of --max-count runs the command again.
            console.fail(ConfigurationError(NO_TABLES))
            return FAILED
    if limit is None:
        print(f"Running batches of {BATCH} until complete")
    completed, failed = _run_all(database, config.incomplete_consumer_owner(conf), limit)
    table = prettytable.PrettyTable(["Migration", "Total Found", "Completed"])
    table.add_rows([[name, count, count] for name, count in completed.items()])
    print(table)
    if failed:
        return FAILED
    return int(limit is not None and any(completed.values()))


def _run_all(
    database: Database, consumer_owner: tuple[str, str], limit: int | None
) -> tuple[dict[str, int], bool]:
    """Run the migrations on at most `limit` rows in total.

    Returns:
        The rows completed by each migration, and whether one of them failed.
    """
    completed: dict[str, int] = {}
    failed = False
    for name, migration in online_migrations.MIGRATIONS.items():
        limit_left = None if limit is None else limit - sum(completed.values())
        if limit_left == 0:
            break
        try:
            completed[name] = _run(database, migration, consumer_owner, limit_left)
        except (ConfigurationError, PlacementError, SQLAlchemyError) as error:
            console.fail(Exception(f"{name} failed: {console.describe(error)}"))
            completed[name] = 0
            failed = True
    return completed, failed


def _run(
    database: Database,
    migration: Callable[..., int],
    consumer_owner: tuple[str, str],
    limit: int | None,
) -> int:
    """Complete up to `limit` rows, or all rows. Return their number."""
    if limit is not None:
        return database.write(lambda conn: migration(conn, limit, consumer_owner))
    total = 0
    while count := database.write(lambda conn: migration(conn, BATCH, consumer_owner)):
        total += count
    return total
