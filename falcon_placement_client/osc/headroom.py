"""The command `openstack placement headroom`, which shows how many more consumers fit."""

import argparse
from typing import Any

from cliff.columns import FormattableColumn
from osc_lib import exceptions

from falcon_placement_client import headroom
from falcon_placement_client.headroom import HeadroomRow
from falcon_placement_client.osc import requests
from falcon_placement_client.osc.base import NEGATIVE, ListCommand, table


class ShowHeadroom(ListCommand):
    """Show how many more consumers of a request fit, and the conditions that limit the hosts.

    The exit code is 3 if none fits. Needs placement 2.0.
    """

    example = "placement headroom show --flavor m1.small --by-aggregate"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the request."""
        requests.add_arguments(parser)
        parser.add_argument(
            "--by-aggregate", action="store_true", help="add a row for each aggregate of hosts"
        )

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        """Return the rows."""
        self.api.require_v2("headroom")
        request: Any = requests.read_request(parsed_args, self.api, self.app.client_manager)
        if "first_available" in request:
            raise exceptions.CommandError("headroom takes one request, without first_available")
        name = parsed_args.flavor or "request"
        rows = headroom.headroom_rows(
            self.api, {name: request}, by_aggregate=parsed_args.by_aggregate
        )
        self.exit_code = 0 if rows[0].fits else NEGATIVE
        return table(HeadroomRow._fields, [(*row[:-1], LimitsColumn(row)) for row in rows])


class LimitsColumn(FormattableColumn[HeadroomRow]):
    """The limits of a row: the bottlenecks in tables, and all limits in JSON."""

    def human_readable(self) -> str:
        """Return the bottlenecks in words."""
        return self._value.bottlenecks

    def machine_readable(self) -> Any:
        """Return all limits."""
        return list(self._value.limited_by)
