"""The command `openstack placement candidate`, for the candidates of a request."""

import argparse
from typing import Any

from falcon_placement_client import candidates
from falcon_placement_client.candidates import CandidateRow, RejectionRow
from falcon_placement_client.osc import requests
from falcon_placement_client.osc.base import NEGATIVE, ListCommand, table

LIMIT = 10  # default number of candidates


class ListCandidates(ListCommand):
    """List the allocation candidates of a request, with a row for each provider.

    The exit code is 3 if there is none.
    """

    example = "placement candidate list --flavor m1.small --in-tree compute-1"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the request and the limit."""
        requests.add_arguments(parser)
        parser.add_argument(
            "--limit",
            type=int,
            help=f"maximum number of candidates (default: the limit in the request, or {LIMIT})",
        )

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        """Return the candidates."""
        request: Any = requests.read_request(parsed_args, self.api, self.app.client_manager)
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
        requests.add_arguments(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        """Return the reasons, and print the summary."""
        self.api.require_v2("an explanation")
        request: Any = requests.read_request(parsed_args, self.api, self.app.client_manager)
        explanation = candidates.explain(self.api, request)
        print(explanation.text, file=self.app.stderr)
        self.exit_code = 0 if explanation.served else NEGATIVE
        return table(RejectionRow._fields, explanation.rows)
