"""The numbering of changes of trees. It takes place after their commit, by comparing revisions.

Writes of trees do not number anything. A numbering compares the revision of each root with its
revision at the previous numbering. It is a separate transaction, which locks the only row of
`change_feed`. If the transaction does not commit, the next numbering finds the same changes.

The id, UUID, parent and revision of a root are in one row, so a view never shows a revision with a
different UUID or parent. However, on engines that tear views, a view may show both the new root and
the deleted root with the same UUID. Therefore, a UUID counts as deleted only if a later view
contains no root with this UUID.
"""

import random
from collections.abc import Sequence
from typing import Any

from sqlalchemy.engine import Connection

from placement.db.engine import on_lost_commit
from placement.db.statement import Restart, Unchanged
from placement.db.statements import change_numbering as statements
from placement.db.statements import changes as change_statements
from placement.db.statements import derived as derived_statements

# Minimum time between two numberings of a database, in milliseconds.
INTERVAL = 1000
# Maximum number of changed trees, and of deleted trees, in one numbering.
MAX_NUMBERED = 10_000
# The recorded time of an incomplete numbering. The next numbering does not wait.
UNFINISHED = 0
# The number that all trees get when numbering begins.
FIRST_POSITION = 0


def is_due(feed: Any) -> bool:
    """Return whether the next numbering may begin, by the times in the feed."""
    return not 0 <= feed.clock - feed.numbered_at < INTERVAL


def begin(conn: Connection) -> None:
    """Begin to number changes. All existing trees count as known and unchanged.

    Raises Unchanged if another transaction has begun.
    """
    if change_statements.feed(lock=True).rows(conn):
        raise Unchanged
    now, token = change_statements.clock().value(conn), _new_token()
    values = {"position": FIRST_POSITION, "token": token, "numbered_at": now}
    # This statement is the first one, because concurrent transactions wait for this row.
    statements.insert_feed({**values, "revision_sum": 0}).execute(conn)
    on_lost_commit(conn, lambda later: _has_token(later, token))
    changes, batches = statements.sizes().row(conn)
    statements.delete_all(changes, batches).execute(conn)
    has_roots = derived_statements.number_of_roots().value(conn) > 0
    statements.insert_roots(FIRST_POSITION).execute(conn)
    statements.insert_batch(**values).execute(conn)
    _update_feed(conn, values)
    if has_roots and not statements.sizes().row(conn).changes:
        raise Restart  # the server did not execute the INSERT


def number(conn: Connection, max_age: int, max_numbered: int = MAX_NUMBERED) -> None:
    """Number the changes since the previous numbering.

    Args:
        max_age: seconds for which numberings and deleted trees are remembered.
        max_numbered: maximum number of trees; the next numbering continues.

    Raises:
        Unchanged: another transaction has just numbered them, or there are none.
    """
    feed = change_statements.feed(lock=True).row(conn)
    if not is_due(feed):
        raise Unchanged
    changed = statements.changed(max_numbered).rows(conn)
    gone = statements.gone(max_numbered).rows(conn)
    if not changed and not gone:
        raise Unchanged
    is_cut = max_numbered in {len(changed), len(gone)}
    values = {
        "position": feed.position,
        "token": feed.token,
        "numbered_at": UNFINISHED if is_cut else feed.clock,
    }
    numbered = _replace(conn, feed.position, changed, gone)
    if numbered:
        token = _new_token()
        on_lost_commit(conn, lambda later: _has_token(later, token))
        values |= {"position": feed.position + numbered, "token": token}
        statements.insert_batch(values["position"], token, feed.clock).execute(conn)
    _update_feed(conn, values)
    _forget(conn, feed.clock - 1000 * max_age)


def _replace(conn: Connection, position: int, changed: Sequence[Any], gone: Sequence[Any]) -> int:
    """Replace the numbers of changed and deleted trees. Return how many got a new number.

    Raises Unmatched if a changed root disappears, which must get the number of a deletion.

    Args:
        position: the largest number given so far.
        changed: rows of `statements.changed`.
        gone: rows of `statements.gone`.
    """
    gone_ids = {row.provider_id for row in gone}
    # A root may disappear between these two statements.
    changed = [row for row in changed if row.id not in gone_ids]
    missing = _missing(changed, gone)
    # A root with the same UUID has appeared since the first statement. The deleted one stays known
    # until the next numbering. Otherwise, if the new root were deleted before, both would be lost.
    found = {row.uuid for row in statements.roots(missing).rows(conn)}
    replaced = {row.id for row in changed if row.known is not None}
    replaced.update(row.provider_id for row in gone if row.uuid not in found)
    statements.delete_known(replaced).execute(conn)
    deleted = sorted(missing - found)
    new = {row.uuid for row in changed if row.known != row.uuid}
    _delete_tombstones(conn, statements.tombstones(new.union(deleted)).rows(conn))
    statements.insert_changed([row.id for row in changed], position).execute(conn)
    statements.insert_deleted(deleted, position + len(changed)).execute(conn)
    return len(changed) + len(deleted)


def _missing(changed: Sequence[Any], gone: Sequence[Any]) -> set[str]:
    """Return the numbered UUIDs that none of the changed roots has."""
    # An engine may reuse the id of a deleted root.
    renamed = {row.known for row in changed if row.known not in {None, row.uuid}}
    return {row.uuid for row in gone}.union(renamed) - {row.uuid for row in changed}


def _delete_tombstones(conn: Connection, rows: Sequence[Any]) -> None:
    statements.delete_tombstones([row.uuid for row in rows]).execute(conn)


def _update_feed(conn: Connection, values: dict[str, int]) -> None:
    """Record a numbering, with the sum of the revisions that are now numbered."""
    revision_sum = int(statements.known_sum().value(conn))
    statements.update_feed({**values, "revision_sum": revision_sum}).execute(conn)


def _forget(conn: Connection, before: int) -> None:
    """Delete numberings whose successor is older than a time, and trees deleted before it.

    The cursor of the latest of these numberings was the newest one until its successor.
    """
    positions = []
    for row in statements.oldest_batches().rows(conn):
        if row.numbered_at >= before:
            break
        positions.append(row.position)
    if len(positions) > 1:
        *forgotten, _last = positions
        statements.delete_batches(forgotten).execute(conn)
        _delete_tombstones(conn, statements.old_tombstones(forgotten[-1]).rows(conn))


def _new_token() -> int:
    return random.SystemRandom().randrange(1, 2**63)


def _has_token(conn: Connection, token: int) -> bool:
    """Return whether the latest numbering has this token. Wait for a numbering in progress."""
    return any(row.token == token for row in change_statements.feed(lock=True).rows(conn))
