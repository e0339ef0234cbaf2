"""Claims in trees that a search has just read. Unchanged state is not read again.

Every transaction that changes a tree renews its revision. If the revision under the lock is the
same as in the search, the state that the search has read is still valid. The trees of shared
resources change with each claim on any of their hosts. Therefore, only the providers and
inventories that are claimed in these trees are verified, like in a PUT of allocations.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.engine import Connection

from placement.config import NO_TRAITS, SpecialTraits
from placement.db.statements import inventories as inventory_statements
from placement.objects import allocations, claim_records, identifiers, locking
from placement.objects.allocation_change import UsageMove
from placement.objects.card_use import refuse_clashes
from placement.objects.catalog import Ids, Names
from placement.objects.claims import Claim, claimed_providers, owner_names
from placement.objects.consumers import ConsumerChange, consumer_change
from placement.objects.inventory_rows import InventoryKey
from placement.objects.revisions import UNKNOWN

# Maximum number of inventories in one statement.
MAX_KEYS = 32


@dataclass(frozen=True, slots=True)
class SearchSnapshot:
    """The state of trees that a search has read."""

    # Root id -> revision, of the trees that must not have changed.
    revisions: Mapping[int, int]
    # Provider uuid -> root id, of all providers in the trees that may have changed.
    shared: Mapping[str, int]
    # Uuid -> id, for all providers in the trees.
    provider_ids: Mapping[str, int]
    # Kind -> name -> id, for the names in claims (`claim_names`) and all resource classes.
    ids: Ids

    def is_usable_for(self, claims: Sequence[Claim]) -> bool:
        """Return whether the claims are few, for new consumers, and in trees with revisions."""
        number = sum(sum(map(len, each.allocations.values())) for each in claims)
        return (
            number <= MAX_KEYS
            and not self.ids["consumer"]
            and not self.ids["allocated_consumer"]
            and UNKNOWN not in self.revisions.values()
        )


def claim_names(claims: Sequence[Claim]) -> Names:
    """Return kind -> names, for the names in claims whose ids are needed, except classes.

    Projects, users and types are never deleted, so their ids stay valid.
    """
    consumers = identifiers.stored_forms(*(each.consumer for each in claims))
    return {**owner_names(claims), "consumer": consumers, "allocated_consumer": consumers}


def claim(
    conn: Connection,
    claims: Sequence[Claim],
    snapshot: SearchSnapshot,
    special_traits: SpecialTraits = NO_TRAITS,
) -> tuple[Mapping[int, int], Mapping[str, int]]:
    """Write the claims of all new consumers, or of none, in the trees of the snapshot.

    Args:
        conn: the connection.
        claims: the claims.
        snapshot: the state in which the search has found their allocations.
        special_traits: the traits with a special meaning.

    Returns:
        Root id -> new revision, of the trees that contain these claims and no other change.
        Consumer uuid -> end of the hold in seconds since 1970, of new holds.

    Raises:
        DeviceInUse: a provider of a shared tree serves in another way by now.
        HostFull, TooManyHolds: see `claim_records.add`.
        TreesChanged: trees have changed since the snapshot.
        Unmatched: a shared inventory does not allow the amounts by now.
        IntegrityError: a consumer exists by now.
    """
    change = consumer_change(claims, {})
    rows = list(_rows(change, snapshot.provider_ids, snapshot.ids["resource_class"]))
    taken: dict[InventoryKey, list[int]] = defaultdict(list)
    for _consumer, key, amount in rows:
        taken[key].append(amount)
    provider_ids = {provider_id for provider_id, _class_id in taken}
    shared = {
        snapshot.provider_ids[uuid]: (uuid, snapshot.shared[uuid])
        for uuid in claimed_providers(claims) & snapshot.shared.keys()
    }
    change.write(conn, allocations.ensure_owners(conn, change, snapshot.ids))
    allocations.create_rows(conn, rows)
    # Lock the trees as late as possible, because other transactions wait for them.
    revision = locking.lock_unchanged(conn, snapshot.revisions, provider_ids, shared=shared)
    ends = claim_records.add(conn, change.created)
    moves = {key: UsageMove.of(sum(amounts), amounts) for key, amounts in taken.items()}
    inventory_statements.take(moves).execute(conn)
    if shared:
        deltas = {key: move.delta for key, move in moves.items()}
        refuse_clashes(conn, special_traits, snapshot.shared.values(), deltas)
    return dict.fromkeys(snapshot.revisions, revision), ends


def _rows(
    change: ConsumerChange, provider_ids: Mapping[str, int], class_ids: Mapping[str, int]
) -> Iterator[tuple[str, InventoryKey, int]]:
    """Yield (consumer uuid, (provider id, class id), amount) for the new consumers."""
    for consumer_uuid, claim in change.created.items():
        for provider, amounts in claim.allocations.items():
            for name, amount in amounts.items():
                yield consumer_uuid, (provider_ids[provider], class_ids[name]), amount
