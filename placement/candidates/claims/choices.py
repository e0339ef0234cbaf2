"""The search of a claim: ways to meet several demands together."""

import logging
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from sqlalchemy.engine import Connection

from placement import stopwatch
from placement.candidates.budget import Budget
from placement.candidates.explanation import explain, explain_trace
from placement.candidates.model import Tree
from placement.candidates.request import CandidateRequest
from placement.candidates.search.candidate import Candidate
from placement.candidates.search.pipeline import RequestSearch
from placement.candidates.search.result import SearchResult
from placement.candidates.trees.resolve import resolve, resolve_all
from placement.candidates.trees.scan import Scan
from placement.candidates.trees.store import TreeCache
from placement.candidates.tuning import SearchTuning
from placement.config import CandidateSettings
from placement.errors import ConsumerGenerationConflict, NoCandidatesFound
from placement.objects import allocation_state
from placement.objects.catalog import NO_NAMES
from placement.objects.claims import Claim
from placement.objects.search_snapshot import MAX_KEYS, claim_names

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
    # The requests of which the first one counts that can be met; empty: there is no choice.
    alternatives: Sequence[CandidateRequest] = ()


# A candidate for each demand, in their order.
Choice = Sequence[Candidate]


class DemandSearches:
    """The searches of the demands of one claim; those that ask for the same share one.

    ids: kind -> name -> id, of what the demands searched for so far name, and of their owners.
    """

    def __init__(
        self,
        conn: Connection,
        cache: TreeCache,
        demands: Sequence[Demand],
        settings: CandidateSettings,
        tuning: SearchTuning,
    ) -> None:
        self.ids: dict[str, dict[str, int]] = {"resource_class": {}}
        self._conn = conn
        self._cache = cache
        self._demands = demands
        self._settings = settings
        self._tuning = tuning
        self._claims: dict[CandidateRequest, list[Claim]] = {}
        for demand in demands:
            self._claims.setdefault(demand.request, []).append(demand.claim)
        # More claims than that are written without these ids.
        self._names_owners = len(demands) <= MAX_KEYS
        self._searches: dict[CandidateRequest, RequestSearch] = {}
        # The place of the alternative that the choices meet; None where there is no choice.
        self.alternative: int | None = None

    def choices(self, budget: Budget, *, explained: bool) -> list[Choice]:
        """Return ways to meet the demands, in the order in which they are to be claimed.

        For a single demand these are its candidates. Of several, each builds on what was chosen for
        those before it, so there is one way. budget: what all searches, and an explanation, may do
        together. explained: whether the caller may know why nothing is found. Raises
        NoCandidatesFound where there is no way, and what `find_candidates` raises.
        """
        ahead: dict[int, Tree] = {}
        choice: list[Candidate] = []
        for demand in self._demands:
            result = self._find(demand, budget, ahead)
            if not result.candidates:
                _log_unmet(demand.claim.consumer, result)
                self._refuse_faulty()
                why = self._why(result.scan, budget, ahead) if explained else ""
                raise NoCandidatesFound(demand.place, why)
            candidates = _in_turn(result)
            if len(self._demands) == 1:
                return [[each] for each in candidates]
            choice.append(candidates[0])
            ahead |= trees_after(choice[-1:])
        return [choice]

    def _find(self, demand: Demand, budget: Budget, ahead: Mapping[int, Tree]) -> SearchResult:
        """Return what meets a demand: of alternatives the first that has a candidate, if any.

        Raises what `resolve` raises, also for names of alternatives that are not searched.
        """
        requests = list(dict.fromkeys(demand.alternatives or [demand.request]))
        if requests[0] not in self._searches:
            self._begin(requests, self._claims[demand.request])
        results: list[SearchResult] = []
        for request in requests:
            results.append(self._searches[request].find(budget, ahead))
            if results[-1].candidates:
                if demand.alternatives:
                    self.alternative = list(demand.alternatives).index(request)
                return results[-1]
        return results[0]

    def _begin(self, requests: Sequence[CandidateRequest], claims: Sequence[Claim]) -> None:
        """Begin the searches for the alternatives of claims; their names are looked up once."""
        limited = [replace(request, limit=request.limit or CHOICE) for request in requests]
        with stopwatch.NAMES:
            names = claim_names(claims) if self._names_owners else NO_NAMES
            resolved = resolve_all(self._conn, limited, names, self._settings.taints)
        known = resolved[0]  # the names of all
        for kind, ids in (("resource_class", known.class_ids), *known.other_ids.items()):
            self.ids.setdefault(kind, {}).update(ids)
        with stopwatch.SEARCH:
            for request, each in zip(requests, resolved, strict=True):
                # Without a limit nobody can tell which candidates are the first: those that cost
                # least.
                tuning = self._tuning
                if request.limit is None and not request.order:
                    tuning = replace(tuning, enough_known=ENOUGH_KNOWN)
                self._searches[request] = RequestSearch(
                    self._conn,
                    self._cache,
                    each,
                    self._settings,
                    tuning,
                    repeated=len(claims) > 1,
                )

    def _why(self, scan: Scan, budget: Budget, ahead: Mapping[int, Tree]) -> str:
        """Return why nothing meets the request of a scan, as far as the budget lasts."""
        settings = replace(self._settings, max_search_steps=max(1, budget.steps_left))
        return explain(scan, self._cache, settings, self._tuning, ahead).text

    def _refuse_faulty(self) -> None:
        """Raise what is wrong with the demands even if there were room for all.

        That is a name that nobody knows, also of a demand after the one that cannot be met; and the
        first consumer that exists, for whoever sends a claim again, as its answer was lost, has
        what it asks for, and need not be told that nothing is left. Raises what `resolve` raises,
        and ConsumerGenerationConflict.
        """
        for request in self._claims.keys() - self._searches.keys():
            resolve(self._conn, request)
        consumers = [demand.claim.consumer for demand in self._demands]
        existing = allocation_state.find_consumers(self._conn, consumers)
        for uuid in consumers:
            consumer = existing.get(uuid)
            if consumer is not None:
                raise ConsumerGenerationConflict(uuid, None, consumer.generation)


def _in_turn(result: SearchResult) -> list[Candidate]:
    """Return candidates in the order in which they are to be claimed.

    Those of hosts that were wanted in an order begin at one of the hosts that stand first with
    equal keys, so that many callers do not meet on one. Others are in random order.
    """
    if result.heads:
        start = random.choice(result.heads)
        return [*result.candidates[start:], *result.candidates[:start]]
    candidates = random.sample(result.candidates, len(result.candidates))
    candidates.sort(key=attrgetter("split"))  # those with a split are the last to be taken
    return candidates


def trees_after(choice: Choice) -> Mapping[int, Tree]:
    """Return the trees of candidates as they leave them, by the root's id.

    Each candidate was found in trees as those before it leave them.
    """
    trees: dict[int, Tree] = {}
    for candidate in choice:
        allocations = candidate.allocations
        trees |= {tree.id: tree.after(allocations) for tree in candidate.trees}
    return trees


def _log_unmet(consumer: str, result: SearchResult) -> None:
    if LOG.isEnabledFor(logging.INFO):
        why = explain_trace(result.scan.resolved.request, result.trace).text
        LOG.info("no candidates for consumer %s: %s", consumer, why)
