"""A request that is prepared for the explanation of hosts, and its changes that may help."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import NamedTuple

from placement.candidates.constraints import kinds_of, signature
from placement.candidates.model import Pool, Refusal
from placement.candidates.request import (
    CandidateRequest,
    RequestGroup,
    StatedTerm,
    terms_from_group,
    terms_from_root,
)
from placement.candidates.search import SearchPlan, split_signature
from placement.candidates.terms import Masks, PlaceTerm, Term
from placement.runtime.budget import COST_PER_PROVIDER, Charge, uncharged


class JoinedPlan(SearchPlan):
    """A plan with the constraints that join its slots."""

    def __init__(
        self, request: CandidateRequest, spend: Charge = uncharged, key: Hashable = None
    ) -> None:
        """Plan a request. The key distinguishes it from other requests of an explanation."""
        super().__init__(request, spend)
        # The classes of the constraints that apply to the plan.
        self.kinds = kinds_of(self)
        self.key = key
        # Whether slots that can each be served may not be served together.
        self.is_joined = bool(self.kinds or self.splittable)

    def signature(self, pool: Pool) -> tuple[Hashable, ...]:
        """Return everything that constraints and splits read from a pool besides the options."""
        return signature(self.kinds, self, pool), split_signature(self, pool)


class RequestChange(NamedTuple):
    """A request without one term."""

    # The omitted term.
    term: StatedTerm
    # Creates the request without the term. It does so at each call, to save memory.
    request: Callable[[], CandidateRequest]
    # Slot -> the bit of the term that its providers need not satisfy. Empty if the change affects
    # the constraints that join slots.
    slots: Mapping[int, int] = {}
    # The bit of the term in the masks of roots, or 0 if the term does not apply to the root.
    root: int = 0
    # Whether only the text states the change, because it is not a single condition.
    in_text: bool = False


class ExplainedPlan(JoinedPlan):
    """The parts of a request that the explanation of each host uses. They are computed once."""

    def __init__(
        self, request: CandidateRequest, spend: Charge = uncharged, *, relaxes: bool = True
    ) -> None:
        """Prepare a request. `relaxes`: whether to find the changes that help as well."""
        super().__init__(request, spend)
        # The terms of the root, in the order of their bits.
        self.root_terms = terms_from_root(request.root)
        # The terms of all groups.
        self.stated = list(chain(*map(terms_from_group, request.groups)))
        # The terms of groups that name a tree or subtree.
        self.places: dict[StatedTerm, PlaceTerm] = {
            stated: term
            for stated, term in zip(self.stated, request.group_terms, strict=True)
            if isinstance(term, PlaceTerm)
        }
        of_slots = [self.requirement_of[slot] for slot in range(len(self.slots))]
        # Slot -> index of its requirement, which slots with equal requests share.
        self.index_of = [self.requirements.index(each) for each in of_slots]
        # The requirement of each slot, with the terms of its group.
        self.stated_requirements = [
            each.of_group(slot.group.suffix)
            for each, slot in zip(of_slots, self.slots, strict=True)
        ]
        # Suffix -> the slots of the group, in the order of the request.
        self.groups: dict[str, list[int]] = {group.suffix: [] for group in request.groups}
        for number, slot in enumerate(self.slots):
            self.groups[slot.group.suffix].append(number)
        # The slots of one group share their checks.
        self._checks = {each.checks for each in self.requirements if each.checks.terms}
        # Cost of the masks of one provider.
        self.provider_cost = COST_PER_PROVIDER * len(self.requirements)
        # The codes of the conditions that join groups, in order.
        self.joining_codes = self._joining_codes()
        # The request without each of its terms, except amounts.
        self.changes = self._changes() if relaxes else []

    def _joining_codes(self) -> Sequence[Refusal]:
        codes = {kind.code for kind in self.kinds}
        if self.splittable:
            codes.add(Refusal.CAPACITY_SUM)
        # If several traits are required, each provider may have only some of the traits.
        if any(each.soft or each.collective.bit_count() > 1 for each in self.requirements):
            codes.add(Refusal.COLLECTIVE_TRAITS)
        return [code for code in Refusal if code in codes]

    def _changes(self) -> list[RequestChange]:
        request = self.request
        of_root = [
            RequestChange(stated, partial(_without_root_term, request, term), root=1 << number)
            for number, (term, stated) in enumerate(zip(request.root, self.root_terms, strict=True))
        ]
        of_groups = chain(*map(self._changes_of_group, request.groups))
        of_rules: list[RequestChange] = []
        for kind in self.kinds:
            rules = kind.stated(request)
            of_rules += [
                RequestChange(rule, partial(kind.without, request, rule)) for rule in rules
            ]
        of_rules = [*_without_negations(request), *of_rules, *_without_isolation(request)]
        of_rules = [change for change in of_rules if _relates_all(change.request())]
        # Changes that serve the same number of hosts are sorted with taints, which come first
        # among the terms of the root, last.
        taints = [each for each in of_root if each.term.code is Refusal.TAINTED]
        return [*of_root[len(taints) :], *of_groups, *of_rules, *taints]

    def _changes_of_group(self, group: RequestGroup) -> list[RequestChange]:
        """Return the request without each term of a group. A group without slots has none."""
        changes: list[RequestChange] = []
        slots = self.groups[group.suffix]
        for term, stated in zip(group.terms, terms_from_group(group), strict=True):
            others = [each for each in group.terms if each != term]
            # Any provider could serve a group that requires nothing, so the rule that names it
            # would lose its meaning.
            if not slots or not (group.resources or any(not each.excludes for each in others)):
                continue
            bits = {slot: self.stated_requirements[slot].bit(stated) for slot in slots}
            if any(self.stated_requirements[slot].soft & bit for slot, bit in bits.items()):
                bits = {}  # a constraint checks the collective traits
            without = partial(_without_term, request=self.request, group=group, term=term)
            changes.append(RequestChange(stated, without, bits))
        return changes

    def root_mask(self, pool: Pool) -> int:
        """Return the bits of the root terms that the root of a pool fails."""
        if not self.root_terms or pool.anchor is None:
            return 0
        return self.root_checks.root_mask(pool.anchor.root)

    def masks(self, pool: Pool) -> tuple[Masks, ...]:
        """Return the masks of the providers of a pool, for each distinct requirement."""
        masks = {checks: checks.masks(pool) for checks in self._checks}
        return tuple([each.masks(pool, masks.get(each.checks)) for each in self.requirements])

    def codes_of(self, suffix: str) -> Sequence[Refusal]:
        """Return, in order, the codes at which a group can lose its last provider."""
        codes = {term.code for term in self._terms_of(suffix)}
        return [code for code in Refusal if code in codes]

    def terms_of(self, suffix: str, code: Refusal) -> Sequence[StatedTerm]:
        """Return the terms of the root and of a group that have a code."""
        return list(dict.fromkeys(term for term in self._terms_of(suffix) if term.code is code))

    def _terms_of(self, suffix: str) -> Iterable[StatedTerm]:
        slots = self.groups[suffix]
        return chain(self.root_terms, *[self.stated_requirements[slot].terms for slot in slots])


def _relates_all(request: CandidateRequest) -> bool:
    """Return whether a rule names each group without resources, as the API requires."""
    named = set[str]().union(*[rule.inside | rule.outside for rule in request.subtree_rules])
    return all(group.resources or group.suffix in named for group in request.groups)


def _without_isolation(request: CandidateRequest) -> Iterator[RequestChange]:
    """Yield the request without the whole list of isolated groups, if they are several."""
    if len(request.isolate) > 1 and not request.isolate_all:
        suffixes = ",".join(sorted(request.isolate))
        term = StatedTerm(Refusal.ISOLATE, "isolate", None, suffixes)
        yield RequestChange(term, partial(replace, request, isolate=frozenset()), in_text=True)


def _without_negations(request: CandidateRequest) -> Iterator[RequestChange]:
    """Yield the request without each group that a rule about subtrees negates."""
    rules = request.subtree_rules
    for number, rule in enumerate(rules):
        for suffix in sorted(rule.outside):
            other = rule._replace(outside=rule.outside - {suffix})
            changed = (*rules[:number], other, *rules[number + 1 :])
            term = StatedTerm(Refusal.SAME_SUBTREE, f"!{suffix} of same_subtree", None, rule)
            yield RequestChange(
                term, partial(replace, request, subtree_rules=changed), in_text=True
            )


def _with_group(request: CandidateRequest, group: RequestGroup) -> CandidateRequest:
    """Return the request with this group in place of the one with its suffix."""
    groups = [group if each.suffix == group.suffix else each for each in request.groups]
    return replace(request, groups=tuple(groups))


def _without_term(request: CandidateRequest, group: RequestGroup, term: Term) -> CandidateRequest:
    return _with_group(request, replace(group, terms=_without(group.terms, term)))


def _without_root_term(request: CandidateRequest, term: Term) -> CandidateRequest:
    return replace(request, root=_without(request.root, term))


def _without(terms: Iterable[Term], term: Term) -> tuple[Term, ...]:
    # The same aggregate in another spelling is a different term. The function keeps it.
    return tuple(each for each in terms if each != term)


def with_amount(request: CandidateRequest, suffix: str, name: str, amount: int) -> CandidateRequest:
    """Return the request with another amount of a class in one group."""
    (group,) = [each for each in request.groups if each.suffix == suffix]
    resources = {**dict(group.resources), name: amount}
    return _with_group(request, replace(group, resources=tuple(resources.items())))


def with_split(request: CandidateRequest, names: Iterable[str]) -> CandidateRequest:
    """Return the request whose unsuffixed group may be served in parts."""
    (group,) = [each for each in request.groups if not each.suffixed]
    return _with_group(request, replace(group, split_classes=group.split_classes.union(names)))
