"""An explanation of a request: all hosts, looked at one after the other within the bound on work.

A search ends as soon as it knows; this looks at every tree, in plain windows of roots, through the
same cache. What it asks of them is what the search asks.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from sqlalchemy.engine import Connection

from placement import deadline
from placement.candidates.budget import LOOKS_PER_STEP, Budget, BudgetSpentError
from placement.candidates.explanation.question import Question
from placement.candidates.explanation.reductions import Reductions
from placement.candidates.explanation.single_hosts import SingleHosts
from placement.candidates.explanation.split_verdicts import judges
from placement.candidates.explanation.tally import Tally
from placement.candidates.explanation.text import text
from placement.candidates.explanation.value import Explanation, Hosts
from placement.candidates.model import Root, Tree
from placement.candidates.request import CandidateRequest
from placement.candidates.trees.resolve import resolve
from placement.candidates.trees.roots import read_roots
from placement.candidates.trees.sharing import AnchorPools, roots_of, sharing_members, sharing_of
from placement.candidates.trees.store import NO_TREES, TreeCache, TreeStore
from placement.candidates.tuning import DEFAULT_TUNING, SearchTuning
from placement.config.frozen import CandidateSettings
from placement.errors import DeadlineExceeded

LOOKS_PER_HOST = 4 * LOOKS_PER_STEP


def explain(
    conn: Connection,
    cache: TreeCache,
    request: CandidateRequest,
    settings: CandidateSettings,
    tuning: SearchTuning = DEFAULT_TUNING,
    ahead: Mapping[int, Tree] = NO_TREES,
) -> Explanation:
    """Explain, on the connection's snapshot, which hosts a request leaves out, and why.

    `text` of what is returned is the whole for a person, as a claim that finds no candidate says
    it. ahead: trees as they will be, as of `find_candidates`.

    Raises UnknownResourceClasses, UnknownTraits.
    """
    with deadline.waiting():  # so that there is an answer, of whatever is known by then
        resolved = resolve(conn, request)
        sharing = sharing_of(conn, resolved, ()).everyone
    budget = Budget(settings.max_search_steps)
    question = Question(resolved.request, budget.spend)
    judge, reductions = judges(question, budget, settings.max_search_steps)
    tally = Tally(question, judge)
    single_hosts = SingleHosts(resolved.request)
    store = TreeStore(conn, cache, roots_of(sharing), budget.spend, ahead)
    hosts = 0
    spent = False
    pools: AnchorPools | None = None  # once the trees of sharing providers are read
    for roots in _windows(conn, tuning):
        hosts += len(roots)
        try:
            for batch in _batches(() if spent else roots, tuning):
                trees = store.trees(batch)
                if pools is None:
                    pools = AnchorPools(sharing_members(sharing, store.pinned()), budget.spend)
                for tree in trees:
                    pool = pools.pool(tree)
                    looks = LOOKS_PER_HOST + question.host_looks
                    budget.spend(looks + question.looks * len(pool.members))
                    verdict = tally.add(pool)
                    single_hosts.add(pool, verdict)
                    reductions.add(pool, verdict)
        except (BudgetSpentError, DeadlineExceeded):
            spent = True  # the rest is only counted
    tally.end()
    explanation = _explanation(
        tally, reductions, hosts, spent=spent, several=len(question.groups) > 1
    )
    if request.explain != "providers":
        return explanation
    with deadline.waiting():
        return replace(explanation, providers=single_hosts.read(conn))


def _windows(conn: Connection, tuning: SearchTuning) -> Iterator[Sequence[Root]]:
    """Yield all roots, a window at a time."""
    after, rows = 0, tuning.largest_window
    while rows == tuning.largest_window:
        with deadline.waiting():
            roots, rows, after = read_roots(conn, after, tuning.largest_window)
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
            pools=tally.pools,
            named=tally.named,
        ),
    )
