"""The conditions that join the slots of a request, cheapest to check first.

Capacity, isolation and collective traits are monotonic: what fails now fails however the search
goes on. `same_subtree` is not: two siblings fail until their parent joins, so a placement is
refused only when no placed and no possible provider can be the ancestor of all. Nor is what
stands outside a subtree: which one it is, is known when all its groups are placed.
"""

from placement.candidates.constraints.base import Constraint, Undo, build_constraints
from placement.candidates.constraints.capacity import Capacity
from placement.candidates.constraints.collective_traits import CollectiveTraits
from placement.candidates.constraints.isolation import Isolation, OnePerTree, PartialIsolation
from placement.candidates.constraints.same_subtree import OutsideSubtree, SameSubtree
from placement.candidates.constraints.split_capacity import SplitCapacity

# In this order they are built and checked. CollectiveTraits narrows what the others look at.
CONSTRAINTS: tuple[type[Constraint], ...] = (
    CollectiveTraits,
    OnePerTree,
    Isolation,
    PartialIsolation,
    Capacity,
    SameSubtree,
    OutsideSubtree,
)

__all__ = [
    "CONSTRAINTS",
    "Capacity",
    "CollectiveTraits",
    "Constraint",
    "Isolation",
    "OnePerTree",
    "OutsideSubtree",
    "PartialIsolation",
    "SameSubtree",
    "SplitCapacity",
    "Undo",
    "build_constraints",
]
