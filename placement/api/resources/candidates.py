"""`/allocation_candidates`."""

import logging
from collections.abc import Mapping
from typing import Any

import orjson

from placement import deadline
from placement.api import query
from placement.api.handler import NOW, Call, Reply
from placement.api.policy import EXPLAIN
from placement.api.responses.candidates import Candidates
from placement.api.responses.explanations import Explained
from placement.candidates import CandidateRequest, explain, explain_trace, find_candidates
from placement.logs import escaped

LOG = logging.getLogger(__name__)
MOST_LOGGED = 2000  # characters of a request


def list_allocation_candidates(call: Call) -> Reply:
    """List the ways in which a request for resources can be met now.

    Each is an allocation request: with a project and a user it is the body that claims the
    resources. The summaries show what there is, and what is used, on all providers of the trees
    that requests take from. With `explain` the answer says also why hosts cannot serve it.
    """
    request = query.parse_candidates(query.pairs(call.query_string), call.version)
    return _candidates(call, request, query.json_of(request) if request.explain else {})


def find_allocation_candidates(call: Call) -> Reply:
    """List the ways in which a request can be met now; the request is the body.

    It is for requests that do not fit a URL, and says the same as the query does: a list among
    names is any of them. Nothing is changed.
    """
    return _candidates(call, query.read_candidates(call.body), call.body)


def _candidates(call: Call, request: CandidateRequest, body: Mapping[str, Any]) -> Reply:
    """Find the candidates; body: the request as JSON, where it is to be explained."""
    if request.explain:
        call.rights.require(EXPLAIN)
    service = call.service
    settings, tuning = service.settings.candidates, service.tuning
    explained = None
    with service.database.read_trees() as conn:
        result = find_candidates(conn, service.trees, request, settings, tuning)
        if request.explain:
            bounds = result.stats.bounds_after(settings)
            why = explain(result.scan, service.trees, bounds, tuning)
            explained = Explained(why, body)
    deadline.lift()  # what was found until then is the answer
    if not result.candidates and LOG.isEnabledFor(logging.INFO):
        asked = result.scan.resolved.request  # with the taints that it does not tolerate
        why = explained.explanation if explained else explain_trace(asked, result.trace)
        LOG.info("no candidates for %s: %s", _asked(call), why.text)
    return Reply(200, Candidates(result, request, explained), changed_at=NOW)


def _asked(call: Call) -> str:
    """Return the request as it was sent, in one line of bounded length."""
    sent = call.query_string if call.body is None else orjson.dumps(call.body).decode()
    return escaped(sent if len(sent) <= MOST_LOGGED else f"{sent[:MOST_LOGGED]}…")
