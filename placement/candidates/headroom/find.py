"""Read all trees of a snapshot, and measure how many more consumers of each request fit."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from sqlalchemy.engine import Connection

from placement import stopwatch
from placement.candidates.budget import Budget
from placement.candidates.headroom.measure import Emptied, measure_headroom
from placement.candidates.headroom.value import Headroom, HeadroomRequest
from placement.candidates.model import Roots, SharingMember, Tree
from placement.candidates.request import CandidateRequest
from placement.candidates.terms import MemberOf, of_kind
from placement.candidates.trees.resolve import ResolvedRequest, resolve_all
from placement.candidates.trees.roots import batches
from placement.candidates.trees.scan import Scan
from placement.candidates.trees.sharing import roots_of, sharing_members
from placement.candidates.trees.store import TreeCache, TreeStore
from placement.candidates.tuning import DEFAULT_TUNING, SearchTuning
from placement.config import CandidateSettings


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


# Maximum number of trees that are measured together.
MAX_BATCH = 8192

# Factor between the sizes of batches. The first batch has the size of a search's batch.
BATCH_GROWTH = 8


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
    reader = _Reader(Scan(conn, resolved), trees, budget, tuning, empty=query.empty)
    with stopwatch.SEARCH:
        answers = measure_headroom(questions, reader.batches(), reader.sharing, budget)
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


class _Reader:
    """Reads all trees, in batches."""

    def __init__(
        self, scan: Scan, trees: TreeCache, budget: Budget, tuning: SearchTuning, *, empty: bool
    ) -> None:
        self._scan = scan
        # The sharing providers that may serve any request.
        self._providers = scan.sharing_providers()
        # Reads the trees; the trees of sharing providers are pinned.
        self._store = TreeStore(scan.conn, trees, roots_of(self._providers), budget.spend)
        self._tuning = tuning
        # Removes the usage from trees. None if the usage counts.
        self._emptied = Emptied() if empty else None
        # The sharing providers with their trees, or None until they are read.
        self._sharing: list[SharingMember] | None = None

    def batches(self) -> Iterator[Sequence[Tree]]:
        """Yield all trees in batches.

        The first batches are small because little work may be left.
        """
        size = self._tuning.first_batch
        for roots in self._scan.roots.windows(self._tuning.largest_window):
            pending = iter(roots.items())
            while batch := dict(islice(pending, size)):
                trees = self._trees(batch)
                yield trees if self._emptied is None else list(map(self._emptied, trees))
                size = min(BATCH_GROWTH * size, MAX_BATCH)

    def _trees(self, roots: Roots) -> list[Tree]:
        """Return the trees of roots, read in batches of a search."""
        size = self._tuning.largest_batch
        trees: list[Tree] = []
        for batch in batches(roots, size, size):
            trees += self._store.trees(batch)
        return trees

    def sharing(self) -> Sequence[SharingMember]:
        """Return the sharing providers of all trees."""
        if self._sharing is None:
            trees: Iterable[Tree] = self._store.pinned()
            if self._emptied is not None:
                trees = map(self._emptied, trees)
            self._sharing = sharing_members(self._providers, list(trees))
        return self._sharing
