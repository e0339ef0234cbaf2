"""Claims in trees that a search has just read: what has not changed since is not read again.

Every transaction that changes anything in a tree renews its revision. So a search has seen what a
write decides on, if the tree has under the lock the revision that the search has met.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.engine import Connection

from placement.db.statements import inventories as inventory_statements
from placement.objects import allocations, identifiers, locking
from placement.objects.catalog import Ids, Names
from placement.objects.claims import Claim, owner_names
from placement.objects.consumers import ConsumerChange, consumer_change
from placement.objects.inventory_rows import InventoryKey
from placement.objects.revisions import UNKNOWN

# Inventories that are named one by one in a statement.
MOST_KEYS = 32


@dataclass(frozen=True, slots=True)
class SearchSnapshot:
    """Trees as a search has read them.

    revisions: root id -> revision. provider_ids: uuid -> id, of all providers in them. ids: kind ->
    name -> id, of the names of claims that were read with them (`claim_names`); all resource
    classes are among them.
    """

    revisions: Mapping[int, int]
    provider_ids: Mapping[str, int]
    ids: Ids

    def fit_for(self, claims: Sequence[Claim]) -> bool:
        """Whether the claims are few enough and of new consumers, and the trees have revisions."""
        number = sum(sum(map(len, each.allocations.values())) for each in claims)
        return (
            number <= MOST_KEYS
            and not self.ids["consumer"]
            and UNKNOWN not in self.revisions.values()
        )


def claim_names(claims: Sequence[Claim]) -> Names:
    """Return kind -> names of which a claim needs the ids, but for those of resource classes.

    Projects, users and types are never deleted, so an id that was read stays true.
    """
    consumers = identifiers.stored_forms(*(each.consumer for each in claims))
    return {**owner_names(claims), "consumer": consumers}


def claim(conn: Connection, claims: Sequence[Claim], snapshot: SearchSnapshot) -> int:
    """Give new consumers what they claim, all or none; in the trees of the snapshot it fitted.

    Returns the new revision of these trees: these claims are all that is new in them. Raises
    TreesChanged if they have changed since the snapshot. A consumer that exists by now keeps
    the row of the new one from being inserted, which is an IntegrityError.
    """
    change = consumer_change(claims, {})
    rows = list(_rows(change, snapshot.provider_ids, snapshot.ids["resource_class"]))
    taken: Counter[InventoryKey] = Counter()
    for _consumer, key, amount in rows:
        taken[key] += amount
    provider_ids = {provider_id for provider_id, _class_id in taken}
    change.write(conn, allocations.ensure_owners(conn, change, snapshot.ids))
    allocations.create_rows(conn, rows)
    # From here on nobody changes the trees: as late as can be, for others wait.
    revision = locking.lock_unchanged(conn, snapshot.revisions, provider_ids)
    inventory_statements.take(taken).execute(conn)
    return revision


def _rows(
    change: ConsumerChange, provider_ids: Mapping[str, int], class_ids: Mapping[str, int]
) -> Iterator[tuple[str, InventoryKey, int]]:
    """Yield the allocations of new consumers: consumer uuid, provider and class, units."""
    for consumer_uuid, claim in change.created.items():
        for provider, amounts in claim.allocations.items():
            for name, amount in amounts.items():
                yield consumer_uuid, (provider_ids[provider], class_ids[name]), amount
