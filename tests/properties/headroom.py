"""The headroom of a request, computed by brute force from definitions alone.

Without `can_split`, the candidates of the empty state are combined: each is taken any number of
times, as long as no provider exceeds its capacity. With `can_split`, consumers are placed one after
the other, in all possible ways.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.properties import oracle
from tests.properties.oracle import Candidate, Query, World

# Maximum number of states of one component.
MAX_STATES = 20_000

Row = tuple[str, str]
Amounts = Mapping[Row, int]


class TooManyStatesError(Exception):
    """The cloud has too many states for brute force."""


def amounts_of(candidate: Candidate) -> Amounts:
    """The amounts of a candidate by provider and class."""
    return {(uuid, name): units for uuid, items in candidate.allocations for name, units in items}


def most_together(world: World, query: Query, limit: int) -> int:
    """The largest number of consumers, at most the limit."""
    if any(group.can_split for group in query.groups):
        return one_by_one(world, query, limit)
    patterns = {
        tuple(sorted(amounts_of(candidate).items()))
        for candidate in oracle.candidates(world, query)
    }
    return min(limit, sum(_packed(world, part, limit) for part in _components(patterns)))


def _components(patterns: Collection[tuple[tuple[Row, int], ...]]) -> list[list[Amounts]]:
    """The patterns, grouped by common rows."""
    components: list[tuple[set[Row], list[Amounts]]] = []
    for pattern in sorted(patterns):
        rows = {row for row, _units in pattern}
        joined = [each for each in components if each[0] & rows]
        components = [each for each in components if not each[0] & rows]
        members = [member for each in joined for member in each[1]]
        components.append((rows.union(*(each[0] for each in joined)), [*members, dict(pattern)]))
    return [members for _rows, members in components]


def _packed(world: World, patterns: Sequence[Amounts], limit: int) -> int:
    rows = sorted({row for pattern in patterns for row in pattern})
    free = []
    for uuid, name in rows:
        inventory = world[uuid].inventories[name]
        free.append(inventory.capacity - inventory.used)
    columns = [tuple(pattern.get(row, 0) for row in rows) for pattern in patterns]
    known: dict[tuple[int, tuple[int, ...], int], int] = {}

    def most(first: int, room: tuple[int, ...], limit: int) -> int:
        key = first, room, limit
        if key not in known:
            if len(known) > MAX_STATES:
                raise TooManyStatesError
            best = 0
            for number in range(first, len(columns)):
                if best == limit:
                    break
                rest = tuple(a - b for a, b in zip(room, columns[number], strict=True))
                if min(rest) >= 0:
                    best = max(best, 1 + most(number, rest, limit - 1))
            known[key] = best
        return known[key]

    return most(0, tuple(free), limit)


def one_by_one(world: World, query: Query, limit: int) -> int:
    """The largest number of consumers, at most the limit, placed one after the other."""
    return _one_by_one(world, query, limit, {})


def _one_by_one(world: World, query: Query, limit: int, known: dict[object, int]) -> int:
    if not limit:
        return 0
    state = (
        limit,
        tuple(stock.used for provider in world.values() for stock in provider.inventories.values()),
    )
    if state not in known:
        if len(known) > MAX_STATES // 100:
            raise TooManyStatesError
        best = 0
        for candidate in sorted(oracle.candidates(world, query), key=repr):
            best = max(best, 1 + _one_by_one(after(world, candidate), query, limit - 1, known))
            if best == limit:
                break
        known[state] = best
    return known[state]


def after(world: World, candidate: Candidate) -> World:
    """The world after the candidate was claimed."""
    changed = dict(world)
    totals: Counter[Row] = Counter(amounts_of(candidate))
    for (uuid, name), units in totals.items():
        inventories = dict(changed[uuid].inventories)
        inventories[name] = replace(inventories[name], used=inventories[name].used + units)
        changed[uuid] = replace(changed[uuid], inventories=inventories)
    return changed


def emptied(world: World) -> World:
    """The world without allocations."""
    return {
        uuid: replace(
            provider,
            inventories={
                name: replace(stock, used=0) for name, stock in provider.inventories.items()
            },
        )
        for uuid, provider in world.items()
    }


def in_aggregate(query: Query, aggregate: str) -> Query:
    """The query for hosts whose root is in an aggregate."""
    return replace(query, root_member_of=(*query.root_member_of, frozenset({aggregate})))


def shares(world: World) -> bool:
    """Whether any provider may serve hosts of other trees."""
    return any(
        oracle.SHARING in provider.traits and provider.aggregates for provider in world.values()
    )


def check_bounds(found: Mapping[str, Any], most: int, limit: int) -> None:
    """Check the figures against the largest number of consumers, of which `most` has the limit."""
    if found["fits"] == limit:
        assert (most, found["at_most"], found["exact"]) == (limit, None, False)
    else:
        assert found["fits"] <= most <= found["at_most"]
        assert found["exact"] == (found["fits"] == found["at_most"])
