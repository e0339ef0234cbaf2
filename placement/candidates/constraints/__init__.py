"""The conditions on several slots of a request, the cheapest first.

Capacity, isolation and collective traits are monotonic: further placements never resolve a
violation. `same_subtree` is not monotonic, because two siblings violate it until their parent is
placed. Therefore, a placement is refused only if neither a placed provider nor a possible one can
be the ancestor of all providers. The same applies to groups outside of a subtree: the top of the
subtree is unknown until all its groups are placed.
"""

from placement.candidates.constraints.base import Constraint, Kinds, Undo, build_constraints
from placement.candidates.constraints.capacity import Capacity
from placement.candidates.constraints.collective_traits import CollectiveTraits
from placement.candidates.constraints.isolation import Isolation, OnePerTree
from placement.candidates.constraints.same_subtree import OutsideSubtree, SameSubtree
from placement.candidates.constraints.spread import Spread
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
]
