"""What an explanation asks of every host, worked out once for a request."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from placement.candidates.constraints import CONSTRAINTS, Constraint
from placement.candidates.explanation.screens import RootScreen, Screen
from placement.candidates.explanation.terms import Term
from placement.candidates.plan import SearchPlan
from placement.candidates.request import CandidateRequest
from placement.candidates.trace import Refusal

Kinds = Sequence[type[Constraint]]


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

    slots: those whose providers need not meet it, by bits of their screens. root: its bit of the
    root's. joins: what joins the slots then.
    """

    term: Term
    joins: Joins
    slots: Mapping[int, int]
    root: int = 0


class Question:
    """A request as an explanation looks at it.

    screens: of each slot. distinct: of slots that ask the same, one. place: slot -> its place
    among these. groups: suffix -> slots, in the order of the request. traits: the terms of
    traits that slots of the unsuffixed group bring together, with their bit.
    """

    def __init__(self, request: CandidateRequest, stated: CandidateRequest) -> None:
        """stated: the request with names as the client wrote them."""
        self.request = request
        self.joins = Joins.of(request)
        plan = self.joins.plan
        self.root = RootScreen(request.root, stated.root)
        by_suffix = {group.suffix: group for group in stated.groups}
        alone = len(plan.unsuffixed_slots) == 1
        self.screens: list[Screen] = []
        self.distinct: list[Screen] = []
        self.place: list[int] = []
        places: dict[object, int] = {}
        self.groups: dict[str, list[int]] = {group.suffix: [] for group in request.groups}
        for position, slot in enumerate(plan.slots):
            group = by_suffix[slot.group.suffix]
            screen = Screen(slot, group, alone=alone or group.suffixed)
            key = group.suffixed, replace(group, suffix=""), slot.resources
            if key not in places:
                places[key] = len(self.distinct)
                self.distinct.append(screen)
            self.screens.append(screen)
            self.place.append(places[key])
            self.groups[group.suffix].append(position)
        self.looks = sum(screen.looks for screen in self.distinct)
        self.relaxations = _relaxations(self, stated)

    @property
    def unsuffixed(self) -> Sequence[int]:
        """The slots of the unsuffixed group."""
        return self.joins.plan.unsuffixed_slots

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
        return [code for code in Refusal if code in codes]


def _relaxations(question: Question, stated: CandidateRequest) -> list[Relaxation]:
    """Return the request without each of its terms, but for resources."""
    joins = question.joins
    relaxations = [
        Relaxation(term, joins, {}, 1 << place) for place, term in enumerate(question.root.terms)
    ]
    for suffix, slots in question.groups.items():
        terms = dict.fromkeys(term for slot in slots for term in question.screens[slot].terms)
        for term in terms:
            if term.keyword == "resources":
                continue
            drops = {slot: question.screens[slot].bit(term) for slot in slots}
            if any(question.screens[slot].soft & bit for slot, bit in drops.items()):
                request = _without_trait(question.request, suffix, term)
                relaxations.append(Relaxation(term, Joins.of(request), {}))
            else:
                relaxations.append(Relaxation(term, joins, drops))
    return relaxations + list(_unjoined(question.request, stated))


def _without_trait(request: CandidateRequest, suffix: str, term: Term) -> CandidateRequest:
    return replace(
        request,
        groups=tuple(
            replace(group, required=tuple(each for each in group.required if each != term.value))
            if group.suffix == suffix
            else group
            for group in request.groups
        ),
    )


def _unjoined(request: CandidateRequest, stated: CandidateRequest) -> list[Relaxation]:
    """Return the request without each of the rules that join its groups."""
    relaxations = []
    if stated.isolate_all:
        term = Term(Refusal.ISOLATE, "group_policy", None, "isolate")
        joins = Joins.of(replace(request, isolate=frozenset()))
        relaxations.append(Relaxation(term, joins, {}))
    else:
        for suffix in sorted(request.isolate):
            term = Term(Refusal.ISOLATE, "isolate", None, suffix)
            joins = Joins.of(replace(request, isolate=request.isolate - {suffix}))
            relaxations.append(Relaxation(term, joins, {}))
    for rule in request.same_subtree:
        rules = tuple(each for each in request.same_subtree if each != rule)
        term = Term(Refusal.SAME_SUBTREE, "same_subtree", None, rule)
        relaxations.append(Relaxation(term, Joins.of(replace(request, same_subtree=rules)), {}))
    return relaxations
