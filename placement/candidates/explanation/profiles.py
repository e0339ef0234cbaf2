"""What is known of hosts that are alike: the profile that they share, and the verdict on it."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from placement.candidates.explanation.manners import Manner
from placement.candidates.explanation.terms import StatedTerm
from placement.candidates.terms import Masks
from placement.candidates.terms.amounts import Amount
from placement.candidates.trace import Refusal

if TYPE_CHECKING:
    from placement.candidates.explanation.extremes import Measure

ORDER = {code: place for place, code in enumerate(Refusal)}


class FallCause(NamedTuple):
    """What took the last provider of a group, or all assignments; equal for many hosts."""

    # The terms of one code that the last providers fail; none for codes that join groups.
    terms: tuple[StatedTerm, ...] = ()
    # The room concerned: what unsuitable providers lack or suitable ones have, or the sums that do
    # not fit. Units are 0 where providers have no inventory of the class at all.
    amounts: tuple[Amount, ...] = ()
    # How the code comes about; None: in the way that the code itself says.
    manner: Manner | None = None
    # Suffixes of isolated groups, and the number of providers that fit any of them.
    groups: tuple[str, ...] = ()
    providers: int = 0


class Fall(NamedTuple):
    """Where a group loses its last provider on a host, or a host all of its assignments."""

    code: Refusal
    # None for the root and for what joins groups.
    group: str | None
    cause: FallCause = FallCause()
    # The slot that lost its last provider.
    slot: int = -1
    # Positions of those that fall out last, at the last of the terms.
    providers: Sequence[int] = ()
    # Positions of all that fall out at the code.
    at_code: Sequence[int] = ()
    # Positions of sharing providers that alone have room.
    sharing: Sequence[int] = ()


class Shortage(NamedTuple):
    """An amount that alone may be in the way of a host.

    slot, place: which amount of the request. providers: positions of those that would serve the
    slot if less of the class were asked.
    """

    slot: int
    place: int
    resource_class: str
    amount: int
    providers: Sequence[int]


class Extreme(NamedTuple):
    """What inventories have at the most, or at the least, of what an amount failed."""

    there: int
    # The next amount above the one asked that some inventory would give; None: none would.
    next: int | None = None


@dataclass(slots=True, eq=False)
class Verdict:
    """What holds for all hosts that are alike."""

    # Why they are not served: all that took the last provider of one group, at one code. Empty for
    # hosts that are served.
    falls: Sequence[Fall] = ()
    # Suffix -> where the group falls out, of those that do.
    by_group: dict[str, Sequence[Fall]] = field(default_factory=dict)
    # Places of the relaxations with which they would be served.
    gains: tuple[int, ...] = ()
    masks: tuple[Masks, ...] = ()
    # The providers that may serve each slot, also where another slot has none.
    options: Sequence[Sequence[int]] = ()
    undecided: bool = False
    root_refused: bool = False
    # No provider is in a tree or subtree that a group names.
    is_outside: bool = False
    # How many there are, and how many of them the text mentions by themselves.
    hosts: int = 0
    aside: int = 0
    # UUIDs of some, and of some that only share what they have.
    examples: list[str] = field(default_factory=list)
    pools: list[str] = field(default_factory=list)
    # What is noted of their inventories.
    measures: Sequence["Measure"] = ()
    # Slot -> UUIDs of the sharing providers that alone have room for it.
    sharing: dict[int, set[str]] = field(default_factory=dict)
    # Of hosts whose groups do not fit together: the same with the cause, by what tells these apart.
    has_variants: bool = False
    variants: dict[Hashable, "Verdict"] = field(default_factory=dict)
    # These belong to `reductions`: what alone may be in the way, and whether less of it would do.
    shortages: list[Shortage] | None = None
    answers: dict[Hashable, bool] = field(default_factory=dict)

    def variant(self, fall: Fall) -> "Verdict":
        """Return the verdict of hosts with this fall, of which none is counted yet."""
        return Verdict(
            (fall,),
            self.by_group,
            self.gains,
            self.masks,
            self.options,
            self.undecided,
            self.root_refused,
            self.is_outside,
        )


class Profile(NamedTuple):
    """What is equal for hosts that are alike."""

    # The mask of the root.
    root: int
    # Those of the different screens.
    masks: tuple[Masks, ...] = ()
    # The signatures of what joins slots.
    joined: tuple[Hashable, ...] = ()
    # How many sharing providers the host reaches.
    reached: int = 0


def first_fall(falls: Iterable[Fall | None]) -> Fall | None:
    """Return the fall with the first code; None where there is none."""
    return min(
        (fall for fall in falls if fall is not None),
        key=lambda fall: ORDER[fall.code],
        default=None,
    )
