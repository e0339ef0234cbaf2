"""Explain a request by evaluating all hosts, or those that a search has refused.

A search stops as soon as its result is known. An explanation reads every tree, in unfiltered
windows of roots. It uses the same cache and evaluates the same conditions as a search.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from sqlalchemy.engine import Connection

from placement.candidates.budget import Budget, BudgetSpentError
from placement.candidates.explanation.explained_hosts import ExplainedHosts, ReadNames
from placement.candidates.explanation.single_hosts import SingleHosts
from placement.candidates.explanation.value import Explanation
from placement.candidates.explanation.words.facts import Names
from placement.candidates.model import Roots, Tree
from placement.candidates.stats import Trace
from placement.candidates.trees.inventories import read_names
from placement.candidates.trees.roots import batches
from placement.candidates.trees.scan import AnchorReader, Scan
from placement.candidates.trees.sharing import roots_of
from placement.candidates.trees.store import NO_TREES, TreeCache, TreeStore
from placement.candidates.tuning import DEFAULT_TUNING, SearchTuning
from placement.config.frozen import CandidateSettings
from placement.errors import DeadlineExceeded
from placement.runtime import deadline

# Maximum number of refused hosts that are evaluated for the log.
MAX_REFUSED = 500


def explain(
    scan: Scan,
    cache: TreeCache,
    settings: CandidateSettings,
    tuning: SearchTuning = DEFAULT_TUNING,
    ahead: Mapping[int, Tree] = NO_TREES,
) -> Explanation:
    """Explain which hosts cannot serve a request, and the reasons.

    Args:
        scan: The request, and the data that its search has read in the same snapshot.
        cache: The cache of trees.
        settings: The limit on work.
        tuning: The sizes of windows and batches.
        ahead: Root id -> the tree in a future state, as in `RequestSearch.find`.

    Returns:
        The explanation; it is incomplete if the limit on work or the deadline was reached.
    """
    request = scan.resolved.request
    budget = Budget(settings.max_search_steps)
    hosts = ExplainedHosts(request, budget, settings.max_search_steps)
    single_hosts = SingleHosts(request) if request.explain == "providers" else None
    reader = _reader(scan, cache, budget, ahead)
    total = 0
    for roots in _windows(scan, tuning):
        total += len(roots)
        if not hosts.spent:  # otherwise, the remaining hosts are only counted
            _evaluate(hosts, reader, roots, tuning, single_hosts)
    explanation = hosts.explanation(total, names_from(scan.conn))
    if single_hosts is None:
        return explanation
    with deadline.waiting():
        return replace(explanation, providers=single_hosts.read(scan.conn))


def explain_refused(
    scan: Scan,
    trace: Trace,
    cache: TreeCache,
    settings: CandidateSettings,
    tuning: SearchTuning = DEFAULT_TUNING,
    ahead: Mapping[int, Tree] = NO_TREES,
) -> Explanation:
    """Explain an empty result from the hosts that its search has refused, for the log.

    No other hosts are read. Of many hosts, every second, third, … is evaluated, because a search
    may refuse equal hosts together, and is then several times faster than an evaluation of each
    host. The explanation contains no relaxations, because they could help other hosts.

    Args:
        scan: The request, and the data that its search has read in the same snapshot.
        trace: The trace of the search.
        cache: The cache of trees.
        settings: The limit on work.
        tuning: The sizes of batches.
        ahead: Root id -> the tree in a future state, as in `RequestSearch.find`.
    """
    budget = Budget(settings.max_search_steps)
    request = scan.resolved.request
    hosts = ExplainedHosts(request, budget, settings.max_search_steps, relaxes=False)
    interval = -(-len(trace.refused) // MAX_REFUSED)
    if trace.refused:
        roots = dict(list(trace.refused.items())[::interval])
        _evaluate(hosts, _reader(scan, cache, budget, ahead), roots, tuning)
    total = len(trace.refused) if interval > 1 else None
    explanation = hosts.explanation(total, names_from(scan.conn))
    rest = " The database ruled out all others." if trace.filtered else ""
    return replace(explanation, text=f"{explanation.text}{rest}")


def _reader(
    scan: Scan, cache: TreeCache, budget: Budget, ahead: Mapping[int, Tree]
) -> AnchorReader:
    """Return a reader of hosts whose pools include the sharing providers without capacity."""
    with deadline.waiting():  # the deadline does not apply, because there is always a response
        sharing = scan.sharing_providers()
    store = TreeStore(scan.conn, cache, roots_of(sharing), budget.spend, ahead)
    return AnchorReader(store, sharing, budget.spend, scan.resolved.taints)


def _evaluate(
    hosts: ExplainedHosts,
    reader: AnchorReader,
    roots: Roots,
    tuning: SearchTuning,
    single_hosts: SingleHosts | None = None,
) -> None:
    """Read and evaluate the hosts of roots, until the limit on work or the deadline is reached."""
    try:
        for batch in batches(roots, tuning.first_batch, tuning.largest_batch):
            trees = reader.trees(batch)
            hosts.add(trees, reader.pools, single_hosts)
            if hosts.spent:
                return
    except (BudgetSpentError, DeadlineExceeded):
        hosts.spent = True


def names_from(conn: Connection) -> ReadNames:
    """Return a function that reads the names of providers, also after the deadline."""

    def read(uuids: Sequence[str]) -> Names:
        with deadline.waiting():
            return read_names(conn, uuids)

    return read


def _windows(scan: Scan, tuning: SearchTuning) -> Iterator[Roots]:
    """Yield all roots in windows, also after the deadline."""
    windows = scan.roots.windows(tuning.largest_window)
    while True:
        with deadline.waiting():
            roots = next(windows, None)
        if roots is None:
            return
        yield roots
