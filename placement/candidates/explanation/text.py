"""An explanation in two or three sentences: the outcome, the reasons, what would help most."""

from collections.abc import Mapping, Sequence
from operator import attrgetter

from placement.candidates.explanation.terms import StatedTerm
from placement.candidates.explanation.value import Blocked, Hosts, Relaxed
from placement.candidates.explanation.wording import (
    KINDS,
    count_of,
    for_group,
    keyword_of,
    noun_of,
    value_of,
)
from placement.candidates.terms import PlaceTerm, Untainted

MOST_REASONS = 3


def text(
    hosts: Hosts,
    blocked: Sequence[Blocked],
    relaxations: Sequence[Relaxed],
    *,
    several: bool,
    pools: int = 0,
    named: Sequence[str] = (),
) -> str:
    """Return the whole in two or three sentences.

    several: there are several groups. pools: how many hosts share what they have, and could not
    serve the request. named: clauses about the hosts that the request names.
    """
    sentences = [_outcome(hosts, pools)]
    reasons = list(named)
    others = 0
    for step in sorted(blocked, key=lambda step: step.aside - step.hosts):
        left = MOST_REASONS - len(reasons)
        if left > 0:
            reasons += step.clauses[:left]
        else:
            others += step.hosts - step.aside
    if others:
        falls = "falls" if others == 1 else "fall"
        reasons.append(f"{others:,} {falls} out for other reasons")
    if reasons:
        said = "; ".join(reasons)
        sentences.append(f"{said[0].upper()}{said[1:]}.")
    if relaxations:
        sentences.append(_without(max(relaxations, key=attrgetter("hosts")), several))
    return " ".join(sentences)


def _outcome(hosts: Hosts, pools: int) -> str:
    aside = ""
    if pools and hosts.looked > pools:
        aside = " (1 sharing provider is" if pools == 1 else f" ({pools:,} sharing providers are"
        aside += " not counted)"
        total = None if hosts.all is None else hosts.all - pools
        hosts = hosts._replace(all=total, looked=hosts.looked - pools)
    return _outcome_of(hosts) + f"{aside}."


def _outcome_of(hosts: Hosts) -> str:
    looked = count_of(hosts.looked)
    if hosts.all is None or hosts.looked < hosts.all:
        of_all = "" if hosts.all is None else f" of {hosts.all:,}"
        looked = f"the {looked} looked at{of_all}"
    if hosts.all == 0:
        return "There is no host"
    if hosts.all is None and hosts.looked == 0:
        return "No host can serve the request"
    if hosts.looked == 0:
        return f"No host of {hosts.all:,} could be looked at within the bound on work"
    if hosts.looked == 1 and hosts.served == 0:
        only = "The only host" if hosts.all == 1 else "The only host looked at"
        return f"{only} cannot serve the request"
    if hosts.served == 0:
        return f"None of {looked} can serve the request"
    return f"{hosts.served:,} of {looked} can serve the request"


def _without(relaxed: Relaxed, several: bool) -> str:
    term, hosts = relaxed.term, f"{count_of(relaxed.hosts)} would serve"
    if relaxed.to is not None:
        return f"With {relaxed.to} {term.resource_class}{for_group(term, several)} {hosts}."
    where = " of the root" if term.keyword.startswith("root.") else for_group(term, several)
    dropped = _dropped(term).format(value=value_of(term), noun=noun_of(term))
    return f"Without {dropped}{where} {hosts}."


def _dropped(term: StatedTerm) -> str:
    """Return what a request does not say without the term."""
    kind = KINDS.get(keyword_of(term))
    if kind is None:
        return _DROPPED_JOINS[term.keyword]
    if issubclass(kind, PlaceTerm):
        return f"{kind.keyword} {{value}}"
    if kind is Untainted:
        return "the taint {value}"
    return "forbidding {noun}" if kind.excludes else "asking for {noun}"


_DROPPED_JOINS: Mapping[str, str] = {
    "isolate": "isolating {value}",
    "group_policy": "group_policy=isolate",
    "same_subtree": "same_subtree of {value}",
}
