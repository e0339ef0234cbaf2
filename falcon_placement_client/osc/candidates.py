"""The commands `openstack placement candidate` and `headroom`, for requests."""

import sys
from typing import Any

from osc_lib import exceptions

from falcon_placement_client import candidates
from falcon_placement_client.candidates import CandidateRow, RejectionRow
from falcon_placement_client.commands.command import Lister, Output
from falcon_placement_client.commands.over_rest import NEGATIVE, Call, count
from falcon_placement_client.commands.requests import add_by_aggregate, headroom_output
from falcon_placement_client.messages import escaped
from falcon_placement_client.osc.base import command_of
from falcon_placement_client.osc.requests import add_request, read_request

LIMIT = 10  # default number of candidates


@command_of
class ListCandidates(Lister):
    """List the allocation candidates of a request, with a row for each provider.

    The exit code is 3 if there is none.
    """

    example = "placement candidate list --flavor m1.small --in-tree compute-1"

    def add_arguments(self, parser: Any) -> None:
        add_request(parser)
        parser.add_argument(
            "--limit",
            type=count,
            help=f"maximum number of candidates (default: the limit in the request, or {LIMIT})",
        )

    def output(self, call: Call) -> Output:
        request: Any = read_request(call)
        request["limit"] = call.options.limit or request.get("limit", LIMIT)
        rows = candidates.list_candidates(call.api, request)
        return Output(CandidateRow._fields, rows, 0 if rows else NEGATIVE)


@command_of
class ExplainCandidates(Lister):
    """Show why hosts cannot serve a request, with a row for each reason.

    A summary is printed to standard error. The exit code is 3 if no host can serve the request.
    Needs placement 2.0.
    """

    example = "placement candidate explain --resource VCPU=4 --required HW_CPU_X86_AVX2"
    needs_v2 = "an explanation"

    def add_arguments(self, parser: Any) -> None:
        add_request(parser)

    def output(self, call: Call) -> Output:
        request: Any = read_request(call)
        explanation = candidates.explain(call.api, request)
        print(escaped(explanation.text), file=sys.stderr)
        code = 0 if explanation.served else NEGATIVE
        return Output(RejectionRow._fields, explanation.rows, code)


@command_of
class ShowHeadroom(Lister):
    """Show how many more consumers of a request fit, and the conditions that limit the hosts.

    The exit code is 3 if none fits. Needs placement 2.0.
    """

    example = "placement headroom show --flavor m1.small --by-aggregate"
    needs_v2 = "headroom"

    def add_arguments(self, parser: Any) -> None:
        add_request(parser)
        add_by_aggregate(parser)

    def output(self, call: Call) -> Output:
        request: Any = read_request(call)
        if "first_available" in request:
            raise exceptions.CommandError("headroom takes one request, without first_available")
        name = call.options.flavor or "request"
        return headroom_output(call, {name: request})
