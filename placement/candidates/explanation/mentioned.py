"""The hosts that the text of an explanation mentions separately from other hosts."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from placement.candidates.explanation.context import Names, label
from placement.candidates.explanation.evaluation import Evaluation
from placement.candidates.explanation.explain_request import ExplainRequest
from placement.candidates.explanation.nouns import nonexistent
from placement.candidates.explanation.rejected_hosts import RejectedHosts, rejected_alone
from placement.candidates.explanation.value import Clause, Mentions
from placement.candidates.explanation.wording import Words
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


class MentionedHosts:
    """Rejected hosts that the text mentions separately from other hosts."""

    def __init__(self, explain_request: ExplainRequest) -> None:
        self._explain_request = explain_request
        # Terms for trees and aggregates -> number of hosts that have no provider in them.
        self._outside: Counter[tuple[StatedTerm, ...]] = Counter()
        # The hosts in the trees that the request names.
        self._named: list[_NamedHost] = []

    def add(self, pool: Pool, evaluation: Evaluation) -> None:
        """Count a rejected host if the text mentions it separately."""
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
        evaluation.aside += 1

    @property
    def uuids(self) -> Collection[str]:
        """The UUIDs of the providers whose names the text contains."""
        uuids = {host.uuid for host in self._named}
        uuids.update(term.stored for term in self._explain_request.places.values())
        return uuids.union(*(host.rejected.uuids for host in self._named))

    def mentions(self, words: Words, names: Names) -> Mentions:
        """Return the parts of the text about these hosts."""
        named = []
        for host in self._named:
            rejected = host.rejected
            (cause_hosts,) = rejected.by_causes()
            clause = words.clause(rejected.code, cause_hosts, host.own)
            named.append(f"host {label(names, host.uuid)} {clause}")
        terms = [*self._explain_request.root_terms, *self._explain_request.stated]
        outside = self._outside_clauses(words)
        return Mentions(named, outside, nonexistent(terms))

    def _outside_clauses(self, words: Words) -> Sequence[Clause]:
        outside: Counter[str] = Counter()
        for terms, hosts in self._outside.items():
            place = self._named_trees() if self._in_places(terms) else ""
            outside[place or words.scopes(terms)] += hosts
        return [
            Clause(hosts, f"{'is' if hosts == 1 else 'are'} not in {where}")
            for where, hosts in outside.most_common()
        ]

    def _in_places(self, terms: Collection[StatedTerm]) -> bool:
        return not self._explain_request.places.keys().isdisjoint(terms)

    def _named_trees(self) -> str:
        """Return the trees of the hosts that the text names, or an empty text if there are none."""
        if not self._named:
            return ""
        return "its tree" if len(self._named) == 1 else "these trees"
