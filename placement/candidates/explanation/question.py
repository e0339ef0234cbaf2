"""What an explanation asks of every host, worked out once for a request."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from placement.candidates.budget import Spend, free
from placement.candidates.constraints import CONSTRAINTS, Constraint
from placement.candidates.explanation.relaxed import (
    joining_terms,
    without_join,
    without_root_term,
    without_term,
)
from placement.candidates.explanation.screens import Filters, Masks, RootScreen, Screen
from placement.candidates.explanation.terms import Term
from placement.candidates.model import Pool, Slot
from placement.candidates.plan import SearchPlan
from placement.candidates.request import CandidateRequest, RequestGroup
from placement.candidates.trace import Refusal

Kinds = Sequence[type[Constraint]]

# What it takes to plan a request: each slot of it, and each of its terms.
LOOKS_PER_PLAN = 200
LOOKS_PER_PLANNED_SLOT = 150
LOOKS_PER_TERM = 4


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

    term: Term
    without: Callable[[], CandidateRequest]
    slots: Mapping[int, int] = field(default_factory=dict)
    root: int = 0


class Question:
    """A request as an explanation looks at it.

    joins: what joins its slots. root: what is asked of the root. screens: of each slot. distinct:
    of slots that ask the same, one. place: slot -> its place among these. split: several
    providers may serve an amount in parts. groups: suffix -> slots, in the order of the request.
    looks: the work that one provider takes. relaxations: the request without each of its terms.
    parts: how many slots and terms it has. plan_looks: the work of planning a request like it.
    """

    def __init__(
        self, request: CandidateRequest, stated: CandidateRequest, spend: Spend = free
    ) -> None:
        """stated: the request with names as the client wrote them.

        spend: told of conditions that are put to what no other provider had.
        """
        self.request = request
        self.joins = Joins.of(request)
        plan = self.joins.plan
        self.root = RootScreen(request.root, stated.root)
        by_suffix = {group.suffix: group for group in stated.groups}
        self.split = any(group.can_split for group in request.groups)
        self.screens: list[Screen] = []
        self.distinct: list[Screen] = []
        self.place: list[int] = []
        places: dict[object, int] = {}
        self.groups: dict[str, list[int]] = {group.suffix: [] for group in request.groups}
        for position, slot in enumerate(plan.slots):
            group = by_suffix[slot.group.suffix]
            screen = self._screen(slot, group, spend)
            # What slots ask alike is looked at once.
            key = group.suffixed, replace(group, suffix=""), slot.resources
            if key not in places:
                places[key] = len(self.distinct)
                self.distinct.append(screen)
            self.screens.append(screen)
            self.place.append(places[key])
            self.groups[group.suffix].append(position)
        self._filters = _unique_filters(self.distinct)
        self._filter_of = [self._filters.index(screen.filters) for screen in self.distinct]
        self.looks = sum(screen.looks for screen in self.distinct)
        self.relaxations = _relaxations(self, stated)
        self.parts = len(self.screens) + len(self.relaxations)
        self.plan_looks = (
            LOOKS_PER_PLAN
            + LOOKS_PER_PLANNED_SLOT * len(self.screens)
            + LOOKS_PER_TERM * self.parts
        )

    def _screen(self, slot: Slot, stated: RequestGroup, spend: Spend) -> Screen:
        """Return the screen of a slot; the slots of one group share its filters."""
        earlier = self.groups[stated.suffix]
        return Screen(
            slot,
            stated,
            # Where amounts are served in parts, several providers may bring the traits.
            alone=stated.suffixed or (self.joins.plan.alone and not self.split),
            in_parts=not stated.suffixed and slot.resources[0][0] in stated.can_split,
            filters=self.screens[earlier[0]].filters if earlier else None,
            spend=spend,
        )

    def masks(self, pool: Pool) -> tuple[Masks, ...]:
        """Return the masks of a pool, of each distinct screen."""
        filtered = [filters.masks(pool) for filters in self._filters]
        return tuple(
            [
                screen.masks(pool, filtered[place])
                for screen, place in zip(self.distinct, self._filter_of, strict=True)
            ]
        )

    def codes_of(self, suffix: str) -> Sequence[Refusal]:
        """Return the codes at which a group may lose its providers, in their order."""
        terms = [*self.root.terms]
        for slot in self.groups[suffix]:
            terms += self.screens[slot].terms
        codes = {term.code for term in terms}
        return [code for code in Refusal if code in codes]

    def terms_of(self, suffix: str | None, code: Refusal) -> Sequence[Term]:
        """Return the terms of a group that have the code; of the root without a group."""
        terms = list(self.root.terms)
        if suffix is not None:
            for slot in self.groups[suffix]:
                terms += self.screens[slot].terms
        return list(dict.fromkeys(term for term in terms if term.code is code))

    @property
    def joining_codes(self) -> Sequence[Refusal]:
        """The codes of what joins the groups, in their order."""
        codes = {kind.code for kind in self.joins.kinds}
        if self.split:
            codes.add(Refusal.CAPACITY_SUM)
            if any(screen.soft for screen in self.screens):
                codes.add(Refusal.COLLECTIVE_TRAITS)
        return [code for code in Refusal if code in codes]


def _unique_filters(screens: Sequence[Screen]) -> list[Filters]:
    return list({id(screen.filters): screen.filters for screen in screens}.values())


def _relaxations(question: Question, stated: CandidateRequest) -> list[Relaxation]:
    """Return the request without each of its terms, but for resources."""
    request = question.request
    relaxations = [
        Relaxation(term, partial(without_root_term, request, stated, term), root=1 << place)
        for place, term in enumerate(question.root.terms)
    ]
    for slots in question.groups.values():
        terms = dict.fromkeys(term for slot in slots for term in question.screens[slot].terms)
        for term in terms:
            if term.keyword == "resources":
                continue
            without = partial(without_term, request, stated, term)
            drops = {slot: question.screens[slot].bit(term) for slot in slots}
            if any(question.screens[slot].soft & bit for slot, bit in drops.items()):
                drops = {}  # traits that several providers bring together are a join
            relaxations.append(Relaxation(term, without, drops))
    relaxations += [
        Relaxation(term, partial(without_join, request, term)) for term in joining_terms(request)
    ]
    return relaxations
