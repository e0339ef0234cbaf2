"""A request for headroom as JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

from placement.api.candidate_requests.json_form import read_candidates
from placement.api.json_body import path_of
from placement.candidates import HeadroomQuery
from placement.errors import BadQuery

# Maximum of `requests × (aggregates + 1)`.
MAX_FIGURES = 1000
DEFAULT_LIMIT = 10_000


def read_headroom(body: Mapping[str, Any], within: Sequence[str | int] = ()) -> HeadroomQuery:
    """Read a body that conforms to its schema.

    Args:
        body: the requests, and what to report.
        within: path of the body, if it is a part of another one.

    Raises:
        BadQuery: a request is invalid, a name is not printable, or too many figures are asked.
    """
    requests = body["requests"]
    by = body.get("by", ())
    for name in requests:
        if not name.isprintable():
            where = path_of((*within, "requests"))
            raise BadQuery(f"{where}: {name!r} has a character that is not printable")
    if len(requests) * (1 + len(by)) > MAX_FIGURES:
        raise BadQuery(
            f"{path_of((*within, 'by'))}: {len(requests)} requests for {len(by)} aggregates and "
            f"for all hosts are more than {MAX_FIGURES} results"
        )
    return HeadroomQuery(
        {
            name: read_candidates(request, (*within, "requests", name))
            for name, request in requests.items()
        },
        int(body.get("limit", DEFAULT_LIMIT)),
        tuple(dict.fromkeys(by)),
        bool(body.get("empty", False)),
    )
