"""All inventories and allocations of the cloud, for monitoring."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy.engine import Connection

from placement.db.statements import allocations
from placement.db.statements import inventories as statements


class ListedInventory(NamedTuple):
    """An inventory with its usage."""

    # Name of the provider.
    provider: str
    # Name of the root provider of the tree.
    root: str
    class_name: str
    # Total amount in units of the class.
    total: int
    # Reserved amount in units of the class.
    reserved: int
    # Factor of overcommitment.
    allocation_ratio: float
    # Amount that is allocated.
    usage: int
    generation: int


def list_all(conn: Connection) -> Sequence[ListedInventory]:
    """Return all inventories, grouped by provider, in one statement."""
    return [ListedInventory._make(row) for row in statements.everywhere().rows(conn)]


def list_allocations(conn: Connection) -> Mapping[tuple[str, str, str], int]:
    """Return the amount by name of the provider, UUID of the consumer and name of the class."""
    amounts: Counter[tuple[str, str, str]] = Counter()
    for provider, consumer, class_name, used in allocations.everywhere().rows(conn):
        # An adopted database may contain two rows of the same key.
        amounts[provider, consumer, class_name] += used
    return amounts
