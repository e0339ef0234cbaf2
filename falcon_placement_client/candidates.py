"""Candidates of a request, and the reasons why hosts are rejected, for operators.

Each function implements one command. It returns rows, and the command formats them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from falcon_placement_client import claims
from falcon_placement_client.json_request import AnyRequest
from falcon_placement_client.listing import NameOf, provider_names
from falcon_placement_client.rest import RestApi

MAX_EXAMPLES = 5  # maximum number of hosts that are named for a reason


class CandidateRow(NamedTuple):
    """The resources of one provider in a candidate."""

    # Position of the candidate in the response, starting at 1.
    candidate: int
    provider: str
    uuid: str
    # Amounts by resource class.
    resources: Mapping[str, int]
    # Suffixes of the groups that the provider serves.
    groups: Sequence[str]


class RejectionRow(NamedTuple):
    """A reason why hosts cannot serve a request."""

    hosts: int
    code: str
    # Suffix of the group, or None if the reason is about the root or several groups.
    group: str | None
    # The condition that is not satisfied, such as a trait.
    detail: str
    meaning: str
    # Names of some hosts.
    examples: Sequence[str]


class Explanation(NamedTuple):
    """Which hosts can serve a request, and why the others cannot."""

    # A summary in two or three sentences.
    text: str
    # Number of hosts that can serve the request.
    served: int
    # The reasons, sorted by the number of hosts in descending order.
    rows: Sequence[RejectionRow]


def list_candidates(api: RestApi, request: AnyRequest) -> list[CandidateRow]:
    """Return the candidates of a request, with one row for each provider.

    Args:
        request: see `ReportClient.allocation_candidates`.

    Raises:
        RequestError: the version of the service cannot express the request.
        RefusedError: the service refuses the request.
    """
    response = claims.find_candidates(api, request)
    name_of = provider_names(api)
    return [
        row
        for number, candidate in enumerate(response["allocation_requests"], 1)
        for row in _rows(number, candidate, name_of)
    ]


def explain(api: RestApi, request: Mapping[str, Any]) -> Explanation:
    """Return why hosts can or cannot serve a request.

    Args:
        request: a body of `POST /allocation_candidates` without `first_available`.

    Raises:
        ServiceTooOld: the service does not support placement 2.0.
        RefusedError: the service refuses the request, or the caller may not use `explain`.
    """
    api.require_v2("an explanation")
    explanation = request_explanation(api, request, "summary")
    name_of = provider_names(api)
    rows = [
        RejectionRow(
            each["hosts"],
            each["code"],
            each["group"],
            each["detail"] or "",
            each["meaning"],
            [name_of(uuid) for uuid in each["examples"][:MAX_EXAMPLES]],
        )
        for each in explanation["blocked"]
    ]
    return Explanation(explanation["text"], explanation["hosts"]["served"], rows)


def request_explanation(api: RestApi, request: Mapping[str, Any], detail: str) -> Any:
    """Return the explanation in a response, or None if there is none.

    detail: `summary`, or `providers` for an explanation of single hosts, too.
    """
    # One candidate is sufficient, because the candidates are not printed.
    response = api.post("/allocation_candidates", {**request, "limit": 1, "explain": detail})
    return response.get("explanation") if isinstance(response, dict) else None


def _rows(number: int, candidate: Mapping[str, Any], name_of: NameOf) -> list[CandidateRow]:
    return [
        CandidateRow(
            number,
            name_of(uuid),
            uuid,
            held["resources"],
            [suffix for suffix, uuids in candidate["mappings"].items() if uuid in uuids],
        )
        for uuid, held in candidate["allocations"].items()
    ]
