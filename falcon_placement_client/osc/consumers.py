"""The commands `openstack placement consumer` and `claim`: allocations, permanent or held."""

import argparse
import uuid
from typing import Any

from osc_lib import exceptions

from falcon_placement_client import holds, listing
from falcon_placement_client.consumers import NewConsumer
from falcon_placement_client.holds import ClaimRow, HoldRow
from falcon_placement_client.listing import ConsumerRow
from falcon_placement_client.osc.base import ListCommand, ShowCommand, table
from falcon_placement_client.osc.requests import add_request, consumer_uuid, read_request

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
        rows = listing.list_consumers(self.api, filters, parsed_args.limit)
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
        consumer = consumer_uuid(self.app.client_manager, parsed_args.consumer)
        rows = [listing.show_consumer(self.api, consumer)]
        columns, [row] = table(ConsumerRow._fields, rows)
        return columns, row


class CreateClaim(ShowCommand):
    """Claim the resources of a request for a new consumer.

    With --expires-in, the claim is a hold, which expires unless it is confirmed or extended. The
    exit code is 3 if no host can serve the request. Needs placement 2.0.
    """

    example = "placement claim create --flavor m1.small --expires-in 600"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the request, the consumer and the options."""
        add_request(parser)
        owner = parser.add_argument_group("consumer")
        owner.add_argument("--consumer", metavar="UUID", help="default: a new UUID")
        owner.add_argument("--project", metavar="ID", help="default: the project of the caller")
        owner.add_argument("--user", metavar="ID", help="default: the caller")
        owner.add_argument("--type", default="INSTANCE", help="default: INSTANCE")
        parser.add_argument(
            "--expires-in",
            type=int,
            metavar="SECONDS",
            help="create a hold that expires after this time",
        )
        parser.add_argument(
            "--remember", action="store_true", help="store the request for simulations of drains"
        )
        parser.add_argument("--spread-group", metavar="NAME", help="join this group of the project")
        parser.add_argument(
            "--max-per-host",
            type=int,
            help="maximum number of members on one host (default: 1); needs --spread-group",
        )

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        """Return the claim."""
        self.api.require_v2(holds.FEATURE)
        manager = self.app.client_manager
        request = read_request(parsed_args, self.api, manager)
        project = parsed_args.project or manager.session.get_project_id()
        user = parsed_args.user or manager.session.get_user_id()
        if not (project and user):
            raise exceptions.CommandError("the token names no owner: state --project and --user")
        consumer = NewConsumer(
            parsed_args.consumer or str(uuid.uuid4()), project, user, parsed_args.type
        )
        group, most = parsed_args.spread_group, parsed_args.max_per_host
        if most is not None and group is None:
            raise exceptions.CommandError("--max-per-host needs --spread-group")
        stated = {
            "expires_in": parsed_args.expires_in,
            "remember": parsed_args.remember or None,
            "spread_group": group and {"name": group, "max_per_host": 1 if most is None else most},
        }
        options = {name: value for name, value in stated.items() if value is not None}
        row = holds.create_claim(self.api, request, consumer, options)
        columns, [values] = table(ClaimRow._fields, [row])
        return columns, values


class _HoldCommand(ListCommand):
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("consumer", nargs="+", help="UUID, or the name of a server of nova")

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        self.api.require_v2("a hold")
        manager = self.app.client_manager
        uuids = [consumer_uuid(manager, text) for text in parsed_args.consumer]
        return table(HoldRow._fields, [self.change(each, parsed_args) for each in uuids])

    def change(self, consumer: str, parsed_args: argparse.Namespace) -> HoldRow:
        raise NotImplementedError


class ConfirmClaim(_HoldCommand):
    """Turn holds into permanent claims.

    Needs placement 2.0.
    """

    example = "placement claim confirm 5ca1ab1e-0000-4000-8000-00000000000a"

    def change(self, consumer: str, parsed_args: argparse.Namespace) -> HoldRow:
        """Confirm one hold."""
        return holds.extend_claim(self.api, consumer, None)


class ExtendClaim(_HoldCommand):
    """Set the remaining time of holds.

    Needs placement 2.0.
    """

    example = "placement claim extend 5ca1ab1e-0000-4000-8000-00000000000a --expires-in 600"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the holds and the time."""
        super().add_arguments(parser)
        parser.add_argument(
            "--expires-in", type=int, required=True, metavar="SECONDS", help="remaining time"
        )

    def change(self, consumer: str, parsed_args: argparse.Namespace) -> HoldRow:
        """Extend one hold."""
        return holds.extend_claim(self.api, consumer, parsed_args.expires_in)


class ReleaseClaim(_HoldCommand):
    """Release holds. Permanent claims are refused.

    Needs placement 2.0.
    """

    example = "placement claim release 5ca1ab1e-0000-4000-8000-00000000000a"

    def change(self, consumer: str, parsed_args: argparse.Namespace) -> HoldRow:
        """Release one hold."""
        return holds.release_claim(self.api, consumer)


class ListClaims(ListCommand):
    """List holds, which are claims that expire.

    Needs placement 2.0.
    """

    example = "placement claim list --project 7c1c2b6f5d1e4a0b9a3f"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the filter."""
        parser.add_argument("--project", metavar="ID", help="only holds of this project")

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        """Return the holds."""
        filters = {"held": "true"}
        if parsed_args.project is not None:
            filters["project_id"] = parsed_args.project
        return table(ConsumerRow._fields, listing.list_consumers(self.api, filters))
