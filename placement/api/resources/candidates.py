"""`/allocation_candidates`."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy.engine import Connection

from placement import deadline
from placement.api.candidate_requests.json_form import json_of, read_alternatives
from placement.api.candidate_requests.query_form import parse_candidates
from placement.api.handler import NOW, Call, Reply
from placement.api.history import Feature
from placement.api.parameters import pairs
from placement.api.policy import EXPLAIN
from placement.api.responses.candidates import Candidates
from placement.api.responses.explanations import Explained
from placement.candidates import (
    CandidateRequest,
    SearchResult,
    explain,
    explain_refused,
    find_candidates,
    find_first_available,
)
from placement.logs import escaped

LOG = logging.getLogger(__name__)
MAX_LOGGED = 2000  # characters of a request


def list_allocation_candidates(call: Call) -> Reply:
    """List the allocation candidates of a request.

    Each candidate is an allocation request: with a project and a user added, it is the body that
    claims the resources. The summaries contain the inventories and usages of all providers in the
    trees that the candidates use. With `explain`, the response also contains the reasons why hosts
    cannot serve the request.
    """
    request = parse_candidates(pairs(call.query_string), call.version)
    return _candidates(call, request, json_of(request) if request.explain else {})


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

    def search(conn: Connection) -> tuple[SearchResult, Explained | None]:
        result = find_candidates(
            conn, service.trees, request, settings, tuning, needs_result=insists
        )
        explained = None
        if request.explain:
            bounds = result.stats.bounds_after(settings)
            why = explain(result.scan, service.trees, bounds, tuning)
            explained = Explained(why, body)
        _log_empty(call, result, explained)
        return result, explained

    if insists:
        result, explained = service.database.read_trees_until_deadline(search)
    else:
        with service.database.read_trees() as conn:
            result, explained = search(conn)
    deadline.lift()  # the result is partial if the deadline ended the search
    return Reply(200, Candidates(result, request, explained), changed_at=NOW)


def _log_empty(call: Call, result: SearchResult, explained: Explained | None = None) -> None:
    """Log why a response contains no candidates, in the transaction of the search."""
    if result.candidates or not LOG.isEnabledFor(logging.INFO):
        return
    if explained is not None:
        why = explained.explanation
    else:
        service = call.service
        bounds = result.stats.bounds_after(service.settings.candidates)
        why = explain_refused(result.scan, result.trace, service.trees, bounds, service.tuning)
    LOG.info("no candidates for %s: %s", _asked(call), why.text)


def _asked(call: Call) -> str:
    """Return the original request as one line of limited length."""
    sent = call.query_string if call.body is None else orjson.dumps(call.body).decode()
    return escaped(sent if len(sent) <= MAX_LOGGED else f"{sent[:MAX_LOGGED]}…")
