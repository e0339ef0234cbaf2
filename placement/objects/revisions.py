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

from collections.abc import Callable, Collection, Mapping
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

# The revision of content that kept changing, so that it may combine several states.
MIXED = -1

MAX_READS = 10  # maximum number of attempts to read content that keeps changing

Head = TypeVar("Head")
Key = TypeVar("Key")
Row = TypeVar("Row")


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
    rows_of: Callable[[Head], Mapping[Key, Row]],
    read: Callable[[Head, Collection[Key]], object],
) -> tuple[Head, Mapping[Key, Row]]:
    """Read content between two reads of its rows, and read again the content that has changed.

    Each statement of the connection must have its own view, unless views are complete.

    Args:
        look: reads the head: the rows with their revisions, and further values.
        rows_of: returns the rows of a head. Content with different keys is confirmed separately.
        read: reads the content of some of the rows of a head.

    Returns:
        The head, and the row of each key whose content has exactly the revision of this row. The
        content of any other key of the head kept changing. It is at least as new as the head. A
        client that has missed a write therefore cannot write with the generation in the head.
    """
    head = earlier = look()
    exact: dict[Key, Row] = {}
    for _ in range(MAX_READS):
        rows = rows_of(head)
        pending = rows.keys() - exact.keys()
        read(head, pending)
        if not may_tear(conn):
            return head, rows
        earlier, head = head, look()
        latest = rows_of(head)
        exact |= {key: rows[key] for key in pending if latest.get(key) == rows[key]}
        if latest.keys() <= exact.keys():
            return head, exact
    return earlier, exact  # the content of the last head has not been read


def get_for_providers(conn: Connection, *uuids: str) -> dict[int, int]:
    """Return root id -> revision, of the trees of providers."""
    return dict(statements.for_providers(identifiers.stored_forms(*uuids)).rows(conn))


def state_of_tree(revision: int) -> State | None:
    """Return the state of a tree, or None."""
    return (revision,) if revision > UNKNOWN else None


def state_of_page(revisions: Mapping[int, int], *, are_more: bool) -> State | None:
    """Return the state of a page of providers, or None.

    Args:
        revisions: provider id -> revision of its tree, in order.
        are_more: whether more providers follow.
    """
    if any(revision <= UNKNOWN for revision in revisions.values()):
        return None
    return (int(are_more), *(number for pair in revisions.items() for number in pair))


def state_of_all(conn: Connection) -> State | None:
    """Return the state of all trees, or None."""
    *numbers, unknown = (int(number or 0) for number in statements.sums().row(conn))
    return None if unknown else tuple(numbers)
