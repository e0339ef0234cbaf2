"""Claim records: the holds, spread groups and stored requests of consumers.

A record identifies the row of its consumer by id, uuid and time of creation. If a different row has
the uuid now, the record has no meaning. There is no foreign key between the two tables, because
other software that does not use this table also deletes consumers.
"""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy.engine import Connection

from placement.db.json_rows import parse_time
from placement.db.statement import CHUNK_SIZE
from placement.db.statements import claim_records as statements
from placement.errors import AllocationsNotFound, HostFull, TooManyHolds
from placement.objects import identifiers
from placement.objects.claims import Claim, NewRecord, SpreadGroup
from placement.vocabulary import FIRST_GENERATION

Request = Mapping[str, Any]  # a candidate request as JSON

# -- reading -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ClaimRecord:
    """Data of a consumer that is not part of its allocations."""

    id: int
    # Id of the project's row. The spread group belongs to this project.
    project_id: int
    # The spread group, or None if the consumer is in no group.
    spread_group: SpreadGroup | None
    # End of the hold in seconds since 1970, or None if the consumer is not a hold.
    expires_at: int | None
    # Begin of the hold in seconds since 1970, or None if the consumer is not a hold.
    held_since: int | None
    # Present time of the database server, in seconds since 1970.
    now: int
    # `mappings` of the candidate that a hold was claimed from, as JSON.
    mappings: str | None
    # The stored request as JSON. `remembered_request` decides whether it is still valid.
    request: str | None

    @property
    def is_expired(self) -> bool:
        """Whether the consumer is a hold that has ended and will be released."""
        return self.expires_at is not None and self.expires_at <= self.now


def get_for_consumers(conn: Connection, uuids: Collection[str]) -> dict[str, ClaimRecord]:
    """Return uuid (as stored) -> record, for the consumers that have a record.

    One statement reads up to a thousand consumers. `members` contains the records of all consumers
    in spread groups, by project and group.
    """
    return {
        row.uuid: ClaimRecord(
            row.id,
            row.project_id,
            spread_group(row.spread_group, row.max_per_host),
            row.expires_at,
            row.held_since,
            int(row.clock) // 1000,
            row.mappings,
            row.request,
        )
        for row in statements.for_consumers(uuids).rows(conn)
    }


def find_expired(conn: Connection, most: int) -> set[str]:
    """Return the uuids of up to `most` consumers whose records may show expired holds."""
    return {row.consumer_uuid for row in statements.expired(most).rows(conn)}


class GroupKey(NamedTuple):
    """The identity of a spread group."""

    # Name of the project.
    project: str
    group: str


def members(conn: Connection) -> dict[GroupKey, dict[str, int]]:
    """Return group -> consumer uuid -> the number of its own claim, of all spread groups."""
    groups: dict[GroupKey, dict[str, int]] = {}
    for uuid, project, group, max_per_host in statements.members().rows(conn):
        groups.setdefault(GroupKey(project, group), {})[uuid] = max_per_host
    return groups


def spread_group(name: str | None, max_per_host: int | None) -> SpreadGroup | None:
    if name is None or max_per_host is None:
        return None
    return SpreadGroup(name, max_per_host)


def request_text(request: Request) -> str:
    """Return a request in the form in which it is stored, with integers for numbers such as 1e16.

    A YAML file would contain 1e16 as text.
    """
    return json.dumps(_with_integers(request), separators=(",", ":"))


def _with_integers(value: Any) -> Any:
    """Return a JSON value with integers for floats that are whole numbers."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case Mapping():
            return {key: _with_integers(member) for key, member in value.items()}
        case list():
            return [_with_integers(item) for item in value]
    return value


def remembered_request(text: str | None, amounts: Mapping[str, int]) -> Request | None:
    """Return a stored request if its amounts are equal to the allocations of the consumer.

    A request with other amounts no longer describes the consumer, so the function returns None.

    Args:
        text: the stored request; None if there is none.
        amounts: class -> sum of the consumer's allocations.
    """
    if text is None:
        return None
    request: Request = json.loads(text)
    groups = request["groups"].values()
    requested = sum_by_class(group.get("resources", {}) for group in groups)
    return request if requested == amounts else None


def sum_by_class(parts: Iterable[Mapping[str, int]]) -> Counter[str]:
    """Return class -> sum of the amounts of all parts."""
    sums: Counter[str] = Counter()
    for amounts in parts:
        sums.update(amounts)
    return sums


# -- writing -----------------------------------------------------------------------------------


def add(conn: Connection, created: Mapping[str, Claim]) -> dict[str, int]:
    """Create the records of new consumers.

    The caller has locked the trees of their allocations. Every member of a spread group on a host
    has locked the tree of the host, so the number of members is exact.

    Args:
        conn: the connection, which has created the consumers.
        created: consumer uuid -> claim; claims without a record are ignored. At most a thousand
            claims have a record, because one statement reads their consumers.

    Returns:
        Consumer uuid -> end of the hold in seconds since 1970, of new holds.

    Raises:
        HostFull: a host would have more members of a spread group than a claim allows.
        TooManyHolds: a project would have more holds than are allowed.
    """
    records = {uuid: claim.record for uuid, claim in created.items() if claim.record is not None}
    if not records:
        return {}
    existing = _read_existing(conn, records)
    counts: Counter[tuple[object, ...]] = Counter()
    rows: list[dict[str, object]] = []
    ends: dict[str, int] = {}
    # Each claim is checked together with the previous claims.
    for uuid, record in records.items():
        row_id, created_at, project_id, now = existing.consumers[uuid]
        _judge_spread(record, project_id, existing.number_of_members, counts)
        _judge_holds(created[uuid], project_id, existing.number_of_holds, counts)
        row = _row(record, now)
        if record.hold is not None:
            ends[uuid] = now + record.hold.expires_in
        identity = {"consumer_id": row_id, "consumer_uuid": uuid, "project_id": project_id}
        rows.append({**identity, "consumer_created_at": parse_time(created_at), **row})
    statements.create(rows).execute(conn)
    return ends


class _Existing(NamedTuple):
    """The content of the database before the records are created."""

    # Consumer uuid -> row id, time of creation, project id, present time in seconds since 1970.
    consumers: dict[str, tuple[int, Any, int, int]]
    # Provider uuid, project id and spread group -> number of members that use the tree.
    number_of_members: dict[tuple[object, ...], int]
    # Project id -> number of holds.
    number_of_holds: dict[object, int]


def _read_existing(conn: Connection, records: Mapping[str, NewRecord]) -> _Existing:
    """Read the rows of new consumers, and the numbers for their spread groups and projects."""
    spread = [each for each in records.values() if each.spread and each.host]
    query = statements.before_creation(
        records,
        {each.host for each in spread if each.host},
        {each.spread.name for each in spread if each.spread},
        with_holds=any(each.hold and each.hold.max_per_project for each in records.values()),
    )
    existing = _Existing({}, {}, {})
    for tag, *values in query.rows(conn):
        if tag == "consumer":
            uuid, row_id, created_at, project_id, clock = values
            existing.consumers[uuid] = row_id, created_at, project_id, int(clock) // 1000
        elif tag == "members":
            *key, number = values
            existing.number_of_members[tuple(key)] = number
        else:
            project_id, number = values
            existing.number_of_holds[project_id] = number
    return existing


def _judge_spread(
    record: NewRecord,
    project_id: int,
    number_of_members: Mapping[tuple[object, ...], int],
    counts: Counter[tuple[object, ...]],
) -> None:
    """Count a new member of a spread group. Raise HostFull if its host is full."""
    spread = record.spread
    if spread is None or record.host is None:
        return
    key = (record.host, project_id, spread.name)
    # The number in the database does not include the previous claims, which have no records yet.
    if number_of_members.get(key, 0) + counts[key] >= spread.max_per_host:
        raise HostFull(*spread)
    counts[key] += 1


def _judge_holds(
    claim: Claim,
    project_id: int,
    number_of_holds: Mapping[object, int],
    counts: Counter[tuple[object, ...]],
) -> None:
    """Count a new hold. Raise TooManyHolds if its project has too many holds."""
    hold = claim.record.hold if claim.record is not None else None
    if hold is None:
        return
    maximum = hold.max_per_project
    if maximum and number_of_holds.get(project_id, 0) + counts["holds", project_id] >= maximum:
        raise TooManyHolds(claim.project, maximum)
    counts["holds", project_id] += 1


def _row(record: NewRecord, now: int) -> dict[str, object]:
    """Return the columns of a new record that do not identify its consumer."""
    spread, hold = record.spread, record.hold
    return {
        "spread_group": spread and spread.name,
        "max_per_host": spread and spread.max_per_host,
        "hold_generation": hold and FIRST_GENERATION,
        "held_since": hold and now,
        "expires_at": hold and now + hold.expires_in,
        "mappings": hold and hold.mappings,
        "request": record.request,
    }


def remember(conn: Connection, uuid: str, request: Request) -> None:
    """Store the request of a consumer.

    Raises:
        AllocationsNotFound: the consumer has no allocations.
    """
    _write(conn, uuid, lambda _consumer: {"request": request_text(request)})


def join_group(conn: Connection, uuid: str, group: SpreadGroup) -> None:
    """Add a consumer to a spread group, even if its host has too many members.

    Raises:
        AllocationsNotFound: the consumer has no allocations.
    """
    members = {"spread_group": group.name, "max_per_host": group.max_per_host}
    _write(conn, uuid, lambda consumer: {"project_id": consumer.project_id, **members})


def lock(conn: Connection, uuid: str) -> tuple[Any, ClaimRecord | None]:
    """Lock a consumer with allocations. Return its row and its record, or None for each."""
    forms = identifiers.stored_forms(uuid)
    rows = {row.uuid: row for row in statements.lock_consumers(forms).rows(conn)}
    consumer = identifiers.match([uuid], rows).get(uuid)
    if consumer is None:
        return None, None
    return consumer, get_for_consumers(conn, [consumer.uuid]).get(consumer.uuid)


def _write(conn: Connection, uuid: str, columns_of: Callable[[Any], dict[str, object]]) -> None:
    """Lock a consumer, and set columns of its record, or create a record with these columns.

    Raises:
        AllocationsNotFound: the consumer has no allocations.
    """
    consumer, record = lock(conn, uuid)
    if consumer is None:
        raise AllocationsNotFound(uuid)
    if record is not None:
        statements.update(record.id, columns_of(consumer)).execute(conn)
        return
    identity = {
        "consumer_id": consumer.id,
        "consumer_uuid": consumer.uuid,
        "project_id": consumer.project_id,
        "consumer_created_at": consumer.created_at,
    }
    statements.create([identity | columns_of(consumer)]).execute(conn)


def delete_meaningless_of(conn: Connection, row_ids: Collection[int]) -> None:
    """Delete the records (ids) that do not belong to a consumer."""
    rows = statements.without_consumer_of(row_ids).rows(conn)
    statements.delete({row.id: row.expires_at for row in rows}).execute(conn)


def delete_meaningless(conn: Connection) -> int:
    """Delete the records that belong to no consumer. Return their number."""
    number = 0
    while rows := statements.without_consumer(CHUNK_SIZE).rows(conn):
        statements.delete({row.id: row.expires_at for row in rows}).execute(conn)
        number += len(rows)
    return number
