"""Which child gets what a consumer held of its parent.

All that one consumer holds of the classes that move goes to one child, so that what was together
stays so. Where that is allowed, what fits into no child is divided.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from falcon_placement_client.inventory import units_allow
from falcon_placement_client.provider_data import Inventories

Amounts = Mapping[str, int]  # class -> amount

MAX_TRIES = 5_000  # children tried for a consumer, in one packing


class Bin:
    """A child with the room that is left in it.

    records: class -> inventory.  used: class -> what is allocated there already.
    """

    def __init__(self, records: Inventories, used: Amounts) -> None:
        self._records = records
        # Bins of one kind and with the same room are alike.
        self.kind = frozenset(records.items())
        self.room: dict[str, int] = {}
        for name, record in records.items():
            self.room[name] = record.capacity - used.get(name, 0)

    def allows(self, amounts: Amounts) -> bool:
        """Return whether all amounts fit, by room and by units."""
        for name, amount in amounts.items():
            if name not in self.room or amount > self.room[name]:
                return False
            if not units_allow(self._records[name], amount):
                return False
        return True

    def part(self, name: str, amount: int) -> int:
        """Return the most of an amount that can be had here: 0 for nothing."""
        record = self._records.get(name)
        if record is None:
            return 0
        part = min(amount, self.room[name], record.max_unit)
        part -= part % record.step_size
        return part if part >= record.min_unit else 0

    def take(self, amounts: Amounts, times: int = 1) -> None:
        """Take amounts; with `times` -1 give them back."""
        for name, amount in amounts.items():
            self.room[name] -= times * amount


def pack(holdings: Sequence[Amounts], bins: Sequence[Bin]) -> list[int] | None:
    """Return for each holding the position of the bin that gets all of it, None if there is no way.

    Also None where no way was found in MAX_TRIES. The room of the bins is as it was.
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
    """Take each holding from a bin; return the positions, fewer where there is no way."""
    positions: list[int] = []
    choices: list[Iterator[int]] = []
    for _try in range(MAX_TRIES):
        if len(positions) == len(holdings):
            break
        # The first of the bins not yet tried for the next holding.
        amounts = holdings[len(positions)]
        if len(choices) == len(positions):
            choices.append(iter(_choices(amounts, bins)))
        position = next(choices[-1], None)
        if position is not None:
            bins[position].take(amounts)
            positions.append(position)
            continue
        # There is none: the holding before it has to go elsewhere.
        choices.pop()
        if not positions:
            break
        last = positions.pop()
        bins[last].take(holdings[len(positions)], -1)
    return positions


def pack_in_parts(
    holdings: Sequence[Amounts], bins: Sequence[Bin]
) -> list[dict[int, dict[str, int]]] | int:
    """Return for each holding what each bin, by its position, gets of it.

    Holdings stay whole where they can. Returns the position of the holding that cannot be placed,
    where there is one.
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
    """Return the positions of holdings: what is hard to place goes while there is room."""
    return sorted(range(len(holdings)), key=lambda i: _weight(holdings[i], bins), reverse=True)


def _is_too_much(holdings: Sequence[Amounts], bins: Sequence[Bin]) -> bool:
    """Return whether the sums are more than all room together, whichever way they are placed."""
    sums: Counter[str] = Counter()
    for amounts in holdings:
        sums.update(amounts)
    for name, amount in sums.items():
        room = 0
        for child in bins:
            room += max(0, child.room.get(name, 0))
        if amount > room:
            return True
    return False


def _divide(amounts: Amounts, bins: Sequence[Bin], parts: dict[int, dict[str, int]]) -> bool:
    """Divide amounts over the bins with the most room; return whether all were placed."""
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
    """Return the bins that will do, least room first, one of those that are alike."""
    by_shape: dict[tuple[object, ...], int] = {}
    for position, child in enumerate(bins):
        if child.allows(amounts):
            shape = (child.kind, *sorted(child.room.items()))
            by_shape.setdefault(shape, position)

    def room(position: int) -> int:
        return sum(bins[position].room[name] for name in amounts)

    return sorted(by_shape.values(), key=room)


def _weight(amounts: Amounts, bins: Sequence[Bin]) -> float:
    """Return the largest share that an amount is of the room of all bins."""
    shares: list[float] = []
    for name, amount in amounts.items():
        room = sum(child.room.get(name, 0) for child in bins)
        shares.append(amount / max(1, room))
    return max(shares)
