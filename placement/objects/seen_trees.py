"""Claims in trees that were looked at just before: what has not changed since is not read again.

Every transaction that changes anything in a tree renews its revision. So a search has seen what a
write decides on, if the tree has under the lock the revision that the search has met.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.engine import Connection

from placement.db.statements import inventories as inventory_statements
from placement.db.statements import providers as statements
from placement.objects import allocations, catalog, identifiers, locking
from placement.objects.claims import Claim, claimed_classes, owner_names
from placement.objects.consumers import ConsumerChange, consumer_change
from placement.objects.inventory_rows import InventoryKey

# Inventories that are named one by one in a statement.
MOST_KEYS = 32

UNKNOWN_REVISION = 0


@dataclass(frozen=True, slots=True)
class SeenTrees:
    """Trees as they were seen: root id -> revision; uuid -> id of the providers in them."""

    revisions: Mapping[int, int]
    provider_ids: Mapping[str, int]

    def fit_for(self, claims: Sequence[Claim]) -> bool:
        """Whether the claims are few enough, and every tree has a revision to tell it by."""
        number = sum(sum(map(len, each.allocations.values())) for each in claims)
        return number <= MOST_KEYS and UNKNOWN_REVISION not in self.revisions.values()


def claim(conn: Connection, claims: Sequence[Claim], seen: SeenTrees) -> int | None:
    """Give new consumers what they claim, all or none; it fitted when the trees were seen.

    Returns the new revision of these trees, if these claims are all that is new in them. If they
    have changed since they were seen, or a consumer exists, all is read and checked as
    `allocations.replace` does it, and None returned. Raises what that raises.
    """
    names = owner_names(claims)
    names["resource_class"] = claimed_classes(claims)
    names["consumer"] = identifiers.stored_forms(*(each.consumer for each in claims))
    ids = catalog.find_ids(conn, names)
    existing = ids.pop("consumer")
    if existing or not seen.fit_for(claims) or not locking.lock_unchanged(conn, seen.revisions):
        allocations.replace(conn, claims)
        return None

    # Nobody has changed the trees, and from here on nobody does. A consumer that comes to be
    # meanwhile keeps the row of this one from being inserted.
    revision = locking.new_revision()
    locking.leave_commit_marker(conn, seen.revisions, revision)
    change = consumer_change(claims, {})
    change.write(conn, allocations.ensure_owners(conn, change, ids))
    rows = list(_rows(change, seen.provider_ids, ids["resource_class"]))
    allocations.create_rows(conn, rows)
    taken: Counter[InventoryKey] = Counter()
    for _consumer, key, amount in rows:
        taken[key] += amount
    inventory_statements.take(taken).execute(conn)
    provider_ids = {provider_id for provider_id, _class_id in taken}
    statements.renew_and_bump(seen.revisions, provider_ids, revision).execute(conn)
    return revision


def _rows(
    change: ConsumerChange, provider_ids: Mapping[str, int], class_ids: Mapping[str, int]
) -> Iterator[tuple[str, InventoryKey, int]]:
    """Yield the allocations of new consumers: consumer uuid, provider and class, units."""
    for consumer_uuid, claim in change.created.items():
        for provider, amounts in claim.allocations.items():
            for name, amount in amounts.items():
                yield consumer_uuid, (provider_ids[provider], class_ids[name]), amount
