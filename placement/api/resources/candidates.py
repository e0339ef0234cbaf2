"""`/allocation_candidates`."""

from placement.api import query
from placement.api.handler import NOW, Call, Reply
from placement.api.responses.candidates import Candidates
from placement.candidates import CandidateRequest, find_candidates


def list_allocation_candidates(call: Call) -> Reply:
    """List the ways in which a request for resources can be met now.

    Each is an allocation request: with a project and a user it is the body that claims the
    resources. The summaries show what there is, and what is used, on all providers of the trees
    that requests take from.
    """
    return _candidates(call, query.parse_candidates(query.pairs(call.query_string), call.version))


def find_allocation_candidates(call: Call) -> Reply:
    """List the ways in which a request can be met now; the request is the body.

    It is for requests that do not fit a URL, and says the same as the query does: a list among
    names is any of them. Nothing is changed.
    """
    return _candidates(call, query.read_candidates(call.body))


def _candidates(call: Call, request: CandidateRequest) -> Reply:
    service = call.service
    with service.database.read() as conn:
        result = find_candidates(
            conn, service.trees, request, service.settings.candidates, service.tuning
        )
    return Reply(200, Candidates(result, request), changed_at=NOW)
