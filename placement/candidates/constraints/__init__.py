"""The conditions on several slots of a request, cheapest first.

Capacity, isolation and collective traits are monotonic: further placements never resolve a
violation. `same_subtree` is not monotonic, because two siblings violate it until their parent is
placed. A placement is therefore refused only if no placed and no possible provider can be the
ancestor of all. The same applies to groups outside a subtree, whose top is known only when all its
groups are placed.
"""

from placement.candidates.constraints.base import Constraint, Undo, build_constraints
from placement.candidates.constraints.capacity import Capacity
from placement.candidates.constraints.collective_traits import CollectiveTraits
from placement.candidates.constraints.isolation import Isolation, OnePerTree, PartialIsolation
from placement.candidates.constraints.same_subtree import OutsideSubtree, SameSubtree
from placement.candidates.constraints.split_capacity import SplitCapacity
from placement.candidates.constraints.spread import Spread

# In the order of construction and evaluation. CollectiveTraits narrows the options of the others.
CONSTRAINTS: tuple[type[Constraint], ...] = (
    CollectiveTraits,
    OnePerTree,
    Isolation,
    PartialIsolation,
    Capacity,
    SameSubtree,
    OutsideSubtree,
    Spread,
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
    "Spread",
    "Undo",
    "build_constraints",
]
