"""The hosts that the text of an explanation mentions apart from other hosts."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from placement.candidates.explanation.evaluation import Evaluation
from placement.candidates.explanation.explain_request import ExplainRequest
from placement.candidates.explanation.rejected_hosts import RejectedHosts, rejected_alone
from placement.candidates.explanation.words.clauses import Words
from placement.candidates.explanation.words.phrases import are
from placement.candidates.model import Pool
from placement.candidates.stated_terms import StatedTerm

# Maximum number of mentioned hosts with a provider in a tree that the request names.
MAX_NAMED = 3


class _NamedHost(NamedTuple):
    """A host in a tree that the request names, and the reason why it is not served."""

    # UUID of the host.
    uuid: str
    # The causes for this host alone.
    rejected: RejectedHosts
    # The terms that name its tree.
    own: Collection[StatedTerm]


class NamedHosts:
    """Rejected hosts that the text mentions apart from other hosts."""

    def __init__(self, explain_request: ExplainRequest) -> None:
        self._explain_request = explain_request
        # Terms for trees and aggregates -> number of hosts that have no provider in them.
        self._outside: Counter[tuple[StatedTerm, ...]] = Counter()
        # The hosts in the trees that the request names.
        self._named: list[_NamedHost] = []

    def add(self, pool: Pool, evaluation: Evaluation) -> None:
        """Count a rejected host if the text mentions it apart."""
        anchor = pool.anchor
        assert anchor is not None
        places = self._explain_request.places
        own = [stated for stated, term in places.items() if term.positions(anchor)]
        if own and len(self._named) < MAX_NAMED:
            self._named.append(_NamedHost(anchor.uuid, rejected_alone(evaluation, pool), own))
        elif evaluation.outside:
            self._outside[evaluation.outside] += 1
        else:
            return
        evaluation.mentioned_apart += 1

    @property
    def uuids(self) -> Collection[str]:
        """The UUIDs of the providers whose names the text contains."""
        uuids = {host.uuid for host in self._named}
        uuids.update(term.stored for term in self._explain_request.places.values())
        return uuids.union(*(host.rejected.uuids for host in self._named))

    @property
    def are_named(self) -> bool:
        """Whether the text names any hosts."""
        return bool(self._named)

    def clauses(self, words: Words, *, others: bool) -> Sequence[str]:
        """Return the clauses of the text about these hosts.

        Args:
            words: The words of the request.
            others: Whether the text mentions other hosts as well.
        """
        clauses = []
        for host in self._named:
            (cause_hosts,) = host.rejected.by_causes()
            predicate = words.predicate(host.rejected.code, cause_hosts, host.own)
            clauses.append(f"host {words.facts.label(host.uuid)} {predicate}")
        outside: Counter[str] = Counter()
        for terms, hosts in self._outside.items():
            place = self._named_trees() if self._in_places(terms) else ""
            outside[place or words.scopes(terms)] += hosts
        for where, hosts in outside.most_common():
            subject = f"{hosts:,}"
            if self._named and len(clauses) == len(self._named):
                is_last = len(outside) == 1 and not others
                subject = (
                    f"the other {hosts:,}" if is_last else f"{hosts:,} other{'s' * (hosts > 1)}"
                )
            clauses.append(f"{subject} {are(hosts)} not in {where}")
        return clauses

    def _in_places(self, terms: Collection[StatedTerm]) -> bool:
        return not self._explain_request.places.keys().isdisjoint(terms)

    def _named_trees(self) -> str:
        """Return the trees of the hosts that the text names, or an empty text if there are none."""
        if not self._named:
            return ""
        return "its tree" if len(self._named) == 1 else "these trees"
