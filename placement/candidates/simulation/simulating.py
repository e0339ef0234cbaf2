"""Simulate changes on copies of the trees in one snapshot."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from sqlalchemy.engine import Connection

from placement import deadline
from placement.candidates.budget import Budget
from placement.candidates.explanation.all_hosts import names_from
from placement.candidates.headroom import HeadroomRequest, resolve_headroom
from placement.candidates.model import Tree
from placement.candidates.request import CandidateRequest
from placement.candidates.simulation.changes import (
    MAX_CONSUMERS,
    Change,
    ClaimOnCopies,
    Drain,
    SimulationRequest,
)
from placement.candidates.simulation.consumers import MovableConsumer
from placement.candidates.simulation.hosts import SimulatedHosts
from placement.candidates.simulation.records import (
    Resolved,
    StatedRequests,
    read_spread_groups,
    remembered_requests,
)
from placement.candidates.simulation.result import Simulation
from placement.candidates.simulation.room import measure_room
from placement.candidates.simulation.roots import check_roots
from placement.candidates.simulation.simulator import Simulator
from placement.candidates.trees.cloud import read_cloud
from placement.candidates.trees.resolve import ResolvedRequest, resolve_all, resolve_each
from placement.candidates.trees.store import TreeCache
from placement.candidates.tuning import DEFAULT_TUNING, SearchTuning
from placement.config import CandidateSettings
from placement.errors import BadBody, Invalid
from placement.objects import claim_records, holdings
from placement.objects.claim_records import ClaimRecord

# Maximum duration of a simulation, in seconds.
MAX_SECONDS = 30.0

# Maximum number of expired holds whose resources count as free on hosts that are not drained.
MAX_EXPIRED = 10_000


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
    """Simulate changes without storing anything.

    Args:
        conn: a connection with one snapshot.
        cache: cached trees.
        request: the changes.
        settings: the limit on work, and the taints.
        tuning: sizes of the reads.

    Raises:
        UnknownResourceClasses: a class of the order, a claim or the headroom does not exist.
        UnknownTraits: a trait of the order, a claim or the headroom does not exist.
        BadBody: a change names an unknown root or a child, or the changes concern too many hosts
            or consumers.
        DeadlineExceeded: the deadline was reached before all data was read.
    """
    budget = YieldingBudget(settings.max_simulation_steps)
    with deadline.limit(MAX_SECONDS):
        claims = _resolve_claims(conn, request, settings.taints)
        trees = read_cloud(conn, cache, tuning)
        changes = check_roots(request.changes, trees)
        questions: Sequence[HeadroomRequest] = ()
        if request.headroom is not None:
            questions, _resolved = resolve_headroom(conn, request.headroom, settings.taints)
        moving, expired, records = _read_consumers(conn, trees, changes)
        remembered = remembered_requests(moving, records, request.read_request)
        requests = _resolve_requests(conn, {**remembered, **request.requests}, settings.taints)
        groups = read_spread_groups(conn, moving, records, trees, {each.uuid for each in expired})
        hosts = SimulatedHosts(trees, request.order, budget.spend)
        for each in expired:
            hosts.release(each.allocations, each.root_of)
        given = request.requests.keys()
        stated = StatedRequests(requests, claims, given, groups, settings.taints)
        simulator = Simulator(hosts, moving, stated, budget, names_from(conn))
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
    """Return request -> resolved request for the claims, and check the names in the order."""
    claims = [change.request for change in request.changes if isinstance(change, ClaimOnCopies)]
    requests = [request.order_request, *claims] if request.order else claims
    if not requests:
        return {}
    return dict(zip(requests, resolve_all(conn, requests, taints=taints), strict=True))


def _resolve_requests(
    conn: Connection,
    requests: Mapping[str, CandidateRequest | Invalid],
    taints: frozenset[str],
) -> Mapping[str, Resolved]:
    """Return consumer -> resolved request, or the error of its names."""
    valid = {uuid: each for uuid, each in requests.items() if isinstance(each, CandidateRequest)}
    resolved: dict[str, Resolved] = {
        uuid: each for uuid, each in requests.items() if isinstance(each, Invalid)
    }
    if valid:
        found = resolve_each(conn, list(valid.values()), taints=taints)
        resolved |= zip(valid, found, strict=True)
    return resolved


class _Consumers(NamedTuple):
    """The consumers that a simulation must take into account."""

    # The consumers of hosts that a change drains, without expired holds.
    moving: list[MovableConsumer]
    # The expired holds of all hosts.
    expired: list[MovableConsumer]
    # Consumer UUID -> its record, for both kinds of consumers.
    records: Mapping[str, ClaimRecord]


def _read_consumers(
    conn: Connection, trees: Sequence[Tree], changes: Sequence[Change]
) -> _Consumers:
    """Read the consumers that may move, and the expired holds.

    Raises:
        BadBody: too many consumers may move.
    """
    drained = {root for change in changes if isinstance(change, Drain) for root in change.roots}
    roots = [tree.id for tree in trees if tree.uuid in drained]
    consumers = holdings.get_in_trees(conn, roots, MAX_CONSUMERS)
    if consumers is None:
        raise BadBody(f"changes: drains may move {MAX_CONSUMERS:,} consumers together")
    # Expired holds on other hosts do not count either.
    known = {each.uuid for each in consumers}
    ended = claim_records.find_expired(conn, MAX_EXPIRED) - known
    if ended:
        others = holdings.get_for_consumers(conn, ended)
        consumers += [each for each in others if each.uuid not in known]
    records = claim_records.get_for_consumers(conn, [each.uuid for each in consumers])
    found = _Consumers([], [], records)
    for each in consumers:
        record = records.get(each.uuid)
        has_ended = record is not None and record.is_expired
        (found.expired if has_ended else found.moving).append(MovableConsumer(each))
    return found
