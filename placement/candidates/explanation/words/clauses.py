"""The details of an explanation's members, and the clauses of its text."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from placement.candidates.explanation.causes import RejectionCause
from placement.candidates.explanation.rejected_hosts import CauseHosts
from placement.candidates.explanation.words.codes import SENTENCES
from placement.candidates.explanation.words.facts import Facts, Names, Phrase
from placement.candidates.explanation.words.phrases import MAX_TERMS, are, count_of, joined
from placement.candidates.plan import SearchPlan
from placement.candidates.stated_terms import StatedTerm
from placement.candidates.trace import Refusal

# Maximum number of causes in the text.
MAX_CLAUSES = 5


class Words:
    """States the reasons of the hosts that are rejected for one request."""

    def __init__(self, plan: SearchPlan, names: Names) -> None:
        """names: UUID -> name of each provider that the explanation mentions."""
        # The facts without hosts.
        self.facts = Facts(plan, names)

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

        Args:
            stated: The rejected hosts by cause, each with the code of their step.
        """
        left: Counter[Refusal] = Counter()
        for code, cause_hosts in stated:
            left[code] += cause_hosts.hosts
        clauses = []
        for code, cause_hosts in sorted(stated, key=lambda each: -each[1].hosts)[:MAX_CLAUSES]:
            hosts = cause_hosts.hosts
            left[code] -= hosts
            tainted = f", and {are(hosts)} tainted" * (cause_hosts.tainted == hosts)
            clauses.append(f"{hosts:,} {self.predicate(code, cause_hosts)}{tainted}")
        meanings = dict.fromkeys([code.meaning for code in +left])
        if meanings:
            clauses.append(f"{left.total():,} more because {' or '.join(meanings)}")
        return clauses

    def predicate(
        self, code: Refusal, cause_hosts: CauseHosts, own: Collection[StatedTerm] = ()
    ) -> str:
        """Return the predicate of hosts with equal causes.

        The terms `own` name the tree of the hosts.
        """
        return " and ".join([each.predicate for each in self._phrases(code, cause_hosts, own)])

    def scopes(self, terms: Sequence[StatedTerm]) -> str:
        """Return the trees, subtrees and aggregates of terms."""
        places = [self.facts.scope(term) for term in terms]
        return joined(places, " or ", MAX_TERMS) + self.facts.required_by(terms)

    def _phrases(
        self, code: Refusal, cause_hosts: CauseHosts, own: Collection[StatedTerm] = ()
    ) -> Iterable[Phrase]:
        """Return the phrases. Causes that differ only in capacity share a phrase."""
        parts: dict[object, Facts] = {}
        for cause in cause_hosts.causes:
            key = cause.case, cause.terms if cause.amounts else ()
            part = parts.get(key)
            if part is None:
                part = self.facts._replace(cause=cause, hosts=cause_hosts.hosts, own=own)
            parts[key] = part._replace(
                cause=_united(part.cause, cause),
                extremes={**part.extremes, **cause_hosts.extremes.get(cause, {})},
                sharing={**part.sharing, **cause_hosts.sharing.get(cause, {})},
                parent_traits=cause_hosts.parent_traits or (),
            )
        return map(SENTENCES[code], parts.values())


def _united(cause: RejectionCause, other: RejectionCause) -> RejectionCause:
    """Return a cause with the terms and amounts of both."""
    terms = dict.fromkeys([*cause.terms, *other.terms])
    amounts = dict.fromkeys([*cause.amounts, *other.amounts])
    return cause._replace(terms=tuple(terms), amounts=tuple(amounts))
