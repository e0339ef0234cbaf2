"""The consumers of drained hosts, with their allocations, sizes and derived requests."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction

from placement.candidates.request import UNSUFFIXED, CandidateRequest, RequestGroup
from placement.candidates.simulation.result import Allocations
from placement.candidates.terms import Untainted
from placement.objects.holdings import HoldingConsumer

# A share of a total, as a sort key. The first item is whether the total is 0 although the share is
# not.
Share = tuple[bool, Fraction]


class MovableConsumer:
    """A consumer, with its current allocations in a simulation."""

    def __init__(self, row: HoldingConsumer) -> None:
        # The consumer as it was stored before the simulation.
        self.row = row
        # Provider UUID -> class -> units.
        self.allocations: Allocations = row.allocations
        # Provider UUID -> UUID of its root. Contains all providers that the consumer has used.
        self.root_of: dict[str, str] = dict(row.root_of)

    @property
    def uuid(self) -> str:
        """UUID of the consumer."""
        return self.row.uuid

    @property
    def roots(self) -> list[str]:
        """The sorted UUIDs of the roots of its allocations."""
        return sorted({self.root_of[provider] for provider in self.allocations})

    def held_of(self, roots: Collection[str]) -> Allocations:
        """Return the allocations from trees with these roots."""
        return {
            provider: amounts
            for provider, amounts in self.allocations.items()
            if self.root_of[provider] in roots
        }

    def held_elsewhere(self, roots: Collection[str]) -> Allocations:
        """Return the allocations from other trees."""
        return {
            provider: amounts
            for provider, amounts in self.allocations.items()
            if self.root_of[provider] not in roots
        }


def totals_of(allocations: Allocations) -> dict[str, int]:
    """Return class -> units."""
    totals: dict[str, int] = {}
    for amounts in allocations.values():
        for name, amount in amounts.items():
            totals[name] = totals.get(name, 0) + amount
    return totals


def share_of(held: Allocations, capacities: Mapping[str, int]) -> Share:
    """Return the largest share of the capacity of a class.

    Args:
        held: allocations.
        capacities: class -> units of the whole cloud. If they are 0, a share of 0 units is 0, and
            any other share is larger than all shares of other classes.
    """
    shares: list[Share] = [(False, Fraction(0))]
    for name, amount in totals_of(held).items():
        capacity = max(0, capacities.get(name, 0))
        if capacity:
            shares.append((False, Fraction(amount, capacity)))
        elif amount:
            shares.append((True, Fraction(amount)))
    return max(shares)


def derived_request(held: Allocations, taints: Iterable[str]) -> CandidateRequest:
    """Return a request for the same amounts.

    Args:
        held: the allocations to replace. Each provider becomes a group with a suffix, which states
            the amounts, or the group without a suffix if there is only one.
        taints: traits that exclude a host.
    """
    groups: dict[str, RequestGroup] = {}
    for provider in sorted(held):
        resources = tuple(sorted(held[provider].items()))
        suffix = UNSUFFIXED if len(held) == 1 else _suffix(resources, groups)
        groups[suffix] = RequestGroup(suffix, resources)
    root = tuple(Untainted(name) for name in sorted(taints))
    return CandidateRequest(tuple(groups.values()), root=root)


def _suffix(resources: Sequence[tuple[str, int]], used: Collection[str]) -> str:
    """Return a description of the amounts as a suffix that is not used yet.

    Suffixes of clients contain no spaces, so texts can tell the two apart.
    """
    amounts = " and ".join(f"{units} {name}" for name, units in resources)
    suffix, number = f"allocation of {amounts}", 1
    while suffix in used:
        number += 1
        suffix = f"allocation of {amounts} ({number})"
    return suffix
