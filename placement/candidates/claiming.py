"""Find and claim in one step: what one candidate cannot give any more, another one may.

A search runs on a snapshot, so what it finds may be gone by the time that it is locked. Then the
next candidate is claimed, and when none is left the search begins again. Each loss is somebody
else's success. So a caller is refused only by a search that finds nothing, and never for having
been slower than others.
"""

import logging
import random
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import NamedTuple

from sqlalchemy.engine import Connection

from placement import events, stopwatch
from placement.candidates.budget import LOOKS_PER_STEP
from placement.candidates.candidate import Candidate
from placement.candidates.explanation import explain, explain_trace
from placement.candidates.model import Tree
from placement.candidates.request import CandidateRequest
from placement.candidates.resolve import resolve
from placement.candidates.search import find_resolved
from placement.candidates.tree_cache import TreeCache
from placement.candidates.tuning import DEFAULT_TUNING, SearchTuning
from placement.config import CandidateSettings, Settings
from placement.db.engine import Database
from placement.db.retries import Pauses
from placement.errors import (
    CapacityExceeded,
    ConsumerGenerationConflict,
    LostRace,
    NoCandidates,
    NoInventory,
    Outpaced,
    SearchExhausted,
    UnitsViolated,
    UnknownProviders,
    UnknownResourceClasses,
)
from placement.events import Event
from placement.objects import allocation_state, allocations, seen_trees
from placement.objects.catalog import Ids
from placement.objects.claims import Claim
from placement.objects.locking import TreesChanged
from placement.objects.seen_trees import SeenTrees, claim_names
from placement.vocabulary import FIRST_GENERATION

LOG = logging.getLogger(__name__)

# Candidates that a claim chooses among where the request states no limit: enough for callers not
# to meet on one host.
CHOICE = 16

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


@dataclass(frozen=True, slots=True)
class Demand:
    """A request, and for whom it is to be met.

    claim: of a consumer that does not exist, without allocations yet. place: where the body has
    the request, for errors about it.
    """

    request: CandidateRequest
    claim: Claim
    place: str


class Claimed(NamedTuple):
    """The candidate that a consumer got, and the consumer's generation.

    allocations: provider UUID -> class -> units. mappings: suffix -> provider UUIDs.
    """

    consumer: str
    allocations: Mapping[str, Mapping[str, int]]
    mappings: Mapping[str, Sequence[str]]
    generation: int


def claim(
    database: Database,
    cache: TreeCache,
    demands: Sequence[Demand],
    settings: Settings,
    tuning: SearchTuning = DEFAULT_TUNING,
    *,
    explained: bool = False,
) -> list[Claimed]:
    """Meet demands in their order, each on what those before it leave; all of them or none.

    explained: whether the caller may know why nothing is found.
    Raises NoCandidates where a search finds nothing, ConsumerGenerationConflict for a consumer that
    exists, and Outpaced when others were faster for `[placement_database] write_timeout` seconds;
    what `find_candidates` raises, and what `Database.write` does but for LostRace.
    """
    deadline = time.monotonic() + settings.database.write_timeout
    pauses = Pauses()
    tries = 0
    while True:
        with database.read() as conn:
            try:
                choices, ids = _choices(conn, cache, demands, settings.candidates, tuning)
            except _UnmetError as unmet:
                _refuse_faulty(conn, demands)
                why = unmet.why(conn, cache, settings.candidates, tuning) if explained else ""
                raise NoCandidates(unmet.demand.place, why) from None
        for choice, only_unchanged in _ways(choices):
            claims = [
                replace(demand.claim, allocations=candidate.allocations)
                for demand, candidate in zip(demands, choice, strict=True)
            ]
            after = _after(choice)
            seen = _seen(after.values(), ids)
            if only_unchanged and not seen.fit_for(claims):
                continue
            try:
                revision = _write(database, claims, seen if only_unchanged else None)
            except TreesChanged:
                continue  # it comes again
            except GONE:
                tries += 1
                continue
            if revision is not None:
                # The next search need not read what is known.
                for tree in after.values():
                    cache.put(replace(tree, revision=revision))
            events.tell(Event.CLAIM, consumers=len(claims), tries=tries + 1)
            return [
                Claimed(each.consumer, each.allocations, candidate.mappings, FIRST_GENERATION)
                for each, candidate in zip(claims, choice, strict=True)
            ]
        if time.monotonic() > deadline:
            raise Outpaced(tries)
        pauses.wait()


def _ways(choices: Sequence[Sequence[Candidate]]) -> list[tuple[Sequence[Candidate], bool]]:
    """Return the choices in the order in which they are tried, and whether only if unchanged.

    Trees that others have changed since the search are busy and cost more, so they come later, but
    not later than a split.
    """
    split = choices[0][0].split
    avoiding = [choice for choice in choices[:MOST_AVOIDED] if choice[0].split == split]
    return [(choice, True) for choice in avoiding] + [(choice, False) for choice in choices]


def _write(database: Database, claims: Sequence[Claim], seen: SeenTrees | None) -> int | None:
    """Give new consumers what they claim, in trees as they were seen or, if None, as they are.

    Returns the new revision of the trees if nothing else is new in them. Raises TreesChanged, and
    what `allocations.replace` and `Database.write` do.
    """
    unread = seen

    def work(conn: Connection) -> int | None:
        nonlocal unread
        trees, unread = unread, None  # what has to run again reads all
        if trees is not None:
            return seen_trees.claim(conn, claims, trees)
        allocations.replace(conn, claims)
        return None

    return database.write(work)


def _choices(
    conn: Connection,
    cache: TreeCache,
    demands: Sequence[Demand],
    settings: CandidateSettings,
    tuning: SearchTuning,
) -> tuple[list[list[Candidate]], Ids]:
    """Return ways to meet the demands, in random order, each with a candidate for every one.

    For a single demand these are its candidates. Of several, each builds on what was chosen for
    those before it, so there is one way. All searches have the work of one to do together. Also
    returns the ids of the names that the claims need.
    """
    ahead: dict[int, Tree] = {}
    choice: list[Candidate] = []
    ids: dict[str, dict[str, int]] = {"resource_class": {}}
    left = settings.max_search_steps
    for demand in demands:
        # Without a limit nobody can tell which candidates are the first: those that cost least.
        sizes = replace(tuning, known_first=demand.request.limit is None)
        request = replace(demand.request, limit=demand.request.limit or CHOICE)
        bounds = replace(settings, max_search_steps=max(1, left))
        with stopwatch.NAMES:
            resolved = resolve(conn, request, claim_names([demand.claim]))
        try:
            result = find_resolved(conn, cache, resolved, bounds, sizes, ahead)
        except SearchExhausted:
            # Operators know the bound of all searches together, not what is left of it.
            raise SearchExhausted(settings.max_search_steps) from None
        if not result.candidates:
            if LOG.isEnabledFor(logging.INFO):
                why = explain_trace(demand.request, result.trace).text
                LOG.info("no candidates for consumer %s: %s", demand.claim.consumer, why)
            raise _UnmetError(demand, ahead)
        for kind, ids_by_name in (
            ("resource_class", resolved.class_ids),
            *resolved.other_ids.items(),
        ):
            ids.setdefault(kind, {}).update(ids_by_name)
        candidates = random.sample(result.candidates, len(result.candidates))
        candidates.sort(key=attrgetter("split"))  # those with a split are the last to be taken
        if len(demands) == 1:
            return [[each] for each in candidates], ids
        candidate = candidates[0]
        choice.append(candidate)
        ahead |= _after([candidate])
        left -= result.stats.looks // LOOKS_PER_STEP
    return [choice], ids


class _UnmetError(Exception):
    """Nothing was found for a demand; ahead: trees as the demands before it leave them."""

    def __init__(self, demand: Demand, ahead: Mapping[int, Tree]) -> None:
        super().__init__()
        self.demand = demand
        self._ahead = ahead

    def why(
        self,
        conn: Connection,
        cache: TreeCache,
        settings: CandidateSettings,
        tuning: SearchTuning,
    ) -> str:
        """Return what an explanation says of it to a person."""
        return explain(conn, cache, self.demand.request, settings, tuning, self._ahead).text


def _after(choice: Iterable[Candidate]) -> dict[int, Tree]:
    """Return the trees of candidates as they leave them, by the root's id.

    Each candidate was found in trees as those before it leave them.
    """
    after: dict[int, Tree] = {}
    for candidate in choice:
        allocations = candidate.allocations
        after |= {tree.id: tree.after(allocations) for tree in candidate.trees}
    return after


def _seen(trees: Collection[Tree], ids: Ids) -> SeenTrees:
    revisions = {tree.id: tree.revision for tree in trees}
    provider_ids = {member.uuid: member.id for tree in trees for member in tree.members}
    return SeenTrees(revisions, provider_ids, ids)


def _refuse_faulty(conn: Connection, demands: Sequence[Demand]) -> None:
    """Raise what is wrong with demands even if there were room for all.

    That is a name that nobody knows, also of a demand after the one that cannot be met; and the
    first consumer that exists, for whoever sends a claim again, as its answer was lost, has what it
    asks for, and need not be told that nothing is left. Raises what `resolve` raises, and
    ConsumerGenerationConflict.
    """
    for demand in demands:
        resolve(conn, demand.request)
    existing = allocation_state.existing(conn, [demand.claim.consumer for demand in demands])
    for demand in demands:
        consumer = existing.get(demand.claim.consumer)
        if consumer is not None:
            raise ConsumerGenerationConflict(demand.claim.consumer, None, consumer.generation)
