"""Relaxed requests: requests without one condition, or with a smaller amount."""

from collections.abc import Iterable, Mapping
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
    return _with_resources(request, suffix, {name: amount})


def without_class(request: CandidateRequest, suffix: str, name: str) -> CandidateRequest:
    """Return the request without a class and without collective traits in one group."""
    return _with_resources(without_traits(request, suffix), suffix, {name: 0})


def without_traits(request: CandidateRequest, suffix: str) -> CandidateRequest:
    """Return the request without the collective traits of one group."""
    groups = [
        replace(group, terms=tuple(term for term in group.terms if not term.is_collective))
        if group.suffix == suffix
        else group
        for group in request.groups
    ]
    return replace(request, groups=tuple(groups))


def _with_resources(
    request: CandidateRequest, suffix: str, changed: Mapping[str, int]
) -> CandidateRequest:
    groups = []
    for group in request.groups:
        if group.suffix != suffix:
            groups.append(group)
            continue
        amounts = {**dict(group.resources), **changed}
        resources = tuple((name, amount) for name, amount in amounts.items() if amount)
        can_split = group.can_split.intersection(dict(resources))
        groups.append(replace(group, resources=resources, can_split=can_split))
    return replace(request, groups=tuple(groups))
