"""The search of a claim: ways to meet several demands together."""

import logging
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from sqlalchemy.engine import Connection

from placement import stopwatch
from placement.candidates.budget import LOOKS_PER_STEP
from placement.candidates.candidate import Candidate
from placement.candidates.explanation import explain, explain_trace
from placement.candidates.model import Tree
from placement.candidates.request import CandidateRequest
from placement.candidates.resolve import resolve
from placement.candidates.search import find_resolved
from placement.candidates.trace import Trace
from placement.candidates.tree_cache import TreeCache
from placement.candidates.tuning import SearchTuning
from placement.config import CandidateSettings
from placement.errors import ConsumerGenerationConflict, NoCandidates, SearchExhausted
from placement.objects import allocation_state
from placement.objects.catalog import Ids
from placement.objects.claims import Claim
from placement.objects.search_snapshot import claim_names

LOG = logging.getLogger(__name__)

# Candidates that a claim chooses among where the request states no limit: enough for callers not
# to meet on one host.
CHOICE = 16

# Trees in memory that are enough to choose among. Each worker knows a share of the first trees, as
# those that others have claimed last have changed since: if it read them, so would the others.
ENOUGH_KNOWN = 4


@dataclass(frozen=True, slots=True)
class Demand:
    """A request, and for whom it is to be met.

    claim: of a consumer that does not exist, without allocations yet. place: where the body has
    the request, for errors about it.
    """

    request: CandidateRequest
    claim: Claim
    place: str


# A candidate for each demand, in their order.
Choice = Sequence[Candidate]


def find_choices(
    conn: Connection,
    cache: TreeCache,
    demands: Sequence[Demand],
    settings: CandidateSettings,
    tuning: SearchTuning,
    *,
    explained: bool,
) -> tuple[list[Choice], Ids]:
    """Return ways to meet the demands, in random order, and the ids of names that claims need.

    For a single demand these are its candidates. Of several, each builds on what was chosen for
    those before it, so there is one way. All searches have the work of one to do together.
    explained: whether the caller may know why nothing is found. Raises NoCandidates where there is
    no way, and what `find_candidates` raises.
    """
    ahead: dict[int, Tree] = {}
    choice: list[Candidate] = []
    ids: dict[str, dict[str, int]] = {"resource_class": {}}
    steps = settings.max_search_steps
    for demand in demands:
        # Without a limit nobody can tell which candidates are the first: those that cost least.
        sizes = tuning
        if demand.request.limit is None:
            sizes = replace(tuning, enough_known=ENOUGH_KNOWN)
        request = replace(demand.request, limit=demand.request.limit or CHOICE)
        bounds = replace(settings, max_search_steps=max(1, steps))
        with stopwatch.NAMES:
            resolved = resolve(conn, request, claim_names([demand.claim]))
        try:
            result = find_resolved(conn, cache, resolved, bounds, sizes, ahead)
        except SearchExhausted:
            # Operators know the bound of all searches together, not what is left of it.
            raise SearchExhausted(settings.max_search_steps) from None
        if not result.candidates:
            _log_unmet(demand, result.trace)
            _refuse_faulty(conn, demands)
            why = ""
            if explained:
                why = explain(conn, cache, demand.request, settings, tuning, ahead).text
            raise NoCandidates(demand.place, why)
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
        ahead |= trees_after([candidate])
        steps -= result.stats.looks // LOOKS_PER_STEP
    return [choice], ids


def trees_after(choice: Choice) -> Mapping[int, Tree]:
    """Return the trees of candidates as they leave them, by the root's id.

    Each candidate was found in trees as those before it leave them.
    """
    trees: dict[int, Tree] = {}
    for candidate in choice:
        allocations = candidate.allocations
        trees |= {tree.id: tree.after(allocations) for tree in candidate.trees}
    return trees


def _log_unmet(demand: Demand, trace: Trace) -> None:
    if LOG.isEnabledFor(logging.INFO):
        why = explain_trace(demand.request, trace).text
        LOG.info("no candidates for consumer %s: %s", demand.claim.consumer, why)


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
