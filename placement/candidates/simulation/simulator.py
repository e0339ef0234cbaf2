"""Apply the changes of a simulation one after the other."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from placement.candidates.budget import Budget, BudgetSpentError
from placement.candidates.explanation.explained_hosts import ReadNames
from placement.candidates.search.candidate import Candidate
from placement.candidates.simulation.changes import Add, Change, ClaimOnCopies, Drain, Remove
from placement.candidates.simulation.consumers import (
    MovableConsumer,
    derived_request,
    share_of,
    totals_of,
)
from placement.candidates.simulation.first_host import OUT_OF_BUDGET, Why
from placement.candidates.simulation.hosts import SimulatedHosts, capacities
from placement.candidates.simulation.records import StatedRequests, group_of_claim
from placement.candidates.simulation.result import (
    Allocations,
    ConsumerMove,
    Mappings,
    RequestSource,
    SimulatedClaim,
    Simulation,
    Unplaceable,
)
from placement.candidates.simulation.searches import Searches
from placement.errors import Invalid
from placement.objects import identifiers
from placement.vocabulary import SHARING_TRAIT

# The code of consumers for which a drained host serves only as a sharing provider.
SHARED = "shared"
# The code of consumers whose requests contain unknown names.
UNKNOWN_NAME = "unknown_name"


class Simulator:
    """The state of a simulation."""

    def __init__(
        self,
        hosts: SimulatedHosts,
        consumers: Iterable[MovableConsumer],
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
        # Finds candidates for consumers and claims.
        self._searches = Searches(hosts, budget, read_names)
        # Returns the names of providers.
        self._read_names = read_names
        self._budget = budget
        # UUID -> consumer.
        self._consumers = {consumer.uuid: consumer for consumer in consumers}
        names = {name for each in self._consumers.values() for name in totals_of(each.allocations)}
        # Class -> capacity of the whole cloud before any change.
        self._capacities = capacities(hosts.all(), names)
        # UUID of a root -> UUIDs of the consumers that have allocations from its tree.
        self._holders: dict[str, set[str]] = {}
        for consumer in self._consumers.values():
            self._index(consumer)
        # Consumer UUID -> UUIDs of the roots that it used before its first move.
        self._origins: dict[str, Sequence[str]] = {}
        # Consumer UUID -> origin and mappings of the request that found its latest allocations.
        self._moved: dict[str, tuple[RequestSource, Mappings]] = {}
        # Consumer UUID -> the reason why it could not be moved.
        self._unplaceable: dict[str, Unplaceable] = {}
        # UUIDs of consumers that were skipped because of the limit on work, in order.
        self._undecided: dict[str, None] = {}
        # The outcomes of the claims, in the order of the changes.
        self._claims: list[SimulatedClaim] = []
        # Whether the limit on work has been reached.
        self._ended = False

    def run(self, changes: Iterable[Change]) -> Simulation:
        """Apply the changes and return the result."""
        for change in changes:
            if isinstance(change, Drain):
                self._drain(change.roots)
            elif isinstance(change, ClaimOnCopies):
                self._claims.append(self._claim(change))
            else:
                self._change_hosts(change)
        claimed = all(claim.allocations is not None for claim in self._claims)
        return Simulation(
            None if self._ended else claimed and not self._unplaceable,
            [self._move(uuid) for uuid in self._moved if self._consumers[uuid].allocations],
            list(self._unplaceable.values()),
            list(self._undecided),
            self._claims,
            complete=not self._ended,
        )

    def _change_hosts(self, change: Add | Remove) -> None:
        if isinstance(change, Remove):
            for root in change.roots:
                self._remove(root)
            return
        try:
            for _ in range(0 if self._ended else change.count):
                self._hosts.add_like(change.like)
        except BudgetSpentError:
            self._ended = True

    def _remove(self, root: str) -> None:
        for uuid in self._holders.pop(root, ()):
            consumer = self._consumers[uuid]
            consumer.allocations = consumer.held_elsewhere({root})
        if not self._ended:
            self._hosts.remove(root)

    # -- consumers ---------------------------------------------------------------------------

    def _drain(self, roots: Collection[str]) -> None:
        """Drain several hosts together. Their largest consumers move first."""
        drained = set(roots)
        if not self._ended:
            for root in roots:
                self._hosts.drain(root)
        uuids = {uuid for root in drained for uuid in self._holders.get(root, ())}
        consumers = [self._consumers[uuid] for uuid in uuids]
        shares = {
            each.uuid: share_of(each.held_of(drained), self._capacities) for each in consumers
        }
        # Sort by UUID first. The sort by shares is stable and keeps this order.
        consumers.sort(key=lambda each: each.uuid)
        consumers.sort(key=lambda each: shares[each.uuid], reverse=True)
        for consumer in consumers:
            self._relocate(consumer)

    def _relocate(self, consumer: MovableConsumer) -> None:
        """Find new allocations for a consumer, and record the outcome."""
        uuid = consumer.uuid
        self._origins.setdefault(uuid, consumer.roots)
        source = self._source(uuid)
        for outcome in (self._unplaceable, self._undecided):
            outcome.pop(uuid, None)
        if not self._ended:
            try:
                found = self._find_place_in_group(consumer)
            except BudgetSpentError:
                self._ended = True
        if self._ended:
            self._moved.pop(uuid, None)
            self._undecided[uuid] = None
        elif isinstance(found, Why):
            self._moved.pop(uuid, None)
            self._unplaceable[uuid] = Unplaceable(uuid, found.code, found.text, source)
        else:
            self._moved[uuid] = (source, found)

    def _source(self, uuid: str) -> RequestSource:
        key = identifiers.key(uuid)
        if key in self._stated.given:
            return RequestSource.GIVEN
        is_known = key in self._stated.of_consumers
        return RequestSource.REMEMBERED if is_known else RequestSource.DERIVED

    def _find_place_in_group(self, consumer: MovableConsumer) -> Mappings | Why:
        """Move a consumer like `_find_place`, but not to hosts that its spread group has filled."""
        member = self._groups.of_consumer(consumer.uuid)
        if member is None:
            return self._find_place(consumer, frozenset())
        group, max_per_host = member
        self._groups.remove(group, self._counted(consumer.roots))
        try:
            full_hosts = self._groups.full_hosts(group, max_per_host)
            return self._find_place(consumer, full_hosts)
        finally:
            self._groups.add(group, self._counted(consumer.roots))

    def _counted(self, roots: Iterable[str]) -> list[str]:
        """Return the hosts on which members of spread groups are counted."""
        trees = [tree for root in roots if (tree := self._hosts.get(root)) is not None]
        return [tree.uuid for tree in trees if SHARING_TRAIT not in tree.root.traits]

    def _find_place(self, consumer: MovableConsumer, full_hosts: frozenset[str]) -> Mappings | Why:
        """Move a consumer and return its mappings, or return the reason why it cannot be moved.

        Raises:
            BudgetSpentError: the search reached a limit.
        """
        request = self._stated.of_consumers.get(identifiers.key(consumer.uuid))
        if request is None:
            return self._find_equal_place(consumer, full_hosts)
        if isinstance(request, Invalid):
            return Why(UNKNOWN_NAME, str(request))
        # The search uses the hosts without the allocations of the consumer.
        elsewhere = consumer.held_elsewhere(self._hosts.drained)
        if elsewhere:
            self._hosts.release(elsewhere, consumer.root_of)
        asked = replace(request.request, full_hosts=full_hosts)
        candidate = self._searches.find(asked)
        if isinstance(candidate, Why):
            if elsewhere:
                self._hosts.allocate(elsewhere, consumer.root_of)
            return candidate
        self._place(consumer, candidate, {})
        return candidate.mappings

    def _find_equal_place(
        self, consumer: MovableConsumer, full_hosts: frozenset[str]
    ) -> Mappings | Why:
        """Move the allocations of a consumer from drained hosts."""
        held = consumer.held_of(self._hosts.drained)
        rest = consumer.held_elsewhere(self._hosts.drained)
        shared = self._shared_root(consumer, held)
        if shared is not None:
            name = self._read_names([shared]).get(shared, shared)
            text = f"{name} serves it only as a sharing provider; state a request for it."
            return Why(SHARED, text)
        roots = {provider: consumer.root_of[provider] for provider in rest}
        request = replace(derived_request(held, self._stated.taints), full_hosts=full_hosts)
        candidate = self._searches.find(request, rest=roots)
        if isinstance(candidate, Why):
            return candidate
        self._place(consumer, candidate, rest)
        return {}

    def _shared_root(self, consumer: MovableConsumer, held: Allocations) -> str | None:
        """Return a drained root that serves a consumer only as a sharing provider, or None."""
        for root in sorted({consumer.root_of[provider] for provider in held}):
            tree = self._hosts.get(root)
            if tree is None or not consumer.held_elsewhere({root}):
                continue
            sharing = {each.uuid for each in tree.members if SHARING_TRAIT in each.traits}
            if consumer.held_of({root}).keys() <= sharing:
                return root
        return None

    def _place(self, consumer: MovableConsumer, candidate: Candidate, rest: Allocations) -> None:
        """Allocate a candidate to a consumer, in addition to its other allocations."""
        consumer.root_of |= self._allocate(candidate)
        allocations = {provider: dict(amounts) for provider, amounts in rest.items()}
        for provider, amounts in candidate.allocations.items():
            held = allocations.setdefault(provider, {})
            for name, amount in amounts.items():
                held[name] = held.get(name, 0) + amount
        for root in consumer.roots:
            self._holders[root].discard(consumer.uuid)
        consumer.allocations = allocations
        self._index(consumer)

    def _allocate(self, candidate: Candidate) -> Mapping[str, str]:
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
            self._holders.setdefault(root, set()).add(consumer.uuid)

    def _move(self, uuid: str) -> ConsumerMove:
        consumer = self._consumers[uuid]
        source, mappings = self._moved[uuid]
        row = consumer.row
        return ConsumerMove(
            uuid,
            self._origins[uuid],
            consumer.roots,
            source,
            consumer.allocations,
            mappings,
            row.project,
            row.user,
            row.generation,
            row.consumer_type,
        )

    # -- claims ------------------------------------------------------------------------------

    def _claim(self, change: ClaimOnCopies) -> SimulatedClaim:
        if self._ended:
            return SimulatedClaim(code=OUT_OF_BUDGET.code, text=OUT_OF_BUDGET.text)
        resolved = self._stated.of_claims[change.request]
        request, spread = resolved.request, change.spread
        if spread is not None:
            full_hosts = self._groups.full_hosts(group_of_claim(spread), spread.max_per_host)
            request = replace(request, full_hosts=full_hosts)
        try:
            found = self._searches.find(request)
            if isinstance(found, Candidate):
                roots = self._allocate(found)
                if spread is not None:
                    self._groups.add(group_of_claim(spread), self._counted(roots.values()))
                return SimulatedClaim(found.allocations, found.mappings)
        except BudgetSpentError:
            self._ended = True
            found = OUT_OF_BUDGET
        return SimulatedClaim(code=found.code, text=found.text)
