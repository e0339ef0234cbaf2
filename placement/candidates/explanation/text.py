"""The text of an explanation, with the outcome, the reasons and the best relaxations."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter

from placement.candidates.explanation.nouns import (
    KINDS,
    count_of,
    for_group,
    keyword_of,
    noun_of,
    value_of,
)
from placement.candidates.explanation.terms import StatedTerm
from placement.candidates.explanation.value import Blocked, Hosts, Mentions, Relaxed
from placement.candidates.terms import PlaceTerm, Untainted
from placement.candidates.trace import Refusal

MAX_REASONS = 5
MAX_SUGGESTIONS = 2

NO_MENTIONS = Mentions()


def text(
    hosts: Hosts,
    blocked: Sequence[Blocked],
    relaxations: Sequence[Relaxed],
    *,
    several: bool,
    mentions: Mentions = NO_MENTIONS,
) -> str:
    """Compose the text of an explanation, in two or three sentences.

    Args:
        hosts: The numbers of hosts.
        blocked: The rejected hosts by step.
        relaxations: The relaxations that would serve more hosts.
        several: Whether the request has several groups.
        mentions: The hosts that the text mentions separately.
    """
    sentences = [_outcome(hosts, mentions.pools)]
    if mentions.nonexistent:
        # If a name does not exist, this is the reason for every host.
        sentences += mentions.nonexistent
    elif reasons := _reasons(blocked, mentions):
        sentences.append(f"{reasons[0].upper()}{reasons[1:]}.")
    sentences += [_without(relaxed, several) for relaxed in _suggested(relaxations)]
    return " ".join(sentences)


def _reasons(blocked: Sequence[Blocked], mentions: Mentions) -> str:
    reasons = [*mentions.named]
    outside, predicate = mentions.outside
    if outside:
        reasons.append(f"{'the other ' * bool(mentions.named)}{outside:,} {predicate}")
    stated: Counter[Refusal] = Counter()
    clauses = [(clause, step.code) for step in blocked for clause in step.clauses]
    clauses.sort(key=lambda item: -item[0].hosts)
    for clause, code in clauses[:MAX_REASONS]:
        reasons.append(f"{clause.hosts:,} {clause.predicate}")
        stated[code] += clause.hosts
    left: Counter[Refusal] = Counter()
    for step in blocked:
        left[step.code] += step.hosts - step.aside
    left -= stated
    if left:
        reasons.append(f"{left.total():,} more because {' or '.join(_meanings(left))}")
    return "; ".join(reasons)


def _meanings(codes: Iterable[Refusal]) -> Sequence[str]:
    return list(dict.fromkeys(code.meaning for code in codes))


def _suggested(relaxations: Sequence[Relaxed]) -> Sequence[Relaxed]:
    """Return the best relaxation of each kind: a tree, another condition, a smaller amount."""
    best: dict[object, Relaxed] = {}
    for relaxed in sorted(relaxations, key=attrgetter("hosts"), reverse=True):
        kind = KINDS.get(keyword_of(relaxed.term))
        is_place = kind is not None and issubclass(kind, PlaceTerm)
        best.setdefault((relaxed.to is None, is_place), relaxed)
    return list(best.values())[:MAX_SUGGESTIONS]


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
        return f"No host of {hosts.all:,} could be looked at within the limit on work"
    if hosts.looked == 1 and hosts.served == 0:
        only = "The only host" if hosts.all == 1 else "The only host looked at"
        return f"{only} cannot serve the request"
    if hosts.served == 0:
        return f"None of {looked} can serve the request"
    return f"{hosts.served:,} of {looked} can serve the request"


def _without(relaxed: Relaxed, several: bool) -> str:
    term, hosts = relaxed.term, f"{count_of(relaxed.hosts)} would serve"
    if relaxed.to is not None:
        return f"With {relaxed.to} {term.resource_class}{for_group(term, several)}, {hosts}."
    where = " for the root" if term.keyword.startswith("root.") else for_group(term, several)
    dropped = _dropped(term).format(value=value_of(term), noun=noun_of(term))
    return f"Without {dropped}{where}, {hosts}."


def _dropped(term: StatedTerm) -> str:
    """Return the form for a request without the term. The form follows the word "Without"."""
    kind = KINDS.get(keyword_of(term))
    if kind is None:
        return _DROPPED_JOINS[term.keyword]
    if issubclass(kind, PlaceTerm):
        return f"{kind.keyword} {{value}}"
    if kind is Untainted:
        return "the taint {value}"
    return "forbidding {noun}" if kind.excludes else "requiring {noun}"


_DROPPED_JOINS: Mapping[str, str] = {
    "isolate": "isolating {value}",
    "group_policy": "group_policy=isolate",
    "same_subtree": "same_subtree of {value}",
}
