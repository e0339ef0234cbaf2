"""The command `placement-manage drain-check`, which shows the hosts that can be emptied."""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from prettytable import PrettyTable

from falcon_placement_client import drains
from falcon_placement_client.answers import RefusedError
from falcon_placement_client.command_client import RestClient
from falcon_placement_client.commands import console, server
from falcon_placement_client.commands.console import escaped
from falcon_placement_client.drains import DrainRow, StuckConsumer
from falcon_placement_client.errors import RestError
from falcon_placement_client.progress import progress

NOT_EVACUABLE = 3  # exit code if a host cannot be emptied, or if the result is undecided


def set_up(parser: Any) -> None:
    """Add the arguments and the action of the command to its parser."""
    parser.set_defaults(action=_run)
    parser.add_argument("host", nargs="*", metavar="HOST", help="UUID or name of a root provider")
    parser.add_argument("--all", action="store_true", help="check each host of the cloud")
    server.add_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print all hosts as JSON")
    parser.add_argument(
        "--resume",
        type=Path,
        metavar="FILE",
        help="append each result to this file, and skip hosts whose result is in it already",
    )


def _run(conf: Any) -> int:
    """Check the hosts and print the results. Return the exit code."""
    options = conf.category
    if bool(options.host) == options.all:
        console.fail(Exception("drain-check: name hosts, or state --all"))
        return console.USAGE
    try:
        rows = _check(options)
    except RefusedError as refusal:
        console.fail(Exception(refusal.detail))
        return 1
    except (RestError, OSError) as error:
        console.fail(error)
        return 1
    _print(rows, as_json=options.json)
    return 0 if all(row.evacuable for row in rows) else NOT_EVACUABLE


def _check(options: Any) -> list[DrainRow]:
    """Return a row for each host.  Raises RestError, OSError."""
    known = _read(options.resume) if options.resume else {}
    with closing(RestClient(options.url, server.caller(options))) as client:
        if options.all:
            hosts = drains.find_all_hosts(client)
        else:
            hosts = drains.find_hosts(client, options.host)
        missing = [host for host in hosts if host.uuid not in known]
        show = progress("checking", sys.stderr)
        with show(drains.drain_check(client, missing), "hosts", len(missing)) as rows:
            for row in rows:
                known[row.uuid] = row
                if options.resume:
                    _append(options.resume, row)
    return [known[host.uuid] for host in hosts]


def _read(path: Path) -> dict[str, DrainRow]:
    """Return UUID -> row of an earlier run. Remove an incomplete last line.

    Raises:
        RestError: the file contains something else.
        OSError: the file cannot be read or written.
    """
    if not path.exists():
        return {}
    text = path.read_text()
    whole = text[: text.rfind("\n") + 1]
    rows = []
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            members = json.loads(line)
            stuck = [StuckConsumer(**each) for each in members.pop("stuck")]
            rows.append(DrainRow(**members, stuck=stuck))
        except (ValueError, TypeError, KeyError, AttributeError):
            raise RestError(f"{path}, line {number}: no result of drain-check") from None
    if whole != text:
        path.write_text(whole)
    return {row.uuid: row for row in rows}


def _append(path: Path, row: DrainRow) -> None:
    with path.open("a") as file:
        file.write(f"{json.dumps(_members(row))}\n")


def _members(row: DrainRow) -> dict[str, Any]:
    return {**row._asdict(), "stuck": [each._asdict() for each in row.stuck]}


def _print(rows: Sequence[DrainRow], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps([_members(row) for row in rows], indent=2))
        return
    reasons = list(_reasons(rows))
    if reasons:
        table = PrettyTable(["host", "consumer", "code", "reason"], align="l", max_width=80)
        table.add_rows(reasons)
        print(table)
    evacuable = sum(row.evacuable is True for row in rows)
    print(f"{evacuable:,} of {len(rows):,} hosts can be emptied, one at a time")


def _reasons(rows: Iterable[DrainRow]) -> Iterator[list[str]]:
    for row in rows:
        name = escaped(row.name)
        for each in row.stuck:
            yield [name, each.consumer, each.code, escaped(each.text)]
        for consumer in row.undecided:
            yield [name, consumer, "budget", "not decided within the limit on work"]
