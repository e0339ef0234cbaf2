"""Writes of one provider: it is read first, and its tree is locked if it is still as it was read.

One statement reads all that a write decides on, with the revision of the tree. Every transaction
that changes anything in a tree renews its revision. So what was read is true if the tree has the
same revision under the lock, which is held only while the change is written. What is refused, or
changes nothing, locks nothing.

Where views may be torn (`objects/revisions.py`), a look at the revision comes before: content with
the revision that it has shown is whole.
"""

from collections.abc import Callable, Collection
from typing import TypeVar

from sqlalchemy.engine import Connection

from placement import stopwatch
from placement.db.statement import Queries, Restart
from placement.db.statements import locks
from placement.db.statements import providers as statements
from placement.db.statements.provider_snapshots import ProviderSnapshot
from placement.errors import ProviderNotFound
from placement.objects import identifiers, locking, revisions
from placement.objects.locking import TreesChanged

Change = TypeVar("Change")

# Makes the statement that reads a provider, of which it is told the forms of the uuid.
Reader = Callable[[Collection[str]], Queries]


def decide(
    conn: Connection,
    uuid: str,
    reader: Reader,
    decision: Callable[[ProviderSnapshot], Change],
    *,
    bump: bool = True,
) -> tuple[ProviderSnapshot, Change]:
    """Decide how a provider is to change, and lock its tree; return it as it was, and the change.

    decision: works the change out from what was read, or raises; it may be called twice. bump:
    whether the provider gets its next generation. Raises ProviderNotFound, what the decision
    raises, and Restart when the provider goes from tree to tree meanwhile.
    """
    seen = revisions.of_trees(conn, uuid) if revisions.may_tear(conn) else None
    provider = _read(conn, uuid, reader)
    root_id = provider.root_id
    try:
        if seen is not None and seen.get(provider.uuid) != provider.revision:
            raise TreesChanged
        change = decision(provider)
        _lock_unchanged(conn, provider, bump=bump)
    except TreesChanged:
        # Many may be writing to this tree, so it is locked before it is looked at again.
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
        # Of more names than one statement asks for, each statement brings some.
        if row.uuid in providers:
            providers[row.uuid].entries.extend(row.entries)
        else:
            providers[row.uuid] = row
    matches = identifiers.match([uuid], providers)
    if uuid not in matches:
        raise ProviderNotFound(uuid)
    return matches[uuid]


def _lock_unchanged(conn: Connection, provider: ProviderSnapshot, *, bump: bool) -> None:
    """Renew the revision of the tree, if it is the one that was read.  Raises TreesChanged.

    What is written before that raises is nothing, so the transaction can go on.
    """
    is_root = provider.id == provider.root_id
    bumped = {provider.id: provider.generation} if bump else {}
    revision = {provider.root_id: provider.revision}
    locking.lock_unchanged(conn, revision, bumped if is_root else {}, bumped if is_root else {})
    if not is_root:
        increments = dict.fromkeys(bumped, 1)
        statements.bump_generations(increments, bumped).execute(conn)
