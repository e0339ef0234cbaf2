"""The commands `openstack placement host`, for hosts in maintenance, and `change watch`."""

import argparse
from collections.abc import Callable
from typing import Any, ClassVar

from falcon_placement_client import hosts, watching
from falcon_placement_client.command_parts import (
    HOST_COLUMNS,
    NEGATIVE,
    add_polling,
    add_trait,
    change_text,
    warnings,
)
from falcon_placement_client.hosts import HostRow
from falcon_placement_client.osc.base import ListCommand, PlacementCommand, table
from falcon_placement_client.rest import RestApi
from falcon_placement_client.watching import WatchEvent


class _Taint(ListCommand):
    # The function is in a tuple, because a class attribute would become a method.
    action: ClassVar[tuple[Callable[[RestApi, str, str], HostRow]]]

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("host", nargs="+", help="name or UUID of the root provider")
        add_trait(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        [action] = self.action
        rows = [action(self.api, host, parsed_args.trait) for host in parsed_args.host]
        for warning in warnings(rows, parsed_args.trait):
            self.log.warning("%s", warning)
        return table(HOST_COLUMNS, [(row.uuid, row.name, row.taints) for row in rows])


class TaintHost(_Taint):
    """Take hosts out of use, so that searches leave them out.

    A trait is added to the root provider of each host. Searches leave the host out if the option
    [placement] taints of the service lists this trait. Allocations do not change.
    """

    example = "placement host taint compute-1"
    action = (hosts.taint_host,)


class UntaintHost(_Taint):
    """Put hosts back into use."""

    example = "placement host untaint compute-1"
    action = (hosts.untaint_host,)


class DrainCheck(ListCommand):
    """Show for each host separately whether it can be emptied.

    Each host is drained in a simulation, which changes nothing. The exit code is 3 if a consumer of
    a host fits nowhere else, or if [placement] max_simulation_steps ends the search. Needs
    placement 2.0.
    """

    example = "placement host drain-check compute-1 compute-2"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the hosts."""
        chosen = parser.add_mutually_exclusive_group(required=True)
        chosen.add_argument("host", nargs="*", default=[], help="name or UUID of the root provider")
        chosen.add_argument("--all", action="store_true", help="check every host")

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        """Return a row for each host."""
        self.api.require_v2("a check of drains")
        checked = hosts.find_hosts(self.api, None if parsed_args.all else parsed_args.host)
        rows = list(hosts.drain_check(self.api, checked))
        self.exit_code = 0 if all(row.evacuable for row in rows) else NEGATIVE
        columns = ("uuid", "name", "evacuable", "moves", "stuck", "undecided")
        return table(
            columns,
            [
                (
                    *(row.uuid, row.name, row.evacuable, row.moves),
                    [f"{each.consumer}: {each.text}" for each in row.stuck],
                    row.undecided,
                )
                for row in rows
            ],
        )


class WatchChanges(PlacementCommand):
    """Print a line for each tree that changes, until interrupted.

    The command waits while the service is not available. Needs placement 2.0.
    """

    example = "placement change watch --json"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the options."""
        add_polling(parser)
        parser.add_argument(
            "--listed", action="store_true", help="also print the trees that exist already"
        )
        parser.add_argument("--count", type=int, metavar="N", help="exit after N lines")

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Print the lines."""
        printed = 0
        trees = watching.watch(self.api, parsed_args.interval)
        for tree, name in watching.with_names(self.api, trees):
            if tree.event is WatchEvent.LISTED and not parsed_args.listed:
                continue
            line = change_text(tree, name, as_json=parsed_args.json)
            print(line, file=self.app.stdout, flush=True)
            printed += 1
            if printed == parsed_args.count:
                return
