"""Special cases of codes."""

from enum import Enum, auto


class Manner(Enum):
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
    # A group for a provider above the providers is missing in `same_subtree`.
    SIBLINGS = auto()
    # The groups together exceed the free capacity of each subtree.
    SUBTREE_SUM = auto()
