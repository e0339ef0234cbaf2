"""The requirements of a request, which are computed once for all anchors."""

from collections.abc import Collection, Hashable, Mapping, Sequence

from placement.candidates.model import Options, Pool, Refusal, TraitSet, Tree
from placement.candidates.request import CandidateRequest, Slot
from placement.candidates.requirements import Requirement
from placement.candidates.terms import PlaceTerm, RequiredTraits, TermChecks, lowest, of_kind
from placement.runtime.budget import COST_PER_PROVIDER, COST_PER_STEP, Charge, uncharged

# Maximum number of sums of amounts of a class; above it, every number counts as a sum.
MAX_SUMS = 256


class SearchPlan:
    """The slots of a request, with their individual and collective requirements."""

    split = False  # each slot of a candidate is served by a single provider

    def __init__(self, request: CandidateRequest, spend: Charge = uncharged) -> None:
        """Plan a request. `spend` charges the evaluation of terms."""
        self.request = request
        # One slot per suffixed group, and one per class of the unsuffixed group.
        self.slots = slots_of(request)
        # Positions of the slots of the unsuffixed group.
        self.unsuffixed_slots, suffixed = _by_suffix(self.slots)
        # Suffix -> position of the slot of the group.
        self._slot_by_suffix = {self.slots[slot].group.suffix: slot for slot in suffixed}
        # Slots that several providers may serve in parts.
        self.splittable = tuple(
            [slot for slot in self.unsuffixed_slots if self.slots[slot].may_split]
        )
        # Whether one provider serves the whole unsuffixed group.
        self.alone = len(self.unsuffixed_slots) == 1 and not self.splittable
        # Requirements on a single provider. Slots with equal requirements share one object.
        self.requirements = requirements(self.slots, alone=self.alone, spend=spend)
        self.requirement_of = {
            slot: requirement for requirement in self.requirements for slot in requirement.slots
        }
        # Terms that the providers of the unsuffixed slots satisfy together.
        self.collective_terms = self._collective_terms()
        # The trait sets of `collective_terms`. A provider must have a trait from each set.
        self.collective_traits = tuple([term.any_of for term in self.collective_terms])
        # The checks of the terms on the root.
        self.root_checks = TermChecks(request.root, spend=spend)
        # Whether the request names a tree or a subtree.
        self.names_providers = bool(of_kind(request.group_terms, PlaceTerm))
        # Whether each tree provides at most one provider to several slots.
        self.one_per_tree = not request.nested and len(self.slots) > 1
        isolated: set[int] = set()
        if len(suffixed) > 1:
            suffixes = request.isolate & self._slot_by_suffix.keys()
            isolated = {self._slot_by_suffix[suffix] for suffix in suffixes}
        # Suffixed slots whose provider serves no other suffixed group.
        self.isolated_slots = tuple(sorted(isolated))
        # Suffixed slots whose provider may serve other suffixed groups.
        self.shared_slots = tuple([slot for slot in suffixed if slot not in isolated])
        # Class -> slot -> requested units.
        self._amounts = _amounts_by_class(self.slots)
        # Classes that several slots request.
        self.contended_classes = tuple(
            [name for name, amounts in self._amounts.items() if len(amounts) > 1]
        )
        # Contended class -> sorted sums of the amounts of any of its slots.
        self.sums = {name: _sums(self._amounts[name].values()) for name in self.contended_classes}

    @property
    def combined_amounts(self) -> Mapping[str, int]:
        """Class -> units requested by all slots together."""
        return {name: sum(amounts.values()) for name, amounts in self._amounts.items()}

    @property
    def joint_classes(self) -> Sequence[str]:
        """The classes that several slots request or that are served in parts."""
        split = sorted(map(self.class_of, self.splittable))
        return tuple(dict.fromkeys([*self.contended_classes, *split]))

    def host_key(self, pool: Pool) -> Hashable:
        """Return a key of pools that are equal for the request, except for names."""
        if self.names_providers:
            return pool.root, pool.profile  # a simulation changes hosts between two searches
        is_full = pool.root in self.request.full_hosts
        return (pool.profile, is_full) if is_full else pool.profile

    def _collective_terms(self) -> tuple[RequiredTraits, ...]:
        """Return the collective terms. Empty if one provider serves the whole group."""
        if self.alone:
            return ()
        for group in self.request.groups:
            if not group.suffixed:
                return of_kind(group.terms, RequiredTraits)
        return ()

    def slot_of(self, suffix: str) -> int:
        """Return the slot of a suffixed group."""
        return self._slot_by_suffix[suffix]

    def class_of(self, slot: int) -> str:
        """Return the class of a slot of the unsuffixed group."""
        return self.slots[slot].resources[0][0]

    def amounts_of(self, name: str) -> Mapping[int, int]:
        """Return slot -> units of a class, for the slots that request it."""
        return self._amounts[name]

    def options(self, pool: Pool, spend: Charge, *, in_parts: bool = False) -> Options:
        """Return slot -> members that can serve it.

        Args:
            pool: the providers.
            spend: charges the work.
            in_parts: whether to include members that can only serve a part of a splittable slot.
        """
        options: list[Sequence[int]] = [()] * len(self.slots)
        for requirement in self.requirements:
            spend(COST_PER_STEP + COST_PER_PROVIDER * len(pool.members))
            find = requirement.part_providers if in_parts else requirement.current_providers
            providers = find(pool)
            for slot in requirement.slots:
                options[slot] = providers
        return options

    def root_refusal(self, anchor: Tree) -> Refusal | None:
        """Return why the anchor's root fails the conditions on roots, or None if it does not."""
        mask = self.root_checks.root_mask(anchor.root)
        return self.root_checks.term(lowest(mask)).root_code if mask else None

    def unmet_traits(self, pool: Pool) -> tuple[TraitSet, ...]:
        """Return the collective trait sets of which no provider in the pool has any trait."""
        return tuple(
            traits
            for traits in self.collective_traits
            if all(traits.isdisjoint(member.traits) for member in pool.members)
        )


def _by_suffix(slots: Sequence[Slot]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the positions of the unsuffixed slots and of the suffixed slots."""
    unsuffixed: list[int] = []
    suffixed: list[int] = []
    for position, slot in enumerate(slots):
        (suffixed if slot.group.suffixed else unsuffixed).append(position)
    return tuple(unsuffixed), tuple(suffixed)


def _amounts_by_class(slots: Sequence[Slot]) -> dict[str, dict[int, int]]:
    """Return class -> slot -> units."""
    amounts: dict[str, dict[int, int]] = {}
    for position, slot in enumerate(slots):
        for name, amount in slot.resources:
            amounts.setdefault(name, {})[position] = amount
    return amounts


def _sums(amounts: Collection[int]) -> Sequence[int]:
    """Return the sorted sums of any of the amounts. If there are too many, return all numbers."""
    sums = {0}
    for amount in amounts:
        sums |= {total + amount for total in sums}
        if len(sums) > MAX_SUMS:
            return range(1, sum(amounts) + 1)
    return sorted(sums - {0})


def slots_of(request: CandidateRequest) -> tuple[Slot, ...]:
    """Return one slot per suffixed group, and one per class of the unsuffixed group."""
    slots: list[Slot] = []
    for group in request.groups:
        if group.suffixed:
            slots.append(Slot(group, group.resources))
        else:
            slots += [Slot(group, (resource,)) for resource in group.resources]
    return tuple(slots)


def requirements(
    slots: Sequence[Slot], *, alone: bool, spend: Charge = uncharged
) -> list[Requirement]:
    """Return the distinct requirements, each with the positions of its slots.

    Args:
        slots: the slots of a request.
        alone: whether one provider serves the whole unsuffixed group.
        spend: charges the evaluation of terms.
    """
    by_key: dict[tuple[object, ...], Requirement] = {}
    # The slots of the unsuffixed group share their checks.
    checks: TermChecks | None = None
    for position, slot in enumerate(slots):
        suffixed = slot.group.suffixed
        key = suffixed, slot.resources, slot.group.terms
        if key not in by_key:
            requirement = by_key[key] = Requirement(
                slot, alone=suffixed or alone, checks=None if suffixed else checks, spend=spend
            )
            if not suffixed:
                checks = requirement.checks
        by_key[key].slots.append(position)
    return list(by_key.values())
