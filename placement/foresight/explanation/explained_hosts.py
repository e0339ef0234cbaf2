"""Explain a request by evaluating all hosts, or those that a search has refused.

A search stops as soon as its result is known. An explanation reads every tree, in unfiltered
windows of roots. It uses the same cache and evaluates the same conditions as a search.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from sqlalchemy.engine import Connection

from placement.candidates.model import Pool, Refusal, Roots, Trace, Tree
from placement.candidates.request import CandidateRequest
from placement.candidates.search import SearchResult
from placement.candidates.terms import PlaceTerm, of_kind
from placement.candidates.trees import (
    DEFAULT_TUNING,
    NO_TREES,
    AnchorPools,
    AnchorReader,
    Scan,
    SearchTuning,
    TreeCache,
    TreeStore,
    batches,
    roots_of,
)
from placement.config.frozen import CandidateSettings
from placement.errors import DeadlineExceeded
from placement.foresight.explanation.counts import HostCounts
from placement.foresight.explanation.explained_plan import ExplainedPlan
from placement.foresight.explanation.fit import Fit
from placement.foresight.explanation.fits import Fits
from placement.foresight.explanation.named_hosts import SingleHosts
from placement.foresight.explanation.relaxations import NONE_HELPS, Helping, Relaxations
from placement.foresight.explanation.value import Explanation, Hosts, Reasons
from placement.foresight.explanation.words import sentences
from placement.foresight.explanation.words.facts import Names
from placement.objects.provider_parts import read_names
from placement.runtime import deadline
from placement.runtime.budget import COST_PER_STEP, Budget, BudgetSpentError
from placement.vocabulary import SHARING_TRAIT

# Maximum number of refused hosts that are evaluated for the log.
MAX_REFUSED = 500

# Returns the names of providers, given by UUID.
ReadNames = Callable[[Sequence[str]], Names]


class ExplainedHosts:
    """Evaluates hosts, and explains why they cannot serve a request.

    Explanations, the log lines of empty results and simulations supply different hosts.
    """

    def __init__(
        self, request: CandidateRequest, budget: Budget, max_steps: int, *, relaxes: bool = True
    ) -> None:
        """Prepare a request.

        Args:
            request: The request, with resolved terms and a root term per taint.
            budget: The limit on work.
            max_steps: The work of which each host may use a share, in steps.
            relaxes: Whether to find the changes of the request that would help as well.
        """
        # Whether the limit on work was reached. In this case, other hosts are unknown.
        self.spent = False
        self._budget = budget
        # The plan of the request.
        self._plan = ExplainedPlan(request, budget.spend, relaxes=relaxes)
        # The results of the hosts.
        self._fits = Fits(self._plan, budget, max_steps)
        # The numbers of hosts.
        self._counts = HostCounts(self._plan)
        # The sharing providers that hosts reach, and the slots that some host cannot serve.
        self._reached: set[tuple[int, int]] = set()
        self._short: set[int] = set()
        # Sharing provider, and a slot that it can serve -> its UUID.
        self._pools: dict[tuple[tuple[int, int], int], str] = {}
        # The changes of the request that would help, or None.
        self._changes = Relaxations(self._plan, budget, max_steps) if relaxes else None

    def add(
        self, trees: Iterable[Tree], pools: AnchorPools, single_hosts: SingleHosts | None = None
    ) -> None:
        """Evaluate hosts, as far as the limit on work allows.

        Args:
            trees: The trees of the hosts.
            pools: Returns their pools. The sharing providers must include those without capacity,
                because they may be the reason.
            single_hosts: Collects the explanations of single hosts, or None.
        """
        counts, changes = self._counts, self._changes
        # Key of equal hosts -> their result, and the changes that would help.
        known: dict[Hashable, tuple[Fit, Helping]] = {}
        try:
            for tree in trees:
                pool = pools.pool(tree)
                if tree.is_pool:
                    fit = self._fits.of(pool)
                    counts.add_sharing(counts.tally(fit))
                    self._add_pool(tree, fit)
                    continue
                # A split depends on the order of the UUIDs.
                key = pool.root if self._plan.splittable else self._plan.host_key(pool)
                equal = known.get(key)
                if equal is None:
                    fit = self._fits.of(pool)
                    self._count(pool, fit, is_first=True)
                    self._reached |= pool.reached
                    self._short.update([slot for slot, each in enumerate(fit.options) if not each])
                    helping = NONE_HELPS if changes is None else changes.find(pool, fit)
                    counts.tally(fit).is_helped |= bool(helping.amounts or helping.split)
                    known[key] = fit, helping
                else:
                    fit, helping = equal
                    self._budget.spend(COST_PER_STEP)
                    self._count(pool, fit)
                if single_hosts is not None:
                    single_hosts.add(pool, fit.rejections)
                if changes is not None:
                    changes.add(tree, pool, fit, helping, pools)
        except BudgetSpentError:
            self.spent = True

    def _add_pool(self, tree: Tree, fit: Fit) -> None:
        members = enumerate(tree.members)
        sharing = {place: each for place, each in members if SHARING_TRAIT in each.traits}
        for member in sharing.values():
            self._counts.shared.update(member.stocks, () if fit.root else (member.uuid,))
        for slot, providers in enumerate(fit.options):
            for position in providers if self._plan.slots[slot].resources else ():
                if position in sharing:
                    self._pools[(tree.id, position), slot] = sharing[position].uuid

    def _count(self, pool: Pool, fit: Fit, *, is_first: bool = False) -> None:
        """Count a host. The inventories of equal hosts are measured once for each tally."""
        tally = self._counts.tally(fit)
        if is_first or not tally.hosts:
            tally.measure(pool)
        self._counts.add(pool, tally)

    def explanation(self, total: int, names: ReadNames) -> Explanation:
        """Return the explanation of the hosts so far. For the arguments, see `reasons`."""
        reasons, counts = self.reasons(total, names), self._counts
        return Explanation(
            reasons.hosts,
            reasons.counts,
            reasons.text,
            counts.groups(),
            counts.together(),
            counts.blocked(),
            [] if self._changes is None else self._changes.relaxed(counts.served),
        )

    def reasons(self, total: int | None, names: ReadNames) -> Reasons:
        """Return the reasons for which the hosts so far are rejected.

        Args:
            total: The number of all trees, or None if it is unknown.
            names: Returns the names of the providers that the text contains.
        """
        counts, changes = self._counts, self._changes
        uuids = counts.end()
        every = None if total is None else total - counts.sharing_trees
        # Sharing providers that no host reaches, each with a slot that needs them.
        unreached = {
            uuid: slot
            for (provider, slot), uuid in self._pools.items()
            if not counts.served and counts.looked == every
            if provider not in self._reached and slot in self._short
        }
        uuids.update(unreached)
        counts.name(names(sorted(uuids)) if uuids else {})
        by_code = counts.by_code()
        undecided = self.spent or Refusal.BUDGET in by_code
        undecided |= changes is not None and changes.undecided
        hosts = Hosts(
            every,
            counts.looked,
            counts.served,
            counts.looked == every and not undecided,
            counts.sharing_trees,
            counts.serving_trees,
        )
        advice = [] if changes is None else changes.sentences(counts.served)
        # If a name does not exist, this is the reason for every host.
        missing = sentences.nonexistent([*self._plan.root_terms, *self._plan.stated])
        reasons = [*(missing or counts.reasons()), *counts.unreached(unreached)]
        text = " ".join([sentences.outcome(hosts), *reasons, *advice])
        return Reasons(hosts, by_code, text)


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
) -> Reasons:
    """Explain an empty result from the hosts that its search has refused, for the log.

    No other hosts are read. Of many hosts, every second, third, … is evaluated, because a search
    may refuse equal hosts together, and is then several times faster than an evaluation of each
    host. The text contains no relaxations, because they could help other hosts.

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
    refused = trace.refused
    interval = -(-len(refused) // MAX_REFUSED)
    if refused:
        roots = dict(list(refused.items())[::interval])
        _evaluate(hosts, _reader(scan, cache, budget, ahead), roots, tuning)
    total = len(refused) if interval > 1 else None
    reasons = hosts.reasons(total, names_from(scan.conn))
    # If the request names a tree, the text has said that the others are not in it.
    names_tree = bool(of_kind(request.group_terms, PlaceTerm))
    is_partial = trace.filtered and not names_tree
    rest = " Hosts that the database ruled out are not counted." if is_partial else ""
    return replace(reasons, text=f"{reasons.text}{rest}")


def text_explainer(
    cache: TreeCache, settings: CandidateSettings, tuning: SearchTuning
) -> Callable[[SearchResult, Mapping[int, Tree], int, bool], str]:
    """Return the function with which a claim explains results (`claims.choices.Explain`)."""

    def text(
        result: SearchResult, ahead: Mapping[int, Tree], max_steps: int, of_all_hosts: bool
    ) -> str:
        limited = replace(settings, max_search_steps=max_steps)
        if of_all_hosts:
            return explain(result.scan, cache, limited, tuning, ahead).text
        return explain_refused(result.scan, result.trace, cache, limited, tuning, ahead).text

    return text


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
