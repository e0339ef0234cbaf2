"""Every inventory of the cloud at once, for those who watch it."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy.engine import Connection

from placement.db.statements import inventories as statements


class ListedInventory(NamedTuple):
    """What a provider, named, has of a class, with what is used of it."""

    provider: str
    # Name of the provider at the top of the tree.
    root: str
    class_name: str
    total: int
    reserved: int
    allocation_ratio: float
    usage: int
    generation: int


def everything(conn: Connection) -> Sequence[ListedInventory]:
    """Return all inventories, in one statement: those of one provider stand together."""
    return [ListedInventory._make(row) for row in statements.everywhere().rows(conn)]
