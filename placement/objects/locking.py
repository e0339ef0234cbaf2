"""Locks on trees of providers: the root row is the mutex of its tree.

A write reads the roots of what it touches, renews their revisions as its first write, and only
then reads what it decides on. Of two writers the second waits, and then sees what the first one
did. Or it reads all of it before, and renews the revisions only if they are still the ones that
were read (`seen_provider`, `seen_trees`). The new revision also marks the write, so that a lost
COMMIT can be verified.
"""

import random
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy.engine import Connection

from placement import stopwatch
from placement.db.engine import on_lost_commit
from placement.db.statement import Restart, Unmatched
from placement.db.statements import locks as statements
from placement.db.statements import providers as provider_statements
from placement.objects import catalog, identifiers
from placement.objects.catalog import NO_NAMES, Ids, Names


class TreesChanged(Exception):
    """Raised inside a write: trees are not as they were seen, and all has to be read."""


class LockedProvider(NamedTuple):
    """A provider in a tree that the transaction has locked."""

    uuid: str
    generation: int
    id: int
    root_id: int
    parent_id: int | None


@dataclass(frozen=True, slots=True)
class LockedTrees:
    """Trees that a transaction has locked, and the ids of names that it looked up on the way.

    providers: those that the request names, by the identifiers of the request. root_ids: the
    trees of these providers and of all that the request's consumers use. ids: kind -> name -> id.
    """

    providers: Mapping[str, LockedProvider]
    root_ids: frozenset[int]
    ids: Ids


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
    conn: Connection, revisions: Mapping[int, int], provider_ids: Collection[int]
) -> int:
    """Lock trees (root id -> revision) that have these revisions still.

    Nothing has changed in them then since the revisions were read. They get a new revision, which
    is returned, and the providers in them their next generation. Raises TreesChanged, after which
    the transaction cannot go on.
    """
    revision = new_revision()
    try:
        with stopwatch.LOCKS:
            statements.renew_and_bump(revisions, provider_ids, revision).execute(conn)
    except Unmatched:
        raise TreesChanged from None
    leave_commit_marker(conn, revisions, revision)
    return revision


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


def lock_trees(
    conn: Connection,
    provider_uuids: Collection[str],
    consumer_uuids: Collection[str] = (),
    names: Names = NO_NAMES,
) -> LockedTrees:
    """Lock the trees of the providers named and of all providers that the consumers use.

    names: kind -> names, whose ids are looked up by the same statement. Raises Restart when a
    named provider has moved to a tree that is not locked. What the consumers use may have
    changed as well: the caller compares it with `root_ids`.
    """
    stored_uuids = identifiers.stored_forms(*provider_uuids)
    stored_consumers = identifiers.stored_forms(*consumer_uuids)
    ids, revisions = catalog.resolve(conn, names, stored_uuids, stored_consumers)
    if not revisions:
        return LockedTrees({}, frozenset(), ids)
    leave_commit_marker(conn, revisions, renew_revisions(conn, revisions))

    # Only now can nobody change the providers any more.
    providers: dict[str, LockedProvider] = {}
    for row in provider_statements.locked(stored_uuids).rows(conn):
        providers[row.uuid] = LockedProvider._make(row)
    if any(provider.root_id not in revisions for provider in providers.values()):
        raise Restart
    return LockedTrees(identifiers.match(provider_uuids, providers), frozenset(revisions), ids)
