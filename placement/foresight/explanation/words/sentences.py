"""The sentences of an explanation's text, and the details of its members."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from operator import attrgetter

from placement.candidates.model import Refusal
from placement.candidates.request import StatedTerm
from placement.candidates.search import SearchPlan
from placement.candidates.terms import Amount, MemberOf, PlaceTerm, Term, Untainted
from placement.foresight.explanation.causes import ORDER, RejectionCause
from placement.foresight.explanation.rejected_hosts import CauseHosts
from placement.foresight.explanation.value import Hosts, Relaxed
from placement.foresight.explanation.words.codes import SENTENCES
from placement.foresight.explanation.words.facts import Facts, Names, Phrase
from placement.foresight.explanation.words.phrases import (
    MAX_TERMS,
    count_of,
    either_of,
    for_group,
    kind_of,
    noun_of,
    value_of,
)

# Maximum number of relaxations in the text.
MAX_RELAXATIONS = 4

# Maximum number of causes in the text.
MAX_CLAUSES = 5

# -- the outcome -------------------------------------------------------------------------------


def outcome(hosts: Hosts) -> str:
    """Return how many hosts can serve the request."""
    if not hosts.sharing_trees:
        return f"{_served(hosts)}."
    providers = "provider is" if hosts.sharing_trees == 1 else "providers are"
    serving = hosts.serving_trees > 0 == hosts.served
    alone = f"; {hosts.serving_trees:,} of them can serve it" * serving
    return f"{_served(hosts)} ({hosts.sharing_trees:,} sharing {providers} not counted{alone})."


def _served(hosts: Hosts) -> str:
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
    return f"{f'{hosts.served:,}' if hosts.served else 'None'} of {looked} can serve the request"


# -- reasons of rejected hosts ----------------------------------------------------------------


class Words:
    """States the reasons of the hosts that are rejected for one request."""

    def __init__(self, plan: SearchPlan, names: Names, shared: Collection[str] = ()) -> None:
        """Prepare the facts without hosts.

        Args:
            plan: The plan of the request.
            names: UUID -> name of each provider that the explanation mentions.
            shared: UUIDs and classes of the providers of trees that only share.
        """
        # The facts without hosts.
        self.facts = Facts(plan, names, shared=frozenset(shared))

    def requirement(self, code: Refusal) -> str:
        """Return the requirement of the request at a code that joins groups."""
        return SENTENCES[code](self.facts).requirement

    def detail(self, code: Refusal, by_causes: Sequence[CauseHosts]) -> str:
        """Return the requirement and the property of the hosts that are rejected at one step."""
        details, hosts = [], sum([cause_hosts.hosts for cause_hosts in by_causes])
        for cause_hosts in by_causes[:MAX_TERMS]:
            detail = " and ".join([each.detail for each in self._phrases(code, cause_hosts)])
            count = "" if cause_hosts.hosts == hosts else f" ({count_of(cause_hosts.hosts)})"
            details.append(detail + count)
        more = len(by_causes) - len(details)
        return "; ".join(details) + (f"; {more} more" if more else "")

    def clauses(self, stated: Sequence[tuple[Refusal, CauseHosts]]) -> Sequence[str]:
        """Return the clauses about the most frequent causes, and one about the other hosts.

        The hosts that another amount would help, then those that satisfy all conditions except
        amounts, precede others, because they come nearest to serving the request.

        Args:
            stated: The rejected hosts by cause, each with the code of their step.
        """
        left: Counter[Refusal] = Counter()
        for code, cause_hosts in stated:
            left[code] += cause_hosts.hosts
        clauses = []
        causes = sorted(stated, key=lambda each: -each[1].hosts)
        nearest = sorted(causes[2:], key=lambda each: not _is_near(each[0]))
        nearest.sort(key=lambda each: not each[1].is_helped)
        # A single further cause is stated as well.
        shown = [*causes[:2], *nearest][: MAX_CLAUSES + (len(causes) == MAX_CLAUSES + 1)]
        for code, cause_hosts in sorted(shown, key=causes.index):
            left[code] -= cause_hosts.hosts
            clauses.append(f"{cause_hosts.hosts:,} {self.predicate(code, cause_hosts)}")
        meanings = dict.fromkeys([code.meaning for code in +left])
        if meanings:
            clauses.append(f"{left.total():,} more because {' or '.join(meanings)}")
        return clauses

    def predicate(self, code: Refusal, cause_hosts: CauseHosts) -> str:
        """Return the predicate of hosts with equal causes."""
        return " and ".join([each.predicate for each in self._phrases(code, cause_hosts)])

    def _phrases(self, code: Refusal, cause_hosts: CauseHosts) -> Iterable[Phrase]:
        """Return the phrases. Causes that differ only in capacity share a phrase."""
        parts: dict[object, Facts] = {}
        of_hosts = self.facts._replace(hosts=cause_hosts.hosts, others=cause_hosts.others or ())
        for cause in cause_hosts.causes:
            key = cause.case, cause.terms if cause.amounts or cause.others else ()
            part = parts.get(key)
            if part is None:
                part = of_hosts._replace(cause=cause)
            parts[key] = part._replace(
                cause=_united(part.cause, cause),
                extremes={**part.extremes, **cause_hosts.extremes.get(cause, {})},
            )
        return [
            SENTENCES[Refusal.EXCLUSIVE if facts.cause.classes else code](facts)
            for facts in parts.values()
        ]


def _is_near(code: Refusal) -> bool:
    """Return whether only amounts, or conditions that join groups, reject hosts at a code."""
    is_amount = ORDER[Refusal.MIN_UNIT] <= ORDER[code] <= ORDER[Refusal.CAPACITY]
    return is_amount or ORDER[code] >= ORDER[Refusal.COLLECTIVE_TRAITS]


def _united(cause: RejectionCause, other: RejectionCause) -> RejectionCause:
    """Return a cause with the terms, amounts and further terms of both."""
    terms = dict.fromkeys([*cause.terms, *other.terms])
    amounts = dict.fromkeys([*cause.amounts, *other.amounts])
    others = dict.fromkeys([*cause.others, *other.others])
    return cause._replace(terms=tuple(terms), amounts=tuple(amounts), others=tuple(others))


# -- reasons of all hosts ----------------------------------------------------------------------


def nonexistent(terms: Iterable[StatedTerm]) -> Sequence[str]:
    """Return a sentence for each provider or aggregate of the terms that does not exist."""
    sentences = []
    for term in terms:
        kind, value = kind_of(term), term.value
        if term.unknown and kind is not None:
            noun = "provider" if issubclass(kind, PlaceTerm) else kind.name_kind
            names = sorted(value) if isinstance(value, frozenset) else [str(value)]
            sentences.append(f"There is no {noun} {either_of(names)}.")
    return list(dict.fromkeys(sentences))


# -- changes of the request --------------------------------------------------------------------


def relaxations(relaxed: Sequence[Relaxed], *, several: bool) -> Sequence[str]:
    """Return sentences about the best relaxation of each kind, then of amounts of further classes.

    Args:
        relaxed: The relaxations. Of those with equal numbers of hosts, the first is the best.
        several: Whether the request has several groups.
    """
    best: dict[object, Relaxed] = {}
    ranked = sorted(relaxed, key=attrgetter("hosts"), reverse=True)
    for kind_of_change in (_kind, lambda each: (_kind(each), each.term.resource_class)):
        for each in ranked:
            best.setdefault(kind_of_change(each), each)
    chosen = dict.fromkeys(best.values())
    return [_relaxation(each, several) for each in list(chosen)[:MAX_RELAXATIONS]]


def _kind(relaxed: Relaxed) -> object:
    """Return the kind of a relaxation.

    The kinds are smaller amounts, larger amounts, trees, aggregates, rules and other terms.
    """
    kind = kind_of(relaxed.term)
    if relaxed.to is not None:
        return Amount, relaxed.to > (relaxed.term.amount or 0)
    if kind is None:
        return None
    return next((each for each in (PlaceTerm, MemberOf, Untainted) if issubclass(kind, each)), Term)


def _relaxation(relaxed: Relaxed, several: bool) -> str:
    term, group = relaxed.term, for_group([relaxed.term], several)
    if relaxed.to is not None:
        return _would_serve(f"With {relaxed.to} {term.resource_class}{group}", relaxed.hosts)
    where = " for the root" if term.keyword.startswith("root.") else group
    return _would_serve(f"Without {_dropped(term)}{where}", relaxed.hosts)


def _dropped(term: StatedTerm) -> str:
    kind, value = kind_of(term), value_of(term)
    if kind is None:
        return f"isolating {value}" if term.keyword == "isolate" else f"{term.keyword}={value}"
    if issubclass(kind, PlaceTerm):
        return f"{kind.keyword} {value}"
    if kind is Untainted:
        return f"the taint {value}"
    return f"{'forbidding' if kind.excludes else 'requiring'} {noun_of(term)}"


def split(names: Collection[str], hosts: int) -> str:
    """Return a sentence about classes that several providers could serve in parts."""
    return _would_serve(f"With can_split={','.join(names)} (placement 2.0)", hosts)


def _would_serve(change: str, hosts: int) -> str:
    return f"{change}, {count_of(hosts)} would serve."
