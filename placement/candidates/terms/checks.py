"""Terms put to the providers of a pool: who meets them, and which of them a provider fails.

A term is judged once for each different part of providers that it reads, however many hosts share
that part.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from operator import and_, or_
from typing import Any

from placement.candidates.budget import Spend, free
from placement.candidates.model import Member, Pool, Tree
from placement.candidates.terms.base import (
    Check,
    MemberTerm,
    PlaceTerm,
    Reader,
    RootRole,
    Term,
)

MAX_REMEMBERED = 10_000  # answers that are kept, of the terms that read the same

# Of one term, put to one provider.
LOOKS_PER_TERM = 4


def lowest(mask: int) -> int:
    """Return the lowest bit of a mask; 0 where there is none."""
    return mask & -mask


def bits(mask: int) -> Iterator[int]:
    """Yield the bits of a mask, the lowest first."""
    while mask:
        bit = lowest(mask)
        yield bit
        mask ^= bit


# The bits of the terms that each member of a pool fails, by its position: what it fails by itself,
# and what it fails where the root's aggregates stand for its own. Either must be without fault; the
# second is empty where that makes no difference.
# PERF: a plain pair, for each host has one for each slot.
Masks = tuple[Sequence[int], Sequence[int]]

NO_MASKS: Masks = ((), ())


def meeting(masks: Masks, needed: int) -> list[int]:
    """Return the positions of the members that fail none of the needed bits."""
    itself, as_root = masks
    positions = [position for position, mask in enumerate(itself) if not mask & needed]
    if not as_root:
        return positions
    others = [position for position, mask in enumerate(as_root) if not mask & needed]
    return sorted({*positions, *others})


def each_mask(masks: Masks) -> list[tuple[int, int]]:
    """Return (position, mask) of all members by themselves, then of all as the root."""
    itself, as_root = masks
    return [*enumerate(itself), *enumerate(as_root)]


class _Answers(dict[Any, int]):
    """What is read of providers -> the bits of the terms that do not allow it."""

    def __init__(self, terms: Sequence[tuple[int, MemberTerm]], spend: Spend) -> None:
        super().__init__()
        self._looks = LOOKS_PER_TERM * len(terms)
        self._spend = spend
        by_class: dict[type[MemberTerm], list[tuple[int, MemberTerm]]] = {}
        for bit, term in terms:
            by_class.setdefault(type(term), []).append((bit, term))
        self._checks: list[Check] = [kind.check(pairs) for kind, pairs in by_class.items()]

    def __missing__(self, value: Any) -> int:
        self._spend(self._looks)
        if len(self) >= MAX_REMEMBERED:
            self.clear()
        mask = 0
        for failed in self._checks:
            mask |= failed(value)
        self[value] = mask
        return mask


def _union(masks: list[list[int]]) -> Sequence[int]:
    """Return the bits that any of several masks of each member has."""
    joined = masks[0]
    for others in masks[1:]:
        joined = list(map(or_, joined, others))
    return joined


class TermChecks:
    """Terms, each with a bit: those with lower bits are looked at first."""

    def __init__(
        self, terms: Iterable[Term], *, spans: bool = False, first: int = 0, spend: Spend = free
    ) -> None:
        """spans: the root counts for its members, as it does for the unsuffixed group.

        first: the number of the first bit. spend: told of what is judged.
        """
        self.terms = tuple(terms)
        self._first = first
        self._spend = spend
        by_reader: dict[tuple[Reader, RootRole], list[tuple[int, MemberTerm]]] = {}
        self._places: list[tuple[int, PlaceTerm]] = []
        for number, term in enumerate(self.terms, first):
            if isinstance(term, PlaceTerm):
                self._places.append((1 << number, term))
            elif isinstance(term, MemberTerm):
                role = term.root_role if spans else RootRole.IGNORED
                by_reader.setdefault((term.reads, role), []).append((1 << number, term))
        self._answers = [
            (reads, role, _Answers(pairs, spend)) for (reads, role), pairs in by_reader.items()
        ]
        self._root_readers = [reads for reads, role in by_reader if role is RootRole.REQUIRED]
        # Of a single term, a member fails just what both it and the root fail.
        roles = [role for (_reads, role), pairs in by_reader.items() for _pair in pairs]
        self._has_alternatives = roles.count(RootRole.SUBSTITUTE) > 1
        # The latest tree, and the positions in it that each term of places allows.
        self._tree: Tree | None = None
        self._allowed: list[tuple[int, Collection[int]]] = []

    def term(self, bit: int) -> Term:
        """Return the term that has the bit."""
        return self.terms[bit.bit_length() - 1 - self._first]

    def root_mask(self, root: Member) -> int:
        """Return the bits of the terms that a root fails by itself, but for those of places."""
        mask = 0
        for reads, _role, failed in self._answers:
            mask |= failed[reads(root)]
        return mask

    def required_of_root(self, root: Member) -> tuple[Any, ...]:
        """Return all that is read of an anchor's root for members of other trees."""
        return tuple([reads(root) for reads in self._root_readers])

    def meeting(self, pool: Pool, positions: list[int]) -> list[int]:
        """Return those of the positions in a pool whose members fail nothing."""
        members = pool.members
        for reads, role, failed in self._answers:
            exempt = 0 if role is RootRole.IGNORED else self._exempt(pool, reads, role, failed)
            if exempt is None:
                return []
            positions = [
                position
                for position in positions
                if position < exempt or not failed[reads(members[position])]
            ]
        if self._places:
            return [position for position in positions if not self._place_mask(pool, position)]
        return positions

    @staticmethod
    def _exempt(pool: Pool, reads: Reader, role: RootRole, failed: _Answers) -> int | None:
        """Return before which position members need not meet terms themselves; None: none can."""
        if pool.anchor is None:
            return 0
        fails = failed[reads(pool.anchor.root)]
        if role is RootRole.REQUIRED:
            return None if fails else 0
        return 0 if fails else pool.local

    def masks(self, pool: Pool) -> Masks:
        """Return what each member of a pool fails; nothing where there are no terms."""
        if not self.terms:
            return NO_MASKS
        itself: list[list[int]] = []  # of the terms that read the same
        as_root: list[list[int]] = []
        if self._places:
            positions = range(len(pool.members))
            itself.append([self._place_mask(pool, position) for position in positions])
            as_root.append(itself[0])
        for reads, role, failed in self._answers:
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
        """Return what members fail by themselves, and as the root.

        masks: without the root. of_root: what that fails. local: how many members are in its tree.
        """
        if role is RootRole.REQUIRED:
            masks = [mask | of_root for mask in masks]
            return masks, masks
        substitutes = [of_root] * local + masks[local:]
        if not self._has_alternatives:
            masks = list(map(and_, masks, substitutes))
        return masks, substitutes

    def _place_mask(self, pool: Pool, position: int) -> int:
        self._spend(LOOKS_PER_TERM * len(self._places))
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
