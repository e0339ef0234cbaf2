"""The conditions that join the slots of a request, cheapest to check first.

Capacity, isolation and collective traits are monotonic: what fails now fails however the search
goes on. `same_subtree` is not: two siblings fail until their parent joins, so a placement is
refused only when no placed and no possible provider can be the ancestor of all.
"""

from placement.candidates.constraints.base import Constraint, Undo
from placement.candidates.constraints.capacity import Capacity
from placement.candidates.constraints.collective_traits import CollectiveTraits
from placement.candidates.constraints.isolation import Isolation
from placement.candidates.constraints.one_per_tree import OnePerTree
from placement.candidates.constraints.same_subtree import SameSubtree

# In this order they are built and checked. CollectiveTraits narrows what the others look at.
CONSTRAINTS: tuple[type[Constraint], ...] = (
    CollectiveTraits,
    OnePerTree,
    Isolation,
    Capacity,
    SameSubtree,
)

__all__ = [
    "CONSTRAINTS",
    "Capacity",
    "CollectiveTraits",
    "Constraint",
    "Isolation",
    "OnePerTree",
    "SameSubtree",
    "Undo",
]
