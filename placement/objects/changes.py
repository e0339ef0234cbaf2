"""The changes of trees since a cursor.

A cursor consists of the number of a change and the token of its numbering. A database that contains
this token contains all changes up to the numbering. An older backup or a different database does
not contain the token. Therefore, its own changes with the same numbers are not returned for this
cursor.

On engines that tear views, a view may show a numbering without an earlier one. Therefore, the
latest number is read first, because a later view shows all numberings up to this number
(`objects/revisions.py`). The token of the cursor is read last: if a numbering has deleted a change
that the client has not read, it has also deleted the token, and the later view shows this deletion.
"""

from collections.abc import Sequence
from functools import partial
from itertools import takewhile
from typing import Any, NamedTuple

from sqlalchemy.engine import Connection

from placement.db.engine import Database
from placement.db.fragments import NO_PROVIDER
from placement.db.statements import changes as statements
from placement.db.statements.changes import NumberedTree
from placement.errors import CursorExpired
from placement.objects import change_numbering
from placement.objects.change_numbering import UNFINISHED
from placement.objects.revisions import UNKNOWN


class ChangeCursor(NamedTuple):
    """A position in the sequence of changes."""

    # The number of the last change before the position.
    position: int
    # The random token of the numbering that assigned the number.
    token: int


class Change(NamedTuple):
    """A tree that has changed."""

    # UUID of its root.
    uuid: str
    # Whether no root has this UUID now.
    gone: bool


class Changes(NamedTuple):
    """Changes since a cursor."""

    # The changes. Each tree occurs once.
    changes: Sequence[Change]
    # The cursor with which a client continues after these changes.
    cursor: ChangeCursor
    # Whether there are no further changes.
    complete: bool


def get_since(database: Database, cursor: ChangeCursor | None, limit: int, max_age: int) -> Changes:
    """Return the changes since a cursor. Number new changes first.

    If there are no new changes, the function executes one statement.

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
    # Another node of the cluster may have just issued the cursor.
    if database.read_replicated(partial(_is_valid, cursor=cursor)):
        return Changes((), cursor, complete=True)
    raise CursorExpired


def _nothing_since(feed: Any) -> Changes:
    cursor = ChangeCursor(feed.position, feed.token)
    return Changes((), cursor, complete=feed.numbered_at != UNFINISHED)


def _read(conn: Connection, cursor: ChangeCursor | None, limit: int) -> Changes | None:
    """Return the changes since a cursor, or None if this server does not know the cursor."""
    feed = statements.feed().row(conn)
    newest = ChangeCursor(feed.position, feed.token)
    if cursor is None or cursor == newest:
        return _nothing_since(feed)
    rows = statements.page(cursor.position, newest.position, limit + 1).rows(conn)
    is_cut = len(rows) > limit
    rows = rows[:limit]
    numbered = list(takewhile(lambda row: not _is_created_again(row), rows))
    end = newest
    if not numbered and rows:
        end = cursor
    elif is_cut or len(numbered) < len(rows):
        position = numbered[-1].position
        end = ChangeCursor(position, _token(conn, position))
    if not _is_valid(conn, cursor):
        return None
    # For a moment, both a deleted root and its successor may have a number.
    gone = {row.uuid: row.revision is None for row in numbered}
    changes = list(map(Change._make, gone.items()))
    return Changes(changes, end, complete=not is_cut and feed.numbered_at != UNFINISHED)


def _is_created_again(change: NumberedTree) -> bool:
    """Return whether a change is a deletion and a root with the same UUID has no number yet.

    Such a change is reported only when the root has a number. Otherwise, if the root were deleted
    before the next numbering, no change would report the second deletion. A root without a revision
    is not numbered until `db sync`, so it does not delay the change.
    """
    is_deletion = change.provider_id == NO_PROVIDER
    return is_deletion and change.revision not in {None, UNKNOWN}


def _is_valid(conn: Connection, cursor: ChangeCursor) -> bool:
    return _token(conn, cursor.position) == cursor.token


def _token(conn: Connection, position: int) -> int:
    """Return the token of the numbering that assigned a number, or 0 if it is not known."""
    rows = statements.token(position).rows(conn)
    return rows[0].token if rows else 0
