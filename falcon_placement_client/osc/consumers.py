"""The command `openstack placement consumer`, for consumers and their allocations."""

import argparse
from typing import Any

from falcon_placement_client import consumer_lists
from falcon_placement_client.consumer_lists import ConsumerRow
from falcon_placement_client.osc.base import ListCommand, ShowCommand, table
from falcon_placement_client.osc.servers import consumer_uuid

# Options of the list -> parameters of the API.
FILTERS = ("project_id", "user_id", "consumer_type", "in_tree", "spread_group")


class ListConsumers(ListCommand):
    """List consumers and their allocations.

    Needs placement 2.0.
    """

    example = "placement consumer list --in-tree compute-1"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the filters."""
        parser.add_argument(
            "--project", dest="project_id", metavar="ID", help="only consumers of this project"
        )
        parser.add_argument(
            "--user",
            dest="user_id",
            metavar="ID",
            help="only consumers of this user; needs --project",
        )
        parser.add_argument(
            "--type",
            dest="consumer_type",
            help="only consumers of this type, such as INSTANCE or unknown",
        )
        parser.add_argument(
            "--in-tree",
            metavar="PROVIDER",
            help="only consumers with allocations in the tree of this provider (name or UUID)",
        )
        parser.add_argument(
            "--spread-group", metavar="NAME", help="only members of this group; needs --project"
        )
        parser.add_argument("--limit", type=int, help="maximum number of consumers (default: all)")

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        """Return the consumers."""
        filters = {
            name: getattr(parsed_args, name)
            for name in FILTERS
            if getattr(parsed_args, name) is not None
        }
        rows = consumer_lists.list_consumers(self.api, filters, parsed_args.limit)
        return table(ConsumerRow._fields, rows)


class ShowConsumer(ShowCommand):
    """Show a consumer and its allocations.

    Needs placement 2.0.
    """

    example = "placement consumer show my-server"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the consumer."""
        parser.add_argument("consumer", help="UUID, or the name of a server of nova")

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        """Return the consumer."""
        self.api.require_v2("a consumer")
        uuid = consumer_uuid(self.app.client_manager, parsed_args.consumer)
        columns, [row] = table(ConsumerRow._fields, [consumer_lists.show_consumer(self.api, uuid)])
        return columns, row
