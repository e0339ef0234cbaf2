"""The command `placement-manage audit`, which lists rows that need an operator's attention.

The exit code is 0 if no row needs attention, 3 if a row does, and 1 for errors.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from oslo_config import cfg
from prettytable import PrettyTable

from placement.cli.database import connect
from placement.cli.owners import read_owners
from placement.db.engine import Database
from placement.errors import UsageError
from placement.operate import checks, online_migrations
from placement.operate.checks import REVIEWS, Check
from placement.operate.findings import WITHOUT_OWNER, Finding, Inspection, Owners, Row
from placement.runtime.messages import escaped
from placement.runtime.progress import progress
from placement.vocabulary import UNKNOWN_CONSUMER_TYPE

WRONG = 3  # exit code; argparse uses 2
BATCH = 100  # consumers that one transaction deletes
HOUR = 3600

Findings = Sequence[tuple[Check, Finding]]


def set_up(parser: Any) -> None:
    """Add the arguments and the action of the command to its parser."""
    names = [check.name for check in REVIEWS]
    parser.description = (
        "Reads the configured database. Exit code: 0 if nothing is wrong, 3 if something is, 1 for "
        "errors. Empty projects are listed but do not count as wrong."
    )
    parser.set_defaults(action=_audit)
    parser.add_argument(
        "--check", action="append", choices=names, help="run only this check; may be repeated"
    )
    parser.add_argument("-f", "--format", choices=FORMATS, default="table", help="default: table")
    parser.add_argument(
        "--owners",
        metavar="FILE",
        help="list of the owners of consumers, one UUID per line ('-': standard input), as written "
        "by `openstack server list --all-projects -f value -c ID`. It must contain owners of every "
        "kind: servers, migrations, volumes, reservations",
    )
    parser.add_argument(
        "--consumer-type",
        action="append",
        default=[],
        metavar="TYPE",
        help="compare only consumers of this type with the owners; may be repeated. Consumers of "
        f"clients that state no type, such as nova, have the type {UNKNOWN_CONSUMER_TYPE}",
    )
    parser.add_argument(
        "--older-than",
        type=_seconds,
        default=HOUR,
        metavar="SECONDS",
        help="ignore younger consumers, because their owners may not be in the list yet "
        f"(default: {HOUR})",
    )
    parser.add_argument(
        "--delete",
        action="store_true",
        help="delete the allocations of consumers whose owner is not in the list, after asking. "
        "Consumers that have changed since they were listed are kept",
    )
    parser.add_argument("--yes", action="store_true", help="delete without asking")


def _seconds(text: str) -> int:
    if not text.removeprefix("-").isdecimal():
        raise argparse.ArgumentTypeError(f"{text}: expected a number of seconds, such as {HOUR}")
    return int(text)


def _audit(conf: cfg.ConfigOpts) -> int:
    """Print the findings. Delete orphans if this is requested. Return the exit code."""
    options = conf.category
    _refuse_unsafe(options)
    owners = _owners(options)
    database = connect(conf)
    cards = frozenset(conf.placement.exclusive)
    findings = _find(database, _checks(options), owners, cards)
    FORMATS[options.format](findings)
    for note in _notes(options, findings):
        print(note, file=sys.stdout if options.format == "table" else sys.stderr)
    wrong = {check.name: found.rows for check, found in findings if check.wrong and found.count}
    orphans = wrong.get(WITHOUT_OWNER, ())
    if options.delete and orphans and (options.yes or _agreed(len(orphans))):
        remaining = _delete(database, orphans)
        deleted = len(orphans) - remaining
        print(f"deleted: {deleted}; changed or deleted since: {remaining}", file=sys.stderr)
        if not remaining:
            del wrong[WITHOUT_OWNER]
    return WRONG if wrong else 0


def _refuse_unsafe(options: Any) -> None:
    """Raise UsageError for a deletion without a list of owners or without consent."""
    if options.delete and not options.owners:
        raise UsageError("--delete needs --owners: it deletes consumers without an owner")
    if options.delete and not options.yes and not _can_ask():
        raise UsageError("--delete needs --yes if standard input is not a terminal")


def _owners(options: Any) -> Owners | None:
    if options.owners is None:
        return None
    # The database stores times in UTC, without a time zone.
    now = datetime.now(UTC).replace(tzinfo=None)
    try:
        created_before = now - timedelta(seconds=options.older_than)
    except OverflowError:
        raise UsageError(
            f"--older-than {options.older_than}: that is before the first year"
        ) from None
    return Owners(read_owners(options.owners), created_before, options.consumer_type)


def _checks(options: Any) -> list[Check]:
    """Return the requested checks. The default is all checks that can be run."""
    names = set(options.check or (check.name for check in REVIEWS))
    if not options.owners:
        if options.check and WITHOUT_OWNER in names:
            raise UsageError(f"--check {WITHOUT_OWNER} needs --owners")
        names.discard(WITHOUT_OWNER)
    return [check for check in REVIEWS if check.name in names]


def _find(
    database: Database, checks: Iterable[Check], owners: Owners | None, cards: frozenset[str]
) -> Findings:
    """Return the findings of the checks in one snapshot."""
    with database.read() as conn:
        online_migrations.check_schema(conn)
        inspection = Inspection(conn, owners=owners, cards=cards)
        return [(check, check.find(inspection)) for check in checks]


def _notes(options: Any, findings: Findings) -> Iterator[str]:
    """Yield notes about consumers that the audit has not examined."""
    if not options.owners and not options.check:
        yield "Owners of consumers were not checked: --owners FILE names them."
    for _check, found in findings:
        if found.left_out:
            yield (
                f"{found.left_out:,} consumers younger than {options.older_than:,} seconds were "
                "left out (--older-than)."
            )
        if found.other_types:
            kinds = [f"{count:,} {kind}" for kind, count in sorted(found.other_types.items())]
            nova = f" Nova states no type, so its consumers are {UNKNOWN_CONSUMER_TYPE}."
            yield (
                f"Consumers of other types were left out (--consumer-type): {', '.join(kinds)}."
                f"{nova * (UNKNOWN_CONSUMER_TYPE in found.other_types)}"
            )


def _can_ask() -> bool:
    return sys.stdin.isatty()


def _agreed(count: int) -> bool:
    try:
        answer = input(f"Delete the allocations of {count} consumers? [y/N] ")
    except EOFError:
        print()
        return False
    return answer.strip().lower() in ("y", "yes")


def _delete(database: Database, orphans: Sequence[Row]) -> int:
    """Delete orphans that have not changed. Return the number of orphans that were not deleted."""
    batches = [orphans[start : start + BATCH] for start in range(0, len(orphans), BATCH)]
    deleted = 0
    with progress("deleting", sys.stderr)(batches, f"times {BATCH} consumers") as batches_to_do:
        for batch in batches_to_do:
            deleted += database.write(partial(checks.delete_unchanged, batch))
    return len(orphans) - deleted


# -- output ---------------------------------------------------------------------------------


def _print_table(findings: Findings) -> None:
    for check, found in findings:
        if found.rows:
            table = PrettyTable(list(_shown(found.rows[0])), align="l")
            table.add_rows([_texts(row) for row in found.rows])
            print(f"{check.name}: {found.count} {check.meaning}")
            print(table)
    if not any(found.rows for _check, found in findings):
        print("Nothing was found.")


def _print_values(findings: Findings) -> None:
    for check, found in findings:
        for row in found.rows:
            print(check.name, *_texts(row))


def _print_json(findings: Findings) -> None:
    document = {
        check.name: {
            "meaning": check.meaning,
            "wrong": check.wrong,
            "left_out": found.left_out,
            "other_types": found.other_types,
            "rows": [_shown(row) for row in found.rows],
        }
        for check, found in findings
    }
    print(json.dumps(document, indent=2, default=str))


def _shown(row: Row) -> Row:
    """Return the columns for operators: all but the id of a consumer's row."""
    return {column: value for column, value in row.items() if column != "id"}


def _texts(row: Row) -> list[str]:
    return [_text(value) for value in _shown(row).values()]


def _text(value: object) -> str:
    # Names that clients have chosen must not start a new row or move the cursor.
    return escaped(",".join(map(str, value)) if isinstance(value, list) else str(value))


FORMATS = {"table": _print_table, "json": _print_json, "value": _print_values}
