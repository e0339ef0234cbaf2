"""The attempts to claim the candidates that a search has found, in order."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import NamedTuple

from placement.candidates.claims.choices import CandidateSet, Choices, ClaimRequest, trees_after
from placement.candidates.model import Tree
from placement.candidates.search.candidate import Candidate
from placement.config import Settings
from placement.objects.catalog import Ids
from placement.objects.claims import Claim, NewHold, NewRecord, claimed_classes
from placement.objects.search_snapshot import SearchSnapshot
from placement.vocabulary import is_custom_name

# Maximum number of choices that are tried first in unchanged trees only.
MAX_AVOIDED = 4


class Attempt(NamedTuple):
    """A choice, with the writes that claim it."""

    # One candidate per request of the claim.
    choice: CandidateSet
    # The claim of each candidate, with its allocations.
    claims: Sequence[Claim]
    # The trees of all candidates, with the allocations of the claims.
    trees: Collection[Tree]

    @classmethod
    def of(
        cls,
        claim_requests: Sequence[ClaimRequest],
        choice: CandidateSet,
        alternative: int | None,
        settings: Settings,
    ) -> "Attempt":
        """Return the attempt to claim a choice."""
        claims = [
            replace(
                claim_request.claim,
                allocations=candidate.allocations,
                record=_record(claim_request, candidate, alternative, settings),
            )
            for claim_request, candidate in zip(claim_requests, choice, strict=True)
        ]
        return cls(choice, claims, trees_after(choice).values())

    def snapshot(self, ids: Ids) -> SearchSnapshot:
        """Return the revisions and ids from the search that the claims rely on."""
        trees, shared_trees = self.trees, self._shared_trees
        members = chain(*[tree.members for tree in trees])
        return SearchSnapshot(
            {tree.id: tree.revision for tree in trees if tree.id not in shared_trees},
            {member.uuid: root for root, tree in shared_trees.items() for member in tree.members},
            {member.uuid: member.id for member in members},
            ids,
        )

    @property
    def _shared_trees(self) -> Mapping[int, Tree]:
        """The trees of shared resources, which the claims of other hosts also change.

        A claim without a host has none, and an id of a custom class may come to belong to another.
        """
        hosts = {each.host.id for each in self.choice if each.host is not None}
        if not hosts or any(map(is_custom_name, claimed_classes(self.claims))):
            return {}
        return {tree.id: tree for tree in self.trees if tree.id not in hosts}


def _record(
    claim_request: ClaimRequest, candidate: Candidate, alternative: int | None, settings: Settings
) -> NewRecord | None:
    """Return the claim record of the consumer, or None."""
    spread, expires_in = claim_request.spread, claim_request.expires_in
    remembered = claim_request.remembered
    if spread is None and expires_in is None and not remembered:
        return None
    hold = None
    if expires_in is not None:
        mappings = json.dumps(candidate.mappings, separators=(",", ":"))
        hold = NewHold(expires_in, mappings, settings.holds.max_per_project)
    host = candidate.host
    return NewRecord(
        spread,
        None if host is None else host.uuid,
        hold,
        remembered[alternative or 0] if remembered else None,
    )


def attempts(
    claim_requests: Sequence[ClaimRequest], choices: Choices, settings: Settings
) -> Iterator[tuple[Attempt, SearchSnapshot | None]]:
    """Yield the attempts in order, each with a snapshot or None.

    An attempt with a snapshot succeeds only if its trees have not changed since the search. Claims
    in trees that concurrent writers have changed take longer. Therefore, these choices are
    attempted again later without a snapshot, but before any choice with a split.
    """
    make = partial(Attempt.of, claim_requests, alternative=choices.alternative, settings=settings)
    sets, ids = choices.sets, choices.ids
    if claim_requests[0].request.order:
        yield from _attempts_in_order(map(make, sets), ids)
        return
    split = sets[0][0].split
    for choice in sets[:MAX_AVOIDED]:
        if choice[0].split == split:
            attempt = make(choice)
            snapshot = attempt.snapshot(ids)
            if snapshot.is_usable_for(attempt.claims):
                yield attempt, snapshot
    for choice in sets:
        yield make(choice), None


def _attempts_in_order(
    attempts: Iterable[Attempt], ids: Ids
) -> Iterator[tuple[Attempt, SearchSnapshot | None]]:
    """Yield two attempts for each choice: first with a snapshot, then without one."""
    for attempt in attempts:
        snapshot = attempt.snapshot(ids)
        if snapshot.is_usable_for(attempt.claims):
            yield attempt, snapshot
        yield attempt, None
