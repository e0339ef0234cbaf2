"""`/allocation_candidates`.

A response is generated in pieces of text, because it may have 100,000 candidates. The complete text
is never in memory.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from operator import itemgetter
from typing import Any, NamedTuple

import orjson

from placement.api import samples
from placement.api.candidate_requests.json_form import read_alternatives
from placement.api.candidate_requests.query_form import parse_candidates, to_json
from placement.api.handler import NOW, Call, Reply
from placement.api.history import Feature
from placement.api.members import AMOUNTS, UUID, UUID_KEY
from placement.api.operations.candidate_texts import (
    SUMMARY,
    RenderInput,
    texts,
    used_providers,
    whole_trees,
)
from placement.api.operations.explanations import EXPLANATION, Explained
from placement.api.parameters import pairs
from placement.api.policy import EXPLAIN
from placement.api.shapes import Array, Custom, Json, Object, Property, Renderer, Table, View, ready
from placement.candidates import (
    CandidateRequest,
    SearchResult,
    find_candidates,
    find_first_available,
)
from placement.foresight.explanation import Reasons, explain, explain_refused
from placement.objects.unset import UNSET, Unset
from placement.runtime import deadline, events, stopwatch
from placement.runtime.events import Event
from placement.runtime.messages import escaped

LOG = logging.getLogger(__name__)

CHUNK_SIZE = 64  # candidates in one piece of text
MAX_LOGGED_QUERY = 2000  # characters; the line of the access log contains the whole query
MAX_LOGGED_BODY = 65_536  # characters; no other line contains the body


class Candidates(NamedTuple):
    """The result of a search, and its request."""

    # The candidates and their trees.
    result: SearchResult
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


def by_provider(allocations: Mapping[str, Mapping[str, int]]) -> Mapping[str, Mapping[str, Any]]:
    """Return allocations in the form of `BY_PROVIDER`."""
    return {uuid: {"resources": amounts} for uuid, amounts in allocations.items()}


def _as_object(spelled: RenderInput) -> Mapping[str, Mapping[str, Any]]:
    allocations, _mappings = spelled
    return by_provider(allocations)


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
ALTERNATIVE = Json.of(
    ["integer", "null"],
    0,
    description=(
        "With first_available: the place of the request that has the candidates; null: none has."
    ),
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
        Json.of(
            "boolean",
            False,
            description=(
                "false: the limit on work was reached, and the first hosts are the "
                "first of those looked at."
            ),
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


def list_allocation_candidates(call: Call) -> Reply:
    """List the allocation candidates of a request.

    Each candidate is an allocation request: with a project and a user added, it is the body that
    claims the resources. The summaries contain the inventories and usages of all providers in the
    trees that the candidates use. With `explain`, the response also contains the reasons why hosts
    cannot serve the request.
    """
    query = pairs(call.query_string)
    request = parse_candidates(query, call.version)
    return _candidates(call, request, to_json(query, call.version) if request.explain else {})


def find_allocation_candidates(call: Call) -> Reply:
    """List the allocation candidates of a request in the body.

    The body can express the same requests as the query, without a limit on the length of a URL. A
    nested list of names matches any of them. Nothing is changed.
    """
    requests = read_alternatives(call.body)
    if "first_available" in call.body:
        return _first_available(call, requests)
    return _candidates(call, requests[0], call.body)


def _first_available(call: Call, requests: Sequence[CandidateRequest]) -> Reply:
    """Return the candidates of the first request that has at least one candidate."""
    service = call.service
    with service.database.read_trees() as conn:
        alternative, result = find_first_available(
            conn, service.trees, requests, service.settings.candidates, service.tuning
        )
        _log_empty(call, result)
    deadline.lift()  # the result is partial if the deadline ended the search
    candidates = Candidates(result, requests[alternative or 0], alternative=alternative)
    return Reply(200, candidates, changed_at=NOW)


def _candidates(call: Call, request: CandidateRequest, body: Mapping[str, Any]) -> Reply:
    """Return the candidates. body: the request as JSON, if an explanation is requested."""
    if request.explain:
        call.rights.require(EXPLAIN)
    service = call.service
    settings, tuning = service.settings.candidates, service.tuning
    # To nova, 503 is a failed boot: it neither repeats the request nor reads Retry-After.
    insists = request.limit is not None and not Feature.WHOLE_LANGUAGE.at(call.version)
    searched = replace(request, order=service.order) if insists and service.order else request

    def search() -> tuple[SearchResult, Explained | None]:
        explained = None
        with service.database.read_trees() as conn:
            result = find_candidates(
                conn, service.trees, searched, settings, tuning, needs_result=insists
            )
            if request.explain:
                bounds = result.stats.bounds_after(settings)
                why = explain(result.scan, service.trees, bounds, tuning)
                explained = Explained(why, body)
            _log_empty(call, result, explained)
        return result, explained

    result, explained = service.database.repeat_read(search, insists=True) if insists else search()
    deadline.lift()  # the result is partial if the deadline ended the search
    return Reply(200, Candidates(result, request, explained), changed_at=NOW)


def _log_empty(call: Call, result: SearchResult, explained: Explained | None = None) -> None:
    """Log and count why a response contains no candidates, in the transaction of the search."""
    stopwatch.note_candidates(len(result.candidates))
    if result.candidates:
        return
    why: Reasons | None = None if explained is None else explained.explanation
    if why is None and LOG.isEnabledFor(logging.INFO):
        service = call.service
        bounds = result.stats.bounds_after(service.settings.candidates)
        why = explain_refused(result.scan, result.trace, service.trees, bounds, service.tuning)
    # PERF: if the log has no such lines, the code is that of the search. An explanation takes as
    # long as the search.
    counts = {} if why is None else why.counts
    code = next(iter(counts), result.trace.code)
    events.emit(Event.REFUSAL, code=code)
    if why is not None:
        facts = {"request": _asked(call), "code": code, "counts": counts, "hosts": why.hosts.looked}
        LOG.info("no candidates for %s: %s", facts["request"], why.text, extra={"extra": facts})


def _asked(call: Call) -> str:
    """Return the original request as one line of limited length."""
    sent, most = call.query_string, MAX_LOGGED_QUERY
    if call.body is not None:
        sent, most = orjson.dumps(call.body).decode(), MAX_LOGGED_BODY
    return escaped(sent if len(sent) <= most else f"{sent[:most]}…")
