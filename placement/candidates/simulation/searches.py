"""The searches of one simulation. Equal requests share a search."""

from collections.abc import Callable, Hashable, Mapping

from placement.bounded import SizeLimitedDict
from placement.candidates.budget import Budget
from placement.candidates.explanation.explained_hosts import ReadNames
from placement.candidates.model import Tree
from placement.candidates.request import CandidateRequest
from placement.candidates.search.candidate import Candidate
from placement.candidates.simulation.first_host import HostSearch, Why
from placement.candidates.simulation.hosts import SimulatedHosts
from placement.vocabulary import SHARING_TRAIT

# Maximum number of cached searches, each of which may refer to all hosts.
MAX_SEARCHES = 64

# Provider UUID -> UUID of its root.
RootOf = Mapping[str, str]


class Searches:
    """Finds the first candidates of requests, while the hosts change."""

    def __init__(self, hosts: SimulatedHosts, budget: Budget, names: ReadNames) -> None:
        """Search nothing yet.

        Args:
            hosts: the hosts to search.
            budget: limit on the work.
            names: returns the names of providers, for the reasons why nothing was found.
        """
        self._hosts = hosts
        self._names = names
        self._budget = budget
        # Key of the request -> its search. The oldest searches are removed first.
        self._searches: SizeLimitedDict[HostSearch] = SizeLimitedDict(MAX_SEARCHES, lambda _: 1)

    def find(
        self,
        request: CandidateRequest,
        *,
        rest: RootOf | None = None,
    ) -> Candidate | Why:
        """Return the first candidate, or the reason why there is none.

        Args:
            request: the request, with resolved terms and a root term per taint.
            rest: providers of the consumer's other allocations, all of which a host must reach.

        Raises:
            BudgetSpentError: the search reached a limit.
        """
        key: Hashable = (request, tuple(sorted((rest or {}).items())))
        search = self._searches.get(key)
        if search is None:
            reaches = _reaches(self._hosts, rest) if rest else None
            search = HostSearch(
                request,
                self._hosts,
                self._budget,
                names=self._names,
                reaches=reaches,
                rest=rest or (),
            )
            self._searches[key] = search
        candidate = search.find()
        return search.why() if candidate is None else candidate


def _reaches(hosts: SimulatedHosts, rest: RootOf) -> Callable[[Tree], bool]:
    """Return a function that returns whether all providers are in the pool of an anchor."""
    roots = set(rest.values())
    # The aggregates of sharing providers, by the root of their tree.
    shared: dict[str, list[frozenset[str]]] = {root: [] for root in roots}
    for provider, root in rest.items():
        tree = hosts.get(root)
        for member in () if tree is None else tree.members:
            if member.uuid == provider:
                does_share = SHARING_TRAIT in member.traits
                shared[root].append(member.aggregates if does_share else frozenset())

    def reaches(anchor: Tree) -> bool:
        return all(
            not anchor.aggregates.isdisjoint(aggregates)
            for root in roots
            if root != anchor.uuid
            for aggregates in shared[root]
        )

    return reaches
