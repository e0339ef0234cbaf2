"""Consumers: their rows, and how a write of allocations changes them.

The consumer's row is the mutex of its allocations: its generation moves with every write of
them, from the value that was read.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy.engine import Connection

from placement.db.statements import allocations as statements
from placement.objects import identifiers
from placement.objects.catalog import Ids
from placement.objects.claims import Claim
from placement.objects.inventory_rows import InventoryKey
from placement.objects.unset import Unset


class AllocationRow(NamedTuple):
    """One allocation of a consumer.

    root_id: of the provider's tree. In an adopted database the provider or the inventory may not
    exist any more: then root_id or inventory_id is None.
    """

    id: int
    key: InventoryKey
    used: int
    root_id: int | None
    inventory_id: int | None

    @property
    def provider_id(self) -> int:
        """The provider, which may not exist any more."""
        provider_id, _class_id = self.key
        return provider_id


@dataclass(frozen=True, slots=True)
class Consumer:
    """A consumer's row with its allocations."""

    id: int
    uuid: str
    generation: int
    project_id: int
    user_id: int
    type_id: int | None
    allocations: tuple[AllocationRow, ...]

    @property
    def is_uncounted(self) -> bool:
        """Whether it has an allocation without an inventory, on a provider that exists."""
        return any(row.inventory_id is None and row.root_id is not None for row in self.allocations)


def of_rows(rows: Iterable[Sequence[Any]]) -> tuple[dict[str, Consumer], dict[int, int]]:
    """Return uuid -> consumer, and root id -> revision of the trees that they use.

    rows: as `allocation_state` selects them, one for each allocation, or one without any.
    """
    revisions: dict[int, int] = {}
    rows_of_consumers: dict[str, list[_ConsumerRow]] = defaultdict(list)
    for row in map(_ConsumerRow._make, sorted(rows, key=itemgetter(0))):
        rows_of_consumers[row.uuid].append(row)
        if row.root_id is not None:
            revisions[row.root_id] = row.revision
    return {uuid: _of_rows(rows) for uuid, rows in rows_of_consumers.items()}, revisions


class _ConsumerRow(NamedTuple):
    """An allocation of a consumer, or a consumer without any: then all but its own is None."""

    id: int
    uuid: str
    generation: int
    project_id: int
    user_id: int
    type_id: int | None
    allocation_id: int | None
    provider_id: int
    class_id: int
    used: int
    root_id: int | None
    revision: int
    inventory_id: int | None


def _of_rows(rows: Sequence[_ConsumerRow]) -> Consumer:
    allocations: list[AllocationRow] = []
    for row in rows:
        if row.allocation_id is not None:
            key = (row.provider_id, row.class_id)
            allocations.append(
                AllocationRow(row.allocation_id, key, row.used, row.root_id, row.inventory_id)
            )
    row = rows[0]  # what they tell of the consumer is the same in all
    owner = row.project_id, row.user_id, row.type_id
    return Consumer(row.id, row.uuid, row.generation, *owner, tuple(allocations))


def stored_uuid(uuid: str, consumers: Mapping[str, Consumer]) -> str:
    """Return a consumer's uuid as its row has it, or will have it."""
    if uuid in consumers:
        return consumers[uuid].uuid
    return identifiers.canonical(uuid) or uuid


@dataclass(frozen=True, slots=True)
class ConsumerChange:
    """Which consumers a write creates, updates and deletes.

    created: uuid -> claim. updated: consumers, each with its claim.
    """

    created: Mapping[str, Claim]
    updated: Sequence[tuple[Consumer, Claim]]
    deleted: Sequence[Consumer]

    def claims(self) -> list[Claim]:
        """Return the claims of the consumers that stay or come to be."""
        return [*self.created.values(), *(claim for _consumer, claim in self.updated)]

    def write(self, conn: Connection, ids: Ids) -> None:
        """Write the rows; ids: kind -> name -> id of all projects, users and types.

        Raises Unmatched when the generation of a consumer has moved since it was read.
        """
        # In one order, or two writes of the same new consumers would wait for each other.
        new_rows: list[dict[str, object]] = []
        for uuid, claim in sorted(self.created.items()):
            new_rows.append({"uuid": uuid, **_owner(claim, None, ids)})
        statements.create_consumers(new_rows).execute(conn)
        # The generations that were read are guards: a consumer that somebody else has written
        # since is not matched, and the transaction begins again.
        changed_rows: dict[int, dict[str, int | None]] = {}
        for consumer, claim in self.updated:
            owner = _owner(claim, consumer.type_id, ids)
            changed_rows[consumer.id] = {"generation": consumer.generation, **owner}
        statements.update_consumers(changed_rows).execute(conn)
        generations = {consumer.id: consumer.generation for consumer in self.deleted}
        statements.delete_consumers(generations).execute(conn)


def consumer_change(claims: Sequence[Claim], consumers: Mapping[str, Consumer]) -> ConsumerChange:
    """Compare claims with the consumers that exist, by the identifiers of the request."""
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
    """Return the columns of a consumer's owner; type_id: the type that it has now."""
    # Old versions do not state a type: it stays.
    if not isinstance(claim.consumer_type, Unset):
        type_id = ids["consumer_type"][claim.consumer_type]
    return {
        "project_id": ids["project"][claim.project],
        "user_id": ids["user"][claim.user],
        "consumer_type_id": type_id,
    }
