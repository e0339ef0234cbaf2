"""The conditions on several slots of a request, the cheapest first.

Most conditions are monotonic: further placements never resolve a violation. The rules about
subtrees are not (`subtree.py`).
"""

from collections.abc import Hashable, Sequence

from placement.candidates.constraints.base import Constraint, Kinds, Undo
from placement.candidates.constraints.capacity import Capacity
from placement.candidates.constraints.collective_traits import CollectiveTraits, bits_met
from placement.candidates.constraints.exclusive import Cards, Exclusive, ExclusiveIfUnused
from placement.candidates.constraints.isolation import Isolation, OnePerTree
from placement.candidates.constraints.spread import Spread
from placement.candidates.constraints.subtree import SameSubtree
from placement.candidates.model import OptionList, Options, Pool
from placement.candidates.plan import SearchPlan
from placement.runtime.budget import COST_PER_RESULT, COST_PER_STEP, Charge

# The order of construction and evaluation. CollectiveTraits reduces the options of the other
# constraints.
CONSTRAINTS: tuple[type[Constraint], ...] = (
    CollectiveTraits,
    OnePerTree,
    Isolation,
    Capacity,
    SameSubtree,
    Spread,
    Exclusive,
)


def kinds_of(plan: SearchPlan) -> Kinds:
    """Return the classes of the constraints that apply to a plan, in their order."""
    return tuple([kind for kind in CONSTRAINTS if kind.applies(plan)])


def signature(kinds: Kinds, plan: SearchPlan, pool: Pool) -> Hashable:
    """Return everything that constraints read from a pool, except for options.

    Equal pools have equal sharing providers, which are at the same positions.
    """
    reached = (pool.local, pool.reached) if pool.reached else None
    return reached, *[kind.signature(plan, pool) for kind in kinds]


def shape(kinds: Kinds, plan: SearchPlan, pool: Pool, options: Options) -> Hashable:
    """Return a key that is equal for pools with the same assignments."""
    distinct = tuple([tuple(options[requirement.slots[0]]) for requirement in plan.requirements])
    # PERF: most requests have no constraints, and most pools have no sharing providers.
    return distinct, signature(kinds, plan, pool) if kinds or pool.reached else None


def build_constraints(
    kinds: Kinds, plan: SearchPlan, pool: Pool, options: Options, spend: Charge
) -> tuple[list[Constraint], Sequence[OptionList]]:
    """Return the constraints of these kinds on a pool, and the narrowed options."""
    narrowed: Sequence[OptionList] = _shared(options)
    constraints: list[Constraint] = []
    for kind in kinds:
        for constraint in kind.build(plan, pool, narrowed, spend):
            spend(COST_PER_RESULT + COST_PER_STEP * len(constraint.slots))
            narrowed = constraint.narrow(narrowed)
            constraints.append(constraint)
    return constraints, narrowed


def _shared(options: Options) -> list[OptionList]:
    """Return the options with equal ones replaced by the same object."""
    distinct: dict[tuple[int, ...], OptionList] = {}
    shared: list[OptionList] = []
    latest: Sequence[int] | None = None
    for providers in options:
        if providers is latest:  # PERF: slots with equal requirements already share a list
            shared.append(shared[-1])
            continue
        latest, key = providers, tuple(providers)
        if key not in distinct:
            distinct[key] = OptionList(key)
        shared.append(distinct[key])
    return shared
