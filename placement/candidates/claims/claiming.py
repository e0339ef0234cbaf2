"""Find and claim in one step: what one candidate cannot give any more, another one may.

A search runs on a snapshot, so what it finds may be gone by the time that it is locked. Then the
next candidate is claimed, and when none is left the search begins again. Each loss is somebody
else's success. So a caller is refused only by a search that finds nothing, and never for having
been slower than others.
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from sqlalchemy.engine import Connection

from placement import deadline, events
from placement.candidates.budget import Budget
from placement.candidates.claims.choices import Choice, Demand, DemandSearches, trees_after
from placement.candidates.model import Tree
from placement.candidates.trees.store import TreeCache
from placement.candidates.tuning import DEFAULT_TUNING, SearchTuning
from placement.config import Settings
from placement.db.engine import Database
from placement.db.retries import Pauses
from placement.errors import (
    CapacityExceeded,
    ClaimContention,
    LostRace,
    NoCandidatesFound,
    NoInventory,
    UnitsViolated,
    UnknownProviders,
    UnknownResourceClasses,
)
from placement.events import Event
from placement.objects import allocations, search_snapshot
from placement.objects.catalog import Ids
from placement.objects.claims import Claim
from placement.objects.locking import TreesChanged
from placement.objects.search_snapshot import SearchSnapshot
from placement.vocabulary import FIRST_GENERATION

# Candidates that a claim leaves for others, at the most, as their trees have changed.
MOST_AVOIDED = 4

# What became of a candidate since it was found. Anything else is the caller's.
GONE = (
    UnknownProviders,
    UnknownResourceClasses,
    NoInventory,
    UnitsViolated,
    CapacityExceeded,
    LostRace,
)


class Claimed(NamedTuple):
    """The candidate that a consumer got, and the consumer's generation.

    allocations: provider UUID -> class -> units. mappings: suffix -> provider UUIDs.
    """

    consumer: str
    allocations: Mapping[str, Mapping[str, int]]
    mappings: Mapping[str, Sequence[str]]
    generation: int
    # The place of the alternative that was met; None where there was no choice.
    alternative: int | None = None


def claim(
    database: Database,
    cache: TreeCache,
    demands: Sequence[Demand],
    settings: Settings,
    tuning: SearchTuning = DEFAULT_TUNING,
    *,
    explained: bool = False,
) -> list[Claimed]:
    """Satisfy all demands in order, or none; each is searched for on what earlier ones leave.

    Args:
        database: is searched and written.
        cache: trees in memory.
        demands: at least one.
        settings: of the service.
        tuning: sizes of the reads of the search.
        explained: whether the caller may see why a search finds nothing.

    Raises:
        NoCandidatesFound: a search found nothing.
        ConsumerGenerationConflict: a consumer exists already.
        ClaimContention: concurrent writers were faster for `[placement_database] write_timeout`
            seconds.
        SearchExhausted: all searches together took too much work.
        DeadlineExceeded: all searches together took too long.
        Exception: other errors of `find_candidates` and `Database.write`, except LostRace.
    """
    until = time.monotonic() + settings.database.write_timeout
    budget = Budget(settings.candidates.max_search_steps)
    begin = partial(
        DemandSearches, cache=cache, demands=demands, settings=settings.candidates, tuning=tuning
    )
    pauses = Pauses()
    tries = 0
    while True:
        choices, ids, alternative = _choose(database, begin, budget, explained=explained)
        for attempt, snapshot in _attempts(demands, choices, ids):
            try:
                revision = _write(database, attempt.claims, snapshot)
            except TreesChanged:
                continue  # it comes again
            except GONE:
                tries += 1
                continue
            if not database.rolls_back:
                if revision is not None:
                    # The next search need not read what is known.
                    cache.put({tree.id: replace(tree, revision=revision) for tree in attempt.trees})
                events.emit(Event.CLAIM, consumers=len(demands), tries=tries + 1)
            return [
                Claimed(
                    each.consumer,
                    each.allocations,
                    candidate.mappings,
                    FIRST_GENERATION,
                    alternative,
                )
                for each, candidate in zip(attempt.claims, attempt.choice, strict=True)
            ]
        if time.monotonic() > until:
            raise ClaimContention(tries)
        with deadline.waiting():
            pauses.wait()


def _choose(
    database: Database,
    begin: Callable[[Connection], DemandSearches],
    budget: Budget,
    *,
    explained: bool,
) -> tuple[list[Choice], Ids, int | None]:
    """Return ways to meet the demands, and the ids of names that claims need.

    begin: makes the searches on a connection. Where each statement has its own view, allocations
    that move from tree to tree during a search may be seen in both. So a search that finds nothing
    there is repeated in one view.
    """
    if database.tears_views:
        with suppress(NoCandidatesFound), database.read_trees() as conn:
            searches = begin(conn)
            choices = searches.choices(budget, explained=False)
            return choices, searches.ids, searches.alternative
    with database.read() as conn:
        searches = begin(conn)
        choices = searches.choices(budget, explained=explained)
        return choices, searches.ids, searches.alternative


class _Attempt(NamedTuple):
    """A choice and what it writes.

    claims: of each candidate. trees: of all candidates, as the claims leave them.
    """

    choice: Choice
    claims: Sequence[Claim]
    trees: Collection[Tree]

    @classmethod
    def of(cls, demands: Sequence[Demand], choice: Choice) -> "_Attempt":
        """Return the attempt at a choice."""
        claims = [
            replace(demand.claim, allocations=candidate.allocations)
            for demand, candidate in zip(demands, choice, strict=True)
        ]
        return cls(choice, claims, trees_after(choice).values())

    def snapshot(self, ids: Ids) -> SearchSnapshot:
        """Return the trees as the search has seen them, with the ids that the claims need."""
        revisions = {tree.id: tree.revision for tree in self.trees}
        provider_ids = {member.uuid: member.id for tree in self.trees for member in tree.members}
        return SearchSnapshot(revisions, provider_ids, ids)


def _attempts(
    demands: Sequence[Demand], choices: Sequence[Choice], ids: Ids
) -> Iterator[tuple[_Attempt, SearchSnapshot | None]]:
    """Yield attempts in the order in which they are made, each with a snapshot, or None.

    With a snapshot it is made only in trees that have not changed since. Those that others have
    changed are busy and cost more. So it comes again later, but not later than a split.
    """
    if demands[0].request.order:
        yield from _attempts_in_order(demands, choices, ids)
        return
    split = choices[0][0].split
    for choice in choices[:MOST_AVOIDED]:
        if choice[0].split == split:
            attempt = _Attempt.of(demands, choice)
            snapshot = attempt.snapshot(ids)
            if snapshot.is_usable_for(attempt.claims):
                yield attempt, snapshot
    for choice in choices:
        yield _Attempt.of(demands, choice), None


def _attempts_in_order(
    demands: Sequence[Demand], choices: Sequence[Choice], ids: Ids
) -> Iterator[tuple[_Attempt, SearchSnapshot | None]]:
    """Yield attempts, each choice with a snapshot and without one before the next choice."""
    for choice in choices:
        attempt = _Attempt.of(demands, choice)
        snapshot = attempt.snapshot(ids)
        if snapshot.is_usable_for(attempt.claims):
            yield attempt, snapshot
        yield attempt, None


def _write(
    database: Database, claims: Sequence[Claim], snapshot: SearchSnapshot | None
) -> int | None:
    """Give new consumers what they claim, in trees of a snapshot or, if None, as they are.

    Returns the new revision of the trees if nothing else is new in them. Raises TreesChanged, and
    what `allocations.replace` and `Database.write` do.
    """
    snapshots = [] if snapshot is None else [snapshot]

    def work(conn: Connection) -> int | None:
        if snapshots:  # what has to run again reads all
            return search_snapshot.claim(conn, claims, snapshots.pop())
        allocations.replace(conn, claims)
        return None

    return database.write(work)
