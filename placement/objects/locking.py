"""Locks on trees of providers. The row of a root is the mutex of its tree.

A write locks a tree by writing a new revision. Concurrent writes of the tree wait for this row.
Some writes lock the tree before they read the state (`lock_roots`). Other writes read the state
first, and verify it with conditions in their statements (`lock_seen`, `lock_unchanged`).
After a lost COMMIT, the new revision also identifies the write.
"""

import random
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from sqlalchemy.engine import Connection

from placement.db.engine import on_lost_commit
from placement.db.statements import locks as statements
from placement.runtime import stopwatch


class TreesChanged(Exception):
    """Raised within a write if trees have changed since they were read."""


class LockedProvider(NamedTuple):
    """A provider in a tree that the transaction locks before or after it reads the provider."""

    # UUID of the provider.
    uuid: str
    # Generation of the provider.
    generation: int
    # Id of the row.
    id: int
    # Id of the root of its tree.
    root_id: int


def new_revision() -> int:
    """Return a random revision. It is unique with high probability and has no order."""
    return random.SystemRandom().randrange(1, 2**63)


def renew_revisions(conn: Connection, root_ids: Collection[int]) -> int:
    """Lock trees until the transaction ends, and invalidate all cached copies of them.

    Returns their new revision.
    """
    revision = new_revision()
    with stopwatch.LOCKS:
        statements.renew_revisions(root_ids, revision).execute(conn)
    return revision


def lock_unchanged(
    conn: Connection,
    revisions: Mapping[int, int],
    provider_ids: Collection[int],
    generations: Mapping[int, int] = statements.NOTHING,
    failure: type[Exception] = TreesChanged,
    shared: Mapping[int, tuple[str, int]] = statements.NOTHING,
) -> int:
    """Lock trees that still have these revisions. Return their new revision.

    If the revision is equal, the tree has not changed since it was read.

    Args:
        conn: the connection.
        revisions: root id -> revision.
        provider_ids: providers in these trees whose generation is incremented.
        generations: provider id -> expected generation, of providers that were read.
        failure: raised instead of TreesChanged.
        shared: provider id -> (uuid, root id), of providers in other trees. These trees are locked
            too, but may have changed. Conditions in other statements must verify their state.

    Raises:
        TreesChanged: a revision or generation differs, or a shared provider has moved to another
            tree. The transaction cannot continue.
    """
    revision = new_revision()
    with stopwatch.LOCKS:
        write = statements.renew_and_bump(revisions, provider_ids, revision, generations, shared)
        write.execute(conn, failure=failure)
    # The other trees do not belong to the marker: it needs revisions that the statement compares.
    leave_commit_marker(conn, revisions, revision)
    return revision


def lock_seen(
    conn: Connection,
    revisions: Mapping[int, int],
    root_ids: Mapping[int, int],
    bumped: Collection[int],
) -> None:
    """Lock trees that were read without a lock and may have changed since then.

    The function only verifies that providers are still in the same trees. Conditions in other
    statements must verify the rest of the state.

    Args:
        conn: the connection.
        revisions: root id -> revision, as read.
        root_ids: provider id -> root id, as read, of the providers that the write relies on.
        bumped: providers whose generation is incremented.

    Raises:
        Unmatched: a provider has moved to another tree.
    """
    if not revisions:
        return
    revision = new_revision()
    with stopwatch.LOCKS:
        statements.renew_where_seen(root_ids, bumped, revision).execute(conn)
    # The statement accepts a revision that the verification has renewed.
    leave_commit_marker(conn, revisions, revision, is_final=False)


def leave_commit_marker(
    conn: Connection,
    old_revisions: Mapping[int, int | None],
    revision: int,
    keys_are_free: Callable[[Connection], bool] = lambda _later: True,
    *,
    is_final: bool = True,
) -> None:
    """Record the new revision of roots, so that a lost COMMIT can be verified.

    Args:
        conn: the connection.
        old_revisions: root id -> revision before this write, or None for a root that it creates.
        revision: the new revision.
        keys_are_free: waits for transactions that use the unique keys of a new root, and returns
            whether the keys are free. (A missing row cannot be locked.)
        is_final: see `on_lost_commit`.
    """

    def is_committed(later: Connection) -> bool | None:
        """Return whether the write was committed, or None if this cannot be determined."""
        # Reading locks the roots, so the lost transaction has ended when the read returns.
        free = keys_are_free(later)
        revisions: dict[int, int | None] = dict.fromkeys(old_revisions)
        for row in statements.revisions(old_revisions).rows(later):
            revisions[row.id] = row.revision
        for root_id, found in revisions.items():
            if found == revision:
                _write_unchanged(later, root_id, revision)
                return True
        # Another writer has changed a root since then, so the outcome cannot be determined.
        if not free or revisions != old_revisions:
            return None
        # On Galera, the write might still be applied when nodes rejoin. A new revision prevents
        # this.
        renew_revisions(later, [root for root, old in old_revisions.items() if old is not None])
        return False

    on_lost_commit(conn, is_committed, is_final=is_final)


def _write_unchanged(conn: Connection, root_id: int, revision: int) -> None:
    """Write the row of a root twice, so that it finally has the same revision.

    A server shows a transaction whose COMMIT was interrupted while it waited for a replica, and a
    failover could still lose this transaction. The COMMIT of a later write waits for the replica to
    store both.
    """
    for value in (new_revision(), revision):
        statements.renew_revisions([root_id], value).execute(conn)


def lock_roots(conn: Connection, revisions: Mapping[int, int]) -> None:
    """Lock trees (root id -> revision as read), even if they have changed since they were read."""
    if revisions:
        leave_commit_marker(conn, revisions, renew_revisions(conn, revisions))
