"""What tells a reader that nothing has changed since it looked.

Whoever changes anything in a tree renews the revision of its root (`objects/locking.py`).
"""

from collections.abc import Mapping

from sqlalchemy.engine import Connection

from placement.db.statements import revisions as statements
from placement.errors import ProviderNotFound
from placement.objects import identifiers

# Numbers that differ, but for a chance of one in 2^62, wherever anything differs. None: they say
# nothing, for another software, which does not renew them, has made a tree.
State = tuple[int, ...]


def of_provider(conn: Connection, uuid: str) -> State | None:
    """Return the state of the tree that a provider is in.  Raises ProviderNotFound."""
    rows = statements.of_providers(identifiers.stored_forms(uuid)).rows(conn)
    revisions = {row.uuid: (row.revision or 0,) for row in rows}
    states = identifiers.match([uuid], revisions)
    if uuid not in states:
        raise ProviderNotFound(uuid)
    return states[uuid] if all(states[uuid]) else None


def of_page(revisions: Mapping[int, int], *, are_more: bool) -> State | None:
    """Return the state of a page of providers; revisions: of their trees, by their ids, in order.

    are_more: whether there are providers after them.
    """
    if not all(revisions.values()):
        return None
    return (int(are_more), *(number for pair in revisions.items() for number in pair))


def of_all(conn: Connection) -> State | None:
    """Return the state of all trees together."""
    *numbers, unknown = (int(number or 0) for number in statements.sums().row(conn))
    return None if unknown else tuple(numbers)
