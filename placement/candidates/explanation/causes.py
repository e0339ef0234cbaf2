"""Why a host is rejected, and the figures that explanations report about it."""

from collections.abc import Sequence
from enum import Enum, auto
from typing import NamedTuple

from placement.candidates.stated_terms import StatedTerm
from placement.candidates.terms.amounts import Amount
from placement.candidates.trace import Refusal


class SpecialCase(Enum):
    """A special case of a code, which has words of its own."""

    # For each term, a provider satisfies it, but no provider satisfies all terms.
    APART = auto()
    # Only providers that cannot serve the group for another reason satisfy the terms.
    ELSEWHERE = auto()
    # Only the root satisfies the terms. It has none of the classes.
    ON_ROOT = auto()
    # Only sharing providers have enough capacity.
    SHARED = auto()
    # Only sharing providers satisfy the terms, or have the classes. They cannot serve the group.
    POOLS = auto()
    # Neither providers of the host nor sharing providers can serve the amounts.
    WITH_POOLS = auto()
    # Providers that earlier checks reject may satisfy a single condition on the inventory.
    ROOM = auto()
    # The amounts of the groups together exceed max_unit, but not the free capacity.
    MAX_UNIT = auto()
    # There are too few providers for the isolated groups, even without regard to capacity.
    ISOLATION = auto()
    # The amounts do not fit, even in parts.
    PARTS = auto()
    # A group for a provider above the providers is missing in a rule about subtrees.
    SIBLINGS = auto()
    # The groups together exceed the free capacity of each subtree.
    SUBTREE_SUM = auto()


class RejectionCause(NamedTuple):
    """Why a group has no provider left, or all groups together no assignment, on many hosts."""

    # The terms of one code that the last providers fail. Empty if the code joins groups.
    terms: tuple[StatedTerm, ...] = ()
    # The amounts that unsuitable providers lack, the amounts that suitable providers have, or the
    # sums that do not fit. Units are 0 if no provider has an inventory of the class.
    amounts: tuple[Amount, ...] = ()
    # The special case of the code. None means the general case, which the code describes.
    case: SpecialCase | None = None
    # Suffixes of isolated groups that have too few providers.
    groups: tuple[str, ...] = ()
    # Number of providers that fit any of these groups.
    providers: int = 0
    # The terms that unsuitable providers with enough capacity fail.
    others: tuple[StatedTerm, ...] = ()


class Rejection(NamedTuple):
    """The code at which a group loses its last provider, or all groups their last assignment."""

    # The code of the last condition that a provider or assignment fails.
    code: Refusal
    # Suffix of the group, or None for the root and for codes that join groups.
    group: str | None
    # The cause of the rejection.
    cause: RejectionCause = RejectionCause()
    # Index of the slot without a provider, or -1 if no single slot is the cause.
    slot: int = -1
    # Positions of the providers that the last of the terms rejects.
    providers: Sequence[int] = ()
    # Positions of all providers that are rejected at the code.
    at_code: Sequence[int] = ()
    # For sums below one provider: the positions below each possible provider.
    subtrees: Sequence[Sequence[int]] = ()
    # Positions of the sharing providers that the text names. Each has the first term that it fails,
    # or None if the terms of the cause are the reason.
    sharing: Sequence[tuple[int, StatedTerm | None]] = ()


class Extreme(NamedTuple):
    """The largest or smallest value of the inventory field that rejects an amount."""

    # The value of the field, in units of the class.
    value: int
    # The next larger amount that some inventory allows, or None if no inventory does.
    next: int | None = None
    # The parts of a sum with their providers, on the host with the extreme.
    parts: "Parts | None" = None
    # For max_unit: the most free units of the inventories.
    free: int = 0


class Parts(NamedTuple):
    """The parts of an amount that the providers of a host can serve."""

    # Number of providers.
    providers: int
    # Common max_unit of the providers if it limits each part, or None.
    max_unit: int | None


class SharingFault(NamedTuple):
    """The reason why a sharing provider cannot serve a group."""

    # The first term that the provider fails.
    term: StatedTerm
    # The value of its inventory that rejects the amount, or None if the term is not an amount.
    value: int | None
    # The next larger amount that would fit, or None.
    next: int | None = None
    # The free units, if they are fewer than the value, or None.
    free: int | None = None
