"""`/allocation_candidates` (contract candidates.md)."""

from placement.api import query
from placement.api.handler import NOW, Call, Reply
from placement.api.render import candidates as render
from placement.candidates import find_candidates


def list_candidates(call: Call) -> Reply:
    """Every way in which the request can be met now, or the first `limit` of them."""
    request = query.parse_candidates(query.pairs(call.query_string), call.version)
    service = call.service
    with service.database.read() as conn:
        result = find_candidates(
            conn, service.trees, request, service.settings.candidates, service.tuning
        )
    return Reply(200, render.answer(result, request, call.version), changed_at=NOW)
