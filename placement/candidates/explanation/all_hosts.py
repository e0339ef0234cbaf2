"""An explanation of a request: all hosts, looked at one after the other within the bound on work.

A search ends as soon as it knows; this looks at every tree, in plain windows of roots, through the
same cache. What it asks of them is what the search asks.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from placement import deadline
from placement.candidates.budget import LOOKS_PER_STEP, Budget, BudgetSpentError
from placement.candidates.explanation.question import Question
from placement.candidates.explanation.reductions import Reductions
from placement.candidates.explanation.single_hosts import SingleHosts
from placement.candidates.explanation.split_verdicts import judges
from placement.candidates.explanation.taint_gains import TaintGains
from placement.candidates.explanation.tally import Tally
from placement.candidates.explanation.text import text
from placement.candidates.explanation.value import Explanation, Hosts
from placement.candidates.model import Root, Tree
from placement.candidates.trees.inventories import read_names
from placement.candidates.trees.scan import AnchorReader, Scan
from placement.candidates.trees.sharing import roots_of
from placement.candidates.trees.store import NO_TREES, TreeCache, TreeStore
from placement.candidates.tuning import DEFAULT_TUNING, SearchTuning
from placement.config.frozen import CandidateSettings
from placement.errors import DeadlineExceeded

LOOKS_PER_HOST = 4 * LOOKS_PER_STEP


def explain(
    scan: Scan,
    cache: TreeCache,
    settings: CandidateSettings,
    tuning: SearchTuning = DEFAULT_TUNING,
    ahead: Mapping[int, Tree] = NO_TREES,
) -> Explanation:
    """Explain, on the snapshot of a scan, which hosts its request leaves out, and why.

    `text` of what is returned is the whole for a person, as a claim that finds no candidate says
    it. scan: what a search for the request has read. ahead: trees as they will be, as of
    `RequestSearch.find`.
    """
    with deadline.waiting():  # so that there is an answer, of whatever is known by then
        sharing = scan.sharing_providers()
    request = scan.resolved.request
    budget = Budget(settings.max_search_steps)
    question = Question(request, budget.spend)
    judge, reductions = judges(question, budget, settings.max_search_steps)
    tally = Tally(question, judge)
    single_hosts = SingleHosts(request) if request.explain == "providers" else None
    store = TreeStore(scan.conn, cache, roots_of(sharing), budget.spend, ahead)
    hosts = 0
    spent = False
    taint_gains = None
    reader = AnchorReader(store, sharing, budget.spend, scan.resolved.taints)
    for roots in _windows(scan, tuning):
        hosts += len(roots)
        try:
            for batch in _batches(() if spent else roots, tuning):
                trees = reader.trees(batch)
                taint_gains = taint_gains or TaintGains(question, judge, reader)
                for tree in trees:
                    pool = reader.pool(tree)
                    looks = LOOKS_PER_HOST + question.host_looks
                    budget.spend(looks + question.looks * len(pool.members))
                    verdict = tally.add(pool)
                    taint_gains.add(tree, pool, verdict, tally)
                    if single_hosts is not None:
                        single_hosts.add(pool, verdict)
                    reductions.add(pool, verdict)
        except (BudgetSpentError, DeadlineExceeded):
            spent = True  # the rest is only counted
    uuids = tally.end()
    if uuids:
        with deadline.waiting():
            tally.name(read_names(scan.conn, sorted(uuids)))
    explanation = _explanation(
        tally, reductions, hosts, spent=spent, several=len(question.groups) > 1
    )
    if single_hosts is None:
        return explanation
    with deadline.waiting():
        return replace(explanation, providers=single_hosts.read(scan.conn))


def _windows(scan: Scan, tuning: SearchTuning) -> Iterator[Sequence[Root]]:
    """Yield all roots, a window at a time, also after the deadline."""
    windows = scan.roots.windows(tuning.largest_window)
    while True:
        with deadline.waiting():
            roots = next(windows, None)
        if roots is None:
            return
        yield roots


def _batches(roots: Sequence[Root], tuning: SearchTuning) -> Iterator[Sequence[Root]]:
    """Yield roots whose trees are read together: few at first, for little work may be left."""
    start, size = 0, tuning.first_batch
    while start < len(roots):
        yield roots[start : start + size]
        start, size = start + size, min(4 * size, tuning.largest_batch)


def _explanation(
    tally: Tally, reductions: Reductions, total: int, *, spent: bool, several: bool
) -> Explanation:
    undecided = spent or tally.undecided or (reductions.undecided and not reductions.served)
    complete = tally.looked == total and not undecided
    hosts = Hosts(total, tally.looked, tally.served, complete)
    blocked = tally.blocked()
    relaxations = [*tally.relaxed(), *reductions.relaxed()]
    return Explanation(
        hosts,
        tally.groups(),
        tally.together(),
        blocked,
        relaxations,
        text(
            hosts,
            blocked,
            relaxations,
            several=several,
            mentions=tally.mentions(),
        ),
    )
