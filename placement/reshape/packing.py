"""Which child gets what a consumer held of its parent.

All that one consumer holds of the classes that move goes to one child, so that what was together
stays so. Where that is allowed, what fits into no child is divided.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

Amounts = Mapping[str, int]  # class -> amount
Record = Mapping[str, int | float]

MAX_TRIES = 5_000  # children tried for a consumer, in one packing


class Bin:
    """A child with the room that is left in it.

    records: class -> inventory.  used: class -> what is allocated there already.
    """

    def __init__(self, records: Mapping[str, Record], used: Amounts) -> None:
        self._records = records
        # Bins of one kind and with the same room are alike.
        self.kind = tuple(
            (name, *sorted(record.items())) for name, record in sorted(records.items())
        )
        self.room = {name: capacity(record) - used.get(name, 0) for name, record in records.items()}

    def allows(self, amounts: Amounts) -> bool:
        """Return whether all amounts fit, by room and by units."""
        return all(
            name in self.room
            and amount <= self.room[name]
            and in_units(self._records[name], amount)
            for name, amount in amounts.items()
        )

    def part(self, name: str, amount: int) -> int:
        """Return the most of an amount that can be had here: 0 for nothing."""
        record = self._records.get(name)
        if record is None:
            return 0
        part = min(amount, self.room[name], int(record["max_unit"]))
        part -= part % int(record["step_size"])
        return part if part >= record["min_unit"] else 0

    def take(self, amounts: Amounts, times: int = 1) -> None:
        """Take amounts; with `times` -1 give them back."""
        for name, amount in amounts.items():
            self.room[name] -= times * amount


def capacity(record: Record) -> int:
    """Return how much of an inventory can be allocated altogether."""
    return math.floor((record["total"] - record["reserved"]) * record["allocation_ratio"])


def in_units(record: Record, amount: int) -> bool:
    """Return whether an inventory gives such an amount to one consumer."""
    least, most, step = (int(record[unit]) for unit in ("min_unit", "max_unit", "step_size"))
    return least <= amount <= most and amount % step == 0


def pack(holdings: Sequence[Amounts], bins: Sequence[Bin]) -> list[int] | None:
    """Return for each holding the position of the bin that gets all of it, None if there is no way.

    Also None where no way was found in MAX_TRIES. The room of the bins is as it was.
    """
    if _is_too_much(holdings, bins):
        return None
    # What is hard to place goes first, and to the bin with the least room that will do.
    order = sorted(range(len(holdings)), key=lambda i: _weight(holdings[i], bins), reverse=True)
    chosen: list[int] = []
    choices: list[Iterator[int]] = []
    tries = MAX_TRIES
    while len(chosen) < len(order):
        amounts = holdings[order[len(chosen)]]
        if len(choices) == len(chosen):
            choices.append(iter(_choices(amounts, bins)))
        position = next(choices[-1], None)
        tries -= 1
        if position is not None:
            bins[position].take(amounts)
            chosen.append(position)
        else:
            choices.pop()
            if chosen:
                last = chosen.pop()
                bins[last].take(holdings[order[len(chosen)]], -1)
        if not choices or tries < 0:
            for i, position in zip(order, chosen, strict=False):
                bins[position].take(holdings[i], -1)
            return None
    by_holding = dict(zip(order, chosen, strict=True))
    for i, position in by_holding.items():
        bins[position].take(holdings[i], -1)
    return [by_holding[i] for i in range(len(holdings))]


def pack_in_parts(
    holdings: Sequence[Amounts], bins: Sequence[Bin]
) -> list[dict[int, dict[str, int]]] | int:
    """Return for each holding what each bin, by its position, gets of it.

    Holdings stay whole where they can. Returns the position of the holding that cannot be placed,
    where there is one.
    """
    order = sorted(range(len(holdings)), key=lambda i: _weight(holdings[i], bins), reverse=True)
    placed: list[dict[int, dict[str, int]]] = [{} for _ in holdings]
    for i in order:
        whole = next(iter(_choices(holdings[i], bins)), None)
        if whole is not None:
            placed[i] = {whole: dict(holdings[i])}
            bins[whole].take(holdings[i])
        elif not _divide(holdings[i], bins, placed[i]):
            return i
    return placed


def _is_too_much(holdings: Sequence[Amounts], bins: Sequence[Bin]) -> bool:
    """Return whether the sums are more than all room together, whichever way they are placed."""
    sums: Counter[str] = Counter()
    for amounts in holdings:
        sums.update(amounts)
    return any(
        amount > sum(max(0, each.room.get(name, 0)) for each in bins)
        for name, amount in sums.items()
    )


def _divide(amounts: Amounts, bins: Sequence[Bin], parts: dict[int, dict[str, int]]) -> bool:
    """Divide amounts over the bins with the most room; return whether all were placed."""
    for name, amount in amounts.items():
        left = amount
        by_room = sorted(range(len(bins)), key=lambda i: bins[i].room.get(name, 0), reverse=True)
        for position in by_room:
            part = bins[position].part(name, left)
            if part:
                bins[position].take({name: part})
                parts.setdefault(position, {})[name] = part
                left -= part
        if left:
            return False
    return True


def _choices(amounts: Amounts, bins: Sequence[Bin]) -> list[int]:
    """Return the bins that will do, least room first, one of those that are alike."""
    alike: dict[tuple[object, ...], int] = {}
    for position, each in enumerate(bins):
        if each.allows(amounts):
            alike.setdefault((each.kind, *sorted(each.room.items())), position)
    return sorted(alike.values(), key=lambda i: sum(bins[i].room[name] for name in amounts))


def _weight(amounts: Amounts, bins: Sequence[Bin]) -> float:
    """Return the largest share that an amount is of the room of all bins."""
    return max(
        amount / max(1, sum(each.room.get(name, 0) for each in bins))
        for name, amount in amounts.items()
    )
