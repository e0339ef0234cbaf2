"""The command `placement-manage audit`, which lists rows that need an operator's attention.

The exit code is 0 if no row needs attention, 3 if a row does, and 1 for errors.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from oslo_config import cfg
from prettytable import PrettyTable

from placement.cli.database import connect
from placement.cli.owners import read_owners
from placement.db.engine import Database
from placement.errors import ConfigurationError
from placement.objects import audit, online_migrations
from placement.objects.audit import AuditCheck, Inquiry, Owners, Row
from placement.runtime.logs import escaped
from placement.runtime.progress import progress

WRONG = 3  # exit code; argparse uses 2
BATCH = 100  # consumers that one transaction deletes
HOUR = 3600

Findings = Mapping[str, Sequence[Row]]  # by the name of the check
LeftOut = Mapping[str, int]  # number of consumers that were not examined, by the name of the check


def set_up(parser: Any) -> None:
    """Add the arguments and the action of the command to its parser."""
    names = [check.name for check in audit.CHECKS]
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
        help="compare only consumers of this type with the owners; may be repeated",
    )
    parser.add_argument(
        "--older-than",
        type=int,
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


def _audit(conf: cfg.ConfigOpts) -> int:
    """Print the findings. Delete orphans if this is requested. Return the exit code."""
    options = conf.category
    _refuse_unsafe(options)
    owners = _owners(options)
    database = connect(conf)
    findings, left_out = _find(database, _checks(options), owners)
    FORMATS[options.format](findings, left_out)
    for note in _notes(options, left_out):
        print(note, file=sys.stdout if options.format == "table" else sys.stderr)
    orphans = findings.get(audit.WITHOUT_OWNER, ())
    if options.delete and orphans and (options.yes or _agreed(len(orphans))):
        remaining = _delete(database, orphans)
        deleted = len(orphans) - remaining
        print(f"deleted: {deleted}; changed or deleted since: {remaining}", file=sys.stderr)
        findings = {**findings, audit.WITHOUT_OWNER: orphans[:remaining]}
    wrong = any(findings.get(check.name) for check in audit.CHECKS if check.wrong)
    return WRONG if wrong else 0


def _refuse_unsafe(options: Any) -> None:
    """Raise ConfigurationError for a deletion without a list of owners or without consent."""
    if options.delete and not options.owners:
        raise ConfigurationError("--delete needs --owners: it deletes consumers without an owner")
    if options.delete and not options.yes and not _can_ask():
        raise ConfigurationError("--delete needs --yes if standard input is not a terminal")


def _owners(options: Any) -> Owners | None:
    if options.owners is None:
        return None
    # The database stores times in UTC, without a time zone.
    now = datetime.now(UTC).replace(tzinfo=None)
    try:
        created_before = now - timedelta(seconds=options.older_than)
    except OverflowError:
        raise ConfigurationError(
            f"--older-than {options.older_than}: that is before the first year"
        ) from None
    return Owners(read_owners(options.owners), created_before, options.consumer_type)


def _checks(options: Any) -> list[AuditCheck]:
    """Return the requested checks. The default is all checks that can be run."""
    names = set(options.check or (check.name for check in audit.CHECKS))
    if not options.owners:
        if options.check and audit.WITHOUT_OWNER in names:
            raise ConfigurationError(f"--check {audit.WITHOUT_OWNER} needs --owners")
        names.discard(audit.WITHOUT_OWNER)
    return [check for check in audit.CHECKS if check.name in names]


def _find(
    database: Database, checks: Iterable[AuditCheck], owners: Owners | None
) -> tuple[Findings, LeftOut]:
    """Return the findings of the checks in one snapshot, and how many consumers each skipped."""
    with database.read() as conn:
        online_migrations.check_schema(conn)
        inquiry = Inquiry(conn, owners)
        return {check.name: list(check.find(inquiry)) for check in checks}, inquiry.left_out


def _notes(options: Any, left_out: LeftOut) -> Iterator[str]:
    """Yield notes about consumers that the audit has not examined."""
    if not options.owners and not options.check:
        yield "Owners of consumers were not checked: --owners FILE names them."
    for count in left_out.values():
        yield (
            f"{count:,} consumers younger than {options.older_than:,} seconds were left out "
            "(--older-than)."
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
            deleted += database.write(partial(audit.delete_unchanged, listed=batch))
    return len(orphans) - deleted


# -- output ---------------------------------------------------------------------------------


def _print_table(findings: Findings, _left_out: LeftOut) -> None:
    for check in audit.CHECKS:
        rows = findings.get(check.name)
        if rows:
            table = PrettyTable(check.columns, align="l")
            table.add_rows([_texts(check, row) for row in rows])
            print(f"{check.name}: {len(rows)} {check.meaning}")
            print(table)
    if not any(findings.values()):
        print("Nothing was found.")


def _print_values(findings: Findings, _left_out: LeftOut) -> None:
    for check in audit.CHECKS:
        for row in findings.get(check.name, ()):
            print(check.name, *_texts(check, row))


def _print_json(findings: Findings, left_out: LeftOut) -> None:
    document = {
        check.name: {
            "meaning": check.meaning,
            "wrong": check.wrong,
            "left_out": left_out.get(check.name, 0),
            "rows": [
                {column: row[column] for column in check.columns} for row in findings[check.name]
            ],
        }
        for check in audit.CHECKS
        if check.name in findings
    }
    print(json.dumps(document, indent=2, default=str))


def _texts(check: AuditCheck, row: Row) -> list[str]:
    return [_text(row[column]) for column in check.columns]


def _text(value: object) -> str:
    # Names that clients have chosen must not start a new row or move the cursor.
    return escaped(",".join(map(str, value)) if isinstance(value, list) else str(value))


FORMATS = {"table": _print_table, "json": _print_json, "value": _print_values}
