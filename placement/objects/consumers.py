"""The rows of consumers, and their changes in a write of allocations.

The row of a consumer is the mutex of its allocations. Every write of allocations increments the
generation of the consumer, on the condition that the generation has not changed since it was read.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy.engine import Connection

from placement.db.statements import allocations as statements
from placement.db.statements import claim_records as record_statements
from placement.objects import identifiers
from placement.objects.catalog import Ids
from placement.objects.claims import Claim
from placement.objects.inventory_rows import InventoryKey
from placement.objects.unset import Unset


class AllocationRow(NamedTuple):
    """One allocation of a consumer."""

    id: int
    # Provider id and class id.
    key: InventoryKey
    # Allocated amount in units of the class.
    used: int
    # Root of the provider's tree, or None if the provider is missing in an adopted database.
    root_id: int | None
    # Id of the inventory, or None if the inventory is missing in an adopted database.
    inventory_id: int | None

    @property
    def provider_id(self) -> int:
        """The provider id. In an adopted database, the provider may be missing."""
        provider_id, _class_id = self.key
        return provider_id


class RecordKey(NamedTuple):
    """The claim record of a consumer."""

    id: int
    # Generation at which the consumer is a hold, or None if it is not a hold.
    hold_generation: int | None
    # End of the hold in seconds since 1970, or None if it is not a hold.
    expires_at: int | None


@dataclass(frozen=True, slots=True)
class Consumer:
    """The row of a consumer, with its allocations."""

    id: int
    uuid: str
    generation: int
    project_id: int
    user_id: int
    # Id of the type's row, or None if the consumer has no type.
    type_id: int | None
    allocations: tuple[AllocationRow, ...]
    # The claim record, or None if the consumer has none.
    record: RecordKey | None = None

    @property
    def is_hold(self) -> bool:
        """Whether the consumer is a hold: no write has followed the claim of the hold."""
        return self.record is not None and self.record.hold_generation == self.generation

    @property
    def is_uncounted(self) -> bool:
        """Whether any allocation is on an existing provider but has no inventory."""
        return any(row.inventory_id is None and row.root_id is not None for row in self.allocations)


def from_rows(rows: Iterable[Sequence[Any]]) -> tuple[dict[str, Consumer], dict[int, int]]:
    """Return uuid -> consumer, and root id -> revision of the trees that the consumers use.

    `rows` contains a row for each allocation, or one row without an allocation: the id and the
    fields of the consumer, the values of the allocation, and the claim record, or nulls.
    """
    revisions: dict[int, int] = {}
    heads: dict[str, tuple[Sequence[Any], Sequence[Any]]] = {}
    allocations: dict[str, list[AllocationRow]] = defaultdict(list)
    for row in sorted(rows, key=itemgetter(0)):
        head, allocation, record = row[:6], row[6:13], row[13:]
        heads[head[1]] = head, record
        if allocation[0] is not None:
            allocations[head[1]].append(_allocation(allocation, revisions))
    consumers: dict[str, Consumer] = {}
    for uuid, (head, record) in heads.items():
        row_id, _uuid, generation, project_id, user_id, type_id = head
        owner = project_id, user_id, type_id
        key = None if record[0] is None else RecordKey._make(record)
        held = tuple(allocations[uuid])
        consumers[uuid] = Consumer(row_id, uuid, generation, *owner, held, key)
    return consumers, revisions


def unrecorded_from_rows(
    rows: Iterable[Sequence[Any]],
) -> tuple[dict[str, list[AllocationRow]], dict[int, int]]:
    """Return the allocations of consumers without a row, by `identifiers.key` of the consumer.

    Also return root id -> revision of the trees that these allocations use.
    """
    revisions: dict[int, int] = {}
    allocations: dict[str, list[AllocationRow]] = defaultdict(list)
    for uuid, *allocation in rows:
        allocations[identifiers.key(uuid)].append(_allocation(allocation, revisions))
    return dict(allocations), revisions


def _allocation(values: Sequence[Any], revisions: dict[int, int]) -> AllocationRow:
    """Return an allocation, and add the revision of its tree to `revisions`."""
    row_id, provider_id, class_id, used, root_id, revision, inventory_id = values
    if root_id is not None:
        revisions[root_id] = revision
    return AllocationRow(row_id, (provider_id, class_id), used, root_id, inventory_id)


def stored_uuid(uuid: str, consumers: Mapping[str, Consumer]) -> str:
    """Return the uuid of a consumer in the form in which it is or will be stored."""
    if uuid in consumers:
        return consumers[uuid].uuid
    return identifiers.canonical(uuid) or uuid


@dataclass(frozen=True, slots=True)
class ConsumerChange:
    """The consumers that a write creates, updates and deletes."""

    # Uuid -> claim.
    created: Mapping[str, Claim]
    # Existing consumers with their claims.
    updated: Sequence[tuple[Consumer, Claim]]
    # Existing consumers with empty claims.
    deleted: Sequence[Consumer]

    def claims(self) -> list[Claim]:
        """Return the claims of created and updated consumers."""
        return [*self.created.values(), *(claim for _consumer, claim in self.updated)]

    def write(self, conn: Connection, ids: Ids) -> None:
        """Write the rows. `ids` contains all projects, users and types.

        Raises:
            Unmatched: the generation of a consumer has changed since it was read.
        """
        # The rows are sorted to avoid deadlocks between concurrent writes of the same new
        # consumers.
        new_rows: list[dict[str, object]] = []
        for uuid, claim in sorted(self.created.items()):
            new_rows.append({"uuid": uuid, **_owner(claim, None, ids)})
        statements.create_consumers(new_rows).execute(conn)
        # The generations that were read are conditions. A consumer that has changed since then does
        # not match, and the transaction starts again.
        changed_rows: dict[int, dict[str, int | None]] = {}
        leaving: list[int] = []
        for consumer, claim in self.updated:
            owner = _owner(claim, consumer.type_id, ids)
            changed_rows[consumer.id] = {"generation": consumer.generation, **owner}
            if consumer.record is not None and owner["project_id"] != consumer.project_id:
                leaving.append(consumer.record.id)
        statements.update_consumers(changed_rows).execute(conn)
        generations = {consumer.id: consumer.generation for consumer in self.deleted}
        statements.delete_consumers(generations).execute(conn)
        # A record must not outlive its consumer, because SQLite may immediately reuse the id of the
        # consumer.
        records = [consumer.record for consumer in self.deleted if consumer.record is not None]
        record_statements.delete({each.id: each.expires_at for each in records}).execute(conn)
        record_statements.leave_groups(leaving).execute(conn)


def consumer_change(claims: Sequence[Claim], consumers: Mapping[str, Consumer]) -> ConsumerChange:
    """Compare claims with the existing consumers, by the identifiers in the request."""
    created: dict[str, Claim] = {}
    updated: list[tuple[Consumer, Claim]] = []
    deleted: list[Consumer] = []
    for claim in claims:
        consumer = consumers.get(claim.consumer)
        if claim.allocations and consumer:
            updated.append((consumer, claim))
        elif claim.allocations:
            created[stored_uuid(claim.consumer, consumers)] = claim
        elif consumer:
            deleted.append(consumer)
    return ConsumerChange(created, updated, deleted)


def _owner(claim: Claim, type_id: int | None, ids: Ids) -> dict[str, int | None]:
    """Return the owner columns of a consumer. `type_id` is its present type."""
    # Old versions of the API have no types. The consumer then keeps its type.
    if not isinstance(claim.consumer_type, Unset):
        type_id = ids["consumer_type"][claim.consumer_type]
    return {
        "project_id": ids["project"][claim.project],
        "user_id": ids["user"][claim.user],
        "consumer_type_id": type_id,
    }
