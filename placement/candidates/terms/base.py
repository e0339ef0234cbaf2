"""What all terms have: a term is a single condition of a request on one provider.

It is what a client states: of a request group, of the root of a tree, or of a list of providers.
"""

from collections.abc import Callable, Collection, Hashable, Sequence
from enum import Enum, auto
from operator import attrgetter
from typing import Any, ClassVar, Protocol, Self

from placement.candidates.model import Member, Tree
from placement.candidates.trace import Refusal
from placement.objects.known_names import KnownNames, NamesByKind
from placement.vocabulary import IdCondition

# What a client states in one term: any of some names, one name, or a number.
StatedValue = frozenset[str] | str | int

# Returns the bits of the terms that do not allow what a reader has returned.
Check = Callable[[Any], int]


class Reader(Protocol):
    """Returns the part of a provider that a term is judged by; hosts share equal ones."""

    def __call__(self, member: Member, /) -> Any:
        """Return the part, which is hashable."""


TRAITS: Reader = attrgetter("traits")
AGGREGATES: Reader = attrgetter("aggregates")


class RootRole(Enum):
    """What the root of an anchor is to a term of the unsuffixed group.

    IGNORED: nothing. SUBSTITUTE: a member of the tree meets all terms of this role, or else the
    root meets all of them for it. REQUIRED: the root has to meet the term as well, also where a
    sharing provider serves.
    """

    IGNORED = auto()
    SUBSTITUTE = auto()
    REQUIRED = auto()


class Term:
    """A condition on one provider; terms are equal where a client has written the same."""

    __slots__ = ()

    # The reason why a provider falls out, as a term of a group and as one of the root.
    code: ClassVar[Refusal]
    root_code: ClassVar[Refusal]
    # The member of the JSON form that states it; the parameter of queries, which may be another's.
    keyword: ClassVar[str]
    parameter: ClassVar[str]
    # What precedes the keyword in the path of a term of the root.
    root_prefix: ClassVar[str] = "root."
    # Whether the JSON form has a list of them.
    is_listed: ClassVar[bool] = True
    # What it states: a "trait", an "aggregate", a "tree" by one of its providers.
    name_kind: ClassVar[str]
    # The reason why a request fails whose names do not exist; None: unknown names are errors.
    unknown_code: ClassVar[Refusal | None] = None
    # Whether it is met by what a provider does not have.
    excludes: ClassVar[bool] = False
    # Whether several providers may meet it together, where they serve one group.
    is_collective: ClassVar[bool] = False
    # What the root of an anchor is to it, where the root counts for its members.
    root_role: ClassVar[RootRole] = RootRole.IGNORED
    # What judging it takes besides reading a provider, in looks.
    looks: ClassVar[int] = 0

    @property
    def stated(self) -> StatedValue:
        """What the client wrote."""
        raise NotImplementedError

    @property
    def json(self) -> str | int | list[str]:
        """What the JSON form has for it: one value, or several of which any will do."""
        stated = self.stated
        if not isinstance(stated, frozenset):
            return stated
        return sorted(stated) if len(stated) > 1 else min(stated)

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Return the term of what the JSON form has."""
        return cls(value)  # type: ignore[call-arg]

    @property
    def names(self) -> NamesByKind:
        """Kind -> the names to look up, as the client wrote them."""
        stated = self.stated
        if isinstance(stated, int):
            return {}
        return {self.name_kind: [stated] if isinstance(stated, str) else stated}

    @property
    def meaning(self) -> Hashable:
        """What is equal for terms that the same providers meet."""
        return self

    @property
    def is_unknown(self) -> bool:
        """Whether its names were looked up, and none of them exists."""
        return False

    def is_known(self, known: KnownNames) -> bool:
        """Whether enough of its names exist for some provider to meet it."""
        return True

    def resolved(self, known: KnownNames) -> Self:
        """Return the term with its names as trees in memory have them."""
        return self

    def conditions(self, known: KnownNames) -> Sequence[IdCondition]:
        """Return the conditions that are to be met, as the database judges them."""
        raise NotImplementedError


class MemberTerm(Term):
    """A term that is judged by one part of a provider."""

    __slots__ = ()

    reads: ClassVar[Reader]

    def allows(self, value: Any) -> bool:
        """Whether a provider meets the term; value: what `reads` returns of it."""
        raise NotImplementedError

    @classmethod
    def check(cls, terms: Sequence[tuple[int, Any]]) -> Check:
        """Return what judges several terms of the class, (bit, term) pairs, at once."""

        def failed(value: Any) -> int:
            mask = 0
            for bit, term in terms:
                if not term.allows(value):
                    mask |= bit
            return mask

        return failed


def check_any_of(names: Sequence[tuple[int, frozenset[str]]]) -> Check:
    """Return what judges (bit, names) pairs, of each of which a provider must have one."""

    def failed(value: frozenset[str]) -> int:
        mask = 0
        for bit, any_of in names:
            if any_of.isdisjoint(value):
                mask |= bit
        return mask

    return failed


def check_absent(names: Sequence[tuple[int, str]]) -> Check:
    """Return what judges (bit, name) pairs, each a name that a provider must not have.

    PERF: it takes as long as the smaller of both sets, however many names are forbidden.
    """
    bit_of: dict[str, int] = {}
    for bit, name in names:
        bit_of[name] = bit_of.get(name, 0) | bit
    forbidden = frozenset(bit_of)

    def failed(value: frozenset[str]) -> int:
        mask = 0
        for name in forbidden & value:
            mask |= bit_of[name]
        return mask

    return failed


class PlaceTerm(Term):
    """A term that is judged by where in a tree a provider stands."""

    __slots__ = ()

    is_listed = False
    name_kind = "tree"

    @property
    def stored(self) -> str:
        """The provider that the term names, as trees in memory have it."""
        raise NotImplementedError

    def positions(self, tree: Tree) -> Collection[int]:
        """Return the positions of the members that meet the term."""
        raise NotImplementedError
