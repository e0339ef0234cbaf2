"""The changes that a simulation applies, and their limits."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from placement.candidates.headroom import HeadroomQuery
from placement.candidates.order import Order
from placement.candidates.request import CandidateRequest
from placement.objects.claims import SpreadGroup

# Maximum number of hosts that all changes together add.
MAX_ADDED = 10_000

# Maximum number of consumers that all changes together move.
MAX_CONSUMERS = 10_000

# The prefix of the UUIDs of added hosts. A number, starting with 1, follows.
NEW = "new:"


@dataclass(frozen=True, slots=True)
class Drain:
    """Drain hosts: they serve no further consumers, and their consumers move to other hosts."""

    # UUIDs of roots.
    roots: Sequence[str]


@dataclass(frozen=True, slots=True)
class Remove:
    """Remove hosts and all allocations from them."""

    # UUIDs of roots.
    roots: Sequence[str]


@dataclass(frozen=True, slots=True)
class Add:
    """Add unused hosts that are copies of an existing host."""

    # UUID of a root.
    like: str
    # Number of hosts.
    count: int


@dataclass(frozen=True, slots=True)
class ClaimOnCopies:
    """Claim resources on the copies of the trees."""

    # The request whose first candidate is claimed.
    request: CandidateRequest
    # The spread group that the claim joins, or None. The group exists only in the simulation.
    spread: SpreadGroup | None = None


Change = Drain | Remove | Add | ClaimOnCopies


@dataclass(frozen=True, slots=True)
class SimulationRequest:
    """The changes to simulate."""

    # The changes in the order of their application.
    changes: Sequence[Change]
    # Reads a stored request from JSON. Raises BadQuery.
    read_request: Callable[[Mapping[str, Any]], CandidateRequest]
    # Consumer UUID -> the request that its new allocations must satisfy.
    requests: Mapping[str, CandidateRequest] = field(default_factory=dict)
    # A request without groups. It contains the order of the hosts. Without an order, hosts are
    # sorted by the UUID of the root.
    order_request: CandidateRequest = field(default_factory=lambda: CandidateRequest(()))
    # Requests whose headroom is measured after the changes, or None.
    headroom: HeadroomQuery | None = None

    @property
    def order(self) -> Order:
        """The sort keys of hosts."""
        return self.order_request.order
