"""Read all trees of a snapshot, and measure how many more consumers of each request fit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.engine import Connection

from placement.candidates.budget import Budget
from placement.candidates.headroom.measure import measure_headroom
from placement.candidates.headroom.value import Headroom, HeadroomRequest
from placement.candidates.request import CandidateRequest
from placement.candidates.terms import MemberOf, of_kind
from placement.candidates.trees.resolve import ResolvedRequest, resolve_all
from placement.candidates.trees.scan import Scan
from placement.candidates.trees.source import HostSource, SnapshotHosts, UnusedHosts
from placement.candidates.trees.store import TreeCache
from placement.candidates.tuning import DEFAULT_TUNING, SearchTuning
from placement.config import CandidateSettings
from placement.runtime import stopwatch


@dataclass(frozen=True, slots=True)
class HeadroomQuery:
    """The questions of one call."""

    # Name -> request, in the order of the results.
    requests: Mapping[str, CandidateRequest]
    # Maximum of all numbers of consumers.
    limit: int = 10_000
    # Aggregates, as written by the client. The result contains separate figures for their hosts.
    by: Sequence[str] = ()
    # Whether to measure as if there were no allocations.
    empty: bool = False


def find_headroom(
    conn: Connection,
    trees: TreeCache,
    query: HeadroomQuery,
    settings: CandidateSettings,
    tuning: SearchTuning = DEFAULT_TUNING,
) -> dict[str, Headroom]:
    """Return how many more consumers of each request fit in the connection's snapshot.

    Raises:
        UnknownResourceClasses: a resource class of a request does not exist.
        UnknownTraits: a trait of a request does not exist.
    """
    questions, resolved = resolve_headroom(conn, query, settings.taints)
    budget = Budget(settings.max_search_steps)
    scan = Scan(conn, resolved)
    sharing = scan.sharing_providers()
    hosts = SnapshotHosts(conn, trees, scan.roots, sharing, budget.spend, tuning)
    with stopwatch.SEARCH:
        return measure_on(hosts, query, questions, budget)


def measure_on(
    hosts: HostSource, query: HeadroomQuery, questions: Sequence[HeadroomRequest], budget: Budget
) -> dict[str, Headroom]:
    """Return how many more consumers of each request fit on the hosts of a source.

    Args:
        hosts: the hosts.
        query: the requests by name.
        questions: the requests with resolved names, in the order of the query.
        budget: limit on the work.
    """
    source = UnusedHosts(hosts) if query.empty else hosts
    answers = measure_headroom(questions, source, budget)
    return dict(zip(query.requests, answers, strict=True))


def resolve_headroom(
    conn: Connection, query: HeadroomQuery, taints: frozenset[str]
) -> tuple[list[HeadroomRequest], ResolvedRequest]:
    """Return the questions of a query with resolved names, and the first resolved request.

    Raises:
        UnknownResourceClasses: a resource class of a request does not exist.
        UnknownTraits: a trait of a request does not exist.
    """
    aggregates = CandidateRequest(
        (), root=tuple([MemberOf(frozenset([each])) for each in query.by])
    )
    with stopwatch.NAMES:
        *resolved, by = resolve_all(conn, [*query.requests.values(), aggregates], taints=taints)
    keys: dict[str, str | None] = {}
    for term in of_kind(by.request.root, MemberOf):
        keys |= dict.fromkeys(term.any_of, next(iter(term.keys), None))
    by_name = {name: keys[name] for name in query.by}
    questions = [
        HeadroomRequest(each.request, each.taints, query.limit, by_name) for each in resolved
    ]
    return questions, resolved[0]
