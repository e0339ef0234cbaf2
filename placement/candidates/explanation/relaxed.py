"""Requests that say one thing less, or ask for less of something."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from placement.candidates.explanation.terms import Term
from placement.candidates.request import CandidateRequest, RequestGroup, RootTerms
from placement.candidates.trace import Refusal
from placement.objects import identifiers

Terms = TypeVar("Terms", RequestGroup, RootTerms)


def without_term(
    request: CandidateRequest, stated: CandidateRequest, term: Term
) -> CandidateRequest:
    """Return a request without a term of one of its groups; stated: with names as stated."""
    groups = []
    for group, stated_group in zip(request.groups, stated.groups, strict=True):
        if group.suffix != term.suffix:
            groups.append(group)
        elif term.keyword == "in_tree":
            groups.append(replace(group, in_tree=None))
        elif term.keyword == "subtree":
            groups.append(replace(group, subtree=None))
        else:
            groups.append(_without(group, stated_group, term.keyword, term))
    return replace(request, groups=tuple(groups))


def without_root_term(
    request: CandidateRequest, stated: CandidateRequest, term: Term
) -> CandidateRequest:
    """Return a request without a term of its root."""
    keyword = term.keyword.removeprefix("root.")
    return replace(request, root=_without(request.root, stated.root, keyword, term))


def _without(terms: Terms, stated: Terms, keyword: str, term: Term) -> Terms:
    if keyword == "required":
        return replace(
            terms, required=tuple(names for names in terms.required if names != term.value)
        )
    if keyword == "forbidden":
        return replace(terms, forbidden=terms.forbidden - {str(term.value)})
    if keyword == "member_of":
        pairs = zip(terms.member_of, stated.member_of, strict=True)
        return replace(terms, member_of=tuple(keys for keys, uuids in pairs if uuids != term.value))
    # Another spelling of the same aggregate forbids it as well.
    others = stated.not_member_of - {str(term.value)}
    return replace(terms, not_member_of=frozenset(map(identifiers.key, others)))


def joining_terms(request: CandidateRequest) -> Iterator[Term]:
    """Yield each rule that joins groups."""
    if request.isolate_all:
        yield Term(Refusal.ISOLATE, "group_policy", None, "isolate")
    else:
        for suffix in sorted(request.isolate):
            yield Term(Refusal.ISOLATE, "isolate", None, suffix)
    for rule in request.same_subtree:
        yield Term(Refusal.SAME_SUBTREE, "same_subtree", None, rule)


def without_join(request: CandidateRequest, term: Term) -> CandidateRequest:
    """Return a request without a rule that joins groups."""
    if term.keyword == "group_policy":
        return replace(request, isolate=frozenset())
    if term.keyword == "isolate":
        return replace(request, isolate=request.isolate - {str(term.value)})
    rules = tuple(rule for rule in request.same_subtree if rule != term.value)
    return replace(request, same_subtree=rules)


def with_amount(request: CandidateRequest, suffix: str, name: str, amount: int) -> CandidateRequest:
    """Return a request in which a group asks for another amount of a class."""
    return _with_resources(request, suffix, {name: amount})


def without_class(request: CandidateRequest, suffix: str, name: str) -> CandidateRequest:
    """Return a request in which a group asks neither for a class nor for traits."""
    return _with_resources(without_traits(request, suffix), suffix, {name: 0})


def without_traits(request: CandidateRequest, suffix: str) -> CandidateRequest:
    """Return a request in which a group requires no traits."""
    groups = tuple(
        replace(group, required=()) if group.suffix == suffix else group for group in request.groups
    )
    return replace(request, groups=groups)


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
