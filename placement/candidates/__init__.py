"""Allocation candidates: every way in which a request can be met now (contract candidates.md).

`find_candidates` composes the steps, each a module of its own: `fetch` finds the trees and
loads them, `slots` says which providers could serve what, `solve` combines them under
`constraints`, `summaries` names the trees to tell about.
"""

import logging
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlalchemy.engine import Connection

from placement.candidates import slots as slotting
from placement.candidates import summaries
from placement.candidates.fetch import Fetch, Sharing, shared_pool
from placement.candidates.model import Candidate, Tree
from placement.candidates.request import CandidateRequest
from placement.candidates.solve import Plan, Search, take_turns
from placement.candidates.trail import LOOKS, ROOT, BudgetSpentError, Trail
from placement.candidates.trees import TreeCache
from placement.config import CandidateSettings
from placement.errors import SearchExhausted

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Found:
    """The answer: candidates, the trees to tell about, and how it was come by."""

    candidates: Sequence[Candidate]
    trees: Sequence[Tree]
    trail: Trail


def find_candidates(
    conn: Connection, cache: TreeCache, request: CandidateRequest, settings: CandidateSettings
) -> Found:
    """Find the candidates of a request on the connection's snapshot.

    Raises UnknownResourceClasses, UnknownTraits; SearchExhausted when the budget of search
    steps is spent before the first candidate. Spent later, what was found is returned.
    """
    most = max(1, settings.max_answer_size // longest(request))
    cut = most < (_least(request.limit, settings.maximum) or most + 1)
    request = replace(request, limit=_least(request.limit, settings.maximum, most))
    trail = Trail(settings.max_search_steps)
    fetch = Fetch(conn, cache, request, settings.randomize, trail)
    candidates: list[Candidate] = []
    if not fetch.hopeless:
        plan = Plan(fetch.request)
        sharing = fetch.sharing(plan.wanted)
        searches = _searches(fetch, plan, sharing, trail)
        try:
            for candidate in take_turns(
                searches, request.limit, settings.breadth_first, bool(sharing)
            ):
                candidates.append(candidate)
        except BudgetSpentError:
            if not candidates:
                LOG.warning("no candidate within max_search_steps: %s", trail.summary())
                raise SearchExhausted(settings.max_search_steps) from None
            LOG.warning("max_search_steps cut an answer short: %s", trail.summary())
    if cut and len(candidates) == most:
        LOG.warning("max_answer_size cut an answer short at %s candidates", most)
    if settings.randomize:
        random.shuffle(candidates)
    if not candidates:
        LOG.debug("no candidates: %s", trail.summary())
    return Found(candidates, summaries.trees_of(candidates), trail)


def _least(*bounds: int | None) -> int | None:
    return min((bound for bound in bounds if bound is not None), default=None)


def longest(request: CandidateRequest) -> int:
    """Bytes that one candidate of the request has as JSON at the most, with its comma.

    That is where every class and every group has a provider of its own, told in the longest form.
    """
    names = sum(len(name) for group in request.groups for name, _amount in group.resources)
    resources = sum(len(group.resources) for group in request.groups)
    slots = [slot.group.suffix for slot in slotting.slots(request)]
    # {"allocations":{…},"mappings":{…}}, of which each slot has
    # "uuid":{"resources":{…}} and "suffix":["uuid"], and each resource "name":amount.
    return 33 + sum(101 + len(suffix) for suffix in slots) + names + 14 * resources


def _searches(
    fetch: Fetch, plan: Plan, sharing: Sequence[Sharing], trail: Trail
) -> Iterator[Search]:
    """One search for each anchor, then one for each set of sharing providers by themselves."""
    for trees in fetch.anchors(plan, sharing):
        lent = fetch.lent(sharing)
        for tree in trees:
            trail.spend(2 * LOOKS + len(lent))
            if plan.admits(tree):
                yield Search(plan, slotting.pool(tree, lent), trail)
            else:
                trail.lacking[ROOT] += 1
    for members in fetch.shared_pools(plan.wanted, sharing):
        yield Search(plan, shared_pool(fetch.lent(members)), trail)


__all__ = [
    "CandidateRequest",
    "CandidateSettings",
    "Found",
    "TreeCache",
    "find_candidates",
    "longest",
]
