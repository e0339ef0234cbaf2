"""Writes of one provider. They read first, and then lock the tree if it has not changed.

One statement reads the state on which a write is based, including the revision of the tree. Every
transaction that changes a tree renews its revision. If the revision is the same under the lock, the
state is still valid. The lock is therefore held only while the change is written. If a request is
rejected or changes nothing, it does not lock the tree.

On engines with torn views (`objects/revisions.py`), the revision is also read before the state. If
both revisions are equal, the state is complete.
"""

from collections.abc import Callable, Collection
from typing import TypeVar

from sqlalchemy.engine import Connection

from placement.db.statement import Queries, Restart
from placement.db.statements import locks
from placement.db.statements import providers as statements
from placement.db.statements.provider_snapshots import ProviderSnapshot
from placement.errors import ProviderNotFound
from placement.objects import identifiers, locking, revisions
from placement.objects.locking import TreesChanged
from placement.runtime import stopwatch

Change = TypeVar("Change")

# Function that returns the statement that reads a provider. Its argument contains the possible
# forms of the uuid.
Reader = Callable[[Collection[str]], Queries]


def decide(
    conn: Connection,
    uuid: str,
    reader: Reader,
    decision: Callable[[ProviderSnapshot], Change],
    *,
    bump: bool = True,
) -> tuple[ProviderSnapshot, Change]:
    """Determine a change of a provider and lock its tree.

    Args:
        conn: the connection.
        uuid: the provider.
        reader: returns the statement that reads it.
        decision: returns the change for a snapshot, or raises; it may be called twice.
        bump: whether to increment the generation of the provider.

    Returns:
        The provider before the change, and the change.

    Raises:
        ProviderNotFound, the errors of the decision
        Restart: the provider moves between trees concurrently.
    """
    seen = revisions.get_for_provider(conn, uuid) if revisions.may_tear(conn) else None
    provider = _read(conn, uuid, reader)
    root_id = provider.root_id
    try:
        if seen is not None and seen.get(provider.uuid) != provider.revision:
            raise TreesChanged
        change = decision(provider)
        _lock_unchanged(conn, provider, bump=bump)
    except TreesChanged:
        # Other transactions may be writing to this tree. Lock it before the second read.
        with stopwatch.LOCKS:
            locks.revisions([root_id]).rows(conn)
        provider = _read(conn, uuid, reader)
        if provider.root_id != root_id:
            raise Restart from None
        change = decision(provider)
        try:
            _lock_unchanged(conn, provider, bump=bump)
        except TreesChanged:
            raise Restart from None
    return provider, change


def _read(conn: Connection, uuid: str, reader: Reader) -> ProviderSnapshot:
    providers: dict[str, ProviderSnapshot] = {}
    for row in reader(identifiers.stored_forms(uuid)).rows(conn):
        # For many class or trait names, the reader returns several statements, each with some of
        # the entries.
        if row.uuid in providers:
            providers[row.uuid].entries.extend(row.entries)
        else:
            providers[row.uuid] = row
    matches = identifiers.match([uuid], providers)
    if uuid not in matches:
        raise ProviderNotFound(uuid)
    return matches[uuid]


def _lock_unchanged(conn: Connection, provider: ProviderSnapshot, *, bump: bool) -> None:
    """Renew the revision of the tree. Raise TreesChanged if the revision has changed.

    If the function raises, it has not written anything, and the transaction can continue.
    """
    is_root = provider.id == provider.root_id
    bumped = {provider.id: provider.generation} if bump else {}
    revision = {provider.root_id: provider.revision}
    locking.lock_unchanged(conn, revision, bumped if is_root else {}, bumped if is_root else {})
    if not is_root:
        increments = dict.fromkeys(bumped, 1)
        statements.bump_generations(increments, bumped).execute(conn)
