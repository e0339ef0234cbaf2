"""The searches of a simulation. Each returns the first candidate of the first host that has one.

A simulation uses the search of other requests, with its copies as hosts. Equal requests share their
results: a host that has refused a request is not searched again until a host gains capacity. The
reason why nothing was found is computed again after any change.
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from itertools import chain

from placement.candidates.model import Pool, Refusal, Trace, Tree
from placement.candidates.request import CandidateRequest
from placement.candidates.search import (
    AnchorSearches,
    Candidate,
    OrderedHosts,
    Search,
    SearchPlan,
    SplitSearches,
)
from placement.candidates.terms import TermChecks
from placement.candidates.trees import AnchorPools, sharing_pool, spanning_terms, untainted
from placement.foresight.explanation.explained_hosts import ExplainedHosts, ReadNames
from placement.foresight.explanation.words.phrases import joined
from placement.foresight.simulation.copies import CopiedHosts
from placement.foresight.simulation.value import Unplaced
from placement.runtime.bounded import SizeLimitedDict
from placement.runtime.budget import COST_PER_STEP, Budget
from placement.vocabulary import SHARING_TRAIT

# Maximum number of requests with cached results, each of which may refer to all hosts, and maximum
# number of members and slots of the pools that one of them caches.
MAX_REQUESTS = 64
MAX_CACHED = 8192

# The work of which the explanation of one host may use a share, in steps.
MAX_STEPS = 800_000

# Provider UUID -> UUID of its root.
RootOf = Mapping[str, str]

NO_HOSTS = Unplaced("no_hosts", "There is no host.")
OUT_OF_BUDGET = Unplaced(Refusal.BUDGET, "The limit on work ended the simulation.")
# The code of hosts that do not reach the providers of the other allocations of the consumer.
UNREACHED = "rest"


class Searches:
    """Finds the first candidates of requests, while the hosts change."""

    def __init__(self, hosts: CopiedHosts, budget: Budget, names: ReadNames) -> None:
        """Search nothing yet.

        Args:
            hosts: the hosts to search.
            budget: limit on the work.
            names: returns the names of providers, for the reasons why nothing was found.
        """
        self._hosts = hosts
        self._budget = budget
        self._names = names
        # The value of `hosts.gains` at the latest search.
        self._gains = hosts.gains
        # Key of the request -> its searches. The oldest ones are removed first.
        self._searches: SizeLimitedDict[_EqualSearches] = SizeLimitedDict(MAX_REQUESTS, lambda _: 1)

    def find(self, request: CandidateRequest, rest: RootOf) -> Candidate | Unplaced:
        """Return the first candidate, or the reason why there is none.

        Args:
            request: the request, with resolved terms and a root term per taint.
            rest: the providers of the consumer's other allocations, all of which a host must reach.

        Raises:
            BudgetSpentError: the search reached a limit.
        """
        if self._gains != self._hosts.gains:
            self._gains = self._hosts.gains
            self._searches.clear()
        key: Hashable = (request, tuple(sorted(rest.items())))
        if key not in self._searches:
            search = _EqualSearches(request, self._hosts, self._budget, self._names, rest)
            self._searches[key] = search
        return self._searches[key].find()


class _EqualSearches:
    """The searches for one request, between which the hosts only lose capacity."""

    def __init__(
        self,
        request: CandidateRequest,
        hosts: CopiedHosts,
        budget: Budget,
        names: ReadNames,
        rest: RootOf,
    ) -> None:
        self._request = request
        self._hosts = hosts
        self._budget = budget
        self._names = names
        # The other allocations of the consumer, as in `Searches.find`.
        self._rest = rest
        # Root of each of their providers, and the aggregates that reach the provider.
        self._to_reach = _to_reach(hosts, rest)
        # Traits of roots whose sharing providers the request cannot use.
        self._taints = request.taints
        # Roots of hosts with enough free units but without a candidate, except for candidates with
        # a split.
        self._refused: set[str] = set()
        # The reason why the latest search found nothing, and the value of `hosts.changes` at this
        # search. None if no search has found nothing.
        self._unplaced: tuple[Unplaced, int] | None = None
        self._set_sharing()

    def _set_sharing(self) -> None:
        """Search with the current sharing providers. Plans cache which of them have capacity."""
        # The value of `hosts.sharing_changes` at the latest search.
        self._sharing_changes = self._hosts.sharing_changes
        self._plan = SearchPlan(self._request)
        self._anchors = AnchorSearches(self._plan, self._budget, Trace(), MAX_CACHED)
        # An explanation also needs sharing providers without capacity.
        sharing = self._hosts.sharing()
        self._pools = AnchorPools(sharing, self._budget.spend, self._taints)
        # The classes of sharing providers.
        self._shared_classes = {name for each in sharing for name in each.member.stocks}

    def find(self) -> Candidate | Unplaced:
        """Return the first candidate, or the reason why there is none.

        Raises:
            BudgetSpentError: the search reached a limit.
        """
        self._budget.spend(COST_PER_STEP)
        if self._unplaced is not None and self._unplaced[1] == self._hosts.changes:
            return self._unplaced[0]
        self._budget.spend(len(self._refused))
        if self._sharing_changes != self._hosts.sharing_changes:
            self._set_sharing()
        candidate = next(self._candidates(), None)
        self._budget.spend(0)  # raises if a limit has cut the search short
        if candidate is not None:
            return candidate
        unplaced = self._explain()
        self._unplaced = unplaced, self._hosts.changes
        return unplaced

    def _candidates(self) -> Iterator[Candidate]:
        hosts = OrderedHosts((), breadth_first=True, randomize=False, spend=self._budget.spend)
        searches = self._search_hosts(self._anchors, self._refused, self._demands())
        whole = hosts.in_turn(searches, self._alone())
        if not self._plan.splittable:
            return whole
        anchors = SplitSearches(self._plan, self._budget)
        split_searches = self._search_hosts(anchors, set(), self._demands(in_parts=True))
        return chain(whole, hosts.in_turn(split_searches, ()))

    def _demands(self, *, in_parts: bool = False) -> Mapping[str, int]:
        """Return class -> units that a provider of the host must have free.

        Classes of sharing providers are left out. Several providers may serve an amount `in_parts`.
        """
        demands: dict[str, int] = {}
        for number, slot in enumerate(self._plan.slots):
            is_split = in_parts and number in self._plan.splittable
            for name, units in slot.resources:
                if name not in self._shared_classes:
                    demands[name] = max(1 if is_split else units, demands.get(name, 1))
        return demands

    def _search_hosts(
        self, anchors: AnchorSearches, refused: set[str], demands: Mapping[str, int]
    ) -> Iterator[Search]:
        """Yield the searches of hosts that have a candidate, and add other hosts to `refused`.

        Hosts that do not meet the demands are skipped.
        """
        for tree in self._hosts.with_free(demands, refused, self._budget.spend):
            if self._may_anchor(tree):
                search = anchors.start(self._pools.pool(tree))
                if search.first is not None:
                    yield search
                    continue
            refused.add(tree.uuid)

    def _may_anchor(self, tree: Tree) -> bool:
        """Return whether a tree reaches all providers of the other allocations."""
        if not self._to_reach:
            return True
        self._budget.spend(COST_PER_STEP)
        return all(
            root == tree.uuid or not tree.aggregates.isdisjoint(aggregates)
            for root, aggregates in self._to_reach
        )

    def _alone(self) -> Iterator[Search]:
        """Yield the search of each set of sharing providers that an anchor reaches."""
        everything = sharing_pool(untainted(self._hosts.sharing(), self._taints))
        if not everything.sharing or self._anchors.start(everything).first is None:
            return
        pools: dict[frozenset[tuple[int, int]], Pool] = {}
        of_root = TermChecks(spanning_terms(self._request))
        for tree in self._hosts:
            self._budget.spend(COST_PER_STEP)
            if not self._may_anchor(tree) or self._plan.root_refusal(tree) is not None:
                continue
            pool = self._pools.pool(tree)
            if pool.sharing and not of_root.root_mask(tree.root):
                pools.setdefault(pool.reached, sharing_pool(pool.sharing))
        for pool in sorted(pools.values(), key=lambda pool: [each.uuid for each in pool.members]):
            yield self._anchors.start(pool)

    def _explain(self) -> Unplaced:
        """Return the reason why a search found nothing, as an explanation would.

        If the limit on work is reached, the reason covers only some of the hosts.
        """
        anchors: list[Tree] = []
        hosts = unreached = 0
        for tree in self._hosts:
            if self._may_anchor(tree):
                anchors.append(tree)
                hosts += not tree.is_pool
            else:
                unreached += not tree.is_pool
        counts: Counter[str] = Counter()
        texts: list[str] = []
        if hosts:
            steps = min(self._budget.steps_left, MAX_STEPS)
            explained = ExplainedHosts(self._request, self._budget, steps, relaxes=False)
            explained.add(anchors, self._pools)
            reasons = explained.reasons(len(anchors), self._names)
            texts.append(reasons.text)
            counts.update(reasons.counts)
        if unreached:
            texts.append(self._not_reached(unreached))
            counts[UNREACHED] = unreached
        if not texts:
            return NO_HOSTS
        # Hosts without inventory of the class are the reason only if there are no other hosts. If
        # no host was reached within the limit on work, it is unknown.
        others = {code: each for code, each in counts.items() if code != Refusal.NO_INVENTORY}
        found = others or counts or {OUT_OF_BUDGET.code: 0}
        return Unplaced(max(found, key=found.__getitem__), " ".join(texts))

    def _not_reached(self, hosts: int) -> str:
        """Return a sentence about hosts that do not reach the other allocations."""
        noun = "host does" if hosts == 1 else "hosts do"
        rest = sorted(self._rest)
        names = self._names(rest)
        elsewhere = joined([names.get(uuid, uuid) for uuid in rest], " and ")
        return f"{hosts:,} {noun} not reach {elsewhere}, which the consumer uses as well."


def _to_reach(hosts: CopiedHosts, rest: RootOf) -> list[tuple[str, frozenset[str]]]:
    """Return the root and the aggregates of each provider. Only sharing providers have any."""
    to_reach: list[tuple[str, frozenset[str]]] = []
    for provider, root in rest.items():
        tree = hosts.get(root)
        for member in () if tree is None else tree.members:
            if member.uuid == provider:
                shares = SHARING_TRAIT in member.traits
                to_reach.append((root, member.aggregates if shares else frozenset()))
    return to_reach
