"""Relaxed requests: requests without one condition, or with a smaller amount."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from placement.candidates import constraints
from placement.candidates.request import CandidateRequest, RequestGroup
from placement.candidates.requirements import Requirement
from placement.candidates.stated_terms import StatedTerm, terms_from_group, terms_from_root
from placement.candidates.terms import Term


@dataclass(frozen=True, slots=True)
class Relaxation:
    """A request without one term."""

    # The omitted term.
    term: StatedTerm
    # Creates the request without the term. It does so at each call, to save memory.
    without: Callable[[], CandidateRequest]
    # Slot -> the bit of the term that its providers need not satisfy. Empty if the relaxation
    # changes the constraints that join slots.
    slots: Mapping[int, int] = field(default_factory=dict)
    # The bit of the term in the masks of roots, or 0 if the term does not apply to the root.
    root: int = 0


def root_relaxations(request: CandidateRequest) -> list[Relaxation]:
    """Return the request without each term of its root. Taints come first."""
    return [
        Relaxation(stated, partial(without_root_term, request, term), root=1 << number)
        for number, (term, stated) in enumerate(
            zip(request.root, terms_from_root(request.root), strict=True)
        )
    ]


def group_relaxations(
    request: CandidateRequest, group: RequestGroup, by_slot: Mapping[int, Requirement]
) -> list[Relaxation]:
    """Return the request without each term of a group.

    Args:
        request: The request.
        group: One of its groups.
        by_slot: The slots of the group, with their requirements. A group without slots has no
            relaxations.
    """
    relaxations: list[Relaxation] = []
    for term, stated in zip(group.terms, terms_from_group(group), strict=True):
        if not by_slot or _leaves_empty(group, term):
            continue
        drops = {slot: requirement.bit(stated) for slot, requirement in by_slot.items()}
        if any(by_slot[slot].soft & bit for slot, bit in drops.items()):
            drops = {}  # a constraint checks the collective traits
        without = partial(without_term, request, group.suffix, term)
        relaxations.append(Relaxation(stated, without, drops))
    return relaxations


def rule_relaxations(request: CandidateRequest) -> list[Relaxation]:
    """Return the request without each rule that joins groups."""
    relaxations: list[Relaxation] = []
    for kind in constraints.CONSTRAINTS:
        rules = kind.stated(request)
        relaxations += [Relaxation(rule, partial(kind.without, request, rule)) for rule in rules]
    return relaxations


def _leaves_empty(group: RequestGroup, term: Term) -> bool:
    """Return whether a group without resources would require nothing without a term.

    Any provider could serve such a group, so the rule that names it would lose its meaning.
    """
    others = [each for each in group.terms if each != term]
    return not group.resources and all(each.excludes for each in others)


def without_term(request: CandidateRequest, suffix: str, term: Term) -> CandidateRequest:
    """Return the request without a term of one of its groups."""
    groups = [
        replace(group, terms=_without(group.terms, term)) if group.suffix == suffix else group
        for group in request.groups
    ]
    return replace(request, groups=tuple(groups))


def without_root_term(request: CandidateRequest, term: Term) -> CandidateRequest:
    """Return the request without a term of its root."""
    return replace(request, root=_without(request.root, term))


def _without(terms: Iterable[Term], term: Term) -> tuple[Term, ...]:
    # The same aggregate in another spelling is a different term. The function keeps it.
    return tuple(each for each in terms if each != term)


def with_amount(request: CandidateRequest, suffix: str, name: str, amount: int) -> CandidateRequest:
    """Return the request with another amount of a class in one group."""
    groups = [
        replace(group, resources=tuple({**dict(group.resources), name: amount}.items()))
        if group.suffix == suffix
        else group
        for group in request.groups
    ]
    return replace(request, groups=tuple(groups))
