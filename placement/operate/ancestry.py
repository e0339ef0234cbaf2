"""The parents and roots of all providers, as stored, and the correction of wrong roots."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sqlalchemy.engine import Connection

from placement.db import schema
from placement.db.statement import CHUNK_SIZE, Restart
from placement.db.statements import integrity as statements
from placement.objects import lineage, locking
from placement.objects.lineage import Lineage


@dataclass(frozen=True)
class Ancestry:
    """Providers with their ancestors."""

    # Provider id -> row of `statements.forest`.
    rows: Mapping[int, Any]

    @cached_property
    def lineage(self) -> Lineage:
        """The roots of the providers, computed from their parents."""
        return lineage.trace({row.id: row.parent_id for row in self.rows.values()})

    @cached_property
    def wrong_roots(self) -> Mapping[int, int]:
        """Provider id -> correct root id, for providers whose row contains another root."""
        return {
            provider_id: root_id
            for provider_id, root_id in self.lineage.roots.items()
            if self.rows[provider_id].root_id != root_id
        }

    @property
    def trees(self) -> set[int]:
        """The ids of the stored and of the correct roots of all providers, if they exist."""
        root_ids = {row.root_id for row in self.rows.values()}
        return root_ids.union(self.lineage.roots.values()) & self.rows.keys()


def read_all(conn: Connection) -> Ancestry:
    """Return all providers."""
    rows: dict[int, Any] = {}
    last_id = -1
    while page := statements.forest(last_id, CHUNK_SIZE).rows(conn):
        rows.update({row.id: row for row in page})
        last_id = page[-1].id
    return Ancestry(rows)


def correct(conn: Connection, provider_ids: Collection[int]) -> frozenset[int]:
    """Correct the root ids of providers. A provider whose parent does not exist becomes a root.

    The trees are locked unless the database has no revisions yet.

    Returns:
        The providers whose chain of parents contains a cycle. They are not changed.

    Raises:
        Restart: a provider moved to another tree before the lock.
    """
    ancestry = _read_with_ancestors(conn, provider_ids)
    if schema.fits(conn):
        locked = ancestry.trees
        locking.renew_revisions(conn, locked)
        # From here on, the trees cannot change.
        ancestry = _read_with_ancestors(conn, provider_ids)
        if ancestry.trees - locked:
            raise Restart
    chosen = ancestry.rows.keys() & set(provider_ids)
    statements.detach(ancestry.lineage.orphans & chosen).execute(conn)
    wrong_roots = {each: root for each, root in ancestry.wrong_roots.items() if each in chosen}
    statements.set_roots(wrong_roots).execute(conn)
    return ancestry.lineage.cyclic & chosen


def _read_with_ancestors(conn: Connection, provider_ids: Iterable[int]) -> Ancestry:
    """Return providers with their stored roots and all ancestors, one level at a time."""
    rows: dict[int, Any] = {}
    missing, seen = set(provider_ids), set[int]()
    while missing:
        seen |= missing
        page = statements.positions(missing).rows(conn)
        rows.update({row.id: row for row in page})
        related = {related_id for row in page for related_id in (row.parent_id, row.root_id)}
        missing = {row_id for row_id in related - seen if row_id is not None}
    return Ancestry(rows)
