"""The root row is the mutex of its tree (DESIGN section 4).

A write reads the roots of what it touches, renews their revisions as its first write, and only
then reads what it decides on. Whoever renews second waits, and sees what the first one did. The
new revision is also the witness of the write, should its COMMIT be lost.
"""

import random
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from sqlalchemy.engine import Connection

from placement.db.dialect import chunks
from placement.db.engine import settle_by
from placement.db.statements import providers as statements
from placement.db.writes import Restart, carry_out
from placement.errors import ProviderNotFound
from placement.objects import catalog, identifiers


class Shown(NamedTuple):
    """A resource provider as the API shows it."""

    uuid: str
    name: str
    generation: int
    parent_uuid: str | None
    root_uuid: str
    changed_at: datetime | None


class Provider(NamedTuple):
    """As Shown, with the ids of the provider's row, of its root and of its parent."""

    uuid: str
    name: str
    generation: int
    parent_uuid: str | None
    root_uuid: str
    changed_at: datetime | None
    id: int
    root_id: int
    parent_id: int | None


class Locked(NamedTuple):
    """A provider in a tree that a write owns."""

    uuid: str
    generation: int
    id: int
    root_id: int
    parent_id: int | None


def fresh_revision() -> int:
    """A revision that no tree ever had: only equality of revisions has a meaning."""
    return random.SystemRandom().randrange(1, 2**63)


def renew(conn: Connection, root_ids: Collection[int]) -> int:
    """Own the trees until the transaction ends; everything cached of them is void afterwards.

    Returns their revision.
    """
    revision = fresh_revision()
    for chunk in chunks(sorted(root_ids)):
        carry_out(conn, statements.renew_revisions(chunk, revision))
    return revision


def witness(
    conn: Connection,
    before: Mapping[int, int | None],
    revision: int,
    is_free: Callable[[Connection], bool] = lambda _later: True,
) -> None:
    """Have this write be known by the revision that it gives to roots.

    before: root id -> revision as read before, None for a root that this write makes: such a
    row cannot be waited for, so is_free waits until its unique keys are decided upon.
    """

    def happened(later: Connection) -> bool | None:
        free = is_free(later)
        now: dict[int, int | None] = dict.fromkeys(before)
        for chunk in chunks(sorted(before)):
            for row in later.execute(statements.revisions(chunk)):
                now[row.id] = row.revision
        if revision in now.values():
            return True
        if not free or now != before:
            return None
        # On Galera it may yet be carried out, when nodes meet again: not after this.
        renew(later, [root_id for root_id, known in before.items() if known is not None])
        return False

    settle_by(conn, happened)


@dataclass(frozen=True, slots=True)
class Owned:
    """What a write owns until its end.

    named: the providers that the request names, by the identifiers given. roots: ids of the
    trees, theirs and those that its consumers use. ids: kind -> name -> id, as asked.
    """

    named: Mapping[str, Locked]
    roots: frozenset[int]
    ids: Mapping[str, Mapping[str, int]]


def lock(
    conn: Connection,
    uuids: Collection[str],
    consumers: Collection[str] = (),
    names: Mapping[str, Collection[str]] | None = None,
) -> Owned:
    """Own the trees of the named providers and of all that the consumers use.

    Names of the catalogues are looked up on the way. Raises Restart when a named provider has
    moved to a tree that is not owned; what consumers use by now is for the caller to compare.
    """
    of_rows = identifiers.forms(*uuids)
    users = identifiers.forms(*consumers)
    ids, roots = catalog.look(conn, names or {}, of_rows, users)
    if not roots:
        return Owned({}, frozenset(), ids)
    witness(conn, roots, renew(conn, roots))
    rows = [
        Locked._make(row)
        for chunk in chunks(sorted(of_rows))
        for row in conn.execute(*statements.locked(chunk))
    ]
    if any(row.root_id not in roots for row in rows):
        raise Restart
    named = identifiers.match(uuids, {row.uuid: row for row in rows})
    return Owned(named, frozenset(roots), ids)


def lock_one(
    conn: Connection, uuid: str, names: Mapping[str, Collection[str]] | None = None
) -> tuple[Locked, Mapping[str, Mapping[str, int]]]:
    """Own the tree of one provider; return it as it is now, and the ids of the names.

    Raises ProviderNotFound.
    """
    owned = lock(conn, [uuid], names=names)
    if uuid not in owned.named:
        raise ProviderNotFound(uuid)
    return owned.named[uuid], owned.ids
