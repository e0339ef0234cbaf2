"""Simulations: changes of hosts and moves of consumers, on copies of the trees in memory."""

from placement.foresight.simulation.consumers import MAX_CONSUMERS
from placement.foresight.simulation.copies import MAX_ADDED
from placement.foresight.simulation.simulate import simulate
from placement.foresight.simulation.value import (
    Add,
    Allocations,
    Change,
    ClaimOnCopies,
    ConsumerMove,
    Drain,
    Remove,
    RequestSource,
    Simulation,
    SimulationRequest,
    Unplaceable,
    Unplaced,
)

__all__ = [
    "MAX_ADDED",
    "MAX_CONSUMERS",
    "Add",
    "Allocations",
    "Change",
    "ClaimOnCopies",
    "ConsumerMove",
    "Drain",
    "Remove",
    "RequestSource",
    "Simulation",
    "SimulationRequest",
    "Unplaceable",
    "Unplaced",
    "simulate",
]
