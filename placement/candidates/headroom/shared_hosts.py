"""The headroom of hosts that share resources, as an interval.

For the lower bound, consumers are placed on one host after the other, and then on sharing providers
alone. The upper bound is the minimum of several bounds: one for all hosts without sharing, and one
for all providers of each slot or class together.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from placement.candidates.budget import COST_PER_STEP, Budget
from placement.candidates.headroom.bounds import seats_of
from placement.candidates.headroom.host_room import RoomFinder, only_sharing
from placement.candidates.headroom.room import HostRoom, Row, room_in
from placement.candidates.model import Options, Pool, SharingMember
from placement.candidates.plan import SearchPlan

# Root id and position of a provider.
ProviderKey = tuple[int, int]

# Provider and class.
SharedRow = tuple[ProviderKey, str]


@dataclass(slots=True, eq=False)
class SharedGroup:
    """Hosts whose data for a request is equal."""

    # One of the hosts.
    pool: Pool
    # The room of the host, if no other host uses the shared resources.
    room: HostRoom
    # Providers that can serve each slot, or a part of it.
    options: Options
    # Number of hosts.
    hosts: int = 1

    @property
    def aggregates(self) -> frozenset[str]:
        """Normalized UUIDs of the aggregates of each root. Sharing providers alone have none."""
        anchor = self.pool.anchor
        return frozenset() if anchor is None else anchor.root.aggregates


class SharedHosts:
    """Collects the hosts that share resources, and computes how many consumers they take."""

    def __init__(
        self,
        plan: SearchPlan,
        finder: RoomFinder,
        sharing: Sequence[SharingMember],
        budget: Budget,
    ) -> None:
        """sharing: the sharing providers that can serve any slot."""
        self._plan = plan
        self._finder = finder
        self._budget = budget
        # (Root id, position) of the sharing providers.
        self._shared = {(each.tree.id, each.position) for each in sharing}
        # Ids of the roots of their trees.
        self._trees = {each.tree.id for each in sharing}
        # Key of equal hosts -> their group.
        self._groups: dict[Hashable, SharedGroup] = {}
        # Sharing providers of each slot -> their pool, with the aggregates of anchors.
        self._alone: dict[Hashable, tuple[SharedGroup, set[str]]] = {}

    def concerns(self, pool: Pool) -> bool:
        """Return whether an anchor reaches or contains a sharing provider that can serve a slot."""
        return not self._shared.isdisjoint(pool.reached) or (
            pool.anchor is not None and pool.anchor.id in self._trees
        )

    def add(self, pool: Pool, key: Hashable, room: HostRoom) -> None:
        """Add a host.

        Args:
            pool: its providers.
            key: equal for equal hosts.
            room: its room if no other host uses the shared resources.
        """
        assert pool.anchor is not None
        if pool.anchor.id in self._trees:
            key = pool.anchor.id
        group = self._groups.get(key)
        if group is not None:
            group.hosts += 1
            return
        whole = self._finder.options(pool)
        parts = self._plan.splittable
        options = self._finder.options(pool, in_parts=True) if parts else whole
        group = SharedGroup(pool, room, options or [()] * len(self._plan.slots))
        if pool.sharing and whole is not None and only_sharing(pool, whole):
            self._add_alone(pool, whole)
        self._groups[key] = group

    def _add_alone(self, pool: Pool, options: Options) -> None:
        """Add the sharing providers of a host as a separate pool."""
        local = pool.local
        of_sharing = [
            [position - local for position in providers if position >= local]
            for providers in options
        ]
        key = pool.reached, tuple(map(tuple, of_sharing))
        if key not in self._alone:
            alone = Pool(None, pool.members[local:], pool.sharing, pool.reached)
            group = SharedGroup(alone, self._finder.find_in(alone, of_sharing), of_sharing)
            self._alone[key] = group, set()
        assert pool.anchor is not None
        self._alone[key][1].update(pool.anchor.root.aggregates)

    def bounds(self, key: str | None) -> tuple[int, int]:
        """Return how many consumers certainly fit, and how many fit at most.

        Args:
            key: normalized UUID of an aggregate of the roots, or None for all hosts.

        Raises:
            BudgetSpentError: the limit on work was reached.
        """
        groups = [
            group for group in self._groups.values() if key is None or key in group.aggregates
        ]
        alone = [
            group for group, aggregates in self._alone.values() if key is None or key in aggregates
        ]
        upper = self._upper([*groups, *alone])
        return min(self._lower([*groups, *alone]), upper), upper

    # -- lower bound ---------------------------------------------------------------------------

    def _lower(self, groups: Iterable[SharedGroup]) -> int:
        left: dict[SharedRow, int] = {}
        total = 0
        for group in groups:
            self._budget.spend(COST_PER_STEP)
            hosts, room = group.hosts, group.room
            while hosts and room.lower:
                shared = self._shared_usage(group.pool, room)
                for row in shared.keys() - left.keys():
                    left[row] = self._free(group.pool, row)
                fits = [left[row] // units for row, units in shared.items() if units]
                times = min([hosts, *fits])
                if times:
                    total += times * room.lower
                    hosts -= times
                    for row, units in shared.items():
                        left[row] -= units * times
                if hosts:
                    room = self._with_left(group, left)
        return total

    def _with_left(self, group: SharedGroup, left: Mapping[SharedRow, int]) -> HostRoom:
        """Return the room of a host with the shared resources that the other hosts leave."""
        pool = group.pool
        used: dict[Row, int] = {}
        for position, member in enumerate(pool.members):
            key = self._key(pool, position)
            for name, stock in member.stocks.items() if key in self._shared else ():
                units = left.get((key, name))
                if units is not None:
                    used[position, name] = stock.capacity - units
        changed = pool.with_usage(used)
        if pool.anchor is not None:
            return self._finder.find_whole(changed)
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
        return self._finder.find_in(changed, options) if all(options) else HostRoom()

    def _shared_usage(self, pool: Pool, room: HostRoom) -> dict[SharedRow, int]:
        usage: Counter[SharedRow] = Counter()
        for (position, name), units in room.usage.items():
            key = self._key(pool, position)
            if key in self._shared:
                usage[key, name] += units
        return usage

    def _key(self, pool: Pool, position: int) -> ProviderKey:
        if position < pool.local and pool.anchor is not None:
            return pool.anchor.id, position
        sharing = pool.sharing[position - pool.local]
        return sharing.tree.id, sharing.position

    def _free(self, pool: Pool, row: SharedRow) -> int:
        key, name = row
        for position, member in enumerate(pool.members):
            if self._key(pool, position) == key:
                return member.stocks[name].free
        raise ValueError("the provider is not in the pool")

    # -- upper bound ---------------------------------------------------------------------------

    def _upper(self, groups: Sequence[SharedGroup]) -> int:
        """Return a number that no placement on all of these hosts can exceed."""
        plan = self._plan
        bounds = [sum(group.room.upper * group.hosts for group in groups)]
        for slot, (_group, resources) in enumerate(plan.slots):
            if resources and slot not in plan.splittable:
                bounds.append(self._slot_bound(groups, slot))
        names = {*plan.contended_classes, *map(plan.class_of, plan.splittable)}
        bounds += [self._class_bound(groups, name) for name in names]
        return min(bounds)

    def _slot_bound(self, groups: Iterable[SharedGroup], slot: int) -> int:
        """Return how many consumers all providers of a slot together can serve."""
        total = 0
        shared: dict[ProviderKey, int] = {}
        for group in groups:
            pool = group.pool
            self._budget.spend(len(group.options[slot]))
            options: list[Sequence[int]] = [()] * len(group.options)
            options[slot] = group.options[slot]
            own = 0
            for position, seats in seats_of(self._plan, options, room_in(pool))[slot].items():
                key = self._key(pool, position)
                if key in self._shared:
                    shared[key] = seats
                else:
                    own += seats
            total += min(own, group.room.upper) * group.hosts
        return total + sum(shared.values())

    def _class_bound(self, groups: Iterable[SharedGroup], name: str) -> int:
        """Return for how many consumers all units of a class are sufficient."""
        amounts = self._plan.amounts_of(name)
        amount = sum(amounts.values())
        total = 0
        shared: dict[ProviderKey, int] = {}
        for group in groups:
            pool, room = group.pool, room_in(group.pool)
            own = 0
            positions: set[int] = set()
            for slot in amounts:
                positions.update(group.options[slot])
            self._budget.spend(len(positions))
            for position in positions:
                row: Row = position, name
                key = self._key(pool, position)
                if key in self._shared:
                    shared[key] = room(row)
                else:
                    own += room(row)
            total += min(own, group.room.upper * amount) * group.hosts
        return (total + sum(shared.values())) // amount
