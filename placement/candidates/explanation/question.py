"""What an explanation asks of every host, worked out once for a request."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain

from placement.candidates.budget import Spend, free
from placement.candidates.constraints import CONSTRAINTS, Constraint
from placement.candidates.explanation.relaxed import (
    joining_terms,
    without_join,
    without_root_term,
    without_term,
)
from placement.candidates.explanation.screens import Screen
from placement.candidates.explanation.terms import StatedTerm, of_group, of_root
from placement.candidates.model import Pool, Tree
from placement.candidates.plan import SearchPlan
from placement.candidates.request import CandidateRequest, Slot
from placement.candidates.terms import Masks, PlaceTerm, TermChecks
from placement.candidates.terms.checks import NO_MASKS
from placement.candidates.trace import Refusal
from placement.vocabulary import SHARING_TRAIT

Kinds = Sequence[type[Constraint]]

# What it takes to plan a request: each slot of it, and each of its terms.
LOOKS_PER_PLAN = 200
LOOKS_PER_PLANNED_SLOT = 150
LOOKS_PER_TERM = 4

# What it takes to see what the providers of a host fail, however few they are: amounts of slots
# that ask the same, and terms of a group.
LOOKS_PER_SCREEN = 10
LOOKS_PER_CHECKS = 25


@dataclass(frozen=True, slots=True)
class Joins:
    """A plan, and the kinds of constraints that join its slots."""

    plan: SearchPlan
    kinds: Kinds

    @classmethod
    def of(cls, request: CandidateRequest) -> "Joins":
        """Return the joins of a request."""
        plan = SearchPlan(request)
        return cls(plan, tuple(kind for kind in CONSTRAINTS if kind.applies(plan)))


@dataclass(frozen=True, slots=True)
class Relaxation:
    """A request without one term.

    without: makes that request, which takes memory for each. slots: those whose providers need not
    meet the term, by bits of their screens; none where other joins hold then. root: its bit of the
    root's.
    """

    term: StatedTerm
    without: Callable[[], CandidateRequest]
    slots: Mapping[int, int] = field(default_factory=dict)
    root: int = 0


class Question:
    """A request as an explanation looks at it.

    joins: what joins its slots. root: what is asked of the root; root_terms: the same by bit.
    screens: of each slot. distinct: of slots that ask the same, one. place: slot -> its place among
    these. split: several providers may serve an amount in parts. groups: suffix -> slots, in the
    order of the request. host_looks, looks: the work that a host takes, and each provider of it.
    relaxations: the request without each of its terms. parts: how many slots and terms it has.
    plan_looks: the work of planning a request like it. stated: the terms of its groups. places:
    those that name trees.
    """

    def __init__(self, request: CandidateRequest, spend: Spend = free) -> None:
        """spend: told of conditions that are put to what no other provider had."""
        self.request = request
        self.joins = Joins.of(request)
        plan = self.joins.plan
        self.root = TermChecks(request.root, spend=spend)
        self.root_terms = of_root(request.root)
        self.split = any(group.can_split for group in request.groups)
        terms = [term for group in request.groups for term in group.terms]
        self.stated = [stated for group in request.groups for stated in of_group(group)]
        self.places: dict[StatedTerm, PlaceTerm] = {
            stated: term
            for stated, term in zip(self.stated, terms, strict=True)
            if isinstance(term, PlaceTerm)
        }
        self._classes = {name for group in request.groups for name, _units in group.resources}
        self.screens: list[Screen] = []
        self.distinct: list[Screen] = []
        self.place: list[int] = []
        self.groups: dict[str, list[int]] = {group.suffix: [] for group in request.groups}
        self._add_slots(plan.slots, spend)
        # The slots of one group share their checks.
        self._checks = list(dict.fromkeys(screen.checks for screen in self.distinct))
        self._checks_of = [self._checks.index(screen.checks) for screen in self.distinct]
        self.looks, self.host_looks = self._count_looks()
        self.relaxations = _relaxations(self)
        self.parts = len(self.screens) + len(self.relaxations)
        self.plan_looks = (
            LOOKS_PER_PLAN
            + LOOKS_PER_PLANNED_SLOT * len(self.screens)
            + LOOKS_PER_TERM * self.parts
        )

    def _count_looks(self) -> tuple[int, int]:
        """Return the work that each provider of a host takes, and what the host takes besides."""
        with_terms = sum(1 for checks in self._checks if checks.terms)
        return (
            sum(screen.looks for screen in self.distinct),
            LOOKS_PER_SCREEN * len(self.distinct) + LOOKS_PER_CHECKS * with_terms,
        )

    def _add_slots(self, slots: Sequence[Slot], spend: Spend) -> None:
        places: dict[object, int] = {}
        for position, slot in enumerate(slots):
            group = slot.group
            screen = self._screen(slot, spend)
            # What slots ask alike is looked at once.
            key = group.suffixed, replace(group, suffix=""), slot.resources
            if key not in places:
                places[key] = len(self.distinct)
                self.distinct.append(screen)
            self.screens.append(screen)
            self.place.append(places[key])
            self.groups[group.suffix].append(position)

    def _screen(self, slot: Slot, spend: Spend) -> Screen:
        """Return the screen of a slot; the slots of one group share its checks."""
        group = slot.group
        earlier = self.groups[group.suffix]
        return Screen(
            slot,
            # Where amounts are served in parts, several providers may bring the traits.
            alone=group.suffixed or (self.joins.plan.alone and not self.split),
            in_parts=not group.suffixed and slot.resources[0][0] in group.can_split,
            checks=self.screens[earlier[0]].checks if earlier else None,
            spend=spend,
        )

    def masks(self, pool: Pool) -> tuple[Masks, ...]:
        """Return the masks of a pool, of each distinct screen."""
        of_checks = [checks.masks(pool) if checks.terms else NO_MASKS for checks in self._checks]
        return tuple(
            [
                screen.masks(pool, of_checks[place])
                for screen, place in zip(self.distinct, self._checks_of, strict=True)
            ]
        )

    def codes_of(self, suffix: str) -> Sequence[Refusal]:
        """Return the codes at which a group may lose its providers, in their order."""
        terms = [*self.root_terms]
        for slot in self.groups[suffix]:
            terms += self.screens[slot].terms
        codes = {term.code for term in terms}
        return [code for code in Refusal if code in codes]

    def terms_of(self, suffix: str | None, code: Refusal) -> Sequence[StatedTerm]:
        """Return the terms of a group that have the code; of the root without a group."""
        terms = [*self.root_terms]
        if suffix is not None:
            for slot in self.groups[suffix]:
                terms += self.screens[slot].terms
        return list(dict.fromkeys(term for term in terms if term.code is code))

    def only_shares(self, tree: Tree) -> bool:
        """Whether all providers of a tree share, and none has some class of the request."""
        if not all(SHARING_TRAIT in member.traits for member in tree.members):
            return False
        return not self._classes.issubset(chain.from_iterable(each.stocks for each in tree.members))

    @property
    def joining_codes(self) -> Sequence[Refusal]:
        """The codes of what joins the groups, in their order."""
        codes = {kind.code for kind in self.joins.kinds}
        if self.split:
            codes.add(Refusal.CAPACITY_SUM)
        # One provider may have one trait, and another one the other.
        if any(screen.soft or screen.collective.bit_count() > 1 for screen in self.screens):
            codes.add(Refusal.COLLECTIVE_TRAITS)
        return [code for code in Refusal if code in codes]


def _relaxations(question: Question) -> list[Relaxation]:
    """Return the request without each of its terms, but for resources."""
    request = question.request
    of_root = [
        Relaxation(stated, partial(without_root_term, request, term), root=1 << number)
        for number, (term, stated) in enumerate(zip(request.root, question.root_terms, strict=True))
    ]
    taints = [each for each in of_root if each.term.code is Refusal.TAINTED]
    relaxations = of_root[len(taints) :]
    for group in request.groups:
        screens = {slot: question.screens[slot] for slot in question.groups[group.suffix]}
        if not screens:
            continue
        for term, stated in zip(group.terms, of_group(group), strict=True):
            without = partial(without_term, request, group.suffix, term)
            drops = {slot: screen.bit(stated) for slot, screen in screens.items()}
            if any(screens[slot].soft & bit for slot, bit in drops.items()):
                drops = {}  # traits that several providers bring together are a join
            relaxations.append(Relaxation(stated, without, drops))
    relaxations += [
        Relaxation(term, partial(without_join, request, term)) for term in joining_terms(request)
    ]
    # Of relaxations that serve equally many hosts, to tolerate a taint is listed last.
    return relaxations + taints
