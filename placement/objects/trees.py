"""The root row is the mutex of its tree (DESIGN section 4).

A write reads the roots of what it touches, renews their revisions as its first write, and only
then reads what it decides on. Whoever renews second waits, and sees what the first one did.
"""

import random
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest
from typing import Any

from sqlalchemy.engine import Connection

from placement.db.dialect import chunks
from placement.db.engine import Restart
from placement.db.statements import providers as statements
from placement.errors import ProviderNotFound
from placement.objects import identifiers


@dataclass(frozen=True, slots=True)
class Provider:
    """A resource provider as the API shows it, with the ids of its row, parent and root."""

    id: int
    uuid: str
    name: str
    generation: int
    root_id: int
    parent_id: int | None
    parent_uuid: str | None
    root_uuid: str
    changed_at: datetime | None


def from_row(row: Any) -> Provider:
    """Make a Provider of a row of `statements.providers.rows`."""
    return Provider(**row._mapping)


def fresh_revision() -> int:
    """A revision that no tree ever had: only equality of revisions has a meaning."""
    return random.SystemRandom().randrange(1, 2**63)


def renew(conn: Connection, root_ids: Collection[int]) -> None:
    """Own the trees until the transaction ends; everything cached of them is void afterwards."""
    revision = fresh_revision()
    for chunk in chunks(sorted(root_ids)):
        conn.execute(statements.renew_revisions(chunk, revision))


def lock(
    conn: Connection, uuids: Collection[str], consumers: Collection[str] = ()
) -> tuple[dict[str, Provider], frozenset[int]]:
    """Own the trees of the named providers and of all that the consumers use.

    Returns (the named providers that exist, by the identifiers given; the root ids owned).
    Raises Restart when a provider has moved to a tree that is not owned.
    """
    named = sorted(identifiers.forms(*uuids))
    users = sorted(identifiers.forms(*consumers))
    roots: set[int] = set()
    for some, of_users in zip_longest(chunks(named), chunks(users), fillvalue=()):
        found = conn.execute(statements.roots(some, of_users))
        roots |= {row.root_provider_id for row in found}
    if not roots:
        return {}, frozenset()
    renew(conn, roots)
    rows = [
        from_row(row)
        for chunk in chunks(named)
        for row in conn.execute(statements.rows(statements.named(chunk)))
    ]
    if any(row.root_id not in roots for row in rows):
        raise Restart
    return identifiers.match(uuids, {row.uuid: row for row in rows}), frozenset(roots)


def lock_one(conn: Connection, uuid: str) -> Provider:
    """Own the tree of one provider and return it as it is now.  Raises ProviderNotFound."""
    found, _roots = lock(conn, [uuid])
    if uuid not in found:
        raise ProviderNotFound(uuid)
    return found[uuid]
