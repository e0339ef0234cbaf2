"""Explain an empty response from the trace of its search, without reading more trees.

The trace contains the number of hosts that the search rejected at each code, but not the
inventories of these hosts. The database may have excluded further hosts.
"""

from collections.abc import Sequence

from placement.candidates.explanation import nouns
from placement.candidates.explanation.terms import (
    StatedTerm,
    terms_from_amounts,
    terms_from_group,
    terms_from_root,
)
from placement.candidates.explanation.text import text
from placement.candidates.explanation.value import Blocked, Clause, Explanation, Hosts
from placement.candidates.request import CandidateRequest, RequestGroup
from placement.candidates.trace import Refusal, Trace


def explain_trace(request: CandidateRequest, trace: Trace) -> Explanation:
    """Return an incomplete explanation of an empty response."""
    hosts = Hosts(None, trace.trees.total(), 0, complete=False)
    groups = {group.suffix: group for group in request.groups}
    blocked = [
        _blocked(request, groups.get(suffix), code, count)
        for (code, suffix), count in trace.trees.most_common()
    ]
    sentences = text(hosts, blocked, (), several=len(groups) > 1)
    return Explanation(hosts, {}, (), blocked, (), f"{sentences}{_rest(trace)}")


def _blocked(
    request: CandidateRequest, group: RequestGroup | None, code: Refusal, hosts: int
) -> Blocked:
    terms = _terms(request, group, code)
    clause = Clause(hosts, nouns.because(code, terms, len(request.groups) > 1))
    suffix = terms[0].suffix if terms else None
    return Blocked(code, suffix, nouns.asked(terms), hosts, (), [clause])


def _terms(
    request: CandidateRequest, group: RequestGroup | None, code: Refusal
) -> Sequence[StatedTerm]:
    """Return the terms that may have caused a rejection at a code."""
    terms = terms_from_root(request.root)
    if group is not None:
        terms += [*terms_from_group(group), *terms_from_amounts(group.suffix, group.resources)]
    return [term for term in terms if term.code is code]


def _rest(trace: Trace) -> str:
    """Return a sentence about the hosts that the search has not read."""
    if trace.requests:
        meanings = dict.fromkeys(code.meaning for code, _suffix in trace.requests)
        return "".join(f" {meaning[0].upper()}{meaning[1:]}." for meaning in meanings)
    return " The database ruled out all others." if trace.filtered else ""
