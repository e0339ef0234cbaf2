"""What a request asks of every anchor, worked out once."""

from collections.abc import Mapping, Sequence

from placement.candidates.model import Pool, Tree
from placement.candidates.request import CandidateRequest, Slot
from placement.candidates.requirements import Requirement, own_terms, requirements
from placement.candidates.stats import TraitSet
from placement.candidates.terms import PlaceTerm, RequiredTraits, Term, TermChecks, lowest, of_kind
from placement.candidates.trace import Refusal

MOST_SUMS = 256  # of amounts of one class that rooms are compared with


class SearchPlan:
    """The slots of a request and what they have to meet alone and together.

    slots: one for each suffixed group, one for each class of the unsuffixed group.
    requirements: what a slot asks of one provider, once for slots that ask the same.
    collective_terms: those that the unsuffixed slots must meet together, and their trait sets.
    splittable: slots that several providers may serve in parts; none in a plan without splits.
    names_providers: it asks for the tree of some provider, or for what is below it.
    isolated_slots: those whose provider serves no other suffixed group.
    shared_slots: those of the other suffixed groups.
    contended_classes: classes that several slots ask for, each as a whole.
    contended_splits: splittable slots of classes that others ask for, too.
    sums: contended class -> what any of its slots may take together, in order.
    combined_amounts: class -> units that one provider gives when it serves every slot.
    """

    split = False  # candidates serve each slot whole

    def __init__(self, request: CandidateRequest, *, splits: bool = False) -> None:
        """splits: several providers serve at least one of the classes that may be split."""
        self.request = request
        self.slots = slots_of(request)
        self.unsuffixed_slots = self._slots_where(suffixed=False)
        self.splittable = self._splittable() if splits else ()
        # Whether one provider serves the whole unsuffixed group.
        self.alone = len(self.unsuffixed_slots) == 1 and not splits
        self.requirements: list[Requirement] = requirements(self.slots, alone=self.alone)
        self.names_providers = any(of_kind(group.terms, PlaceTerm) for group in request.groups)
        self._root_checks = TermChecks(request.root)
        suffixed = self._slots_where(suffixed=True)
        isolated = {slot for slot in suffixed if self.slots[slot].group.suffix in request.isolate}
        self.isolated_slots = tuple(sorted(isolated))
        self.shared_slots = tuple(slot for slot in suffixed if slot not in isolated)
        self.collective_terms = self._collective_terms()
        self.collective_traits = tuple(term.any_of for term in self.collective_terms)
        self._slot_by_suffix = {self.slots[slot].group.suffix: slot for slot in suffixed}
        self._amounts = _amounts_by_class(self.slots)
        self.contended_classes = self._contended_classes()
        self.contended_splits = self._contended_splits()
        self.sums = {
            name: _sums(list(self._amounts[name].values())) for name in self.contended_classes
        }
        self.combined_amounts = {
            name: sum(amounts.values()) for name, amounts in self._amounts.items()
        }

    def _slots_where(self, *, suffixed: bool) -> tuple[int, ...]:
        return tuple(
            position for position, slot in enumerate(self.slots) if slot.group.suffixed == suffixed
        )

    def _splittable(self) -> tuple[int, ...]:
        return tuple(
            slot
            for slot in self.unsuffixed_slots
            if self.slots[slot].resources[0][0] in self.slots[slot].group.can_split
        )

    def _collective_terms(self) -> tuple[RequiredTraits, ...]:
        """A single provider must meet them all by itself, which is no matter of several slots."""
        if self.alone:
            return ()
        for group in self.request.groups:
            if not group.suffixed:
                return of_kind(group.terms, RequiredTraits)
        return ()

    def terms_of(self, slot: Slot) -> Sequence[Term]:
        """Return the terms that the provider of a slot must meet by itself."""
        return own_terms(slot.group, alone=self.alone)

    def _contended_classes(self) -> tuple[str, ...]:
        return tuple(
            name
            for name, amounts in self._amounts.items()
            if len(amounts) > 1 and amounts.keys().isdisjoint(self.splittable)
        )

    def _contended_splits(self) -> tuple[int, ...]:
        return tuple(
            slot
            for slot in self.splittable
            if len(self._amounts[self.slots[slot].resources[0][0]]) > 1
        )

    def slot_of(self, suffix: str) -> int:
        """Return the slot of a suffixed group."""
        return self._slot_by_suffix[suffix]

    def amounts_of(self, name: str) -> Mapping[int, int]:
        """Return slot -> units of a class, for the slots that ask for it."""
        return self._amounts[name]

    def root_refusal(self, anchor: Tree) -> Refusal | None:
        """Return why the anchor's root is not as the request says, or None."""
        mask = self._root_checks.root_mask(anchor.root)
        return self._root_checks.term(lowest(mask)).root_code if mask else None

    def unmet_traits(self, pool: Pool) -> tuple[TraitSet, ...]:
        """Return the collective trait sets that no provider of the pool meets."""
        return tuple(
            traits
            for traits in self.collective_traits
            if all(traits.isdisjoint(member.traits) for member in pool.members)
        )


def _amounts_by_class(slots: Sequence[Slot]) -> dict[str, dict[int, int]]:
    """Return class -> slot -> units."""
    amounts: dict[str, dict[int, int]] = {}
    for position, slot in enumerate(slots):
        for name, amount in slot.resources:
            amounts.setdefault(name, {})[position] = amount
    return amounts


def _sums(amounts: Sequence[int]) -> Sequence[int]:
    """Return the sums of some of the amounts, in order; all numbers where there are too many."""
    sums = {0}
    for amount in amounts:
        sums |= {total + amount for total in sums}
        if len(sums) > MOST_SUMS:
            return range(1, sum(amounts) + 1)
    return sorted(sums - {0})


def slots_of(request: CandidateRequest) -> tuple[Slot, ...]:
    """Return one slot for each suffixed group, one for each class of the unsuffixed group."""
    slots: list[Slot] = []
    for group in request.groups:
        if group.suffixed:
            slots.append(Slot(group, group.resources))
        else:
            slots += [Slot(group, (resource,)) for resource in group.resources]
    return tuple(slots)
