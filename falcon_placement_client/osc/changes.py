"""The command `openstack placement change`, which prints changes in a cloud."""

import argparse
import json

from falcon_placement_client import watching
from falcon_placement_client.osc.base import PlacementCommand
from falcon_placement_client.watching import WatchEvent


class WatchChanges(PlacementCommand):
    """Print a line for each tree that changes, until interrupted.

    The command waits while the service is not available. Needs placement 2.0.
    """

    example = "placement change watch --json"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the options."""
        parser.add_argument("--json", action="store_true", help="print an object on each line")
        parser.add_argument(
            "--listed", action="store_true", help="also print the trees that exist already"
        )
        parser.add_argument("--count", type=int, metavar="N", help="exit after N lines")
        parser.add_argument(
            "--interval",
            type=float,
            default=watching.INTERVAL,
            metavar="SECONDS",
            help=f"seconds between two polls (default: {watching.INTERVAL:g})",
        )

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Print the lines."""
        printed = 0
        trees = watching.watch(self.api, parsed_args.interval)
        for tree, name in watching.with_names(self.api, trees):
            if tree.event is WatchEvent.LISTED and not parsed_args.listed:
                continue
            row = {"event": tree.event.value, "uuid": tree.uuid, "name": name}
            line = json.dumps(row) if parsed_args.json else "{event} {uuid} {name}".format(**row)
            print(line, file=self.app.stdout, flush=True)
            printed += 1
            if printed == parsed_args.count:
                return
