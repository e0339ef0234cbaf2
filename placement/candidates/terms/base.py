"""The base class of terms. A term is a single condition of a request on one provider.

Clients specify terms for a request group, for the root of a tree, or for a list of providers.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from operator import attrgetter
from typing import Any, ClassVar, Protocol, Self

from placement.candidates.model import Member, Refusal, Tree
from placement.objects.known_names import KnownNames, NamesByKind
from placement.vocabulary import IdCondition

# The value that a client specifies in one term: alternatives, one name, or a number.
StatedValue = frozenset[str] | str | int

# Function that takes a value returned by a reader, and returns the bits of the terms that reject
# it.
Check = Callable[[Any], int]


class Reader(Protocol):
    """Function that returns the part of a provider on which a term depends.

    Hosts share equal parts.
    """

    def __call__(self, member: Member, /) -> Any:
        """Return the part, a hashable value."""


TRAITS: Reader = attrgetter("traits")
AGGREGATES: Reader = attrgetter("aggregates")


class RootRole(Enum):
    """How a term of the unsuffixed group applies to the root of an anchor.

    IGNORED: the term does not apply to the root. SUBSTITUTE: a member of the tree must satisfy all
    terms with this role, or the root must satisfy all of them instead. REQUIRED: the root must
    satisfy the term as well, even if a sharing provider serves.
    """

    IGNORED = auto()
    SUBSTITUTE = auto()
    REQUIRED = auto()


class Term:
    """A condition on one provider. Two terms are equal if the client has written the same text."""

    __slots__ = ()

    # Rejection code of a term of a group.
    code: ClassVar[Refusal]
    # Rejection code of a term of the root.
    root_code: ClassVar[Refusal]
    # Member of the JSON form.
    keyword: ClassVar[str]
    # Name of the query parameter. Several classes may use the same name.
    parameter: ClassVar[str]
    # Prefix of the keyword in the path of a root term.
    root_prefix: ClassVar[str] = "root."
    # Whether the JSON form contains a list of such terms.
    is_listed: ClassVar[bool] = True
    # Kind of the names: "trait", "aggregate", or "tree" for the name of a provider in the tree.
    name_kind: ClassVar[str]
    # Rejection code of a request whose names do not exist. None if unknown names are errors.
    unknown_code: ClassVar[Refusal | None] = None
    # Whether the term forbids a property. Otherwise, it requires the property.
    excludes: ClassVar[bool] = False
    # Whether the providers of a group may satisfy the term together.
    is_collective: ClassVar[bool] = False
    # How the term applies to the root of an anchor.
    root_role: ClassVar[RootRole] = RootRole.IGNORED

    @property
    def stated(self) -> StatedValue:
        """The value as written by the client."""
        raise NotImplementedError

    @property
    def json(self) -> str | int | list[str]:
        """The value in the JSON form: one name or number, or a list of alternatives."""
        stated = self.stated
        if not isinstance(stated, frozenset):
            return stated
        return sorted(stated) if len(stated) > 1 else min(stated)

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Return the term for a value in the JSON form."""
        return cls(value)  # type: ignore[call-arg]

    @property
    def names(self) -> NamesByKind:
        """Kind -> names to look up, as written by the client."""
        stated = self.stated
        if isinstance(stated, int):
            return {}
        return {self.name_kind: [stated] if isinstance(stated, str) else stated}

    @property
    def is_unknown(self) -> bool:
        """Whether the lookup found none of its names."""
        return False

    def is_known(self, known: KnownNames) -> bool:
        """Return whether enough of its names exist so that a provider can satisfy the term."""
        return True

    def resolved(self, known: KnownNames) -> Self:
        """Return the term with its names in the spelling of trees in memory."""
        return self

    def conditions(self, known: KnownNames) -> Sequence[IdCondition]:
        """Return the equivalent conditions for the database. All of them must be satisfied."""
        raise NotImplementedError


class MemberTerm(Term):
    """A term that depends on one part of a provider."""

    __slots__ = ()

    # Returns the part of a provider on which the term depends.
    reads: ClassVar[Reader]

    def allows(self, value: Any) -> bool:
        """Return whether the term accepts a value that `reads` has returned."""
        raise NotImplementedError

    @classmethod
    def check(cls, terms: Sequence[tuple[int, Any]]) -> Check:
        """Return a check for several terms of the class, which are given as (bit, term) pairs."""

        def failed(value: Any) -> int:
            mask = 0
            for bit, term in terms:
                if not term.allows(value):
                    mask |= bit
            return mask

        return failed


@dataclass(frozen=True, slots=True)
class AnyOfTerm(MemberTerm):
    """The provider has one of the names."""

    # Names as written by the client.
    any_of: frozenset[str]

    @property
    def stated(self) -> frozenset[str]:
        """The names."""
        return self.any_of

    @property
    def keys(self) -> frozenset[str]:
        """The names in the form that providers in memory contain."""
        return self.any_of

    @classmethod
    def from_json(cls, value: str | Sequence[str]) -> Self:
        """Return the term for one name, or for alternatives."""
        return cls(frozenset([value] if isinstance(value, str) else value))

    def allows(self, value: frozenset[str]) -> bool:
        """Return whether a provider has one of the names."""
        return not self.keys.isdisjoint(value)

    @classmethod
    def check(cls, terms: Sequence[tuple[int, Self]]) -> Check:
        """Return a check for several sets of names."""
        names = [(bit, term.keys) for bit, term in terms]

        def failed(value: frozenset[str]) -> int:
            mask = 0
            for bit, any_of in names:
                if any_of.isdisjoint(value):
                    mask |= bit
            return mask

        return failed


@dataclass(frozen=True, slots=True)
class AbsentTerm(MemberTerm):
    """The provider does not have the name."""

    excludes = True

    # Name as written by the client.
    name: str

    @property
    def stated(self) -> str:
        """The name."""
        return self.name

    @property
    def key(self) -> str:
        """The name in the form that providers in memory contain."""
        return self.name

    def allows(self, value: frozenset[str]) -> bool:
        """Return whether a provider does not have the name."""
        return self.key not in value

    @classmethod
    def check(cls, terms: Sequence[tuple[int, Self]]) -> Check:
        """Return a check for several names.

        PERF: the intersection takes time for the smaller set, however many names are forbidden.
        """
        bit_of: dict[str, int] = {}
        for bit, term in terms:
            bit_of[term.key] = bit_of.get(term.key, 0) | bit
        forbidden = frozenset(bit_of)

        def failed(value: frozenset[str]) -> int:
            mask = 0
            for name in forbidden & value:
                mask |= bit_of[name]
            return mask

        return failed


class PlaceTerm(Term):
    """A term that depends on the position of a provider in its tree."""

    __slots__ = ()

    is_listed = False
    name_kind = "tree"

    @property
    def stored(self) -> str:
        """UUID of the named provider in the spelling of trees in memory."""
        raise NotImplementedError

    def positions(self, tree: Tree) -> Collection[int]:
        """Return the positions of the members that satisfy the term."""
        raise NotImplementedError
