"""Revisions, which show whether the content of a tree has changed and whether it is complete.

A transaction that changes a tree renews the revision of its root (`objects/locking.py`). Content
that is read together with a revision therefore belongs to that revision, if the view of the
database is complete.

On some engines (`Dialect.tears_views`) a view is collected while transactions end. It may show a
transaction without another one that this had waited for, and so a new revision with old content.
But once a view shows a revision, the transaction that wrote it has ended, and so have all
transactions that it had waited for; no later view can miss them. So content has a revision for
certain if an earlier view of the same server has already shown that revision. On such engines each
statement here has a view of its own, and content is read between two reads of the revisions, or
together with the second one.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

from sqlalchemy.engine import Connection

from placement.db.dialects import ONE_VIEW, dialect_of
from placement.db.statements import revisions as statements
from placement.objects import identifiers

# Numbers that are equal only if the content is equal (except with a probability of one in 2^62).
# None if a tree has no revision, because other software has created it.
State = tuple[int, ...]

# The revision of a tree that other software has created, and of content whose revision is not
# known.
UNKNOWN = 0

MAX_READS = 3  # maximum number of reads of content that keeps changing

Head = TypeVar("Head")
Content = TypeVar("Content")


def may_tear(conn: Connection) -> bool:
    """Return whether views of the connection may show a revision without all of its content."""
    return dialect_of(conn).tears_views


def can_confirm(conn: Connection) -> bool:
    """Return whether content has the revision that an earlier statement has read.

    This is not certain if views may be torn and both statements use the same view.
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
    client that has missed a write can therefore not write with the generation in the head.

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
    """Return stored uuid -> revision of the tree, of the provider with this uuid."""
    rows = statements.for_providers(identifiers.stored_forms(provider_uuid)).rows(conn)
    return {row.uuid: row.revision or UNKNOWN for row in rows}


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
