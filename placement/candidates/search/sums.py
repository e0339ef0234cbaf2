"""Reachable sums of parts. They are stored as runs, so that large amounts use little memory."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from placement.candidates.budget import Charge, uncharged

# Maximum number of runs in one value. If there are more runs, neighbouring runs are merged.
MAX_RUNS = 128

# Cost of finding the sizes that leave an amount in a run.
COST_PER_RUN = 6

# Cost of adding a part to sums, in total and for each run.
COST_PER_SUM = 32
COST_PER_RUN_ADDED = 10

Run = tuple[int, int]


@dataclass(frozen=True, slots=True)
class ReachableSums:
    """The amounts that parts can add up to."""

    # (first, last) of each run of amounts, sorted and disjoint.
    runs: tuple[Run, ...]
    # Whether every amount in the runs is reachable. If False, the runs contain all reachable
    # amounts and may contain other amounts.
    exact: bool = True

    @property
    def cost(self) -> int:
        """Cost of computing these sums from the sums without the last part."""
        return COST_PER_SUM + COST_PER_RUN_ADDED * len(self.runs)

    def has(self, amount: int) -> bool:
        """Return whether the amount is in a run."""
        return any(first <= amount <= last for first, last in self.runs)

    def with_part(self, sizes: range, most: int) -> "ReachableSums":
        """Return the amounts, up to `most`, with one additional part of any of the sizes."""
        smallest, largest, step = sizes[0], sizes[-1], sizes.step
        runs: list[Run] = []
        exact = self.exact
        for first, last in self.runs:
            starts = range(first + smallest, min(first + largest, most) + 1, step)
            length = last - first
            # If a run is at least as long as a step, there are no gaps. A shorter run is repeated
            # at each step.
            if length + 1 >= step:
                runs.append((first + smallest, last + largest))
            elif len(runs) + len(starts) <= MAX_RUNS:
                runs += [(start, start + length) for start in starts]
            elif starts:
                runs.append((first + smallest, last + largest))
                exact = False
        return _sums(runs, most, exact)

    def with_optional(self, sizes: range, most: int) -> "ReachableSums":
        """Return the amounts, up to `most`, with or without one additional part."""
        more = self.with_part(sizes, most)
        return _sums([*self.runs, *more.runs], most, more.exact)

    def can_complete(self, others: "ReachableSums", amount: int) -> bool:
        """Return whether a sum of these and a sum of the others add up to `amount`."""
        # One pointer moves up from the smallest run of these sums, and the other pointer moves down
        # from the largest run of the others.
        place, other = 0, len(others.runs) - 1
        while place < len(self.runs) and other >= 0:
            first, last = self.runs[place]
            least, most = others.runs[other]
            if first + least > amount:
                other -= 1
            elif last + most < amount:
                place += 1
            else:
                return True
        return False


NOTHING = ReachableSums(((0, 0),))


def _sums(runs: Iterable[Run], most: int, exact: bool) -> ReachableSums:
    """Merge adjacent runs. If there are still too many runs, merge further neighbours."""
    merged: list[Run] = []
    for first, last in sorted(runs):
        if first > most:
            break
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], min(last, most)))
        else:
            merged.append((first, min(last, most)))
    # Merge pairs of neighbours, including the gap between them, until the number of runs is low
    # enough.
    while len(merged) > MAX_RUNS:
        exact = False
        odd = [merged.pop()] if len(merged) % 2 else []
        pairs = zip(merged[::2], merged[1::2], strict=True)
        merged = [(lower[0], upper[1]) for lower, upper in pairs] + odd
    return ReachableSums(tuple(merged), exact)


def largest_first(
    sizes: range, amount: int, others: ReachableSums, spend: Charge = uncharged
) -> Iterator[int]:
    """Yield the sizes that leave an amount that the other parts can reach.

    Largest sizes come first.
    """
    smallest, step = sizes[0], sizes.step
    for first, last in others.runs:
        spend(COST_PER_RUN)
        high = min(amount - first, sizes[-1])
        low = max(amount - last, smallest)
        yield from range(smallest + (high - smallest) // step * step, low - 1, -step)
