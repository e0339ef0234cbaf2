"""Revisions. They show whether the content of a tree has changed and whether it is complete.

A transaction that changes a tree renews the revision of its root (`objects/locking.py`). If the
view of the database is complete, content that is read together with a revision therefore belongs to
that revision.

On some engines (`Dialect.tears_views`), transactions can end while a view is being created. The
view may show a transaction without an earlier transaction for which it had waited, and thus a new
revision with old content. However, if a view shows a revision, the transaction that wrote it has
ended, and so have all transactions for which it had waited. All later views show these
transactions. Therefore, content certainly belongs to a revision if an earlier view of the same
server has already shown that revision. On such engines, each statement in this module has a
separate view, and content is read between two reads of the revisions, or together with the second
read.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

from sqlalchemy.engine import Connection

from placement.db.dialects import ONE_VIEW, dialect_of
from placement.db.statements import revisions as statements
from placement.objects import identifiers

# A state: equal numbers mean equal content, except with a probability of one in 2^62. None if a
# tree has no revision, because other software has created it.
State = tuple[int, ...]

# The revision of a tree that other software has created, and of content whose revision is unknown.
UNKNOWN = 0

MAX_READS = 3  # maximum number of attempts to read content that keeps changing

Head = TypeVar("Head")
Content = TypeVar("Content")


def may_tear(conn: Connection) -> bool:
    """Return whether the views of the connection may show a revision without all of its content."""
    return dialect_of(conn).tears_views


def can_confirm(conn: Connection) -> bool:
    """Return whether content belongs to the revision that an earlier statement has read.

    This is uncertain if views may be torn and both statements use the same view.
    """
    return not (may_tear(conn) and conn.get_execution_options().get(ONE_VIEW))


def read_between(
    conn: Connection,
    look: Callable[[], Head],
    read: Callable[[Head], Content],
    state: Callable[[Head], object],
) -> tuple[Head, Content, bool]:
    """Read content between two reads of revisions.

    If the content keeps changing, it is at least as new as the head that is returned with it. A
    client that has missed a write therefore cannot write with the generation in the head.

    Args:
        conn: the connection.
        look: reads the head: revisions, and further values to return with the content.
        read: reads the content.
        state: returns the revisions of a head.

    Returns:
        The head, the content, and whether both have one state.
    """
    later = look()
    for _ in range(MAX_READS):
        earlier, content = later, read(later)
        if not may_tear(conn):
            return earlier, content, True
        later = look()
        if state(later) == state(earlier):
            return later, content, can_confirm(conn)
    return earlier, content, False


def get_for_provider(conn: Connection, provider_uuid: str) -> dict[str, int]:
    """Return stored uuid -> revision of the tree, for the provider with this uuid."""
    rows = statements.for_providers(identifiers.stored_forms(provider_uuid)).rows(conn)
    return {uuid: revision or UNKNOWN for uuid, revision in rows}


def state_of_tree(revision: int) -> State | None:
    """Return the state of a tree, or None."""
    return (revision,) if revision != UNKNOWN else None


def state_of_page(revisions: Mapping[int, int], *, are_more: bool) -> State | None:
    """Return the state of a page of providers, or None.

    Args:
        revisions: provider id -> revision of its tree, in order.
        are_more: whether more providers follow.
    """
    if not all(revisions.values()):
        return None
    return (int(are_more), *(number for pair in revisions.items() for number in pair))


def state_of_all(conn: Connection) -> State | None:
    """Return the state of all trees, or None."""
    *numbers, unknown = (int(number or 0) for number in statements.sums().row(conn))
    return None if unknown else tuple(numbers)
