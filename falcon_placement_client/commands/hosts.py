"""The commands `placement-manage host` and `drain-check`."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from falcon_placement_client import hosts
from falcon_placement_client.command_client import RestClient
from falcon_placement_client.command_parts import (
    HOST_COLUMNS,
    NEGATIVE,
    add_trait,
    escaped,
    warnings,
)
from falcon_placement_client.commands import over_rest
from falcon_placement_client.errors import RestError
from falcon_placement_client.hosts import DrainRow, HostRow, StuckConsumer
from falcon_placement_client.progress import progress


def set_up_taint(parser: Any) -> None:
    """Add the arguments and the action of `host taint` to its parser."""
    _set_up_change(parser, hosts.taint_host)


def set_up_untaint(parser: Any) -> None:
    """Add the arguments and the action of `host untaint` to its parser."""
    _set_up_change(parser, hosts.untaint_host)


def _set_up_change(parser: Any, change: Callable[[RestClient, str, str], HostRow]) -> None:
    _set_up(parser, lambda client, options: [change(client, options.host, options.trait)])
    parser.add_argument("host", help="UUID or name of the root provider")


def set_up_list(parser: Any) -> None:
    """Add the arguments and the action of `host list` to its parser."""
    _set_up(parser, lambda client, options: hosts.tainted_hosts(client, options.trait))
    parser.add_argument(
        "--tainted", action="store_true", required=True, help="list the hosts with the trait"
    )


def _set_up(parser: Any, function: Callable[[RestClient, Any], Sequence[HostRow]]) -> None:
    add_trait(parser)
    over_rest.set_up(parser, partial(_print_hosts, function))
    parser.add_argument("--json", action="store_true", help="print the hosts as JSON")


def _print_hosts(
    function: Callable[[RestClient, Any], Sequence[HostRow]], client: RestClient, options: Any
) -> int:
    rows = function(client, options)
    if options.json:
        over_rest.print_json([dict(zip(HOST_COLUMNS, row, strict=False)) for row in rows])
    else:
        shown = [(row.uuid, row.name, ", ".join(row.taints)) for row in rows]
        over_rest.print_table(HOST_COLUMNS, shown)
    for warning in warnings(rows, options.trait):
        print(escaped(warning), file=sys.stderr)
    return 0


def set_up_drain_check(parser: Any) -> None:
    """Add the arguments and the action of `drain-check` to its parser."""
    parser.add_argument("host", nargs="*", metavar="HOST", help="UUID or name of a root provider")
    parser.add_argument("--all", action="store_true", help="check each host of the cloud")
    over_rest.set_up(parser, _check_drains)
    parser.add_argument("--json", action="store_true", help="print all hosts as JSON")
    parser.add_argument(
        "--resume",
        type=Path,
        metavar="FILE",
        help="append each result to this file, and skip hosts whose result is in it already",
    )


def _check_drains(client: RestClient, options: Any) -> int:
    if bool(options.host) == options.all:
        over_rest.fail("drain-check: name hosts, or state --all")
        return over_rest.USAGE
    known = _read(options.resume) if options.resume else {}
    named = hosts.find_hosts(client, None if options.all else options.host)
    missing = [host for host in named if host.uuid not in known]
    show = progress("checking", sys.stderr)
    with show(hosts.drain_check(client, missing), "hosts", len(missing)) as found:
        for row in found:
            known[row.uuid] = row
            if options.resume:
                with options.resume.open("a") as file:
                    file.write(f"{json.dumps(_members(row))}\n")
    rows = [known[host.uuid] for host in named]
    if options.json:
        over_rest.print_json([_members(row) for row in rows])
    else:
        _print_reasons(rows)
    return 0 if all(row.evacuable for row in rows) else NEGATIVE


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


def _members(row: DrainRow) -> dict[str, Any]:
    return {**row._asdict(), "stuck": [each._asdict() for each in row.stuck]}


def _print_reasons(rows: Sequence[DrainRow]) -> None:
    reasons = [reason for row in rows for reason in _reasons(row)]
    if reasons:
        over_rest.print_table(("host", "consumer", "code", "reason"), reasons)
    evacuable = sum(row.evacuable is True for row in rows)
    print(f"{evacuable:,} of {len(rows):,} hosts can be emptied, one at a time")


def _reasons(row: DrainRow) -> Iterator[tuple[str, ...]]:
    for each in row.stuck:
        yield row.name, each.consumer, each.code, each.text
    for consumer in row.undecided:
        yield row.name, consumer, "budget", "not decided within the limit on work"
