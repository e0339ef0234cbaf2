"""The commands `openstack placement consumer` and `claim`: allocations, permanent or held."""

import uuid
from typing import Any

from osc_lib import exceptions

from falcon_placement_client import holds, listing
from falcon_placement_client.commands.command import Lister, Output
from falcon_placement_client.commands.over_rest import Call, UsageError, count
from falcon_placement_client.consumers import NewConsumer
from falcon_placement_client.holds import ClaimRow, HoldRow
from falcon_placement_client.listing import ConsumerRow
from falcon_placement_client.osc.base import command_of
from falcon_placement_client.osc.requests import add_request, consumer_uuid, read_request

# Options of the list -> parameters of the API.
FILTERS = ("project_id", "user_id", "consumer_type", "in_tree", "spread_group")


@command_of
class ListConsumers(Lister):
    """List consumers and their allocations.

    Needs placement 2.0.
    """

    example = "placement consumer list --in-tree compute-1"

    def add_arguments(self, parser: Any) -> None:
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
        parser.add_argument(
            "--limit", type=count, help="maximum number of consumers (default: all)"
        )

    def output(self, call: Call) -> Output:
        if not call.options.project_id and (call.options.user_id or call.options.spread_group):
            raise UsageError("consumer list: --user and --spread-group need --project")
        stated = ((name, getattr(call.options, name)) for name in FILTERS)
        filters = {name: value for name, value in stated if value is not None}
        rows = listing.list_consumers(call.api, filters, call.options.limit)
        return Output(ConsumerRow._fields, rows)


@command_of
class ShowConsumer(Lister):
    """Show a consumer and its allocations.

    Needs placement 2.0.
    """

    example = "placement consumer show my-server"
    needs_v2 = "a consumer"
    is_one_row = True

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("consumer", help="UUID, or the name of a server of nova")

    def output(self, call: Call) -> Output:
        consumer = consumer_uuid(call.manager, call.options.consumer)
        return Output(ConsumerRow._fields, [listing.show_consumer(call.api, consumer)])


@command_of
class CreateClaim(Lister):
    """Claim the resources of a request for a new consumer.

    With --expires-in, the claim is a hold, which expires unless it is confirmed or extended. The
    exit code is 3 if no host can serve the request. Needs placement 2.0.
    """

    example = "placement claim create --flavor m1.small --expires-in 600"
    needs_v2 = holds.FEATURE
    is_one_row = True

    def add_arguments(self, parser: Any) -> None:
        add_request(parser)
        owner = parser.add_argument_group("consumer")
        owner.add_argument("--consumer", metavar="UUID", help="default: a new UUID")
        owner.add_argument("--project", metavar="ID", help="default: the project of the caller")
        owner.add_argument("--user", metavar="ID", help="default: the caller")
        owner.add_argument("--type", default="INSTANCE", help="default: INSTANCE")
        parser.add_argument(
            "--expires-in",
            type=count,
            metavar="SECONDS",
            help="create a hold that expires after this time",
        )
        parser.add_argument(
            "--remember", action="store_true", help="store the request for simulations of drains"
        )
        parser.add_argument("--spread-group", metavar="NAME", help="join this group of the project")
        parser.add_argument(
            "--max-per-host",
            type=count,
            help="maximum number of members on one host (default: 1); needs --spread-group",
        )

    def output(self, call: Call) -> Output:
        options, session = call.options, call.manager.session
        request = read_request(call)
        project = options.project or session.get_project_id()
        user = options.user or session.get_user_id()
        if not (project and user):
            raise exceptions.CommandError("the token names no owner: state --project and --user")
        consumer = NewConsumer(options.consumer or str(uuid.uuid4()), project, user, options.type)
        group, most = options.spread_group, options.max_per_host
        if most is not None and group is None:
            raise exceptions.CommandError("--max-per-host needs --spread-group")
        stated = {
            "expires_in": options.expires_in,
            "remember": options.remember or None,
            "spread_group": group and {"name": group, "max_per_host": 1 if most is None else most},
        }
        members = {name: value for name, value in stated.items() if value is not None}
        row = holds.create_claim(call.api, request, consumer, members)
        return Output(ClaimRow._fields, [row])


class _HoldCommand(Lister):
    needs_v2 = "a hold"

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("consumer", nargs="+", help="UUID, or the name of a server of nova")

    def output(self, call: Call) -> Output:
        uuids = [consumer_uuid(call.manager, text) for text in call.options.consumer]
        return Output(HoldRow._fields, [self.change(call, each) for each in uuids])

    def change(self, call: Call, consumer: str) -> HoldRow:
        raise NotImplementedError


@command_of
class ConfirmClaim(_HoldCommand):
    """Turn holds into permanent claims.

    Needs placement 2.0.
    """

    example = "placement claim confirm 5ca1ab1e-0000-4000-8000-00000000000a"

    def change(self, call: Call, consumer: str) -> HoldRow:
        return holds.extend_claim(call.api, consumer, None)


@command_of
class ExtendClaim(_HoldCommand):
    """Set the remaining time of holds.

    Needs placement 2.0.
    """

    example = "placement claim extend 5ca1ab1e-0000-4000-8000-00000000000a --expires-in 600"

    def add_arguments(self, parser: Any) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--expires-in", type=count, required=True, metavar="SECONDS", help="remaining time"
        )

    def change(self, call: Call, consumer: str) -> HoldRow:
        return holds.extend_claim(call.api, consumer, call.options.expires_in)


@command_of
class ReleaseClaim(_HoldCommand):
    """Release holds. Permanent claims are refused.

    Needs placement 2.0.
    """

    example = "placement claim release 5ca1ab1e-0000-4000-8000-00000000000a"

    def change(self, call: Call, consumer: str) -> HoldRow:
        return holds.release_claim(call.api, consumer)


@command_of
class ListClaims(Lister):
    """List holds, which are claims that expire.

    Needs placement 2.0.
    """

    example = "placement claim list --project 7c1c2b6f5d1e4a0b9a3f"

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("--project", metavar="ID", help="only holds of this project")

    def output(self, call: Call) -> Output:
        filters = {"held": "true"}
        if call.options.project is not None:
            filters["project_id"] = call.options.project
        return Output(ConsumerRow._fields, listing.list_consumers(call.api, filters))
