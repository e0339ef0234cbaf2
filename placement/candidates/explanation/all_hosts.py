"""Explain a request by evaluating all hosts, within the limit on work.

A search stops as soon as its result is known. An explanation reads every tree, in unfiltered
windows of roots. It uses the same cache and evaluates the same conditions as a search.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from placement import deadline
from placement.candidates.budget import COST_PER_STEP, Budget, BudgetSpentError
from placement.candidates.explanation.explain_request import ExplainRequest
from placement.candidates.explanation.host_counts import HostCounts
from placement.candidates.explanation.reductions import Reductions
from placement.candidates.explanation.single_hosts import SingleHosts
from placement.candidates.explanation.split_evaluator import make_evaluators
from placement.candidates.explanation.taint_gains import TaintGains
from placement.candidates.explanation.text import text
from placement.candidates.explanation.value import Explanation, Hosts
from placement.candidates.model import Roots, Tree
from placement.candidates.trees.inventories import read_names
from placement.candidates.trees.roots import batches
from placement.candidates.trees.scan import AnchorReader, Scan
from placement.candidates.trees.sharing import roots_of
from placement.candidates.trees.store import NO_TREES, TreeCache, TreeStore
from placement.candidates.tuning import DEFAULT_TUNING, SearchTuning
from placement.config.frozen import CandidateSettings
from placement.errors import DeadlineExceeded

# Work for each host, in addition to the work for its providers.
COST_PER_HOST = 4 * COST_PER_STEP


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
    with deadline.waiting():  # the deadline does not apply, because there is always a response
        sharing = scan.sharing_providers()
    request = scan.resolved.request
    budget = Budget(settings.max_search_steps)
    explain_request = ExplainRequest(request, budget.spend)
    evaluator, reductions = make_evaluators(explain_request, budget, settings.max_search_steps)
    host_counts = HostCounts(explain_request, evaluator)
    single_hosts = SingleHosts(request) if request.explain == "providers" else None
    store = TreeStore(scan.conn, cache, roots_of(sharing), budget.spend, ahead)
    hosts = 0
    spent = False
    taint_gains = None
    reader = AnchorReader(store, sharing, budget.spend, scan.resolved.taints)
    for roots in _windows(scan, tuning):
        hosts += len(roots)
        try:
            unread = {} if spent else roots
            for batch in batches(unread, tuning.first_batch, tuning.largest_batch):
                trees = reader.trees(batch)
                taint_gains = taint_gains or TaintGains(explain_request, evaluator, reader)
                for tree in trees:
                    pool = reader.pool(tree)
                    cost = COST_PER_HOST + explain_request.host_cost
                    budget.spend(cost + explain_request.provider_cost * len(pool.members))
                    evaluation = host_counts.add(pool)
                    taint_gains.add(tree, pool, evaluation, host_counts)
                    if single_hosts is not None:
                        single_hosts.add(pool, evaluation)
                    reductions.add(pool, evaluation)
        except (BudgetSpentError, DeadlineExceeded):
            spent = True  # the remaining hosts are only counted, not evaluated
    uuids = host_counts.end()
    if uuids:
        with deadline.waiting():
            host_counts.name(read_names(scan.conn, sorted(uuids)))
    explanation = _explanation(
        host_counts, reductions, hosts, spent=spent, several=len(explain_request.groups) > 1
    )
    if single_hosts is None:
        return explanation
    with deadline.waiting():
        return replace(explanation, providers=single_hosts.read(scan.conn))


def _windows(scan: Scan, tuning: SearchTuning) -> Iterator[Roots]:
    """Yield all roots in windows, also after the deadline."""
    windows = scan.roots.windows(tuning.largest_window)
    while True:
        with deadline.waiting():
            roots = next(windows, None)
        if roots is None:
            return
        yield roots


def _explanation(
    host_counts: HostCounts, reductions: Reductions, total: int, *, spent: bool, several: bool
) -> Explanation:
    undecided = spent or host_counts.undecided or (reductions.undecided and not reductions.served)
    complete = host_counts.looked == total and not undecided
    hosts = Hosts(total, host_counts.looked, host_counts.served, complete)
    blocked = host_counts.blocked()
    relaxations = [*host_counts.relaxed(), *reductions.relaxed()]
    return Explanation(
        hosts,
        host_counts.groups(),
        host_counts.together(),
        blocked,
        relaxations,
        text(
            hosts,
            blocked,
            relaxations,
            several=several,
            mentions=host_counts.mentions(),
        ),
    )
