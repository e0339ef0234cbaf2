"""The conditions on several slots of a request, the cheapest first.

Most conditions are monotonic: further placements never resolve a violation. The rules about
subtrees are not (`subtree.py`).
"""

from placement.candidates.constraints.base import (
    Constraint,
    Kinds,
    Undo,
    build_constraints,
    shape,
    signature,
)
from placement.candidates.constraints.capacity import Capacity
from placement.candidates.constraints.collective_traits import CollectiveTraits
from placement.candidates.constraints.isolation import Isolation, OnePerTree
from placement.candidates.constraints.spread import Spread
from placement.candidates.constraints.subtree import OutsideSubtree, SameSubtree
from placement.candidates.plan import SearchPlan

# The order of construction and evaluation. CollectiveTraits reduces the options of the other
# constraints.
CONSTRAINTS: tuple[type[Constraint], ...] = (
    CollectiveTraits,
    OnePerTree,
    Isolation,
    Capacity,
    SameSubtree,
    Spread,
)


def kinds_of(plan: SearchPlan) -> Kinds:
    """Return the classes of the constraints that apply to a plan, in their order."""
    return tuple([kind for kind in CONSTRAINTS if kind.applies(plan)])


__all__ = [
    "CONSTRAINTS",
    "Capacity",
    "CollectiveTraits",
    "Constraint",
    "Isolation",
    "Kinds",
    "OnePerTree",
    "OutsideSubtree",
    "SameSubtree",
    "Spread",
    "Undo",
    "build_constraints",
    "kinds_of",
    "shape",
    "signature",
]
