"""Upper bounds of the number of consumers that fit, computed from the slots of a request alone.

The bounds do not depend on the number of ways in which a request can be served, so they are cheap.
"""

from collections.abc import Callable, Iterable

from placement.candidates.budget import Charge
from placement.candidates.headroom.packing import largest_sum
from placement.candidates.headroom.room import Row
from placement.candidates.model import Options
from placement.candidates.plan import SearchPlan

# Row -> free units.
Room = Callable[[Row], int]


def seats_of(plan: SearchPlan, options: Options, room: Room) -> list[dict[int, int]]:
    """Return slot -> position -> the number of consumers that the provider can serve.

    The number is -1, which means any number, if the slot has no resources.
    """
    known: dict[tuple[int, tuple[tuple[str, int], ...]], int] = {}
    seats: list[dict[int, int]] = []
    for slot, (_group, resources) in enumerate(plan.slots):
        by_position: dict[int, int] = {}
        for position in options[slot]:
            key = position, resources
            if key not in known:
                known[key] = min(
                    [room((position, name)) // units for name, units in resources], default=-1
                )
            by_position[position] = known[key]
        seats.append(by_position)
    return seats


def upper_bound(plan: SearchPlan, options: Options, room: Room, spend: Charge) -> int | None:
    """Return a number that no packing can exceed, or None if no slot has resources.

    Args:
        plan: the plan of the request.
        options: slot -> positions of the providers that can serve it, alone or in parts.
        room: returns the free units of a row.
        spend: charges the work.
    """
    spend(2 * sum(map(len, options)) + 16)
    seats = seats_of(plan, options, room)
    bounds = [
        sum(by_position.values())
        for slot, by_position in enumerate(seats)
        if plan.slots[slot].resources and slot not in plan.splittable
    ]
    bounds += _class_bounds(plan, options, room)
    if len(plan.isolated_slots) > 1:
        bounds += _isolation_bound(plan, options, room, min(bounds, default=0))
    return min(bounds, default=None)


def _class_bounds(plan: SearchPlan, options: Options, room: Room) -> Iterable[int]:
    """Yield a bound for each class that several slots request or that is served in parts."""
    split = set(map(plan.class_of, plan.splittable))
    for name in {*plan.contended_classes, *split}:
        amounts = plan.amounts_of(name)
        sizes = set(amounts.values())
        total = 0
        positions: set[int] = set()
        for slot in amounts:
            positions.update(options[slot])
        for position in positions:
            units = room((position, name))
            total += units if name in split else largest_sum(sizes, units)
        yield total // sum(amounts.values())


def _isolation_bound(plan: SearchPlan, options: Options, room: Room, most: int) -> Iterable[int]:
    """Yield the bound for isolated slots, which must have different providers for each consumer.

    A provider serves each of n consumers at most once. The providers of k slots must therefore have
    at least k × n seats, where no provider counts for more than n.
    """
    slots = [slot for slot in plan.isolated_slots if plan.slots[slot].resources]
    if len(slots) < 2 or not most:
        return
    # Slots that begin with the same class use at least the smallest of its amounts.
    least: dict[str, int] = {}
    positions: dict[str, set[int]] = {}
    for slot in slots:
        name, amount = plan.slots[slot].resources[0]
        least[name] = min(amount, least.get(name, amount))
        positions.setdefault(name, set()).update(options[slot])
    seats: dict[int, int] = {}
    for name, amount in least.items():
        for position in positions[name]:
            seats[position] = seats.get(position, 0) + room((position, name)) // amount
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if sum([min(middle, number) for number in seats.values()]) >= middle * len(slots):
            low = middle
        else:
            high = middle - 1
    yield low
