"""The command `placement-manage db check`, which lists and repairs inconsistencies."""

import json
from collections.abc import Sequence
from typing import Any

from oslo_config import cfg

from placement import config
from placement.cli.database import connect, delayed_progress
from placement.db.engine import Database
from placement.operate import checks, online_migrations
from placement.operate.checks import Check
from placement.operate.findings import Finding

Findings = Sequence[tuple[Check, Finding]]

# What no check of the database can find.
UNCHECKED = (
    "Not checked: whether running services have old copies of rows that were changed by SQL. "
    "After such changes, run: placement-manage db check --repair"
)


def set_up(parser: Any) -> None:
    parser.set_defaults(action=_check)
    parser.description = (
        "Exit code: 0 if nothing is wrong or all findings are harmless; 1 for faults and errors."
    )
    parser.add_argument(
        "--strict", action="store_true", help="exit with 1 for harmless findings, too"
    )
    parser.add_argument(
        "--repair",
        action="store_true",
        help="repair the faults that can be repaired, and have running services read all trees "
        "again (after changes by SQL); services may run meanwhile",
    )
    parser.add_argument("--all", action="store_true", help="list every row, not the first few")
    parser.add_argument("--json", action="store_true", help="list every row, as JSON")


def _check(conf: cfg.ConfigOpts) -> int:
    """List the faults, and repair them if requested. Return 1 if relevant faults remain."""
    database = connect(conf)
    options = conf.category
    consumer_owner = config.incomplete_consumer_owner(conf)
    limit = None if options.all or options.json else checks.EXAMPLES
    findings = _inspect(database, limit)
    remaining = None  # after a repair
    if not options.json:
        # Print this before the repair, which may take a long time.
        _print_findings(findings, with_remedies=options.repair)
    if options.repair:
        progress = delayed_progress("repairing")
        corrections = checks.repair(database, consumer_owner, progress)
        remaining = _inspect(database, limit)
        if not options.json:
            print(f"Repaired. Running services read all {corrections.trees} trees again.")
    last = findings if remaining is None else remaining
    if options.json:
        _print_json(findings, remaining)
    else:
        _print_outcome(remaining, last)
    return int(_do_harm(last) or (options.strict and bool(last)))


def _do_harm(findings: Findings) -> bool:
    return any(check.wrong for check, _ in findings)


def _inspect(database: Database, limit: int | None) -> Findings:
    # A replica may not contain the repair.
    with database.primary().read() as conn:
        online_migrations.check_schema(conn)
        return checks.find_faults(conn, limit, delayed_progress("checking"))


def _print_findings(findings: Findings, *, with_remedies: bool) -> None:
    for check, finding in findings:
        print(f"{check.name}: {finding.count} {check.meaning} ({_examples(finding)})")
        if with_remedies:
            print(f"    {'repair' if check.repair else 'left to the operator'}: {check.remedy}")


def _examples(finding: Finding) -> str:
    """Return rows as `name=value name=value; …`."""
    rows = [" ".join(f"{name}={value}" for name, value in row.items()) for row in finding.rows]
    if finding.count > len(rows):
        rows.append("…")
    return "; ".join(rows)


def _print_outcome(remaining: Findings | None, last: Findings) -> None:
    """Print the remaining findings after a repair (None: no repair), and the latest state."""
    if remaining:
        print("Remaining findings:")
        _print_findings(remaining, with_remedies=False)
    if not _do_harm(last):
        print("Nothing is wrong: the findings are harmless." if last else "Nothing is wrong.")
    if remaining is None:
        print(UNCHECKED)


def _print_json(findings: Findings, remaining: Findings | None) -> None:
    lists = {"found": findings} if remaining is None else {"found": findings, "left": remaining}
    document = {name: _as_json(found) for name, found in lists.items()}
    print(json.dumps(document, indent=2))


def _as_json(findings: Findings) -> list[dict[str, Any]]:
    return [
        {
            "name": check.name,
            "meaning": check.meaning,
            "wrong": check.wrong,
            "repairable": check.repair is not None,
            "remedy": check.remedy,
            "count": finding.count,
            "rows": finding.rows,
        }
        for check, finding in findings
    ]
