"""Simulations: changes of hosts and moves of consumers, on copies of the trees in memory."""

from placement.candidates.simulation.changes import (
    MAX_ADDED,
    MAX_CONSUMERS,
    Add,
    Change,
    ClaimOnCopies,
    Drain,
    Remove,
    SimulationRequest,
)
from placement.candidates.simulation.result import (
    ConsumerMove,
    SimulatedClaim,
    Simulation,
    Unplaceable,
)
from placement.candidates.simulation.simulating import simulate

__all__ = [
    "MAX_ADDED",
    "MAX_CONSUMERS",
    "Add",
    "Change",
    "ClaimOnCopies",
    "Drain",
    "ConsumerMove",
    "Remove",
    "SimulatedClaim",
    "Simulation",
    "SimulationRequest",
    "Unplaceable",
    "simulate",
]
