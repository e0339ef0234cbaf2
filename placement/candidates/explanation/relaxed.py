"""Relaxed requests: requests without one condition, or with a smaller amount."""

from collections.abc import Iterable
from dataclasses import replace

from placement.candidates.request import CandidateRequest
from placement.candidates.terms import Term


def without_term(request: CandidateRequest, suffix: str, term: Term) -> CandidateRequest:
    """Return the request without a term of one of its groups."""
    groups = [
        replace(group, terms=_without(group.terms, term)) if group.suffix == suffix else group
        for group in request.groups
    ]
    return replace(request, groups=tuple(groups))


def without_root_term(request: CandidateRequest, term: Term) -> CandidateRequest:
    """Return the request without a term of its root."""
    return replace(request, root=_without(request.root, term))


def _without(terms: Iterable[Term], term: Term) -> tuple[Term, ...]:
    # The same aggregate in another spelling is a different term. The function keeps it.
    return tuple(each for each in terms if each != term)


def with_amount(request: CandidateRequest, suffix: str, name: str, amount: int) -> CandidateRequest:
    """Return the request with another amount of a class in one group."""
    groups = [
        replace(group, resources=tuple({**dict(group.resources), name: amount}.items()))
        if group.suffix == suffix
        else group
        for group in request.groups
    ]
    return replace(request, groups=tuple(groups))
