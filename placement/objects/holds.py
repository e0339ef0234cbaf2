"""Holds: claims that expire unless they are extended, confirmed or converted.

A consumer is a hold while its generation is equal to the generation in its claim record. Any other
write of the consumer, including writes by openstack-placement, increments the generation and makes
the claim permanent. A release deletes the consumer only if it still has this generation, and the
record only if the end of the hold has not changed. If the hold is extended concurrently, either the
release or the extension succeeds.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeVar

from sqlalchemy.engine import Connection

from placement.db.engine import Database
from placement.db.statement import CHUNK_SIZE, Unchanged
from placement.db.statements import claim_records as statements
from placement.db.statements.consumer_list import ConsumerFilter
from placement.errors import (
    CapacityExceeded,
    DeviceInUse,
    HoldGone,
    HoldHasGroup,
    HoldNotFound,
    HoldTooLong,
    NoCandidatesFound,
)
from placement.objects import allocation_state, allocations, claim_records, consumer_list
from placement.objects.allocation_change import check_consumer_generations
from placement.objects.allocation_release import release, take_over
from placement.objects.allocation_state import StateQuery
from placement.objects.claims import Claim, NewRecord, owner_names
from placement.objects.consumer_list import ListedConsumer
from placement.objects.consumers import Consumer
from placement.objects.paging import ListPage
from placement.runtime import deadline

Result = TypeVar("Result")

# Maximum number of holds that one transaction releases.
MAX_RELEASED = 100

# Errors that releasing expired holds may prevent.
NO_ROOM = (CapacityExceeded, DeviceInUse, NoCandidatesFound)

# -- expiry ------------------------------------------------------------------------------------


def release_expired(database: Database) -> int:
    """Release the expired holds in separate transactions. Return their number.

    The function also releases them in a dry run.
    """
    return _release_ended(database) if _any_ended(database) else 0


def _any_ended(database: Database) -> bool:
    """Return whether a hold has ended and has not been released yet."""
    return bool(database.primary().read_one(lambda conn: statements.expired(1).rows(conn)))


def _release_ended(database: Database) -> int:
    """Release the expired holds. Return how many of them this process has released."""
    database = database.committing()
    released, ended = 0, 1
    while ended:
        number, ended = database.write(_release_expired)
        released += number
    return released


def _release_expired(conn: Connection) -> tuple[int, int]:
    """Release some of the expired holds.

    Returns:
        The number of released holds, and of records whose hold has ended.
    """
    rows = {row.consumer_uuid: row for row in statements.expired(MAX_RELEASED).rows(conn)}
    if not rows:
        raise Unchanged((0, 0))
    state = allocation_state.read(conn, StateQuery(consumers=list(rows)))
    expired: list[Consumer] = []
    # Records of consumers that have been written or deleted in the meantime (id -> end).
    cleared: dict[int, int | None] = {}
    row_ids = {row.id for row in rows.values()}
    for uuid, consumer in state.consumers.items():
        record = consumer.record
        if record is None or record.expires_at is None:
            continue
        row_ids.discard(record.id)
        if record.expires_at * 1000 > rows[uuid].clock:
            continue  # the hold has been extended
        if consumer.is_hold:
            expired.append(consumer)
        else:
            cleared[record.id] = record.expires_at
    if expired:
        allocations.write_change(conn, release(expired), state)
    statements.clear_holds(cleared).execute(conn)
    # Records that belong to no consumer.
    claim_records.delete_meaningless_of(conn, row_ids)
    return len(expired), len(expired) + len(cleared) + len(row_ids)


def find_all(database: Database) -> Iterator[ListedConsumer]:
    """Yield all holds, expired or not, by uuid."""
    after, are_more = None, True
    while are_more:
        with database.read() as conn:
            held = ConsumerFilter(held=True)
            listed = consumer_list.find(conn, held, ListPage(CHUNK_SIZE, after))
        yield from listed.consumers
        are_more = listed.are_more
        after = listed.consumers[-1].uuid if are_more else None


def release_all(database: Database) -> int:
    """Release all holds, whether expired or not. Return their number."""
    released = 0
    # A replica may not contain the latest holds yet.
    for hold in find_all(database.primary()):
        # Another process may release or confirm the hold at the same time.
        with suppress(HoldNotFound):
            database.write(partial(delete, uuid=hold.uuid))
            released += 1
    return released


def retry_with_room(database: Database, work: Callable[[Database], Result]) -> Result:
    """Return the result of `work`.

    If capacity is missing, release expired holds and try again once.

    The second attempt reads from the primary server, because a replica may not contain the release
    yet.

    Raises:
        Exception: the errors of `work` and of `Database.write`.
    """
    try:
        return work(database)
    except NO_ROOM:
        if not _any_ended(database):
            raise
        # A COMMIT removes the deadline, but the deadline must also apply to the second attempt.
        with deadline.waiting():
            # Try again even if another process has released the holds.
            _release_ended(database)
    return work(database.primary())


# -- decisions of clients ----------------------------------------------------------------------


def check_age(uuid: str, expires_in: int | None, max_age: int) -> None:
    """Raise HoldTooLong if a new hold would exceed the maximum age (seconds)."""
    if expires_in is not None and expires_in > max_age:
        raise HoldTooLong(uuid, max_age)


def extend(conn: Connection, uuid: str, expires_in: int, max_age: int) -> int:
    """Set the end of a hold to a time from now. Return the end, in seconds since 1970.

    Args:
        expires_in: seconds from now.
        max_age: maximum number of seconds since the claim.

    Raises:
        HoldNotFound: the consumer is no hold.
        HoldTooLong: the hold would exceed its maximum age.
    """
    record, _end, held_since = _lock(conn, uuid)
    end = record.now + expires_in
    if end - held_since > max_age:
        raise HoldTooLong(uuid, max_age)
    statements.update(record.id, {"expires_at": end}).execute(conn)
    return end


def confirm(conn: Connection, uuid: str) -> None:
    """Turn a hold into a permanent claim.

    Raises:
        HoldNotFound: the consumer is no hold.
    """
    record, end, _held_since = _lock(conn, uuid)
    if record.spread_group is None and record.request is None:
        statements.delete({record.id: end}).execute(conn)
    else:
        statements.clear_holds({record.id: end}).execute(conn)


def _lock(conn: Connection, uuid: str) -> tuple[claim_records.ClaimRecord, int, int]:
    """Lock a hold. Return its record, its end and its begin. Raises HoldNotFound."""
    consumer, record = claim_records.lock(conn, uuid)
    if record is None or record.expires_at is None or record.held_since is None:
        raise HoldNotFound(uuid, exists=consumer is not None)
    return record, record.expires_at, record.held_since


def delete(conn: Connection, uuid: str) -> None:
    """Release a hold.

    Raises:
        HoldNotFound: the consumer is no hold.
    """
    state = allocation_state.read(conn, StateQuery(consumers=[uuid]))
    consumer = state.consumers.get(uuid)
    if consumer is None or not consumer.is_hold:
        raise HoldNotFound(uuid, exists=consumer is not None)
    allocations.write_change(conn, release([consumer]), state)


class TakenOver(NamedTuple):
    """The allocations that a consumer has taken over from a hold."""

    # Provider uuid -> class -> amount.
    allocations: Mapping[str, Mapping[str, int]]
    # `mappings` of the candidate from which the hold was claimed, as JSON.
    mappings: str


def convert(conn: Connection, hold_uuid: str, claim: Claim) -> TakenOver:
    """Transfer the allocations and the stored request of a hold to a new consumer.

    Args:
        hold_uuid: the consumer that is a hold, and is deleted.
        claim: the new consumer, without allocations.

    Raises:
        ConsumerGenerationConflict: the new consumer exists.
        HoldGone: the consumer is no hold.
        HoldHasGroup: the hold is in a spread group.
    """
    query = StateQuery(consumers=[hold_uuid, claim.consumer], names=owner_names([claim]))
    state = allocation_state.read(conn, query)
    check_consumer_generations(state, [claim])
    hold = state.consumers.get(hold_uuid)
    if hold is None or not hold.is_hold:
        raise HoldGone(hold_uuid, exists=hold is not None)
    # The lock prevents other transactions from storing a request between this read and the deletion
    # of the record.
    consumer, record = claim_records.lock(conn, hold.uuid)
    if record is None or record.expires_at is None:
        raise HoldGone(hold_uuid, exists=consumer is not None)
    if record.spread_group is not None:
        raise HoldHasGroup(hold_uuid, record.spread_group.name)
    by_provider = allocations.get_for_consumers(conn, [hold.uuid])[hold.uuid]
    amounts = {uuid: each.resources for uuid, each in by_provider.items()}
    new_record = None if record.request is None else NewRecord(request=record.request)
    new_claim = replace(claim, allocations=amounts, record=new_record)
    allocations.write_change(conn, take_over(state, hold, new_claim), state)
    return TakenOver(amounts, record.mappings or "{}")
