"""The headroom of hosts that share resources, as an interval.

For the lower bound, consumers are placed on one host after the other, and then on sharing providers
alone. The upper bound is the minimum of several bounds: one for all hosts without sharing, and one
for all providers of each slot or class together.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from placement.candidates.constraints import Cards
from placement.candidates.model import Options, Pool, Row, SharingMember
from placement.candidates.search import SearchPlan
from placement.foresight.headroom.bounds import seats
from placement.foresight.headroom.pool_headroom import PoolHeadroom, PoolHeadrooms, only_sharing
from placement.objects.cards import CardFace, clashes
from placement.runtime.budget import COST_PER_STEP, Budget

# Root id and position of a provider.
ProviderKey = tuple[int, int]

# Provider and class.
SharedRow = tuple[ProviderKey, str]


@dataclass(slots=True, eq=False)
class SharedGroup:
    """Hosts whose data for a request is equal."""

    # One of the hosts.
    pool: Pool
    # The headroom of the host, if no other host uses the shared resources.
    headroom: PoolHeadroom
    # Providers that can serve each slot, or a part of it.
    options: Options
    # Normalized UUIDs of the aggregates of the roots.
    aggregates: frozenset[str]
    # Number of hosts.
    hosts: int = 1


class SharedHosts:
    """Collects the hosts that share resources, and computes how many consumers they take."""

    def __init__(
        self,
        plan: SearchPlan,
        pool_headrooms: PoolHeadrooms,
        sharing: Sequence[SharingMember],
        budget: Budget,
    ) -> None:
        """sharing: the sharing providers that can serve any slot."""
        self._plan = plan
        self._pool_headrooms = pool_headrooms
        self._budget = budget
        # (Root id, position) of the sharing providers.
        self._shared = {(each.tree.id, each.position) for each in sharing}
        # Ids of the roots of their trees.
        self._trees = {each.tree.id for each in sharing}
        # Key of equal hosts -> their group.
        self._groups: dict[Hashable, SharedGroup] = {}
        # Sharing providers of each slot -> their pool, with the aggregates of anchors.
        self._alone: dict[Hashable, SharedGroup] = {}

    def concerns(self, pool: Pool) -> bool:
        """Return whether an anchor reaches or contains a sharing provider that can serve a slot."""
        return not self._shared.isdisjoint(pool.reached) or (
            pool.anchor is not None and pool.anchor.id in self._trees
        )

    def add(self, pool: Pool, key: Hashable, headroom: PoolHeadroom) -> None:
        """Add a host.

        Args:
            pool: its providers.
            key: equal for equal hosts.
            headroom: its headroom if no other host uses the shared resources.
        """
        assert pool.anchor is not None
        if pool.anchor.id in self._trees:
            key = pool.anchor.id
        if key in self._groups:
            self._groups[key].hosts += 1
            return
        whole = options = self._pool_headrooms.options(pool)
        if self._plan.splittable:
            options = self._pool_headrooms.options(pool, in_parts=True)
        aggregates = pool.anchor.root.aggregates
        if pool.sharing and whole is not None and only_sharing(pool, whole):
            self._add_alone(pool, whole, aggregates)
        options = options or [()] * len(self._plan.slots)
        self._groups[key] = SharedGroup(pool, headroom, options, aggregates)

    def _add_alone(self, pool: Pool, options: Options, aggregates: frozenset[str]) -> None:
        """Add the sharing providers of a host as a separate pool."""
        local = pool.local
        of_sharing = [
            [position - local for position in providers if position >= local]
            for providers in options
        ]
        key = pool.reached, tuple(map(tuple, of_sharing))
        if key not in self._alone:
            alone = Pool(None, pool.members[local:], pool.sharing, pool.reached)
            headroom = self._pool_headrooms.find_among(alone, of_sharing)
            self._alone[key] = SharedGroup(alone, headroom, of_sharing, frozenset())
        self._alone[key].aggregates |= aggregates

    def bounds(self, key: str | None) -> tuple[int, int]:
        """Return how many consumers certainly fit, and how many fit at most.

        Args:
            key: normalized UUID of an aggregate of the roots, or None for all hosts.

        Raises:
            BudgetSpentError: the limit on work was reached.
        """
        groups = [
            group
            for group in (*self._groups.values(), *self._alone.values())
            if key is None or key in group.aggregates
        ]
        upper = self._upper(groups)
        return min(self._lower(groups), upper), upper

    # -- lower bound ---------------------------------------------------------------------------

    def _lower(self, groups: Iterable[SharedGroup]) -> int:
        # Free units that the hosts so far leave.
        left: dict[SharedRow, int] = {}
        # Card -> the faces that the hosts so far use. The hosts that use another one are not
        # counted, although they may be able to serve in the same way.
        used: dict[ProviderKey, set[str]] = {}
        total = 0
        for group in groups:
            self._budget.spend(COST_PER_STEP)
            hosts, headroom = group.hosts, group.headroom
            while hosts and headroom.lower:
                faces = self._shared_faces(group.pool, headroom.usage)
                if clashes(used, faces):
                    break
                for card, name in faces:
                    used.setdefault(card, set()).add(name)
                shared = self._shared_usage(group.pool, headroom.usage, left)
                numbers = [left[row] // units for row, units in shared.items()]
                times = min([hosts, *numbers])
                total += times * headroom.lower
                hosts -= times
                for row, units in shared.items():
                    left[row] -= units * times
                if hosts:
                    headroom = self._with_left(group, left)
        return total

    def _shared_usage(
        self, pool: Pool, usage: Mapping[Row, int], left: dict[SharedRow, int]
    ) -> Mapping[SharedRow, int]:
        """Return the usage of sharing providers, and add their free units to `left`."""
        shared: Counter[SharedRow] = Counter()
        for (position, name), units in usage.items():
            key = self._key(pool, position)
            if key in self._shared and units:
                shared[key, name] += units
                left.setdefault((key, name), pool.members[position].stocks[name].free)
        return shared

    def _shared_faces(self, pool: Pool, usage: Mapping[Row, int]) -> list[CardFace[ProviderKey]]:
        """Return the faces of cards in the trees of sharing providers that a usage belongs to."""
        rows = [row for row, units in usage.items() if units]
        own = 0 if pool.anchor is None else pool.anchor.id
        return [
            CardFace((tree_id or own, position), name)
            for (tree_id, position), name in Cards(self._plan, pool).faces_of(rows)
            if (tree_id or own) in self._trees
        ]

    def _with_left(self, group: SharedGroup, left: Mapping[SharedRow, int]) -> PoolHeadroom:
        """Return the headroom of a host with the shared units that the other hosts leave."""
        pool = group.pool
        usage: dict[Row, int] = {}
        for position, member in enumerate(pool.members):
            key = self._key(pool, position)
            for name, stock in member.stocks.items():
                if (key, name) in left:
                    usage[position, name] = stock.free - left[key, name]
        changed = pool.after(usage)
        if pool.anchor is not None:
            return self._pool_headrooms.find_whole(changed)
        options = [
            [
                position
                for position in providers
                if all(
                    changed.members[position].stocks[name].room >= units
                    for name, units in slot.resources
                )
            ]
            for slot, providers in zip(self._plan.slots, group.options, strict=True)
        ]
        if not all(options):
            return PoolHeadroom()
        return self._pool_headrooms.find_among(changed, options)

    def _key(self, pool: Pool, position: int) -> ProviderKey:
        if position < pool.local and pool.anchor is not None:
            return pool.anchor.id, position
        sharing = pool.sharing[position - pool.local]
        return sharing.tree.id, sharing.position

    # -- upper bound ---------------------------------------------------------------------------

    def _upper(self, groups: Sequence[SharedGroup]) -> int:
        """Return a number that no placement on all of these hosts can exceed."""
        plan = self._plan
        bounds = [sum(group.headroom.upper * group.hosts for group in groups)]
        for slot, (_group, resources) in enumerate(plan.slots):
            if resources and slot not in plan.splittable:
                bounds.append(self._total(groups, resources, [slot]))
        for name in plan.joint_classes:
            amounts = plan.amounts_of(name)
            units = sum(amounts.values())
            bounds.append(self._total(groups, [(name, 1)], amounts, units) // units)
        return min(bounds)

    def _total(
        self,
        groups: Iterable[SharedGroup],
        resources: Sequence[tuple[str, int]],
        slots: Iterable[int],
        units: int = 1,
    ) -> int:
        """Return how many times all providers of some slots together have the resources.

        Args:
            groups: the hosts.
            resources: (class, units) pairs.
            slots: the slots.
            units: how many times one consumer uses the resources.
        """
        total = 0
        shared: dict[ProviderKey, int] = {}
        for group in groups:
            providers = set().union(*[group.options[slot] for slot in slots])
            self._budget.spend(len(providers))
            own = 0
            for position, number in seats(group.pool, resources, providers).items():
                key = self._key(group.pool, position)
                if key in self._shared:  # counts once
                    shared[key] = number
                else:
                    own += number
            total += min(own, group.headroom.upper * units) * group.hosts
        return total + sum(shared.values())
