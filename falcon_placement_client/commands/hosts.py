"""The commands `host` and `drain-check`, for hosts in maintenance."""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from falcon_placement_client import hosts
from falcon_placement_client.commands.command import Cell, Lister, Output
from falcon_placement_client.commands.over_rest import NEGATIVE, Call, UsageError, table_text
from falcon_placement_client.errors import RestError
from falcon_placement_client.hosts import DEFAULT_TRAIT, DrainRow, HostRow, StuckConsumer
from falcon_placement_client.progress import progress
from falcon_placement_client.rest import RestApi

MAX_NAMES = 5  # of hosts in a warning
# Whether searches exclude a host because of the trait of the command -> text. None: it is unknown,
# or the host does not have the trait.
_EXCLUDED = {True: "yes", False: "no", None: "-"}


class _Hosts(Lister):
    # Whether the command has failed if searches still find a host with the trait.
    takes_out: ClassVar[bool] = False

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument(
            "--trait",
            default=DEFAULT_TRAIT,
            help=f"trait of hosts in maintenance (default: {DEFAULT_TRAIT})",
        )

    def rows(self, call: Call) -> Sequence[HostRow]:
        raise NotImplementedError

    def output(self, call: Call) -> Output:
        rows, trait = self.rows(call), call.options.trait
        found = [row.name for row in rows if row.is_taint is False]
        more = f" and {len(found) - MAX_NAMES:,} more" if len(found) > MAX_NAMES else ""
        warning = (
            f"{trait} is no taint of the service, so searches still find "
            f"{', '.join(found[:MAX_NAMES])}{more}: add it to [placement] taints of all servers, "
            "and reload them; the hosts have the trait already"
        )
        shown = [
            (row.uuid, row.name, row.taints, Cell(row.is_taint, _EXCLUDED[row.is_taint]))
            for row in rows
        ]
        code = NEGATIVE if found and self.takes_out else 0
        columns = "uuid", "name", "taints", "excluded"
        return Output(columns, shown, code, [warning] if found else [])


class _Change(_Hosts):
    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("host", nargs="+", help="UUID or name of the root provider")
        super().add_arguments(parser)

    def rows(self, call: Call) -> Sequence[HostRow]:
        # Look all of them up first, so that a name that does not exist leaves no host changed.
        named = hosts.find_hosts(call.api, call.options.host)
        return [self.change(call.api, host.uuid, call.options.trait) for host in named]

    def change(self, api: RestApi, host: str, trait: str) -> HostRow:
        raise NotImplementedError


class TaintHost(_Change):
    """Take hosts out of use, so that searches leave them out.

    A trait is added to the root provider of each host. Searches leave the host out if the option
    [placement] taints of the service lists this trait; otherwise, the exit code is 3. Allocations
    do not change.
    """

    example = "placement host taint compute-1"
    description = (
        "Adds a trait to the root providers. Exit code: 0 if searches leave the hosts out, 3 if "
        "they do not, because [placement] taints of the service does not list the trait, 1 for "
        "errors."
    )
    takes_out = True

    def change(self, api: RestApi, host: str, trait: str) -> HostRow:
        return hosts.taint_host(api, host, trait)


class UntaintHost(_Change):
    """Put hosts back into use."""

    example = "placement host untaint compute-1"

    def change(self, api: RestApi, host: str, trait: str) -> HostRow:
        return hosts.untaint_host(api, host, trait)


class ListHosts(_Hosts):
    """List the hosts that are out of use."""

    example = "placement host list --tainted"

    def add_arguments(self, parser: Any) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--tainted", action="store_true", help="list the hosts with the trait (the default)"
        )

    def rows(self, call: Call) -> Sequence[HostRow]:
        return hosts.tainted_hosts(call.api, call.options.trait)


class DrainCheck(Lister):
    """Show for each host separately whether it can be emptied.

    Each host is drained in a simulation, which changes nothing. The exit code is 3 if a consumer of
    a host fits nowhere else, or if [placement] max_simulation_steps ends the search. Needs
    placement 2.0.
    """

    example = "placement host drain-check compute-1 compute-2"
    needs_v2 = "a check of drains"

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument(
            "host", nargs="*", metavar="HOST", help="UUID or name of a root provider"
        )
        parser.add_argument("--all", action="store_true", help="check each host of the cloud")
        parser.add_argument(
            "--resume",
            type=Path,
            metavar="FILE",
            help="append each result to this file, and skip hosts whose result is in it already",
        )

    def output(self, call: Call) -> Output:
        options = call.options
        if bool(options.host) == options.all:
            raise UsageError("drain-check: name hosts, or state --all")
        known = _read(options.resume) if options.resume else {}
        named = hosts.find_hosts(call.api, None if options.all else options.host)
        missing = [host for host in named if host.uuid not in known]
        show = progress("checking", sys.stderr)
        with show(hosts.drain_check(call.api, missing), "hosts", len(missing)) as found:
            for row in found:
                known[row.uuid] = row
                if options.resume:
                    with options.resume.open("a") as file:
                        stuck = [each._asdict() for each in row.stuck]
                        file.write(f"{json.dumps({**row._asdict(), 'stuck': stuck})}\n")
        rows = [known[host.uuid] for host in named]
        code = 0 if all(row.evacuable for row in rows) else NEGATIVE
        return Output(DrainRow._fields, rows, code, text=_reasons(rows))


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


def _reasons(rows: Sequence[DrainRow]) -> str:
    """Return the consumers that do not fit elsewhere, and the number of hosts without any."""
    reasons = [reason for row in rows for reason in _reasons_of(row)]
    lines = [table_text(("host", "consumer", "code", "reason"), reasons)] if reasons else []
    evacuable = sum(row.evacuable is True for row in rows)
    return "\n".join(
        [*lines, f"{evacuable:,} of {len(rows):,} hosts can be emptied, one at a time"]
    )


def _reasons_of(row: DrainRow) -> Iterator[tuple[str, ...]]:
    for each in row.stuck:
        yield row.name, each.consumer, each.code, each.text
    for consumer in row.undecided:
        yield row.name, consumer, "budget", "not decided within the limit on work"
