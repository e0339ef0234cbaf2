"""Responses with allocation candidates.

A response is generated in pieces of text, because it may have 100,000 candidates. The complete text
is never in memory.
"""

from collections.abc import Mapping, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any, NamedTuple

import orjson

from placement.api import samples
from placement.api.history import Feature
from placement.api.members import AMOUNTS, UUID, UUID_KEY
from placement.api.responses.candidate_texts import RenderInput, texts
from placement.api.responses.explanations import EXPLANATION, Explained
from placement.api.responses.summaries import SUMMARY, used_providers, whole_trees
from placement.api.shapes import Array, Custom, Json, Object, Property, Renderer, Table, View, ready
from placement.candidates import CandidateRequest, SearchResult
from placement.objects.unset import UNSET, Unset

CHUNK_SIZE = 64  # candidates in one piece of text


class Candidates(NamedTuple):
    """The result of a search, and its request."""

    # The candidates and their trees.
    result: SearchResult
    # The request for candidates.
    request: CandidateRequest
    # The explanation; None if it is not requested.
    explained: Explained | None = None
    # The index of the request in `first_available`. None means that no request has a
    # candidate. UNSET: there was one request.
    alternative: int | Unset | None = UNSET


def _as_list(spelled: RenderInput) -> Sequence[Mapping[str, Any]]:
    allocations, _mappings = spelled
    return [
        {"resource_provider": {"uuid": uuid}, "resources": amounts}
        for uuid, amounts in allocations.items()
    ]


def _as_object(spelled: RenderInput) -> Mapping[str, Mapping[str, Any]]:
    allocations, _mappings = spelled
    return {uuid: {"resources": amounts} for uuid, amounts in allocations.items()}


_LISTED = Array(
    Object(
        "CandidateAllocation",
        Property("resource_provider", Object("CandidateProvider", Property("uuid", UUID))),
        Property("resources", AMOUNTS),
    )
)
BY_PROVIDER = Table(UUID_KEY, Object("CandidateAllocation", Property("resources", AMOUNTS)))
MAPPINGS = Json(
    {
        "title": "Mappings",
        "type": "object",
        "additionalProperties": {"type": "array", "items": {"type": "string"}},
        "examples": [{"": [samples.PROVIDER]}],
    }
)
ALTERNATIVE = Json(
    {
        "type": ["integer", "null"],
        "description": "With first_available: the place of the request that has the candidates; "
        "null: none has.",
        "examples": [0],
    }
)
REQUEST: Object[RenderInput] = Object(
    "AllocationRequest",
    Property("allocations", ready(_LISTED), _as_list),
    Property("allocations", ready(BY_PROVIDER), _as_object, since="1.12"),
    Property("mappings", MAPPINGS, itemgetter(1), since=Feature.MAPPINGS.value),
)


def _listed(result: SearchResult, render: Renderer) -> list[bytes]:
    """Return the allocation requests, as text in pieces."""
    requests = texts(result.candidates, render)
    pieces: list[bytes] = []
    while batch := tuple(islice(requests, CHUNK_SIZE)):
        pieces += [b",", b",".join(batch)]
    return pieces[1:]


def _summaries(candidates: Candidates, view: View) -> list[bytes]:
    """Return the provider summaries, as text in pieces."""
    result, request = candidates.result, candidates.request
    if Feature.NESTED_CANDIDATES.at(view.version):
        pieces = whole_trees(result.trees, view)
    else:
        pieces = used_providers(result, request, view)
    if pieces:
        pieces[0] = pieces[0].removeprefix(b",")
    return pieces


def _end(candidates: Candidates, view: View) -> list[bytes]:
    """Return the members after the summaries, and the end of the response."""
    members: dict[str, Any] = {}
    if candidates.explained is not None:
        members["explanation"] = EXPLANATION.renderer(view)(candidates.explained)
    if candidates.request.order and candidates.result.stats.exhausted:
        members["complete"] = False
    if not isinstance(candidates.alternative, Unset):
        members["alternative"] = candidates.alternative
    if not members:
        return [b"}}"]
    return [b"},", orjson.dumps(members)[1:]]


_MEMBERS: Object[Candidates] = Object(
    "AllocationCandidates",
    Property("allocation_requests", Array(REQUEST)),
    Property("provider_summaries", Table(UUID_KEY, SUMMARY)),
    Property("explanation", EXPLANATION, since="2.0"),
    Property(
        "complete",
        Json(
            {
                "type": "boolean",
                "description": "false: the limit on work was reached, and the first hosts are the "
                "first of those looked at.",
                "examples": [False],
            }
        ),
        since="2.0",
    ),
    Property("alternative", ALTERNATIVE, since="2.0"),
    optional=("explanation", "complete", "alternative"),
)


def _in_pieces(view: View) -> Renderer:
    """Return a function that renders candidates and summaries as text, in pieces."""
    request = REQUEST.renderer(view)
    return lambda candidates: [
        b'{"allocation_requests":[',
        *_listed(candidates.result, request),
        b'],"provider_summaries":{',
        *_summaries(candidates, view),
        *_end(candidates, view),
    ]


CANDIDATES = Custom(_MEMBERS, _in_pieces)
