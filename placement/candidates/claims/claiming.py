"""The search for candidates and the claim of one of them in a single request.

The search reads a snapshot, so another transaction may consume the capacity of a candidate before
the claim locks its trees. The claim then tries the next candidate, and searches again when it has
tried all of them. Each lost candidate means that a concurrent writer succeeded. A claim is rejected
if a search finds nothing, or if it keeps losing until the write timeout.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from sqlalchemy.engine import Connection

from placement.candidates.claims.attempts import Attempt, attempts
from placement.candidates.claims.choices import Choices, ClaimRequest, ClaimSearches, Explainer
from placement.candidates.trees.store import TreeCache
from placement.candidates.trees.tuning import DEFAULT_TUNING, SearchTuning
from placement.config import Settings, SpecialTraits
from placement.db.engine import Database
from placement.db.retries import Pauses
from placement.errors import (
    CapacityExceeded,
    ClaimContention,
    DeviceInUse,
    HostFull,
    LostRace,
    NoCandidatesFound,
    NoInventory,
    UnitsViolated,
    UnknownProviders,
    UnknownResourceClasses,
)
from placement.objects import allocations, holds, search_snapshot
from placement.objects.claims import Claim
from placement.objects.consumers import stored_uuid
from placement.objects.locking import TreesChanged
from placement.objects.search_snapshot import SearchSnapshot
from placement.runtime import deadline, events
from placement.runtime.budget import Budget
from placement.runtime.events import Event
from placement.vocabulary import FIRST_GENERATION

# Errors of a candidate that has changed since the search. The next candidate may succeed.
RETRYABLE = (
    UnknownProviders,
    UnknownResourceClasses,
    NoInventory,
    UnitsViolated,
    CapacityExceeded,
    DeviceInUse,
    HostFull,
    LostRace,
)


class Claimed(NamedTuple):
    """The candidate that was allocated to a consumer."""

    # UUID of the consumer.
    consumer: str
    # Provider UUID -> class -> units.
    allocations: Mapping[str, Mapping[str, int]]
    # Suffix of a group -> UUIDs of the providers that serve it.
    mappings: Mapping[str, Sequence[str]]
    generation: int
    # Index of the claimed alternative, or None without alternatives.
    alternative: int | None = None
    # End of the hold in seconds since 1970, or None if the claim is not a hold.
    expires_at: int | None = None


def claim(
    database: Database,
    cache: TreeCache,
    claim_requests: Sequence[ClaimRequest],
    settings: Settings,
    explainer: Explainer,
    tuning: SearchTuning = DEFAULT_TUNING,
) -> list[Claimed]:
    """Claim a candidate for every request, in order, or for none of them.

    If a search finds nothing, the function releases expired holds and tries the claim once more.

    Args:
        database: the database to search and write.
        cache: cached trees.
        claim_requests: the requests and their consumers, at least one.
        settings: the settings of the service.
        explainer: explains why a search finds nothing.
        tuning: sizes of the reads of a search.

    Raises:
        NoCandidatesFound: a search found nothing.
        ConsumerGenerationConflict: a consumer exists already.
        ClaimContention: concurrent writers were faster for `[placement_database] write_timeout`
            seconds.
        SearchExhausted: all searches together took too much work.
        DeadlineExceeded: all searches together took too long.
        TooManyHolds: the project may not have more holds.
        Exception: other errors of `find_candidates` and `Database.write`, except LostRace.
    """
    claim_once = partial(
        _claim,
        cache=cache,
        claim_requests=claim_requests,
        settings=settings,
        explainer=explainer,
        tuning=tuning,
    )
    return holds.retry_with_room(database, claim_once)


def _claim(
    database: Database,
    cache: TreeCache,
    claim_requests: Sequence[ClaimRequest],
    settings: Settings,
    explainer: Explainer,
    tuning: SearchTuning,
) -> list[Claimed]:
    """Claim as `claim` does, without releasing expired holds."""
    until = time.monotonic() + settings.database.write_timeout
    budget = Budget(settings.candidates.max_search_steps)
    traits = settings.candidates.traits
    begin = partial(
        ClaimSearches,
        cache=cache,
        claim_requests=claim_requests,
        settings=settings.candidates,
        tuning=tuning,
        explain=explainer.explain,
    )
    pauses = Pauses()
    tries = 0
    while True:
        choices = _choose(database, begin, budget, explained=explainer.is_shown)
        for attempt, snapshot in attempts(claim_requests, choices, settings):
            try:
                revisions, ends = _write(database, attempt.claims, snapshot, traits)
            except TreesChanged:
                continue  # this choice is attempted again later, without a snapshot
            except RETRYABLE:
                tries += 1
                continue
            if not database.rolls_back:
                # Cache the new state of the trees, so that the next search does not have to read
                # them.
                trees = [tree for tree in attempt.trees if tree.id in revisions]
                cache.put({tree.id: replace(tree, revision=revisions[tree.id]) for tree in trees})
                events.emit(Event.CLAIM, consumers=len(claim_requests), tries=tries + 1)
            return _claimed(attempt, choices.alternative, ends)
        if time.monotonic() > until:
            raise ClaimContention(tries)
        with deadline.waiting():
            pauses.wait()


def _claimed(attempt: Attempt, alternative: int | None, ends: Mapping[str, int]) -> list[Claimed]:
    """Return the results of an attempt.

    Args:
        attempt: the attempt that has succeeded.
        alternative: index of the claimed alternative, or None without alternatives.
        ends: consumer uuid -> end of the hold in seconds since 1970, of new holds.
    """
    return [
        Claimed(
            each.consumer,
            each.allocations,
            candidate.mappings,
            FIRST_GENERATION,
            alternative,
            ends.get(stored_uuid(each.consumer, {})),
        )
        for each, candidate in zip(attempt.claims, attempt.choice, strict=True)
    ]


def _choose(
    database: Database,
    begin: Callable[[Connection], ClaimSearches],
    budget: Budget,
    *,
    explained: bool,
) -> Choices:
    """Return the choices of the claim.

    If each statement has a separate view of the database, the search may count an allocation twice
    if it moves between trees. A search that finds nothing is therefore repeated in a single view.

    Args:
        begin: creates the searches on a connection.
    """
    if database.tears_views:
        with suppress(NoCandidatesFound), database.read_trees() as conn:
            return begin(conn).choices(budget, explained=False)
    with database.read() as conn:
        return begin(conn).choices(budget, explained=explained)


def _write(
    database: Database,
    claims: Sequence[Claim],
    snapshot: SearchSnapshot | None,
    special_traits: SpecialTraits,
) -> tuple[Mapping[int, int], Mapping[str, int]]:
    """Write the allocations of claims.

    Args:
        snapshot: the state that the trees must have, or None for any state.
        special_traits: the traits with a special meaning. The search has observed them in the trees
            that must have the state of the snapshot.

    Returns:
        Root id -> new revision, of the trees whose only change since the snapshot are the claims.
        Consumer uuid -> end of the hold in seconds since 1970, of new holds.

    Raises:
        TreesChanged: a tree has changed since the snapshot.
        Exception: errors of `allocations.replace` and `Database.write`.
    """
    snapshots = [] if snapshot is None else [snapshot]

    def work(conn: Connection) -> tuple[Mapping[int, int], Mapping[str, int]]:
        if snapshots:  # only in the first run, because a retry reads the current state
            return search_snapshot.claim(conn, claims, snapshots.pop(), special_traits)
        return {}, allocations.replace(conn, claims, special_traits)

    return database.write(work)
