"""Upper bounds of the number of consumers that fit, computed from the slots of a request alone.

The bounds do not depend on the number of ways in which a request can be served, so they are cheap.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from placement.candidates.headroom.packing import largest_sum
from placement.candidates.model import Options, Pool
from placement.candidates.plan import SearchPlan


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
    """Return a number of consumers that no packing can exceed.

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
    for name in joint_classes(plan):
        bounds.append(_class_bound(plan, pool, options, name))
    if len(plan.isolated_slots) > 1:
        bounds.append(_isolation_bound(plan, pool, options, min(bounds)))
    return min(bounds)


def joint_classes(plan: SearchPlan) -> set[str]:
    """Return the classes that several slots request or that are served in parts."""
    return {*plan.contended_classes, *map(plan.class_of, plan.splittable)}


def _class_bound(plan: SearchPlan, pool: Pool, options: Options, name: str) -> int:
    """Return the bound for one of the joint classes."""
    amounts = plan.amounts_of(name)
    sizes = set(amounts.values())
    in_parts = any(slot in plan.splittable for slot in amounts)
    total = 0
    for position in set().union(*[options[slot] for slot in amounts]):
        free = pool.members[position].stocks[name].free
        total += free if in_parts else largest_sum(sizes, free)
    return total // sum(amounts.values())


def _isolation_bound(plan: SearchPlan, pool: Pool, options: Options, most: int) -> int:
    """Return the bound for isolated slots, which must have different providers for each consumer.

    A provider serves each of n consumers at most once. The providers of k slots must therefore have
    at least k × n seats, where no provider counts for more than n.
    """
    slots = [slot for slot in plan.isolated_slots if plan.slots[slot].resources]
    # Slots that begin with the same class use at least the smallest of its amounts.
    least: dict[str, int] = {}
    positions: dict[str, set[int]] = {}
    for slot in slots:
        name, amount = plan.slots[slot].resources[0]
        least[name] = min(amount, least.get(name, amount))
        positions.setdefault(name, set()).update(options[slot])
    total: dict[int, int] = {}
    for name, amount in least.items():
        for position, number in seats(pool, [(name, amount)], positions[name]).items():
            total[position] = total.get(position, 0) + number

    def is_too_many(consumers: int) -> bool:
        return sum([min(consumers, number) for number in total.values()]) < consumers * len(slots)

    return bisect_left(range(1, most + 1), x=True, key=is_too_many)
