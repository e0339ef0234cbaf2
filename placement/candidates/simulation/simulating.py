"""Simulate changes on copies of the trees of one snapshot."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlalchemy.engine import Connection

from placement import deadline
from placement.candidates.budget import Budget
from placement.candidates.headroom import HeadroomRequest, resolve_headroom
from placement.candidates.request import CandidateRequest
from placement.candidates.simulation.changes import (
    MAX_CONSUMERS,
    ClaimOnCopies,
    Drain,
    SimulationRequest,
)
from placement.candidates.simulation.consumers import MovableConsumer
from placement.candidates.simulation.hosts import SimulatedHosts
from placement.candidates.simulation.result import Simulation
from placement.candidates.simulation.room import measure_room
from placement.candidates.simulation.roots import check_roots
from placement.candidates.simulation.simulator import Resolved, Simulator
from placement.candidates.trees.cloud import read_cloud
from placement.candidates.trees.resolve import ResolvedRequest, resolve_all, resolve_each
from placement.candidates.trees.store import TreeCache
from placement.candidates.tuning import DEFAULT_TUNING, SearchTuning
from placement.config import CandidateSettings
from placement.errors import BadBody
from placement.objects import holdings

# Seconds that a simulation may take.
MAX_SECONDS = 30.0


class YieldingBudget(Budget):
    """A budget that lets other threads run whenever it checks the deadline."""

    def _check(self) -> None:
        time.sleep(0)
        super()._check()


def simulate(
    conn: Connection,
    cache: TreeCache,
    request: SimulationRequest,
    settings: CandidateSettings,
    tuning: SearchTuning = DEFAULT_TUNING,
) -> Simulation:
    """Simulate changes; nothing is stored.

    Args:
        conn: a connection with one snapshot.
        cache: cached trees.
        request: the changes.
        settings: the bound on work, and the taints.
        tuning: sizes of the reads.

    Raises:
        UnknownResourceClasses: a class of the order, a claim or the headroom does not exist.
        UnknownTraits: a trait of the order, a claim or the headroom does not exist.
        BadBody: a change names an unknown root or a child, or the changes concern too many hosts
            or consumers.
        DeadlineExceeded: the deadline was reached before all was read.
    """
    budget = YieldingBudget(settings.max_simulation_steps)
    with deadline.limit(MAX_SECONDS):
        claims = _resolve_claims(conn, request, settings.taints)
        requests = _resolve_requests(conn, request.requests, settings.taints)
        trees = read_cloud(conn, cache, tuning)
        changes = check_roots(request.changes, trees)
        drained = {root for change in changes if isinstance(change, Drain) for root in change.roots}
        consumers = holdings.get_in_trees(
            conn, [tree.id for tree in trees if tree.uuid in drained], MAX_CONSUMERS
        )
        if consumers is None:
            raise BadBody(f"changes: drains may move {MAX_CONSUMERS:,} consumers together")
        questions: Sequence[HeadroomRequest] = ()
        if request.headroom is not None:
            questions, _resolved = resolve_headroom(conn, request.headroom, settings.taints)
        hosts = SimulatedHosts(trees, request.order, budget.spend)
        simulator = Simulator(
            hosts, map(MovableConsumer, consumers), requests, claims, settings.taints, budget
        )
        result = simulator.run(changes)
        if request.headroom is None:
            return result
        headroom = measure_room(
            hosts, request.headroom, questions, budget, complete=result.complete
        )
        return replace(result, headroom=headroom)


def _resolve_claims(
    conn: Connection, request: SimulationRequest, taints: frozenset[str]
) -> Mapping[CandidateRequest, ResolvedRequest]:
    """Return the resolved requests of claims, by the requests; check the names of the order."""
    claims = [change.request for change in request.changes if isinstance(change, ClaimOnCopies)]
    requests = [request.order_request, *claims] if request.order else claims
    if not requests:
        return {}
    return dict(zip(requests, resolve_all(conn, requests, taints=taints), strict=True))


def _resolve_requests(
    conn: Connection, requests: Mapping[str, CandidateRequest], taints: frozenset[str]
) -> Mapping[str, Resolved]:
    """Return consumer -> resolved request, or the error of its names."""
    if not requests:
        return {}
    resolved = resolve_each(conn, list(requests.values()), taints=taints)
    return dict(zip(requests, resolved, strict=True))
