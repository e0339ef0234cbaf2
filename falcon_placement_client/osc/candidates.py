"""The commands `openstack placement candidate` and `headroom`, for requests."""

import argparse
from typing import Any

from cliff.columns import FormattableColumn
from osc_lib import exceptions

from falcon_placement_client import candidates, headroom
from falcon_placement_client.candidates import CandidateRow, RejectionRow
from falcon_placement_client.command_parts import NEGATIVE, add_by_aggregate
from falcon_placement_client.headroom import HeadroomRow
from falcon_placement_client.osc.base import ListCommand, table
from falcon_placement_client.osc.requests import add_request, read_request

LIMIT = 10  # default number of candidates


class ListCandidates(ListCommand):
    """List the allocation candidates of a request, with a row for each provider.

    The exit code is 3 if there is none.
    """

    example = "placement candidate list --flavor m1.small --in-tree compute-1"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the request and the limit."""
        add_request(parser)
        parser.add_argument(
            "--limit",
            type=int,
            help=f"maximum number of candidates (default: the limit in the request, or {LIMIT})",
        )

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        """Return the candidates."""
        request: Any = read_request(parsed_args, self.api, self.app.client_manager)
        request["limit"] = parsed_args.limit or request.get("limit", LIMIT)
        rows = candidates.list_candidates(self.api, request)
        self.exit_code = 0 if rows else NEGATIVE
        return table(CandidateRow._fields, rows)


class ExplainCandidates(ListCommand):
    """Show why hosts cannot serve a request, with a row for each reason.

    A summary is printed to standard error. The exit code is 3 if no host can serve the request.
    Needs placement 2.0.
    """

    example = "placement candidate explain --resource VCPU=4 --required HW_CPU_X86_AVX2"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the request."""
        add_request(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        """Return the reasons, and print the summary."""
        self.api.require_v2("an explanation")
        request: Any = read_request(parsed_args, self.api, self.app.client_manager)
        explanation = candidates.explain(self.api, request)
        print(explanation.text, file=self.app.stderr)
        self.exit_code = 0 if explanation.served else NEGATIVE
        return table(RejectionRow._fields, explanation.rows)


class ShowHeadroom(ListCommand):
    """Show how many more consumers of a request fit, and the conditions that limit the hosts.

    The exit code is 3 if none fits. Needs placement 2.0.
    """

    example = "placement headroom show --flavor m1.small --by-aggregate"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the request."""
        add_request(parser)
        add_by_aggregate(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        """Return the rows."""
        self.api.require_v2("headroom")
        request: Any = read_request(parsed_args, self.api, self.app.client_manager)
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
