"""Simulate changes on copies of the trees in one snapshot."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import chain

from sqlalchemy.engine import Connection

from placement.candidates.request import CandidateRequest
from placement.candidates.trees import (
    DEFAULT_TUNING,
    PlainRoots,
    ResolvedRequest,
    SearchTuning,
    TreeCache,
    resolve_all,
    resolve_each,
)
from placement.config import CandidateSettings, SpecialTraits
from placement.errors import Invalid
from placement.foresight.explanation.explained_hosts import names_from
from placement.foresight.headroom import measure_on, resolve_headroom
from placement.foresight.hosts import SnapshotHosts
from placement.foresight.simulation.consumers import (
    read_consumers,
    read_spread_groups,
    remembered_requests,
)
from placement.foresight.simulation.copies import CopiedHosts, check_roots
from placement.foresight.simulation.state import Resolved, State, StatedRequests
from placement.foresight.simulation.value import ClaimOnCopies, Drain, Simulation, SimulationRequest
from placement.runtime import deadline
from placement.runtime.budget import Budget, uncharged

# Maximum duration of a simulation, in seconds.
MAX_SECONDS = 30.0


def simulate(
    conn: Connection,
    cache: TreeCache,
    request: SimulationRequest,
    settings: CandidateSettings,
    tuning: SearchTuning = DEFAULT_TUNING,
) -> Simulation:
    """Simulate changes without storing anything.

    Args:
        conn: a connection with one snapshot.
        cache: cached trees.
        request: the changes.
        settings: the limit on work, and the special traits.
        tuning: sizes of the reads.

    Raises:
        UnknownResourceClasses: a class of the order, a claim or the headroom does not exist.
        UnknownTraits: a trait of the order, a claim or the headroom does not exist.
        BadBody: a change names an unknown root or a child, or the changes concern too many hosts
            or consumers.
        DeadlineExceeded: the deadline was reached before all data was read.
    """
    budget = Budget(settings.max_simulation_steps)
    traits = settings.traits
    with deadline.limit(MAX_SECONDS):
        claims = _resolve_claims(conn, request, traits)
        source = SnapshotHosts(conn, cache, PlainRoots(conn, None), (), uncharged, tuning)
        trees = list(chain.from_iterable(source.batches()))
        changes = check_roots(request.changes, trees)
        query = None
        if request.headroom is not None:
            query, _resolved = resolve_headroom(conn, request.headroom, traits)
        drained = {root for change in changes if isinstance(change, Drain) for root in change.roots}
        consumers = read_consumers(conn, [tree.id for tree in trees if tree.uuid in drained])
        moving = [each for each in consumers if not each.is_expired]
        remembered = remembered_requests(moving, request.read_request)
        requests = _resolve_requests(conn, {**remembered, **request.requests}, traits)
        groups = read_spread_groups(conn, consumers)
        hosts = CopiedHosts(trees, request.order_request.order)
        for each in consumers:
            if each.is_expired:
                hosts.release(each.allocations, each.root_of)
        stated = StatedRequests(requests, claims, request.requests.keys(), groups, traits)
        state = State(hosts, moving, stated, budget, names_from(conn))
        for change in changes:
            state.apply(change)
        result = state.result()
        if query is None:
            return result
        return replace(result, headroom=measure_on(hosts, query, budget))


def _resolve_claims(
    conn: Connection, request: SimulationRequest, traits: SpecialTraits
) -> Mapping[CandidateRequest, ResolvedRequest]:
    """Return request -> resolved request for the claims, and check the names in the order."""
    claims = [change.request for change in request.changes if isinstance(change, ClaimOnCopies)]
    requests = [request.order_request, *claims] if request.order_request.order else claims
    if not requests:
        return {}
    return dict(zip(requests, resolve_all(conn, requests, traits=traits), strict=True))


def _resolve_requests(
    conn: Connection, requests: Mapping[str, CandidateRequest | Invalid], traits: SpecialTraits
) -> Mapping[str, Resolved]:
    """Return consumer -> resolved request, or the error of its names."""
    valid = [each for each in requests.values() if isinstance(each, CandidateRequest)]
    resolved = iter(resolve_each(conn, valid, traits=traits) if valid else ())
    return {
        uuid: each if isinstance(each, Invalid) else next(resolved)
        for uuid, each in requests.items()
    }
