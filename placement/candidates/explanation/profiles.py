"""What is known of hosts that are alike: the profile that they share, and the verdict on it."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from placement.candidates.explanation.terms import StatedTerm
from placement.candidates.terms import Masks
from placement.candidates.trace import Refusal

ORDER = {code: place for place, code in enumerate(Refusal)}


class Fall(NamedTuple):
    """Where a group loses its last provider on a host, or a host all of its assignments.

    group: None for the root and for what joins groups. term: None where no single one is to blame.
    slot: the one that lost its last provider. providers: positions of those that fall out there.
    """

    code: Refusal
    group: str | None
    term: StatedTerm | None = None
    slot: int = -1
    providers: Sequence[int] = ()


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


@dataclass(slots=True, eq=False)
class Verdict:
    """What holds for all hosts that are alike.

    fall: None for hosts that are served. by_group: suffix -> the code at which the group falls
    out, of those that do. gains: places of the relaxations with which they would be served.
    options: of each slot, whoever falls out. hosts: how many there are; extreme: the most, or
    least, that their inventories have of what is asked; examples: some of them. shortages and
    answers belong to `reductions`: what alone may be in the way, and whether less of it would do.
    """

    fall: Fall | None
    by_group: dict[str, Refusal] = field(default_factory=dict)
    gains: tuple[int, ...] = ()
    masks: tuple[Masks, ...] = ()
    options: Sequence[Sequence[int]] = ()
    undecided: bool = False
    root_refused: bool = False
    hosts: int = 0
    extreme: int | None = None
    examples: list[str] = field(default_factory=list)
    shortages: list[Shortage] | None = None
    answers: dict[Hashable, bool] = field(default_factory=dict)


class Profile(NamedTuple):
    """What is equal for hosts that are alike.

    root: the mask of the root. masks: those of the different screens. joined: the signatures of
    what joins slots.
    """

    root: int
    masks: tuple[Masks, ...] = ()
    joined: tuple[Hashable, ...] = ()


def first_fall(falls: Iterable[Fall | None]) -> Fall | None:
    """Return the fall with the first code; None where there is none."""
    return min(
        (fall for fall in falls if fall is not None),
        key=lambda fall: ORDER[fall.code],
        default=None,
    )
