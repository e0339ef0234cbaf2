"""All inventories of the cloud, for monitoring."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy.engine import Connection

from placement.db.statements import inventories as statements


class ListedInventory(NamedTuple):
    """An inventory with its usage."""

    # Name of the provider.
    provider: str
    # Name of the root provider of the tree.
    root: str
    # Name of the resource class.
    class_name: str
    # Total amount in units of the class.
    total: int
    # Reserved amount in units of the class.
    reserved: int
    # Factor of overcommitment.
    allocation_ratio: float
    # Amount that is allocated.
    usage: int
    # Generation of the provider.
    generation: int


def list_all(conn: Connection) -> Sequence[ListedInventory]:
    """Return all inventories, grouped by provider, in one statement."""
    return [ListedInventory._make(row) for row in statements.everywhere().rows(conn)]
