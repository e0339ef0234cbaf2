"""Assign the allocations of consumers to the children of a provider.

All moved allocations of a consumer are assigned to one child. If they fit into no child, they are
divided if the step allows it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from falcon_placement_client.inventory import units_allow
from falcon_placement_client.provider_data import Inventories

Amounts = Mapping[str, int]  # class -> amount

MAX_TRIES = 5_000  # maximum number of attempts to place an allocation, for one packing


class Bin:
    """A child with its remaining capacity.

    Args:
        records: class -> inventory.
        used: class -> amount that is allocated already.
    """

    def __init__(self, records: Inventories, used: Amounts) -> None:
        self._records = records
        # Bins of the same kind and with the same free capacity are interchangeable.
        self.kind = frozenset(records.items())
        # Class -> units that are still free.
        self.room = {name: each.capacity - used.get(name, 0) for name, each in records.items()}

    def allows(self, amounts: Amounts) -> bool:
        """Return whether all amounts fit, by free capacity and units."""
        return all(
            name in self.room
            and amount <= self.room[name]
            and units_allow(self._records[name], amount)
            for name, amount in amounts.items()
        )

    def part(self, name: str, amount: int) -> int:
        """Return the largest part of an amount that fits, or 0 if no part fits."""
        record = self._records.get(name)
        if record is None:
            return 0
        part = min(amount, self.room[name], record.max_unit)
        part -= part % record.step_size
        return part if part >= record.min_unit else 0

    def take(self, amounts: Amounts, times: int = 1) -> None:
        """Subtract amounts from the free capacity, or add them if `times` is -1."""
        for name, amount in amounts.items():
            self.room[name] -= times * amount


def pack(holdings: Sequence[Amounts], bins: Sequence[Bin]) -> list[int] | None:
    """Return, for each holding, the index of the bin that can take the whole holding.

    The free capacity of the bins does not change. The function returns None if there is no
    solution, or if it finds none in MAX_TRIES attempts.
    """
    if _is_too_much(holdings, bins):
        return None
    order = _hardest_first(holdings, bins)
    ordered = [holdings[i] for i in order]
    positions = _choose(ordered, bins)
    for amounts, position in zip(ordered, positions, strict=False):
        bins[position].take(amounts, -1)
    if len(positions) < len(ordered):
        return None
    by_holding = dict(zip(order, positions, strict=True))
    return [by_holding[i] for i in range(len(holdings))]


def _choose(holdings: Sequence[Amounts], bins: Sequence[Bin]) -> list[int]:
    """Assign holdings to bins by backtracking.

    Return the indexes, or fewer indexes if this fails.
    """
    positions: list[int] = []
    choices: list[Iterator[int]] = []
    for _try in range(MAX_TRIES):
        if len(positions) == len(holdings):
            break
        # The next bin that has not been tried for this holding.
        amounts = holdings[len(positions)]
        if len(choices) == len(positions):
            choices.append(iter(_choices(amounts, bins)))
        position = next(choices[-1], None)
        if position is not None:
            bins[position].take(amounts)
            positions.append(position)
            continue
        # No bin is left, so the previous holding needs another bin.
        choices.pop()
        if not positions:
            break
        last = positions.pop()
        bins[last].take(holdings[len(positions)], -1)
    return positions


def pack_in_parts(
    holdings: Sequence[Amounts], bins: Sequence[Bin]
) -> list[dict[int, dict[str, int]]] | int:
    """Return bin index -> amounts for each holding.

    Returns the index of a holding instead if it cannot be placed.
    """
    parts: list[dict[int, dict[str, int]]] = [{} for _ in holdings]
    for i in _hardest_first(holdings, bins):
        amounts = holdings[i]
        positions = _choices(amounts, bins)
        if positions:
            best = positions[0]
            parts[i] = {best: dict(amounts)}
            bins[best].take(amounts)
        elif not _divide(amounts, bins, parts[i]):
            return i
    return parts


def _hardest_first(holdings: Sequence[Amounts], bins: Sequence[Bin]) -> list[int]:
    """Return the indexes of holdings, the most difficult ones first."""
    return sorted(range(len(holdings)), key=lambda i: _weight(holdings[i], bins), reverse=True)


def _is_too_much(holdings: Sequence[Amounts], bins: Sequence[Bin]) -> bool:
    """Return whether the sums exceed the free capacity of all bins together."""
    sums: Counter[str] = Counter()
    for amounts in holdings:
        sums.update(amounts)
    return any(
        amount > sum(max(0, child.room.get(name, 0)) for child in bins)
        for name, amount in sums.items()
    )


def _divide(amounts: Amounts, bins: Sequence[Bin], parts: dict[int, dict[str, int]]) -> bool:
    """Divide amounts among the bins with the most free capacity. Return whether all were placed."""
    for name, amount in amounts.items():
        remainder = amount
        by_room = sorted(range(len(bins)), key=lambda i: bins[i].room.get(name, 0), reverse=True)
        for position in by_room:
            part = bins[position].part(name, remainder)
            if part:
                bins[position].take({name: part})
                parts.setdefault(position, {})[name] = part
                remainder -= part
        if remainder:
            return False
    return True


def _choices(amounts: Amounts, bins: Sequence[Bin]) -> list[int]:
    """Return the bins that fit, by increasing free capacity, without interchangeable bins."""
    by_shape: dict[tuple[object, ...], int] = {}
    for position, child in enumerate(bins):
        if child.allows(amounts):
            shape = (child.kind, *sorted(child.room.items()))
            by_shape.setdefault(shape, position)

    def room(position: int) -> int:
        return sum(bins[position].room[name] for name in amounts)

    return sorted(by_shape.values(), key=room)


def _weight(amounts: Amounts, bins: Sequence[Bin]) -> float:
    """Return the largest ratio of an amount to the free capacity of all bins."""
    return max(
        amount / max(1, sum(child.room.get(name, 0) for child in bins))
        for name, amount in amounts.items()
    )
