"""The command `placement-manage db preflight`, which lists hazardous settings of the database."""

import argparse
import json
import os
from collections.abc import Sequence
from typing import Any

from oslo_config import cfg
from sqlalchemy.exc import DBAPIError

from placement import config
from placement.cli.database import connect
from placement.db.messages import one_line
from placement.operate import preflight
from placement.operate.hazards import READ_ONLY, Hazard
from placement.operate.preflight import CommitLatency, Workers

# Fields of a hazard in JSON.
MEMBERS = ("name", "wrong", "state", "consequence", "remedy")
NO_WRITES = "The latency of a COMMIT was not measured, because the server accepts only reads."
NO_SCHEMA = "The latency of a COMMIT was not measured: run placement-manage db sync first."


def set_up(parser: Any) -> None:
    parser.set_defaults(action=_preflight)
    parser.description = (
        "Reads the settings of the configured database, and commits a few transactions that change "
        "nothing. Exit code: 0 if no danger is found; 1 for dangers and errors."
    )
    parser.add_argument("--strict", action="store_true", help="exit with 1 for notes, too")
    parser.add_argument(
        "--processes",
        type=_count,
        default=os.environ.get("WEB_CONCURRENCY") or preflight.DEFAULT_PROCESSES,
        help="number of processes of the service on all machines (default: WEB_CONCURRENCY, or "
        f"{preflight.DEFAULT_PROCESSES})",
    )
    parser.add_argument(
        "--threads",
        type=_count,
        default=preflight.DEFAULT_THREADS,
        help=f"number of threads of a process (default: {preflight.DEFAULT_THREADS})",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def _count(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text}: expected a number of at least 1")
    return number


def _preflight(conf: cfg.ConfigOpts) -> int:
    """Print the hazards and the latency of a COMMIT. Return the exit code."""
    options, settings = conf.category, config.database_settings(conf)
    workers = Workers(options.processes, options.threads)
    database = connect(conf)
    found = preflight.inspect(database, settings, workers)
    if not options.json:
        # The first COMMIT may wait for a standby that is not connected.
        _print_hazards(found)
    accepts_commits = all(hazard.name != READ_ONLY for hazard in found)
    latency, reason = None, NO_SCHEMA if accepts_commits else NO_WRITES
    if accepts_commits:
        try:
            latency = preflight.measure_commits(database)
        except DBAPIError as error:
            reason = f"The latency of a COMMIT was not measured: {one_line(error)}"
    if options.json:
        _print_json(found, latency)
    else:
        print(_describe(latency) if latency else reason)
        print(
            f"Assumed: --processes {workers.processes} and --threads {workers.threads}, which may "
            f"open {workers.connections(settings)} connections."
        )
    return int(any(hazard.wrong or options.strict for hazard in found))


def _print_hazards(found: Sequence[Hazard]) -> None:
    for hazard in found:
        print("danger" if hazard.wrong else "note", hazard.line)
    if not any(hazard.wrong for hazard in found):
        print("No danger was found.")


def _describe(latency: CommitLatency) -> str:
    return (
        f"A COMMIT takes {_ms(latency.median)} ms (median of {preflight.COMMITS}; the longest: "
        f"{_ms(latency.longest)} ms). The last statement and the COMMIT of a claim take "
        f"{_ms(latency.with_statement)} ms on average, so the database allows at most "
        f"{latency.claims_per_second:,} claims a second on one host."
    )


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 2)


def _print_json(found: Sequence[Hazard], latency: CommitLatency | None) -> None:
    document = {
        "found": [{name: getattr(hazard, name) for name in MEMBERS} for hazard in found],
        "commit": latency
        and {
            "median_ms": _ms(latency.median),
            "longest_ms": _ms(latency.longest),
            "mean_with_statement_ms": _ms(latency.with_statement),
            "claims_per_second_on_one_host": latency.claims_per_second,
        },
    }
    print(json.dumps(document, indent=2))
