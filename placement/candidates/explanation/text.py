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
from placement.candidates.explanation.value import Clause, Hosts, Mentions, Reasons, Relaxed
from placement.candidates.stated_terms import StatedTerm
from placement.candidates.terms import MemberOf, PlaceTerm, Term, Untainted
from placement.candidates.trace import Refusal

MAX_REASONS = 5
MAX_SUGGESTIONS = 3

NO_MENTIONS = Mentions()


def text(
    hosts: Hosts,
    reasons: Sequence[Reasons],
    relaxations: Sequence[Relaxed],
    *,
    several: bool,
    mentions: Mentions = NO_MENTIONS,
    suggestions: Sequence[str] = (),
) -> str:
    """Compose the text of an explanation, in two or three sentences.

    Args:
        hosts: The numbers of hosts.
        reasons: The reasons of the rejected hosts by step.
        relaxations: The relaxations that would serve more hosts.
        several: Whether the request has several groups.
        mentions: The hosts that the text mentions separately.
        suggestions: Sentences about further changes of the request.
    """
    sentences = [_outcome(hosts)]
    if mentions.nonexistent:
        # If a name does not exist, this is the reason for every host.
        sentences += mentions.nonexistent
    elif mentions.conflict and not mentions.named:
        sentences.append(mentions.conflict)
    elif clauses := _clauses(reasons, mentions):
        sentences.append(f"{clauses[0].upper()}{clauses[1:]}.")
    suggested = _suggested(relaxations, all_terms=bool(mentions.conflict))
    sentences += [_without(relaxed, several) for relaxed in suggested]
    sentences += suggestions
    return " ".join(sentences)


def _clauses(reasons: Sequence[Reasons], mentions: Mentions) -> str:
    texts = [*mentions.named]
    for number, outside in enumerate(mentions.outside):
        subject = f"{outside.hosts:,}"
        if mentions.named and not number:
            rest = len(mentions.outside) > 1 or any(each.hosts for each in reasons)
            subject += " other" + "s" * (outside.hosts > 1) if rest else ""
            subject = subject if rest else f"the other {subject}"
        texts.append(f"{subject} {outside.predicate}")
    stated: Counter[Refusal] = Counter()
    clauses = [(clause, each.code) for each in reasons for clause in each.clauses]
    clauses.sort(key=lambda item: -item[0].hosts)
    for clause, code in clauses[:MAX_REASONS]:
        texts.append(f"{clause.hosts:,} {clause.predicate}{_tainted(clause)}")
        stated[code] += clause.hosts
    left: Counter[Refusal] = Counter()
    for each in reasons:
        left[each.code] += each.hosts
    left -= stated
    if left:
        texts.append(f"{left.total():,} more because {' or '.join(_meanings(left))}")
    return "; ".join(texts)


def _tainted(clause: Clause) -> str:
    if not clause.tainted or clause.tainted < clause.hosts:
        return ""
    return f", and {'is' if clause.hosts == 1 else 'are'} tainted"


def _meanings(codes: Iterable[Refusal]) -> Sequence[str]:
    return list(dict.fromkeys(code.meaning for code in codes))


def _suggested(relaxations: Sequence[Relaxed], *, all_terms: bool) -> Sequence[Relaxed]:
    """Return the best relaxation of each kind, or all relaxations if each term is of interest."""
    best: dict[object, Relaxed] = {}
    for relaxed in sorted(relaxations, key=attrgetter("hosts"), reverse=True):
        best.setdefault(relaxed.term if all_terms else _kind(relaxed), relaxed)
    return list(best.values())[:MAX_SUGGESTIONS]


def _kind(relaxed: Relaxed) -> object:
    """Return the kind of a relaxation: an amount, a tree, an aggregate, a rule or another term."""
    kind = KINDS.get(keyword_of(relaxed.term))
    if relaxed.to is not None or kind is None:
        return relaxed.to is not None
    return next((each for each in (PlaceTerm, MemberOf, Untainted) if issubclass(kind, each)), Term)


def _outcome(hosts: Hosts) -> str:
    aside = ""
    if hosts.pools:
        pools = "provider is" if hosts.pools == 1 else "providers are"
        serving = hosts.serving_pools > 0 == hosts.served
        alone = f"; {hosts.serving_pools:,} of them can serve it" * serving
        aside = f" ({hosts.pools:,} sharing {pools} not counted{alone})"
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
    taint = f" and without the taint {value_of(relaxed.taint)}" if relaxed.taint else ""
    return f"Without {dropped}{where}{taint}, {hosts}."


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
    "same_subtree": "same_subtree={value}",
}
