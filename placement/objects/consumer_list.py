"""The list of consumers, with their spread groups, holds and stored requests."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from sqlalchemy.engine import Connection

from placement.db.statements import consumer_list as statements
from placement.db.statements.consumer_list import ConsumerFilter
from placement.errors import ConsumerNotFound
from placement.objects import allocations, claim_records, identifiers
from placement.objects.allocations import ProviderAllocations
from placement.objects.claims import SpreadGroup
from placement.objects.paging import ListPage


class ConsumerPart(Enum):
    """A part that the list of consumers can include."""

    ALLOCATIONS = "allocations"
    REQUEST = "request"


@dataclass(frozen=True, slots=True)
class ListedConsumer:
    """A consumer that has allocations."""

    uuid: str
    # External id of the project, or None in rows of very old databases.
    project: str | None
    # External id of the user, or None in rows of very old databases.
    user: str | None
    # Name of the type, or None if the consumer has no type.
    consumer_type: str | None
    generation: int
    # The spread group, or None if the consumer is in no group.
    spread_group: SpreadGroup | None
    # End of the hold in seconds since 1970, or None if the consumer is not a hold.
    expires_at: int | None
    # Provider uuid -> allocations, or None if not requested.
    allocations: Mapping[str, ProviderAllocations] | None = None
    # The stored request. None if it was not requested, or if the consumer has none.
    request: Mapping[str, Any] | None = None


class ConsumerList(NamedTuple):
    """A list of consumers, and whether more of them follow."""

    consumers: list[ListedConsumer]
    are_more: bool = False


def find(
    conn: Connection,
    conditions: ConsumerFilter,
    page: ListPage,
    parts: Collection[ConsumerPart] = (),
) -> ConsumerList:
    """Return a page of the consumers that have allocations and satisfy a filter.

    The connection must give all statements the same view of the database.
    """
    if conditions.spread_group is not None and not conditions.spread_group.isascii():
        return ConsumerList([])  # no group has such a name, and some engines cannot compare it
    after = "" if page.after is None else _stored(conn, page.after)
    # Read one more consumer than the page holds, to detect whether more consumers follow.
    rows = statements.page(conditions, after, page.size + 1).rows(conn)
    consumers = _with_parts(conn, rows[: page.size], parts)
    return ConsumerList(consumers, are_more=len(rows) > page.size)


def get(conn: Connection, uuid: str, parts: Collection[ConsumerPart] = ()) -> ListedConsumer:
    """Return one consumer.

    Raises:
        ConsumerNotFound: it does not exist, or has no allocations.
    """
    row = _row(conn, uuid)
    if row is None:
        raise ConsumerNotFound(uuid)
    (consumer,) = _with_parts(conn, [row], parts)
    return consumer


def _row(conn: Connection, uuid: str) -> Any:
    condition = ConsumerFilter(uuids=identifiers.stored_forms(uuid))
    rows = {row.uuid: row for row in statements.page(condition, "", 2).rows(conn)}
    return identifiers.match([uuid], rows).get(uuid)


def _stored(conn: Connection, uuid: str) -> str:
    """Return a marker in the form in which its consumer is stored, which determines the order."""
    row = _row(conn, uuid)
    return identifiers.key(uuid) if row is None else str(row.uuid)


def _with_parts(
    conn: Connection, rows: Collection[Any], parts: Collection[ConsumerPart]
) -> list[ListedConsumer]:
    """Return the consumers of rows. One statement reads the parts of all consumers."""
    by_uuid: Mapping[str, Mapping[str, ProviderAllocations]] = {}
    if parts:
        by_uuid = allocations.get_for_consumers(conn, [row.uuid for row in rows])
    shows_allocations = ConsumerPart.ALLOCATIONS in parts
    consumers: list[ListedConsumer] = []
    for row in rows:
        of_consumer = by_uuid.get(row.uuid, {})
        request = None
        if ConsumerPart.REQUEST in parts:
            held = claim_records.sum_by_class(each.resources for each in of_consumer.values())
            request = claim_records.remembered_request(row.request, held)
        consumers.append(
            ListedConsumer(
                row.uuid,
                row.project,
                row.user,
                row.type,
                row.generation,
                claim_records.spread_group(row.spread_group, row.max_per_host),
                row.expires_at,
                of_consumer if shows_allocations else None,
                request,
            )
        )
    return consumers
