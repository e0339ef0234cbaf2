"""The hosts that the text of an explanation mentions apart from the reasons of most hosts."""

from collections.abc import Collection
from typing import NamedTuple

from placement.candidates.explanation.context import Names, label
from placement.candidates.explanation.nouns import nonexistent
from placement.candidates.explanation.profiles import Verdict
from placement.candidates.explanation.question import Question
from placement.candidates.explanation.rejected import RejectedHosts, rejected_alone
from placement.candidates.explanation.terms import StatedTerm
from placement.candidates.explanation.value import Clause, Mentions
from placement.candidates.explanation.wording import Words
from placement.candidates.model import Pool
from placement.vocabulary import SHARING_TRAIT

MAX_NAMED = 3  # hosts in whose trees the request wants providers


class _NamedHost(NamedTuple):
    """A host in whose tree the request wants providers, and why it is not served."""

    uuid: str
    rejected: RejectedHosts
    # The terms that name its tree.
    own: Collection[StatedTerm]


class MentionedHosts:
    """Hosts that are not served, and that the text mentions in a place of their own."""

    def __init__(self, question: Question) -> None:
        self._question = question
        # Number of hosts that only share their inventories, and lack a class of the request.
        self.pools = 0
        # Number of hosts without a provider in the trees that the request names.
        self._outside = 0
        self._named: list[_NamedHost] = []

    def add(self, pool: Pool, verdict: Verdict) -> None:
        """Count a host, if the text mentions it apart."""
        anchor = pool.anchor
        assert anchor is not None
        places = self._question.places
        own = [stated for stated, term in places.items() if term.positions(anchor)]
        if SHARING_TRAIT in anchor.members[0].traits and self._question.only_shares(anchor):
            self.pools += 1
        elif own and len(self._named) < MAX_NAMED:
            self._named.append(_NamedHost(anchor.uuid, rejected_alone(verdict, pool), own))
        elif verdict.is_outside:
            self._outside += 1
        else:
            return
        verdict.aside += 1

    @property
    def uuids(self) -> Collection[str]:
        """The UUIDs of the providers to call by their names."""
        uuids = {host.uuid for host in self._named}
        uuids.update(term.stored for term in self._question.places.values())
        return uuids.union(*(host.rejected.uuids for host in self._named))

    def mentions(self, words: Words, names: Names) -> Mentions:
        """Return what the text says of these hosts."""
        named = []
        for host in self._named:
            rejected = host.rejected
            (loss,) = rejected.losses()
            clause = words.clause(rejected.code, loss, host.own)
            named.append(f"host {label(names, host.uuid)} {clause}")
        are = "is" if self._outside == 1 else "are"
        outside = Clause(self._outside, f"{are} not in {self._trees(names)}")
        terms = [*self._question.root_terms, *self._question.stated]
        return Mentions(self.pools, named, outside, nonexistent(terms))

    def _trees(self, names: Names) -> str:
        if self._named:
            return "its tree" if len(self._named) == 1 else "these trees"
        stored = dict.fromkeys(term.stored for term in self._question.places.values())
        labels = [label(names, uuid) for uuid in stored]
        return f"the tree of {labels[0]}" if len(labels) == 1 else "the trees of the request"
