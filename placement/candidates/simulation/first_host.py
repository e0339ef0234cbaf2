"""The search of a simulation. It returns the first candidate of the first host that has one.

It uses the trees, plans, terms, constraints and solver of other searches, and only the order
differs. Candidates with only sharing providers come after candidates with other providers.
Candidates with a split come last.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import NamedTuple

from placement.candidates.budget import COST_PER_STEP, Budget
from placement.candidates.explanation.explained_hosts import ExplainedHosts, ReadNames
from placement.candidates.explanation.words.phrases import each_of
from placement.candidates.model import Pool, SharingMember, Tree
from placement.candidates.plan import SearchPlan
from placement.candidates.request import CandidateRequest
from placement.candidates.search.anchors import AnchorSearches, Search
from placement.candidates.search.candidate import Candidate
from placement.candidates.search.ordered import all_share
from placement.candidates.search.split_search import SplitSearches
from placement.candidates.simulation.hosts import SimulatedHosts
from placement.candidates.simulation.least import LeastCandidate, candidate_key
from placement.candidates.terms import RootRole, TermChecks, Untainted, of_kind
from placement.candidates.trace import Refusal, Trace
from placement.candidates.trees.sharing import AnchorPools, sharing_pool, untainted
from placement.inventory import fits
from placement.vocabulary import SHARING_TRAIT

# Maximum number of candidates with a split that the search compares on one host.
MAX_SPLITS = 1000

# The work of which the explanation of one host may use a share, in steps. The share takes less than
# 50 ms, because other threads do not run while it is used.
MAX_STEPS = 800_000


class Why(NamedTuple):
    """The reason why a search found nothing."""

    # A code of explanations or of simulations.
    code: str
    # The explanation of the search.
    text: str


NO_HOSTS = Why("no_hosts", "There is no host.")
OUT_OF_BUDGET = Why(Refusal.BUDGET, "The limit on work ended the simulation.")
# The code of hosts that do not reach the providers of the other allocations of the consumer.
UNREACHED = "rest"


class HostSearch:
    """Repeated searches for one request. The hosts may change between the searches."""

    def __init__(
        self,
        request: CandidateRequest,
        hosts: SimulatedHosts,
        budget: Budget,
        *,
        names: ReadNames,
        reaches: Callable[[Tree], bool] | None = None,
        rest: Collection[str] = (),
    ) -> None:
        """Search nothing yet.

        Args:
            request: the request, with resolved terms and a root term per taint.
            hosts: the hosts to search.
            budget: limit on the work.
            names: returns the names of providers, for the reason why nothing was found.
            reaches: returns whether a tree may be the anchor. With None, any tree may.
            rest: UUIDs of the providers of the consumer's other allocations.
        """
        self._request = request
        self._names = names
        # Traits of roots whose sharing providers the request cannot use.
        self._taints = frozenset(term.name for term in of_kind(request.root, Untainted))
        self._hosts = hosts
        self._budget = budget
        self._reaches = reaches
        # Providers of the other allocations, for the reason.
        self._rest = sorted(rest)
        # The reason why nothing was found, or None until it is known. It is valid until hosts gain
        # capacity: until then, the hosts cannot serve the request, even if others fill up.
        self._why: Why | None = None
        # The value of `hosts.gains` at the latest search.
        self._gains = hosts.gains
        # The value of `hosts.sharing_changes` at the latest search, or -1 to create a new plan.
        self._sharing_changes = -1
        # Roots of hosts that have no candidate with a provider that does not share.
        self._refused: set[str] = set()
        # Whether the latest search found nothing, and later changes cannot have added a candidate.
        self._found_nothing = False
        # Whether several providers may serve an amount in parts.
        self._can_split = any(group.can_split for group in request.groups)
        self._renew()

    def _renew(self) -> None:
        """Discard cached data that is invalid after changes of hosts."""
        hosts = self._hosts
        if self._gains != hosts.gains:
            self._gains = hosts.gains
            self._refused.clear()
            self._found_nothing = False
            self._why = None
            self._sharing_changes = -1
        if self._sharing_changes != hosts.sharing_changes:
            self._sharing_changes = hosts.sharing_changes
            # A plan caches which sharing providers have capacity.
            self._plan = SearchPlan(self._request)
            self._anchors = AnchorSearches(self._plan, self._budget, Trace())
            sharing = untainted(hosts.sharing(), self._taints)
            # The sharing providers that at least one anchor may use.
            self._sharing = [each for each in sharing if self._may_use(each)]
            self._pools = AnchorPools(self._sharing, self._budget.spend)

    def _may_use(self, provider: SharingMember) -> bool:
        return any(_has_room(provider, dict(slot.resources)) for slot in self._plan.slots)

    def find(self) -> Candidate | None:
        """Return the first candidate, or None.

        Raises:
            BudgetSpentError: the search reached a limit.
        """
        self._renew()
        self._budget.spend(COST_PER_STEP)
        if self._found_nothing:
            return None
        self._budget.spend(len(self._refused))
        for found in (self._anchored, self._all_sharing, self._reached_only, self._split):
            candidate = found()
            if candidate is not None:
                return candidate
        # If capacity only decreases, no candidates are added, unless an amount can be split.
        self._found_nothing = not self._can_split
        return None

    def why(self) -> Why:
        """Return the reason why the latest search found nothing, as an explanation would.

        If the limit on work is reached, the reason covers only some of the hosts.
        """
        if self._why is None:
            self._why = self._find_why()
        return self._why

    def _find_why(self) -> Why:
        budget = self._budget
        steps = min(budget.steps_left, MAX_STEPS)
        hosts = [tree for tree in self._hosts if self._may_anchor(tree)]
        # Unlike the search, an explanation needs the sharing providers without capacity.
        pools = AnchorPools(self._hosts.sharing(), budget.spend, self._taints)
        counts: Counter[str] = Counter()
        texts: list[str] = []
        if not all(tree.is_pool for tree in hosts):
            explained = ExplainedHosts(self._request, budget, steps, relaxes=False)
            explained.add(hosts, pools)
            explanation = explained.explanation(len(hosts), self._names)
            texts.append(explanation.text)
            for each in explanation.blocked:
                counts[each.code] += each.hosts
        unreached = self._count_unreached()
        if unreached:
            noun = "host does" if unreached == 1 else "hosts do"
            names = self._names(self._rest)
            elsewhere = each_of([names.get(uuid, uuid) for uuid in self._rest])
            texts.append(
                f"{unreached:,} {noun} not reach {elsewhere}, which the consumer uses as well."
            )
            counts[UNREACHED] = unreached
        if not texts:
            return NO_HOSTS
        # Hosts without inventory of the class are the reason only if there are no other hosts. If
        # no host was reached within the limit on work, it is unknown.
        others = {code: each for code, each in counts.items() if code != Refusal.NO_INVENTORY}
        found = others or counts or {OUT_OF_BUDGET.code: 0}
        return Why(max(found, key=found.__getitem__), " ".join(texts))

    def _count_unreached(self) -> int:
        """Return the number of hosts that do not reach the other allocations of the consumer."""
        return sum(not self._may_anchor(tree) and not tree.is_pool for tree in self._hosts)

    def _anchored(self) -> Candidate | None:
        """Return the first candidate with a provider that does not share."""
        refused = self._refused
        for uuid in self._hosts.uuids():
            if uuid in refused:
                continue
            tree = self._tree(uuid)
            if self._reaches is not None and not self._reaches(tree):
                self._budget.spend(len(tree.members))
                refused.add(uuid)
                continue
            pool = self._pools.pool(tree)
            search = self._anchors.start(pool)
            first = search.first
            if first is not None:
                candidate = self._least(pool, search, first)
                if candidate is not None:
                    return candidate
            refused.add(uuid)
        return None

    def _least(self, pool: Pool, search: Search, first: Candidate) -> Candidate | None:
        """Return the first candidate of a pool with a provider that does not share."""
        shares = _sharing_positions(pool)
        if not shares:
            if search.exhausted:
                return first
            return LeastCandidate(self._plan, pool, self._budget).find()
        own = [position for position in range(len(pool.members)) if position not in shares]
        return LeastCandidate(self._plan, pool, self._budget).find(one_of=own)

    def _all_sharing(self) -> Candidate | None:
        """Return the first candidate with only sharing providers, one of them in its own tree."""
        for tree in self._hosts.that_share():
            if not self._may_anchor(tree):
                continue
            pool = self._pools.pool(tree)
            shares = _sharing_positions(pool)
            local = [position for position in shares if position < pool.local]
            if local and self._plan.root_refusal(tree) is None:
                least = LeastCandidate(self._plan, pool, self._budget)
                candidate = least.find(among=shares, one_of=local)
                if candidate is not None:
                    return candidate
        return None

    def _reached_only(self) -> Candidate | None:
        """Return the first candidate of sharing providers that uses no provider of an anchor."""
        plan = self._plan
        for slot in plan.slots:
            if not any(_has_room(each, dict(slot.resources)) for each in self._sharing):
                return None
        found = [LeastCandidate(plan, pool, self._budget).find() for pool in self._reached_pools()]
        candidates = [candidate for candidate in found if candidate is not None]
        return min(candidates, key=candidate_key, default=None)

    def _reached_pools(self) -> Collection[Pool]:
        """Return each set of sharing providers that an anchor reaches, as a pool without anchor."""
        pools: dict[frozenset[tuple[int, int]], Pool] = {}
        of_root = TermChecks(
            term
            for group in self._request.groups
            if not group.suffixed
            for term in group.terms
            if term.root_role is RootRole.REQUIRED
        )
        for tree in self._hosts if self._sharing else ():
            self._budget.spend(COST_PER_STEP)
            if not self._may_anchor(tree) or self._plan.root_refusal(tree) is not None:
                continue
            pool = self._pools.pool(tree)
            if pool.sharing and not of_root.root_mask(tree.root):
                self._budget.spend(len(pool.sharing))
                pools.setdefault(pool.reached, sharing_pool(pool.sharing))
        return pools.values()

    def _split(self) -> Candidate | None:
        """Return the first candidate with a split."""
        if not self._can_split:
            return None
        searches = SplitSearches(SearchPlan(self._request, splits=True), self._budget)
        shared: Candidate | None = None
        for tree in self._hosts:
            if not self._may_anchor(tree):
                continue
            kinds: dict[bool, list[Candidate]] = {False: [], True: []}
            for candidate in _candidates(searches.start(self._pools.pool(tree))):
                kinds[all_share(candidate)].append(candidate)
            if kinds[False]:
                return min(kinds[False], key=candidate_key)
            if kinds[True] and shared is None:
                shared = min(kinds[True], key=candidate_key)
        return shared

    def _may_anchor(self, tree: Tree) -> bool:
        return self._reaches is None or self._reaches(tree)

    def _tree(self, uuid: str) -> Tree:
        tree = self._hosts.get(uuid)
        assert tree is not None
        return tree


def _candidates(search: Search) -> Iterator[Candidate]:
    """Yield the first candidates of a search."""
    if search.first is not None:
        yield search.first
    for _ in range(1, MAX_SPLITS):
        candidate = search.next()
        if candidate is None:
            return
        yield candidate


def _sharing_positions(pool: Pool) -> frozenset[int]:
    return frozenset(
        position for position, member in enumerate(pool.members) if SHARING_TRAIT in member.traits
    )


def _has_room(provider: SharingMember, amounts: Mapping[str, int]) -> bool:
    stocks = provider.member.stocks
    return all(name in stocks and fits(stocks[name], amounts[name]) for name in amounts)
