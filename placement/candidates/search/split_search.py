"""The search for candidates in which several providers serve one class of the unsuffixed group.

A response contains all candidates without a split before the first candidate with a split.
Therefore, this search runs after the search without splits, visits all anchors again, and yields
only candidates with a split.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from functools import partial

from placement.candidates.budget import COST_PER_STEP, Budget
from placement.candidates.constraints import CollectiveTraits, SplitCapacity, build_constraints
from placement.candidates.constraints.collective_traits import bits_met
from placement.candidates.model import Assignment, Options, Pool, Split
from placement.candidates.plan import SearchPlan
from placement.candidates.request import Slot
from placement.candidates.requirements import Requirement
from placement.candidates.search.anchors import AnchorSearches, FirstResult, Search
from placement.candidates.search.candidate import Candidate, SplitLayout
from placement.candidates.search.solver import Solutions, assignments
from placement.candidates.search.splits import PartProvider, Splits
from placement.candidates.stats import WRONG_ROOT, Outcome
from placement.candidates.trace import Refusal, Trace

# Cost of checking whether a slot can be split on a host, in addition to checking its providers.
COST_PER_SPLITS = 80


class SplitSearches(AnchorSearches):
    """Starts the searches for candidates of one request that have at least one split."""

    def __init__(self, plan: SearchPlan, budget: Budget) -> None:
        """plan: a plan with splits."""
        # This trace is discarded. The search without splits has already recorded the refusals.
        super().__init__(plan, budget, Trace())
        # The numbers of splits in assignments.
        self._numbers = SplitNumbers()
        # Assignment with 0 for all slots that are not split -> layout of its candidates.
        self._layouts: dict[tuple[int, ...], SplitLayout] = {}
        # Slot -> its requirement.
        self._requirements = {
            slot: requirement for requirement in plan.requirements for slot in requirement.slots
        }

    def start(self, pool: Pool) -> Search:
        """Search the pool for its first candidate.

        Raises:
            BudgetSpentError: the search reached a limit.
        """
        plan, size = self._plan, len(pool.members)
        if pool.anchor is None or plan.root_refusal(pool.anchor) is not None:
            return Search(WRONG_ROOT)

        # Find the providers of parts. Sharing providers of other trees cannot serve parts.
        splits: dict[int, Splits] = {}
        for slot in plan.splittable:
            requirement = self._requirements[slot]
            self._budget.spend(COST_PER_SPLITS + size * requirement.cost)
            splits[slot] = self._splits(pool, slot, requirement)
        if not any(ways.exist for ways in splits.values()):
            return self._search(pool, FirstResult(Outcome(unmet_slot=plan.splittable[0])))

        # Find the providers that can each serve a slot alone.
        options = [self._requirements[slot].providers(pool) for slot in range(len(plan.slots))]
        for slot, providers in enumerate(options):
            self._budget.spend(COST_PER_STEP + size * self._requirements[slot].cost)
            if not providers and not (slot in splits and splits[slot].exist):
                return self._search(pool, FirstResult(Outcome(unmet_slot=slot)))
        result = self._solve_jointly(
            pool,
            self._shape_with(pool, options, splits),
            partial(self._solutions_with, pool, options, splits),
        )
        return self._search(pool, result, self._make_candidate)

    def _splits(self, pool: Pool, slot: int, requirement: Requirement) -> Splits:
        """Return the splits of a slot.

        Providers with more free capacity receive their part first.
        """
        name, amount = self._plan.slots[slot].resources[0]
        sizes = requirement.part_sizes(pool, name, amount)
        trait_sets, members = self._plan.collective_traits, pool.members
        providers = [
            PartProvider(position, sizes[position], bits_met(trait_sets, members[position]))
            for position in by_room(pool, name, sizes)
        ]
        return Splits(amount, providers, self._budget.spend)

    def _shape_with(
        self, pool: Pool, options: Options, splits: Mapping[int, Splits]
    ) -> Hashable | None:
        """Return a key that is equal for pools with the same assignments, or None."""
        shape = self._shape(pool, options)
        if shape is None:
            return None
        return (
            shape,
            tuple([tuple(ways.providers) for ways in splits.values()]),
            CollectiveTraits.signature(self._plan, pool),
            SplitCapacity.signature(self._plan, pool),
        )

    def _solutions_with(
        self, pool: Pool, options: Options, splits: Mapping[int, Splits]
    ) -> Solutions:
        """Yield the assignments with a split, grouped by the first slot that is split.

        Earlier slots are served whole, and later slots are served whole or in parts.
        """
        refusal: Refusal | None = None
        splittable = self._plan.splittable
        for place, first in enumerate(splittable):
            if not splits[first].exist:
                continue
            ways = {slot: splits[slot] for slot in splittable[place:] if splits[slot].exist}
            split_options = list(options)
            split_options[first] = ()  # not served by a single provider
            if all(providers or slot in ways for slot, providers in enumerate(split_options)):
                refusal = yield from self._solutions_of(pool, split_options, ways)
        return refusal

    def _solutions_of(
        self, pool: Pool, options: Options, splits: Mapping[int, Splits]
    ) -> Solutions:
        """Yield the assignments in which the slots of `splits` may be split."""
        spend = self._budget.spend
        constraints, options = build_constraints(self._kinds, self._plan, pool, options, spend)
        if self._plan.collective_traits:
            constraints.append(self._collective_traits(pool, options, splits))
            options = constraints[-1].narrow(options)
        providers = {
            slot: [part.position for part in splits[slot].providers] if slot in splits else []
            for slot in self._plan.splittable
        }
        constraints += SplitCapacity.conditions(
            self._plan, pool, options, providers, self._numbers.split, spend
        )
        offers = {
            slot: partial(self._offer, ways, self._expected_load(slot, options))
            for slot, ways in splits.items()
        }
        refuse = self._trace.refuse_placement
        return (yield from assignments(options, constraints, self._budget, refuse, offers))

    def _expected_load(self, slot: int, options: Options) -> Mapping[int, float]:
        """Return position -> the load that other slots with the same class are expected to cause.

        The amount of each slot is divided equally among its possible providers. Splits that avoid
        contended providers are tried first, because otherwise the constraints might refuse very
        many splits.
        """
        load: dict[int, float] = {}
        name, _amount = self._plan.slots[slot].resources[0]
        for other, units in self._plan.amounts_of(name).items():
            if other != slot:
                self._budget.spend(len(options[other]))
                for position in options[other]:
                    share = units / len(options[other])
                    load[position] = load.get(position, 0) + share
        return load

    def _offer(self, splits: Splits, load: Mapping[int, float], needed: int) -> Iterator[int]:
        for split in splits.sets(needed, load):
            yield self._numbers.number(split)

    def _collective_traits(
        self, pool: Pool, options: Options, splits: Mapping[int, Splits]
    ) -> CollectiveTraits:
        """Return the constraint on the collective traits, with the traits that parts supply."""
        trait_sets = self._plan.collective_traits
        covers: dict[int, Mapping[int, int]] = {}
        for slot in self._plan.unsuffixed_slots:
            bits = {
                position: bits_met(trait_sets, pool.members[position]) for position in options[slot]
            }
            if slot in splits:
                bits |= {part.position: part.trait_bits for part in splits[slot].providers}
            self._budget.spend(len(bits) * (1 + len(trait_sets)))
            covers[slot] = _BitsOfSplits(bits, self._numbers)
        needed = (1 << len(trait_sets)) - 1
        return CollectiveTraits(covers, needed, self._budget.spend, splits.keys())

    def _make_candidate(self, _plan: SearchPlan, pool: Pool, assignment: Assignment) -> Candidate:
        """Return the candidate of an assignment, with a separate slot for each part."""
        slots: list[Slot] = []
        positions: list[int] = []
        for slot, number in zip(self._plan.slots, assignment, strict=True):
            if number >= 0:
                slots.append(slot)
                positions.append(number)
                continue
            ((name, _amount),) = slot.resources
            for position, units in self._numbers.split(number):
                slots.append(Slot(slot.group, ((name, units),)))
                positions.append(position)
        key = tuple([number if number < 0 else 0 for number in assignment])
        layout = self._layouts.get(key)
        if layout is None:
            layout = SplitLayout(slots)
            self._layouts[key] = layout
        return Candidate(layout, pool, tuple(positions))


def by_room(pool: Pool, name: str, positions: Iterable[int]) -> list[int]:
    """Return positions of providers of a class, by descending free capacity and then by UUID."""
    members = pool.members

    def order(position: int) -> tuple[int, str]:
        stock = members[position].stocks[name]
        return stock.used - stock.capacity, members[position].uuid

    return sorted(positions, key=order)


class SplitNumbers:
    """Negative numbers for splits, to distinguish splits from positions in assignments.

    Equal splits, as on equal hosts, have the same number.
    """

    def __init__(self) -> None:
        # The splits in the order of their numbers.
        self._splits: list[Split] = []
        # Split -> its number.
        self._numbers: dict[Split, int] = {}

    def number(self, split: Split) -> int:
        """Return the number of a split."""
        number = self._numbers.setdefault(split, -1 - len(self._splits))
        if -1 - number == len(self._splits):
            self._splits.append(split)
        return number

    def split(self, number: int) -> Split:
        """Return the split with a number."""
        return self._splits[-1 - number]


class _BitsOfSplits(dict[int, int]):
    """Position -> bits of a member, and number of a split -> bits of all its providers together."""

    def __init__(self, bits: Mapping[int, int], numbers: SplitNumbers) -> None:
        super().__init__(bits)
        self._numbers = numbers

    def __missing__(self, number: int) -> int:
        bits = 0
        for position, _units in self._numbers.split(number):
            bits |= self[position]
        return bits
