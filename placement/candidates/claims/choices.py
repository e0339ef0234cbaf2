"""The search for the candidates that a claim can allocate."""

import logging
import random
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import NamedTuple

from sqlalchemy.engine import Connection

from placement.candidates.model import Tree
from placement.candidates.request import CandidateRequest
from placement.candidates.search.candidate import Candidate
from placement.candidates.search.pipeline import RequestSearch
from placement.candidates.search.result import SearchResult
from placement.candidates.trees.resolve import ResolvedRequest, resolve, resolve_all
from placement.candidates.trees.store import TreeCache
from placement.candidates.trees.tuning import SearchTuning
from placement.config import CandidateSettings
from placement.errors import ConsumerGenerationConflict, NoCandidatesFound
from placement.objects import allocation_state
from placement.objects.catalog import NO_NAMES, Ids
from placement.objects.claim_records import GroupKey
from placement.objects.claims import Claim, SpreadGroup
from placement.objects.search_snapshot import MAX_KEYS, claim_names
from placement.runtime import stopwatch
from placement.runtime.budget import Budget

LOG = logging.getLogger(__name__)

# Default limit of a claim's search. With this number of candidates, concurrent claims rarely choose
# the same host.
DEFAULT_CANDIDATES = 16

# Number of cached trees with a candidate after which a search reads no other trees. The other trees
# have changed because of recent claims. If every worker read them, all workers would claim from the
# same trees.
STOP_AFTER_CACHED = 4


@dataclass(frozen=True, slots=True)
class ClaimRequest:
    """A candidate request and the consumer that claims one of its candidates."""

    # The request to search for, or the first of several alternatives.
    request: CandidateRequest
    # The claim of a consumer that does not exist yet. It contains no allocations yet.
    claim: Claim
    # Path of the candidate request in the request body, for error messages.
    error_path: str
    # Alternative requests in the order of preference, or empty without alternatives. The first one
    # with candidates is claimed.
    alternatives: Sequence[CandidateRequest] = ()
    # The spread group that the consumer joins, or None.
    spread: SpreadGroup | None = None
    # Duration of the hold in seconds, or None if the claim is not a hold.
    expires_in: int | None = None
    # The JSON of the requests to store with the consumer: one for each alternative, or one for the
    # request. Empty to store none.
    remembered: Sequence[str] = ()

    @property
    def group(self) -> GroupKey | None:
        """The spread group that the consumer joins, or None."""
        return None if self.spread is None else GroupKey(self.claim.project, self.spread.name)


# Returns in words why a search has found nothing. The arguments after the result are the pending
# trees of earlier claims, the limit on work in steps, and whether to evaluate all hosts.
Explain = Callable[[SearchResult, Mapping[int, Tree], int, bool], str]


class Explainer(NamedTuple):
    """How a claim explains that a search has found nothing."""

    explain: Explain
    # Whether the client sees the text. Otherwise it is only logged, and covers the hosts that the
    # search has refused.
    is_shown: bool


# One candidate per request of the claim, in the order of the requests.
CandidateSet = Sequence[Candidate]


class Choices(NamedTuple):
    """The candidates that a claim can try to allocate."""

    # The sets in the order of the attempts.
    sets: Sequence[CandidateSet]
    # Kind -> name -> id, for the names in the requests and for their owners.
    ids: Ids
    # Index of the alternative that has candidates, or None without alternatives.
    alternative: int | None = None


class ClaimSearches:
    """The searches of one claim. Equal requests share a search."""

    def __init__(
        self,
        conn: Connection,
        cache: TreeCache,
        claim_requests: Sequence[ClaimRequest],
        settings: CandidateSettings,
        tuning: SearchTuning,
        explain: Explain,
    ) -> None:
        # Kind -> name -> id, for the names in the requests searched so far and for their owners.
        self._ids: dict[str, dict[str, int]] = {"resource_class": {}}
        self._conn = conn
        self._cache = cache
        self._claim_requests = claim_requests
        self._settings = settings
        self._tuning = tuning
        self._explain = explain
        # Request -> its claims.
        self._claims: dict[CandidateRequest, list[Claim]] = {}
        for claim_request in claim_requests:
            self._claims.setdefault(claim_request.request, []).append(claim_request.claim)
        # Owners are looked up with the search only for a small number of claims.
        self._names_owners = len(claim_requests) <= MAX_KEYS
        # (request, spread group and its maximum, or None) -> search. In a group, a search excludes
        # the hosts that earlier claims have filled.
        self._searches: dict[tuple[CandidateRequest, Hashable], RequestSearch] = {}
        # Request, alternatives and spread group of a claim -> the requests with ids.
        self._resolved: dict[Hashable, Sequence[ResolvedRequest]] = {}
        # Members that earlier claims of this request add: group -> root uuid -> number.
        self._added_members: dict[GroupKey, Counter[str]] = {}

    def choices(self, budget: Budget, *, explained: bool) -> Choices:
        """Search for all requests of the claim and return the choices in the order of the attempts.

        A single request has one choice for each candidate. Several requests together have one
        choice, because each search starts from the capacity that the previously chosen candidates
        leave.

        Args:
            budget: limit on the work of all searches and of the explanation together.
            explained: whether the caller may see why a search finds nothing.

        Raises:
            NoCandidatesFound: a request has no candidate.
            Exception: errors of `find_candidates`.
        """
        pending_trees: dict[int, Tree] = {}
        choice: list[Candidate] = []
        for claim_request in self._claim_requests:
            result, alternative = self._find(claim_request, budget, pending_trees)
            if not result.candidates:
                self._refuse_faulty()
                why = self._why(result, budget, pending_trees, explained=explained)
                LOG.info("no candidates for consumer %s: %s", claim_request.claim.consumer, why)
                raise NoCandidatesFound(claim_request.error_path, why if explained else "")
            candidates = _in_turn(result)
            if len(self._claim_requests) == 1:
                return Choices([[each] for each in candidates], self._ids, alternative)
            choice.append(candidates[0])
            host = candidates[0].host
            if claim_request.group is not None and host is not None:
                self._added_members.setdefault(claim_request.group, Counter())[host.uuid] += 1
            pending_trees |= trees_after(choice[-1:])
        return Choices([choice], self._ids)

    def _find(
        self, claim_request: ClaimRequest, budget: Budget, pending_trees: Mapping[int, Tree]
    ) -> tuple[SearchResult, int | None]:
        """Return the result of the first alternative with a candidate, or else of the first one.

        Returns:
            The result, and the index of the alternative or None without alternatives.

        Raises:
            Exception: errors of `resolve`, including unknown names in alternatives that are not
                searched.
        """
        requests = list(dict.fromkeys(claim_request.alternatives or [claim_request.request]))
        spread = claim_request.spread and (claim_request.group, claim_request.spread.max_per_host)
        if (requests[0], spread) not in self._searches:
            self._begin(requests, claim_request, spread)
        results: list[SearchResult] = []
        for request in requests:
            search = self._searches[request, spread]
            if claim_request.spread is not None:
                search.exclude(self._full_hosts(search.resolved, claim_request))
            results.append(search.find(budget, pending_trees))
            if results[-1].candidates:
                alternatives = list(claim_request.alternatives)
                return results[-1], alternatives.index(request) if alternatives else None
        return results[0], None

    def _begin(
        self, requests: Sequence[CandidateRequest], claim_request: ClaimRequest, spread: Hashable
    ) -> None:
        """Create the searches for the alternatives. One lookup resolves all of their names."""
        limited = [
            replace(request, limit=request.limit or DEFAULT_CANDIDATES) for request in requests
        ]
        claims, group = self._claims[claim_request.request], claim_request.group
        key = (claim_request.request, tuple(requests), group)
        if key not in self._resolved:
            with stopwatch.NAMES:
                names = claim_names(claims) if self._names_owners else NO_NAMES
                self._resolved[key] = resolve_all(
                    self._conn, limited, names, self._settings.traits, group
                )
        resolved = self._resolved[key]
        known = resolved[0]  # each entry contains the names of all requests
        for kind, ids in (("resource_class", known.class_ids), *known.other_ids.items()):
            self._ids.setdefault(kind, {}).update(ids)
        with stopwatch.SEARCH:
            for request, each in zip(requests, resolved, strict=True):
                # Without a limit or an order, any candidate is valid, so choose the cheapest one.
                tuning = self._tuning
                if request.limit is None and not request.order:
                    tuning = replace(tuning, stop_after_cached=STOP_AFTER_CACHED)
                self._searches[request, spread] = RequestSearch(
                    self._conn, self._cache, each, self._settings, tuning, repeated=len(claims) > 1
                )

    def _full_hosts(self, resolved: ResolvedRequest, claim_request: ClaimRequest) -> frozenset[str]:
        """Return the UUIDs of the hosts that the spread group of a claim has filled."""
        spread, group = claim_request.spread, claim_request.group
        if spread is None or group is None:
            return frozenset()
        members = Counter(resolved.members_by_host)
        members.update(self._added_members.get(group, {}))
        return frozenset(uuid for uuid, number in members.items() if number >= spread.max_per_host)

    def _why(
        self,
        result: SearchResult,
        budget: Budget,
        pending_trees: Mapping[int, Tree],
        *,
        explained: bool,
    ) -> str:
        """Return the explanation of a failed search, limited by the remaining budget.

        Args:
            explained: whether to evaluate all hosts. Otherwise, the explanation is only logged, and
                it covers the hosts that the search has refused.
        """
        if not (explained or LOG.isEnabledFor(logging.INFO)):
            return ""
        return self._explain(result, pending_trees, max(1, budget.steps_left), explained)

    def _refuse_faulty(self) -> None:
        """Raise the errors of a claim that do not depend on free capacity.

        These errors are unknown names, including names in requests after the failed one, and
        existing consumers. If the response to a successful claim is lost, the client repeats the
        claim. The conflict then shows that the consumer has its allocations. The error "no
        candidates" would hide this.

        Raises:
            ConsumerGenerationConflict: a consumer exists.
            Exception: errors of `resolve`.
        """
        for request in self._claims.keys() - {request for request, _spread in self._searches}:
            resolve(self._conn, request)
        consumers = [claim_request.claim.consumer for claim_request in self._claim_requests]
        existing = allocation_state.find_consumers(self._conn, consumers)
        for uuid in consumers:
            consumer = existing.get(uuid)
            if consumer is not None:
                raise ConsumerGenerationConflict(uuid, None, consumer.generation)


def _in_turn(result: SearchResult) -> list[Candidate]:
    """Return candidates in the order of the attempts to claim them.

    If the request orders its hosts, the function starts at a random one of the best-ranked hosts
    with equal keys, so that concurrent claims do not all choose the same host. Otherwise, it
    shuffles the candidates.
    """
    if result.heads:
        start = random.choice(result.heads)
        return [*result.candidates[start:], *result.candidates[:start]]
    candidates = random.sample(result.candidates, len(result.candidates))
    candidates.sort(key=attrgetter("split"))  # candidates with a split come last
    return candidates


def trees_after(choice: CandidateSet) -> Mapping[int, Tree]:
    """Return root id -> tree with the allocations of all candidates added.

    Each candidate was found in the capacity that the previous candidates leave.
    """
    trees: dict[int, Tree] = {}
    for candidate in choice:
        allocations = candidate.allocations
        trees |= {tree.id: tree.after(allocations) for tree in candidate.trees}
    return trees
