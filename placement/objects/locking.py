"""Locks on trees of providers: the root row is the mutex of its tree.

A write that locks a tree gives it a new revision. Of two writers the second waits there. Some
lock before they read what they decide on (`lock_trees`, `lock_roots`); others have read it before,
and count on nothing that their statements do not guard (`lock_seen`, `lock_unchanged`). The new
revision also marks the write, so that a lost COMMIT can be verified.
"""

import random
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import NamedTuple

from sqlalchemy.engine import Connection

from placement import stopwatch
from placement.db.engine import on_lost_commit
from placement.db.statement import Restart, Unmatched
from placement.db.statements import locks as statements
from placement.db.statements import names as name_statements
from placement.db.statements import providers as provider_statements
from placement.objects import identifiers

NO_GENERATIONS: Mapping[int, int] = MappingProxyType({})


class TreesChanged(Exception):
    """Raised inside a write: trees are not as they were seen, and all has to be read."""


class LockedProvider(NamedTuple):
    """A provider in a tree that the transaction locks, before this is read or before it commits."""

    uuid: str
    generation: int
    id: int
    root_id: int
    parent_id: int | None


def new_revision() -> int:
    """Return a revision that no tree has had: only equality of revisions has a meaning."""
    return random.SystemRandom().randrange(1, 2**63)


def renew_revisions(conn: Connection, root_ids: Collection[int]) -> int:
    """Lock trees until the transaction ends, and outdate every cached copy of them.

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
    generations: Mapping[int, int] = NO_GENERATIONS,
) -> int:
    """Lock trees (root id -> revision) that have these revisions still.

    Nothing has changed in them then since the revisions were read. They get a new revision, which
    is returned, and the providers in them their next generation; generations: those that they must
    have, as far as they were read. Raises TreesChanged, after which the transaction cannot go on.
    """
    revision = new_revision()
    try:
        with stopwatch.LOCKS:
            write = statements.renew_and_bump(revisions, provider_ids, revision, generations)
            write.execute(conn)
    except Unmatched:
        raise TreesChanged from None
    leave_commit_marker(conn, revisions, revision)
    return revision


def lock_seen(
    conn: Connection,
    revisions: Mapping[int, int],
    root_ids: Mapping[int, int],
    bumped: Collection[int],
) -> None:
    """Lock trees that were seen before anything was locked, and may have changed since.

    revisions: root id -> revision, as seen. root_ids: provider id -> root id, of the providers that
    the transaction counts on: they still are in these trees. bumped: those of them that get their
    next generation. What else was seen is guarded by the statements that follow, or before. Raises
    Unmatched.
    """
    if not revisions:
        return
    revision = new_revision()
    with stopwatch.LOCKS:
        statements.renew_where_seen(root_ids, bumped, revision).execute(conn)
    leave_commit_marker(conn, revisions, revision)


def leave_commit_marker(
    conn: Connection,
    old_revisions: Mapping[int, int | None],
    revision: int,
    keys_are_free: Callable[[Connection], bool] = lambda _later: True,
) -> None:
    """Record the new root revision so that a lost COMMIT can be verified.

    old_revisions: root id -> revision before this write; None for a root that it creates. Nobody
    can wait for a row that is not there yet, so `keys_are_free` waits for its unique keys and
    tells whether they are still free.
    """

    def is_committed(later: Connection) -> bool | None:
        """Whether the write has happened; None when nobody can tell."""
        # Reading takes the locks of the roots, so the lost transaction is over afterwards.
        free = keys_are_free(later)
        revisions: dict[int, int | None] = dict.fromkeys(old_revisions)
        for row in statements.revisions(old_revisions).rows(later):
            revisions[row.id] = row.revision
        if revision in revisions.values():
            return True
        # Revisions of a third writer hide which of the two happened.
        if not free or revisions != old_revisions:
            return None
        # On Galera it may yet be carried out, when nodes meet again: not after this.
        renew_revisions(later, [root for root, old in old_revisions.items() if old is not None])
        return False

    on_lost_commit(conn, is_committed)


def lock_roots(conn: Connection, revisions: Mapping[int, int]) -> None:
    """Lock trees (root id -> revision, as seen), whatever has changed in them since."""
    if revisions:
        leave_commit_marker(conn, revisions, renew_revisions(conn, revisions))


def lock_trees(conn: Connection, provider_uuids: Collection[str]) -> dict[str, LockedProvider]:
    """Lock the trees of the providers named; return these, by the identifiers of the request.

    Raises Restart when one has moved to a tree that is not locked.
    """
    stored_uuids = identifiers.stored_forms(*provider_uuids)
    rows = name_statements.with_trees({}, stored_uuids).rows(conn)
    revisions = {root_id: revision for _kind, root_id, _uuid, revision in rows}
    if not revisions:
        return {}
    lock_roots(conn, revisions)

    # Only now can nobody change the providers any more.
    providers: dict[str, LockedProvider] = {}
    for row in provider_statements.locked(stored_uuids).rows(conn):
        providers[row.uuid] = LockedProvider._make(row)
    if any(provider.root_id not in revisions for provider in providers.values()):
        raise Restart
    return identifiers.match(provider_uuids, providers)
