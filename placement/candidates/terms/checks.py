"""Evaluation of terms on the providers of a pool.

A term depends on one part of a provider. It is evaluated once for each distinct value of this part,
even if many hosts have the value.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from operator import and_, or_
from typing import Any

from placement.candidates.model import Member, Pool, Tree
from placement.candidates.terms.base import Check, MemberTerm, PlaceTerm, Reader, RootRole, Term
from placement.runtime.budget import COST_PER_PROVIDER, Charge, uncharged

MAX_REMEMBERED = 10_000  # cached results for the terms that have the same reader


def lowest(mask: int) -> int:
    """Return the lowest bit of a mask, or 0 if there is none."""
    return mask & -mask


def bits(mask: int) -> Iterator[int]:
    """Yield the bits of a mask, from the lowest to the highest."""
    while mask:
        bit = lowest(mask)
        yield bit
        mask ^= bit


# Bits of the terms that reject each member of a pool, by position. The first list refers to the
# aggregates and traits of the member, and the second to those of the root, or is empty if it makes
# no difference. A member is accepted if it has no bits in one of the lists. PERF: a plain pair,
# because each host has one for each slot.
Masks = tuple[Sequence[int], Sequence[int]]

NO_MASKS: Masks = ((), ())


def meeting(masks: Masks, needed: int) -> list[int]:
    """Return the positions of the members that no needed bit rejects."""
    itself, as_root = masks
    positions = [position for position, mask in enumerate(itself) if not mask & needed]
    if not as_root:
        return positions
    others = [position for position, mask in enumerate(as_root) if not mask & needed]
    return sorted({*positions, *others})


def each_mask(masks: Masks) -> list[tuple[int, int]]:
    """Yield (position, mask) of all members, with their own values and then with the root's."""
    itself, as_root = masks
    return [*enumerate(itself), *enumerate(as_root)]


class _Verdicts(dict[Any, int]):
    """Value of a reader -> bits of the terms that reject it."""

    def __init__(self, terms: Sequence[tuple[int, MemberTerm]], spend: Charge) -> None:
        super().__init__()
        self.bits = sum(bit for bit, _term in terms)
        # Cost of evaluating all terms for one value.
        self._cost = COST_PER_PROVIDER * len(terms)
        self._spend = spend
        by_class: dict[type[MemberTerm], list[tuple[int, MemberTerm]]] = {}
        for bit, term in terms:
            by_class.setdefault(type(term), []).append((bit, term))
        # The checks, one for each class of terms.
        self._checks: list[Check] = [kind.check(pairs) for kind, pairs in by_class.items()]

    def __missing__(self, value: Any) -> int:
        self._spend(self._cost)
        if len(self) >= MAX_REMEMBERED:
            self.clear()
        mask = 0
        for failed in self._checks:
            mask |= failed(value)
        self[value] = mask
        return mask


def _union(masks: list[list[int]]) -> Sequence[int]:
    """Return the union of several masks of each member."""
    joined = masks[0]
    for others in masks[1:]:
        joined = list(map(or_, joined, others))
    return joined


class TermChecks:
    """Terms, each with a bit, in the order of evaluation."""

    def __init__(
        self,
        terms: Iterable[Term],
        *,
        spans: bool = False,
        first: int = 0,
        spend: Charge = uncharged,
    ) -> None:
        """Prepare the evaluation.

        Args:
            terms: the terms in the order of evaluation.
            spans: whether the root counts for its members, as for the unsuffixed group.
            first: number of the first bit.
            spend: function that receives the cost of evaluations.
        """
        # The terms in the order of their bits.
        self.terms = tuple(terms)
        self._first = first
        self._spend = spend
        by_reader: dict[tuple[Reader, RootRole], list[tuple[int, MemberTerm]]] = {}
        # The terms that name a tree or subtree, each with its bit.
        self._places: list[tuple[int, PlaceTerm]] = []
        for number, term in enumerate(self.terms, first):
            if isinstance(term, PlaceTerm):
                self._places.append((1 << number, term))
            elif isinstance(term, MemberTerm):
                role = term.root_role if spans else RootRole.IGNORED
                by_reader.setdefault((term.reads, role), []).append((1 << number, term))
        # The bits that result from each value of a reader, and how the values of the root count for
        # them.
        self._verdicts = [
            (reads, role, _Verdicts(pairs, spend)) for (reads, role), pairs in by_reader.items()
        ]
        # The readers of terms that the root must satisfy as well.
        self._root_readers = [reads for reads, role in by_reader if role is RootRole.REQUIRED]
        roles = [role for (_reads, role), pairs in by_reader.items() for _pair in pairs]
        # Whether the root may substitute for its members in several terms. For a single term, it
        # does not matter whether the root is checked: a member is rejected only if the root is
        # rejected.
        self._has_alternatives = roles.count(RootRole.SUBSTITUTE) > 1
        # The tree for which `_allowed` was last computed.
        self._tree: Tree | None = None
        # The bit of each PlaceTerm, and the positions in the tree that the term accepts.
        self._allowed: list[tuple[int, Collection[int]]] = []

    def term(self, bit: int) -> Term:
        """Return the term of a bit."""
        return self.terms[bit.bit_length() - 1 - self._first]

    def root_mask(self, root: Member) -> int:
        """Return the bits of the terms that reject a root, without evaluating PlaceTerms."""
        mask = 0
        for reads, _role, failed in self._verdicts:
            mask |= failed[reads(root)]
        return mask

    def required_of_root(self, root: Member) -> tuple[Any, ...]:
        """Return the values of an anchor's root that affect members of other trees."""
        return tuple([reads(root) for reads in self._root_readers])

    def meeting(self, pool: Pool, positions: list[int], needed: int = -1) -> list[int]:
        """Return the positions of the members that no needed bit rejects."""
        members = pool.members
        for reads, role, failed in self._verdicts:
            if not failed.bits & needed:
                continue
            exempt = 0 if role is RootRole.IGNORED else self._exempt(pool, reads, role, failed)
            if exempt is None:
                return []
            positions = [
                position
                for position in positions
                if position < exempt or not failed[reads(members[position])] & needed
            ]
        if self._places:
            return [position for position in positions if not self._place_mask(pool, position)]
        return positions

    @staticmethod
    def _exempt(pool: Pool, reads: Reader, role: RootRole, failed: _Verdicts) -> int | None:
        """Return the number of members that the root exempts, or None if all members fail."""
        if pool.anchor is None:
            return 0
        fails = failed[reads(pool.anchor.root)]
        if role is RootRole.REQUIRED:
            return None if fails else 0
        return 0 if fails else pool.local

    def masks(self, pool: Pool) -> Masks:
        """Return the terms that reject each member of a pool.

        If there are no terms, the result is empty.
        """
        if not self.terms:
            return NO_MASKS
        itself: list[list[int]] = []  # for each reader
        as_root: list[list[int]] = []
        if self._places:
            positions = range(len(pool.members))
            itself.append([self._place_mask(pool, position) for position in positions])
            as_root.append(itself[0])
        for reads, role, failed in self._verdicts:
            masks = substitutes = [failed[reads(member)] for member in pool.members]
            if role is not RootRole.IGNORED and pool.anchor is not None:
                of_root = failed[reads(pool.anchor.root)]
                masks, substitutes = self._with_root(masks, of_root, role, pool.local)
            itself.append(masks)
            as_root.append(substitutes)
        if self._has_alternatives and pool.anchor is not None:
            return _union(itself), _union(as_root)
        return _union(itself), ()

    def _with_root(
        self, masks: list[int], of_root: int, role: RootRole, local: int
    ) -> tuple[list[int], list[int]]:
        """Return the masks of members for their own values and for the root's values.

        Args:
            masks: masks of the members' own values.
            of_root: mask of the root.
            role: role of the terms.
            local: number of members in the root's tree.
        """
        if role is RootRole.REQUIRED:
            masks = [mask | of_root for mask in masks]
            return masks, masks
        substitutes = [of_root] * local + masks[local:]
        if not self._has_alternatives:
            masks = list(map(and_, masks, substitutes))
        return masks, substitutes

    def _place_mask(self, pool: Pool, position: int) -> int:
        self._spend(COST_PER_PROVIDER * len(self._places))
        tree = pool.tree(position)
        if self._tree is not tree:
            self._tree = tree
            self._allowed = [(bit, term.positions(tree)) for bit, term in self._places]
        if position >= pool.local:
            position = pool.sharing[position - pool.local].position
        mask = 0
        for bit, positions in self._allowed:
            if position not in positions:
                mask |= bit
        return mask
