"""The state of a simulation, to which changes are applied one after the other."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import NamedTuple

from placement.candidates.request import CandidateRequest
from placement.candidates.search import Candidate
from placement.candidates.trees import ResolvedRequest
from placement.config import SpecialTraits
from placement.errors import Invalid
from placement.foresight.explanation.explained_hosts import ReadNames
from placement.foresight.simulation.consumers import (
    SIMULATED_PROJECT,
    Membership,
    MovableConsumer,
    Share,
    SpreadGroups,
    derived_request,
    membership_of,
    share_of,
)
from placement.foresight.simulation.copies import CopiedHosts
from placement.foresight.simulation.search import OUT_OF_BUDGET, RootOf, Searches
from placement.foresight.simulation.value import (
    Add,
    Allocations,
    Change,
    ClaimOnCopies,
    ConsumerMove,
    Drain,
    Mappings,
    Remove,
    RequestSource,
    Simulation,
    Unplaceable,
    Unplaced,
)
from placement.objects import identifiers
from placement.objects.claim_records import sum_by_class
from placement.runtime.budget import Budget, BudgetSpentError
from placement.vocabulary import SHARING_TRAIT

# The code of consumers for which a drained host serves only as a sharing provider.
SHARED = "shared"
# The code of consumers whose requests contain unknown names.
UNKNOWN_NAME = "unknown_name"

# Cost of copying one provider. The cost is high because copies use memory. By default, the limit on
# work allows about 160,000 copies.
COST_PER_COPY = 1000

# A request, or the error that reading it raised.
Resolved = ResolvedRequest | Invalid


class StatedRequests(NamedTuple):
    """The requests of consumers and claims, and their spread groups."""

    # Canonical consumer UUID -> the given or stored request for its new allocations.
    of_consumers: Mapping[str, Resolved]
    # Request of a claim, as given -> the request with resolved names.
    of_claims: Mapping[CandidateRequest, ResolvedRequest]
    # Canonical UUIDs of consumers with a given request.
    given: Collection[str]
    groups: SpreadGroups
    traits: SpecialTraits


class State:
    """The hosts and consumers after the changes that have been applied."""

    def __init__(
        self,
        hosts: CopiedHosts,
        consumers: Collection[MovableConsumer],
        stated: StatedRequests,
        budget: Budget,
        read_names: ReadNames,
    ) -> None:
        """Apply nothing yet.

        Args:
            hosts: the hosts as they are before any change.
            consumers: the consumers of all hosts that a change drains.
            stated: the requests of consumers and claims, and their spread groups.
            budget: limit on the work.
            read_names: returns the names of providers, for reasons.
        """
        self._hosts = hosts
        self._stated = stated
        # The spread groups, including the members that the simulation has placed so far.
        self._groups = stated.groups
        self._budget = budget
        self._read_names = read_names
        self._searches = Searches(hosts, budget, read_names)
        # Class -> capacity of the whole cloud before any change. It only ranks consumers.
        self._capacities = hosts.capacities() if consumers else {}
        # UUID of a root -> the consumers that have allocations from its tree.
        self._holders: dict[str, set[MovableConsumer]] = {}
        for consumer in consumers:
            self._index(consumer)
        # Consumer -> origin of its request, and the mappings of its latest allocations, or the
        # reason why it could not be moved.
        self._outcomes: dict[MovableConsumer, tuple[RequestSource, Mappings | Unplaced]] = {}
        # The outcomes of the claims, in the order of the changes.
        self._claims: list[Candidate | Unplaced] = []
        self._ended = False

    def apply(self, change: Change) -> None:
        """Apply a change, as far as the limit on work allows."""
        if isinstance(change, Drain):
            self._drain(change.roots)
        elif isinstance(change, Remove):
            for root in change.roots:
                self._remove(root)
        elif isinstance(change, ClaimOnCopies):
            self._claims.append(self._claim(change))
        else:
            self._add(change)

    def result(self) -> Simulation:
        """Return the result of all changes."""
        moves: list[ConsumerMove] = []
        unplaceable: list[Unplaceable] = []
        undecided: list[str] = []
        for consumer, (source, found) in self._outcomes.items():
            uuid = consumer.row.uuid
            if found is OUT_OF_BUDGET:
                undecided.append(uuid)
            elif isinstance(found, Unplaced):
                unplaceable.append(Unplaceable(uuid, found, source))
            elif consumer.allocations:
                moves.append(consumer.move(source, found))
        claimed = all(isinstance(claim, Candidate) for claim in self._claims)
        return Simulation(
            None if self._ended else claimed and not unplaceable,
            moves,
            unplaceable,
            undecided,
            self._claims,
            complete=not self._ended,
        )

    def _find(
        self, request: CandidateRequest, member: Membership | None, rest: RootOf
    ) -> Candidate | Unplaced:
        """Return a candidate on hosts where the spread group has room for a further member."""
        trees = map(self._hosts.get, self._groups.full(member))
        full_hosts = frozenset(
            tree.uuid for tree in trees if tree and SHARING_TRAIT not in tree.root.traits
        )
        try:
            return self._searches.find(replace(request, full_hosts=full_hosts), rest)
        except BudgetSpentError:
            self._ended = True
            return OUT_OF_BUDGET

    # -- hosts ---------------------------------------------------------------------------------

    def _add(self, change: Add) -> None:
        model = self._hosts.get(change.like)
        if model is None:  # the limit on work has prevented an earlier change
            return
        try:
            for _ in range(change.count):
                self._budget.spend(COST_PER_COPY * len(model.members))
                self._hosts.add_like(model)
        except BudgetSpentError:
            self._ended = True

    def _remove(self, root: str) -> None:
        for consumer in self._holders.pop(root, ()):
            _removed, consumer.allocations = consumer.split({root})
        self._hosts.remove(root)

    # -- consumers -----------------------------------------------------------------------------

    def _drain(self, roots: Collection[str]) -> None:
        """Drain several hosts together. Their largest consumers move first."""
        drained = frozenset(roots)
        for root in drained:
            self._hosts.drain(root)
        consumers = {each for root in drained for each in self._holders.get(root, ())}

        def order(consumer: MovableConsumer) -> tuple[Share, str]:
            held, _elsewhere = consumer.split(drained)
            total, share = share_of(held, self._capacities)
            return (not total, -share), consumer.row.uuid

        for consumer in sorted(consumers, key=order):
            self._relocate(consumer)

    def _relocate(self, consumer: MovableConsumer) -> None:
        """Find new allocations for a consumer, and record the outcome."""
        key = identifiers.key(consumer.row.uuid)
        stated = self._stated.of_consumers.get(key)
        source = RequestSource.DERIVED if stated is None else RequestSource.REMEMBERED
        if key in self._stated.given:
            source = RequestSource.GIVEN
        if consumer.origins is None:
            consumer.origins = consumer.roots
        self._groups.count(consumer.member, consumer.roots, -1)
        found = self._move(consumer, stated)
        self._groups.count(consumer.member, consumer.roots)
        self._outcomes[consumer] = source, found

    def _move(self, consumer: MovableConsumer, stated: Resolved | None) -> Mappings | Unplaced:
        """Move a consumer and return its mappings, or return the reason why it cannot be moved.

        Args:
            stated: the request, or None to move the allocations of drained hosts as they are.
        """
        if isinstance(stated, Invalid):
            return Unplaced(UNKNOWN_NAME, str(stated))
        held, elsewhere = consumer.split(self._hosts.drained)
        kept, released = (elsewhere, {}) if stated is None else ({}, elsewhere)
        if stated is not None:
            request = stated.request
        elif shared := self._shared_root(consumer, held):
            name = self._read_names([shared]).get(shared, shared)
            text = f"{name} serves it only as a sharing provider; state a request for it."
            return Unplaced(SHARED, text)
        else:
            request = derived_request(held, self._stated.traits)
        rest = {provider: consumer.root_of[provider] for provider in kept}
        # The search uses the hosts without the released allocations of the consumer.
        self._hosts.release(released, consumer.root_of)
        found = self._find(request, consumer.member, rest)
        if isinstance(found, Unplaced):
            self._hosts.allocate(released, consumer.root_of)
            return found
        self._place(consumer, found, kept)
        return {} if stated is None else found.mappings

    def _shared_root(self, consumer: MovableConsumer, held: Allocations) -> str | None:
        """Return a drained root that serves a consumer only as a sharing provider, or None."""
        for root in sorted({consumer.root_of[provider] for provider in held}):
            tree = self._hosts.get(root)
            of_root, elsewhere = consumer.split({root})
            if tree is not None and elsewhere:
                sharing = {each.uuid for each in tree.members if SHARING_TRAIT in each.traits}
                if of_root.keys() <= sharing:
                    return root
        return None

    def _place(self, consumer: MovableConsumer, candidate: Candidate, kept: Allocations) -> None:
        """Allocate a candidate to a consumer, in addition to the allocations that it keeps."""
        for root in consumer.roots:
            self._holders[root].discard(consumer)
        consumer.root_of |= self._allocate(candidate)
        found = candidate.allocations
        consumer.allocations = {
            provider: sum_by_class([held.get(provider, {}) for held in (kept, found)])
            for provider in (*kept, *found)
        }
        self._index(consumer)

    def _allocate(self, candidate: Candidate) -> RootOf:
        """Add the allocations of a candidate, and return provider UUID -> UUID of its root."""
        roots = {
            member.uuid: tree.uuid
            for tree in candidate.trees
            for member in tree.members
            if member.uuid in candidate.allocations
        }
        self._hosts.allocate(candidate.allocations, roots)
        return roots

    def _index(self, consumer: MovableConsumer) -> None:
        for root in consumer.roots:
            self._holders.setdefault(root, set()).add(consumer)

    # -- claims --------------------------------------------------------------------------------

    def _claim(self, change: ClaimOnCopies) -> Candidate | Unplaced:
        request = self._stated.of_claims[change.request].request
        member = membership_of(change.spread, SIMULATED_PROJECT)
        found = self._find(request, member, {})
        if isinstance(found, Candidate):
            self._groups.count(member, self._allocate(found).values())
        return found
