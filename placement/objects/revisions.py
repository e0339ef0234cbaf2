"""What tells a reader that nothing has changed since it looked, and that it has seen all.

Whoever changes anything in a tree renews the revision of its root (`objects/locking.py`). So what
is read with a revision is the content of that revision, if the view of the database is whole.

On some engines (`Dialect.tears_views`) a view is collected while transactions end: it may show one
of them without another one that this had waited for, and so a new revision with old content. But
once a view shows a revision, the transaction that wrote it has ended, and so have all that it had
waited for: no view that begins later can miss them. So content is that of a revision if an earlier
view of the same server has shown this revision already. Such engines therefore have a view for each
statement here, and content is read between two looks at revisions, or with the second of them.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

from sqlalchemy.engine import Connection

from placement.db.dialects import ONE_VIEW, dialect_of
from placement.db.statements import revisions as statements
from placement.objects import identifiers

# Numbers that differ, but for a chance of one in 2^62, wherever anything differs. None: they say
# nothing, for another software, which does not renew them, has made a tree.
State = tuple[int, ...]

# The revision that says nothing: of a tree that other software has made, or of content that is not
# known to be that of any revision.
UNKNOWN = 0

LOOKS = 3  # how often content that keeps changing is read

Head = TypeVar("Head")
Content = TypeVar("Content")


def may_tear(conn: Connection) -> bool:
    """Whether a view of the connection may show a revision without all of its content."""
    return dialect_of(conn).tears_views


def confirms(conn: Connection) -> bool:
    """Whether content with a revision that an earlier statement has shown is that of the revision.

    It is not where views may be torn and both statements have the same one.
    """
    return not (may_tear(conn) and conn.get_execution_options().get(ONE_VIEW))


def read_between(
    conn: Connection,
    look: Callable[[], Head],
    read: Callable[[Head], Content],
    state: Callable[[Head], object],
) -> tuple[Head, Content, bool]:
    """Return what a look shows, and what is read after it; and whether both are of one state.

    look: reads revisions, and what else is to be shown with the content. state: the revisions of
    what a look shows. Content that keeps changing is at least as new as what is returned with it,
    so a generation of the look admits no write by a client that has missed another one.
    """
    later = look()
    for _ in range(LOOKS):
        earlier, content = later, read(later)
        if not may_tear(conn):
            return earlier, content, True
        later = look()
        if state(later) == state(earlier):
            return later, content, confirms(conn)
    return earlier, content, False


def of_trees(conn: Connection, provider_uuid: str) -> dict[str, int]:
    """Return the revision of the tree that a provider is in, by the provider's stored uuid."""
    rows = statements.for_providers(identifiers.stored_forms(provider_uuid)).rows(conn)
    return {row.uuid: row.revision or UNKNOWN for row in rows}


def of_tree(revision: int) -> State | None:
    """Return the state of a tree."""
    return (revision,) if revision != UNKNOWN else None


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
