"""The changes of trees since a cursor.

A cursor is the number of a change, with the token of its numbering. A database with this token
contains all changes up to the numbering. An older backup, or another database, does not contain the
token, so its own changes with the same numbers are not returned for the cursor.

On engines that tear views, a view may show a numbering without an earlier one. Therefore the latest
number is read first: a later view shows all numberings up to that one (`objects/revisions.py`). The
token of the cursor is read last: if a numbering has deleted a change that the client has not read,
it has also deleted the token, and the later view shows this.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import takewhile
from typing import Any, NamedTuple

from sqlalchemy.engine import Connection

from placement.db.engine import Database
from placement.db.statements import changes as statements
from placement.db.statements.changes import NO_PROVIDER
from placement.errors import CursorExpired
from placement.objects import change_numbering
from placement.objects.change_numbering import UNFINISHED
from placement.objects.revisions import UNKNOWN


class ChangeCursor(NamedTuple):
    """A point in the sequence of changes."""

    # The number of the last change before it.
    position: int
    # The random token of the numbering that has given the number.
    token: int


class Change(NamedTuple):
    """A tree that has changed."""

    # UUID of its root.
    uuid: str
    # Whether no root has the UUID now.
    gone: bool


class Changes(NamedTuple):
    """Changes since a cursor."""

    # Each tree occurs once.
    changes: Sequence[Change]
    # The cursor with which a client continues after these changes.
    cursor: ChangeCursor
    # Whether no more changes are waiting.
    complete: bool


def get_since(database: Database, cursor: ChangeCursor | None, limit: int, max_age: int) -> Changes:
    """Return the changes since a cursor, and number them first if there are new ones.

    Without new changes this is one statement.

    Args:
        database: the database that is written to, not a replica.
        cursor: where to continue; None for the present, without any changes.
        limit: maximum number of changes.
        max_age: seconds for which changes are remembered.

    Raises:
        CursorExpired: changes after the cursor are not remembered any more, or this database has
            not issued it.
    """
    state = database.read_one(lambda conn: statements.state().row(conn))
    if state.position is None:
        if cursor is not None:
            raise CursorExpired
        database.write(change_numbering.begin)
    elif state.moved and change_numbering.is_due(state):
        database.write(partial(change_numbering.number, max_age=max_age))
    elif cursor in {None, ChangeCursor(state.position, state.token)}:
        return _nothing_since(state)
    with database.read_trees() as conn:
        changes = _read(conn, cursor, limit)
    if changes is not None:
        return changes
    assert cursor is not None
    # Another node of the cluster may have issued the cursor a moment ago.
    if database.read_replicated(partial(_is_valid, cursor=cursor)):
        return Changes((), cursor, complete=True)
    raise CursorExpired


def _nothing_since(feed: Any) -> Changes:
    cursor = ChangeCursor(feed.position, feed.token)
    return Changes((), cursor, complete=feed.numbered_at != UNFINISHED)


def _read(conn: Connection, cursor: ChangeCursor | None, limit: int) -> Changes | None:
    """Return the changes since a cursor; None if this server does not know the cursor."""
    feed = statements.feed().row(conn)
    newest = ChangeCursor(feed.position, feed.token)
    if cursor is None or cursor == newest:
        return _nothing_since(feed)
    rows = statements.page(cursor.position, newest.position, limit + 1).rows(conn)
    is_cut = len(rows) > limit
    rows = rows[:limit]
    roots = {
        row.uuid: row.revision for row in statements.roots({row.uuid for row in rows}).rows(conn)
    }
    numbered = list(takewhile(lambda row: not _is_created_again(row, roots), rows))
    end = newest
    if not numbered and rows:
        end = cursor
    elif is_cut or len(numbered) < len(rows):
        position = numbered[-1].position
        end = ChangeCursor(position, _token(conn, position))
    if not _is_valid(conn, cursor):
        return None
    # A deleted root and its successor may both have a number for a moment.
    uuids = dict.fromkeys(row.uuid for row in numbered)
    changes = [Change(uuid, uuid not in roots) for uuid in uuids]
    return Changes(changes, end, complete=not is_cut and feed.numbered_at != UNFINISHED)


def _is_created_again(change: Any, roots: Mapping[str, int]) -> bool:
    """Return whether a change is a deletion, and a root with the UUID has no number yet.

    The change waits for the number of this root. If the root were reported without a number, and
    deleted before the next numbering, no change would report this deletion. A root without a
    revision is not numbered before `db sync`, so it does not delay the change.
    """
    is_deletion = change.provider_id == NO_PROVIDER
    return is_deletion and roots.get(change.uuid, UNKNOWN) != UNKNOWN


def _is_valid(conn: Connection, cursor: ChangeCursor) -> bool:
    return _token(conn, cursor.position) == cursor.token


def _token(conn: Connection, position: int) -> int:
    """Return the token of the numbering that has given a number; 0 if it is not known."""
    rows = statements.token(position).rows(conn)
    return rows[0].token if rows else 0
