"""What a slot asks of a single provider, and which providers of a pool meet it alone.

What joins several slots is in `constraints`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import starmap

from placement.candidates.model import Member, Pool, Slot, Tree
from placement.candidates.request import RequestGroup, RootTerms
from placement.candidates.trace import Refusal
from placement.client.inventory import Stock, fits, sizes

# Whether the member of the pool at this position meets one condition.
Condition = Callable[[Pool, int], bool]

# Whether the root of a tree meets one condition.
RootCondition = Callable[[Member], bool]


class Requirement:
    """What slots that ask the same ask of a provider, worked out once for a request.

    slots: their positions. looks: the work that one provider takes.
    """

    def __init__(self, slot: Slot, *, alone: bool) -> None:
        """alone: one provider serves the whole group, and so has to have all its traits."""
        self.slots: list[int] = []
        group = slot.group
        self.suffix = group.suffix
        self._resources = slot.resources
        self._conditions = tuple(conditions(group, alone))
        # What one provider takes, in looks; most is seen at a glance.
        terms = len(slot.resources) + len(group.required) + len(group.member_of)
        self.looks = 2 * (1 + len(slot.resources) + len(self._conditions)) + terms
        self._sharing: dict[object, list[int]] = {}
        self._excludes_anchors = bool(group.not_member_of) and not group.suffixed

    def providers(self, pool: Pool) -> list[int]:
        """Return the positions of the members that could serve."""
        if pool.sharing and pool.anchor is not None:
            own = pool.anchor.members
            return self._among(pool, own) + self._sharing_providers(pool, len(own))
        return self._among(pool, pool.members)

    def _sharing_providers(self, pool: Pool, local: int) -> list[int]:
        """Return the positions of sharing providers, told once for pools that have the same."""
        key: object = (local, pool.reached)
        if self._excludes_anchors and pool.anchor is not None:
            key = (key, pool.anchor.root.aggregates)
        positions = self._sharing.get(key)
        if positions is None:
            positions = self._sharing[key] = self._among(pool, pool.members[local:], local)
        return positions

    def _among(self, pool: Pool, members: Sequence[Member], first: int = 0) -> list[int]:
        """Return the positions of those members that could serve; they stand there from `first`."""
        positions = []
        # PERF: loops, for most trees have few members, and to call for each takes longer.
        for position, member in enumerate(members, first):
            stocks = member.stocks
            for name, amount in self._resources:
                stock = stocks.get(name)
                if stock is None or not fits(stock, amount):
                    break
            else:
                positions.append(position)
        for _code, holds in self._conditions:
            positions = [position for position in positions if holds(pool, position)]
        return positions

    def part_sizes(self, pool: Pool, name: str, amount: int) -> dict[int, range]:
        """Return position -> units that a part of the amount may be, of the anchor's own members.

        They are those that meet all conditions but that of having room for all of it.
        """
        units = {
            position: sizes(stock, amount)
            for position, member in enumerate(pool.members[: pool.local])
            if (stock := member.stocks.get(name)) is not None
        }
        positions = [position for position, parts in units.items() if parts]
        for _code, holds in self._conditions:
            positions = [position for position in positions if holds(pool, position)]
        return {position: units[position] for position in positions}

    def refusal(self, pool: Pool) -> Refusal:
        """Return the condition at which the last provider of the pool falls out."""
        stocks = self._stocks(pool)
        if not stocks:
            return Refusal.NO_INVENTORY
        positions = [
            position for position, amounts in stocks.items() if all(starmap(fits, amounts))
        ]
        if not positions:
            return _shortage(stocks.values())
        for code, holds in self._conditions:
            positions = [position for position in positions if holds(pool, position)]
            if not positions:
                return code
        raise ValueError("some provider of the pool can serve")

    def _stocks(self, pool: Pool) -> dict[int, list[tuple[Stock, int]]]:
        """Return what members with an inventory of every class have, beside what is asked."""
        stocks: dict[int, list[tuple[Stock, int]]] = {}
        for position, member in enumerate(pool.members):
            amounts = [
                (member.stocks[name], amount)
                for name, amount in self._resources
                if name in member.stocks
            ]
            if len(amounts) == len(self._resources):
                stocks[position] = amounts
        return stocks


def _shortage(stocks: Iterable[Sequence[tuple[Stock, int]]]) -> Refusal:
    """Return the condition at which the last provider falls out: what each has, and what is asked.

    They have inventory of every class, and none has room for all.
    """
    providers = list(stocks)
    for code, allows in STOCK_CONDITIONS:
        providers = [amounts for amounts in providers if all(starmap(allows, amounts))]
        if not providers:
            return code
    raise ValueError("some provider has room")


def requirements(slots: Sequence[Slot], *, alone: bool) -> list[Requirement]:
    """Return the different requirements, each with the slots (by position) that have it.

    alone: one provider serves the whole unsuffixed group.
    """
    by_key: dict[tuple[object, ...], Requirement] = {}
    for position, slot in enumerate(slots):
        group = slot.group
        by_itself = group.suffixed or alone
        key = (
            group.suffixed,
            slot.resources,
            group.required if by_itself else (),
            group.forbidden,
            group.member_of,
            group.not_member_of,
            group.in_tree,
            group.subtree,
        )
        if key not in by_key:
            by_key[key] = Requirement(slot, alone=by_itself)
        by_key[key].slots.append(position)
    return list(by_key.values())


# Whether a stock allows an amount. Together they say what `fits` says.
StockCondition = Callable[[Stock, int], bool]

STOCK_CONDITIONS: tuple[tuple[Refusal, StockCondition], ...] = (
    (Refusal.MIN_UNIT, lambda stock, amount: amount >= stock.min_unit),
    (Refusal.MAX_UNIT, lambda stock, amount: amount <= stock.max_unit),
    (Refusal.STEP_SIZE, lambda stock, amount: amount % stock.step_size == 0),
    (Refusal.CAPACITY, fits),
)


def conditions(group: RequestGroup, alone: bool) -> Iterator[tuple[Refusal, Condition]]:
    """Yield what the group asks of a provider besides resources; only what it does ask."""
    if alone and group.required:
        yield (
            Refusal.TRAIT_MISSING,
            lambda pool, position: all(
                not traits.isdisjoint(pool.members[position].traits) for traits in group.required
            ),
        )
    if group.forbidden:
        yield (
            Refusal.TRAIT_FORBIDDEN,
            lambda pool, position: group.forbidden.isdisjoint(pool.members[position].traits),
        )
    if group.member_of:
        yield Refusal.NOT_IN_AGGREGATE, _membership(group)
    if group.not_member_of:
        yield Refusal.IN_FORBIDDEN_AGGREGATE, _exclusion(group)
    if group.in_tree is not None:
        yield Refusal.IN_TREE, _InTree(group.in_tree)
    if group.subtree is not None:
        yield Refusal.SUBTREE, _InSubtree(group.subtree)


class _InTree:
    """Whether a member stands in the tree of the provider with this UUID."""

    def __init__(self, uuid: str) -> None:
        self._uuid = uuid
        self._latest: tuple[Tree | None, bool] = (None, False)  # a tree, and whether it has it

    def __call__(self, pool: Pool, position: int) -> bool:
        tree = pool.tree(position)
        if self._latest[0] is not tree:
            self._latest = (tree, tree.has(self._uuid))
        return self._latest[1]


class _InSubtree:
    """Whether a member is the provider with this UUID, or stands below it."""

    def __init__(self, uuid: str) -> None:
        self._uuid = uuid
        self._latest: tuple[Tree | None, frozenset[int]] = (None, frozenset())

    def __call__(self, pool: Pool, position: int) -> bool:
        tree = pool.tree(position)
        if self._latest[0] is not tree:
            self._latest = (tree, tree.subtree(self._uuid))
        if position >= pool.local:
            position = pool.sharing[position - pool.local].position
        return position in self._latest[1]


def _in_all(member: Member, aggregate_sets: Iterable[frozenset[str]]) -> bool:
    return all(not aggregates.isdisjoint(member.aggregates) for aggregates in aggregate_sets)


def _membership(group: RequestGroup) -> Condition:
    """The provider is in the aggregates; the root's count for the unsuffixed group in its tree."""

    def itself(pool: Pool, position: int) -> bool:
        return _in_all(pool.members[position], group.member_of)

    def itself_or_root(pool: Pool, position: int) -> bool:
        anchor = pool.anchor
        if anchor is not None and position < pool.local and _in_all(anchor.root, group.member_of):
            return True
        return itself(pool, position)

    return itself if group.suffixed else itself_or_root


def _exclusion(group: RequestGroup) -> Condition:
    """The provider is in none of the aggregates; for the unsuffixed group, nor is the anchor."""

    def itself(pool: Pool, position: int) -> bool:
        return group.not_member_of.isdisjoint(pool.members[position].aggregates)

    def itself_and_anchor(pool: Pool, position: int) -> bool:
        anchor = pool.anchor
        if anchor is not None and not group.not_member_of.isdisjoint(anchor.root.aggregates):
            return False
        return itself(pool, position)

    return itself if group.suffixed else itself_and_anchor


def root_conditions(root: RootTerms) -> tuple[tuple[Refusal, RootCondition], ...]:
    """Return what the request asks of the root of an anchor; only what it does ask."""
    conditions: list[tuple[Refusal, RootCondition]] = []
    single = [traits for traits in root.required if len(traits) == 1]
    several = [traits for traits in root.required if len(traits) > 1]
    if single:
        needed = frozenset().union(*single)
        conditions.append((Refusal.ROOT_TRAIT_MISSING, lambda member: needed <= member.traits))
    if several:
        conditions.append(
            (
                Refusal.ROOT_TRAIT_MISSING,
                lambda member: not any(map(member.traits.isdisjoint, several)),
            )
        )
    if root.forbidden:
        conditions.append(
            (
                Refusal.ROOT_TRAIT_FORBIDDEN,
                lambda member: root.forbidden.isdisjoint(member.traits),
            )
        )
    if root.member_of:
        conditions.append((Refusal.ROOT_AGGREGATE, lambda member: _in_all(member, root.member_of)))
    if root.not_member_of:
        conditions.append(
            (
                Refusal.ROOT_AGGREGATE,
                lambda member: root.not_member_of.isdisjoint(member.aggregates),
            )
        )
    return tuple(conditions)
