"""Upper bounds of the number of consumers that fit, computed from the slots of a request alone.

The bounds do not depend on the number of ways in which a request can be served, so they are cheap.
"""

from collections.abc import Iterable, Sequence

from placement.candidates.constraints import bits_met
from placement.candidates.model import Options, Pool
from placement.candidates.search import SearchPlan

# More consumers than any pool can serve.
UNBOUNDED = 1 << 62


def seats(
    pool: Pool, resources: Sequence[tuple[str, int]], providers: Iterable[int]
) -> dict[int, int]:
    """Return position -> the number of consumers whose slot the provider can serve.

    The number is -1, which means any number, if the slot has no resources.
    """
    numbers: dict[int, int] = {}
    for position in providers:
        stocks = pool.members[position].stocks
        numbers[position] = min(
            [stocks[name].free // units for name, units in resources], default=-1
        )
    return numbers


def upper_bound(plan: SearchPlan, pool: Pool, options: Options) -> int:
    """Return a number of consumers that no placement can exceed.

    Args:
        plan: the plan of the request.
        pool: the providers.
        options: slot -> positions of the providers that can serve it, alone or in parts.
    """
    bounds = []
    for requirement in plan.requirements:
        slot = requirement.slots[0]
        resources = plan.slots[slot].resources
        if resources and slot not in plan.splittable:
            bounds.append(sum(seats(pool, resources, options[slot]).values()))
    for name in plan.joint_classes:
        amounts = plan.amounts_of(name)
        positions = set().union(*[options[slot] for slot in amounts])
        free = sum([pool.members[position].stocks[name].free for position in positions])
        bounds.append(free // sum(amounts.values()))
    for number in range(0 if plan.splittable else len(plan.collective_traits)):
        bounds.append(_collective_bound(plan, pool, options, 1 << number))
    return min(bounds)


def _collective_bound(plan: SearchPlan, pool: Pool, options: Options, bit: int) -> int:
    """Return the seats of the providers with a set of traits, of which each consumer needs one."""
    total = 0
    for slot in plan.unsuffixed_slots:
        positions = [
            position
            for position in options[slot]
            if bits_met(plan.collective_traits, pool.members[position]) & bit
        ]
        numbers = seats(pool, plan.slots[slot].resources, positions).values()
        if -1 in numbers:
            return UNBOUNDED
        total += sum(numbers)
    return total
