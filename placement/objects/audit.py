"""What the API allows and an operator yet wants to know of, and what can be done about it.

Faults of the database itself are `integrity`'s.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy.engine import Connection

from placement.db.statements import audit as statements
from placement.objects import allocations, identifiers
from placement.objects.consumers import Consumer
from placement.vocabulary import SHARING_TRAIT, UNKNOWN_CONSUMER_TYPE

PAGE = 10_000  # consumers that are in memory at once

Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Owners:
    """Who may be behind consumers, and which consumers are compared with that.

    uuids: of servers and all else that has allocations, in the canonical form. created_before:
    younger consumers are not judged; their owners may not have been listed yet. types: of the
    consumers that are compared; empty for all.
    """

    uuids: Collection[str]
    created_before: datetime
    types: Collection[str] = field(default=())


@dataclass(frozen=True, slots=True)
class Inquiry:
    """An audit of one snapshot.

    owners: None where nothing is known of them.
    """

    conn: Connection
    owners: Owners | None = None


@dataclass(frozen=True, slots=True)
class AuditCheck:
    """One question of an audit.

    wrong: False for what is only good to know. columns: of the rows that answer it.
    """

    name: str
    meaning: str
    columns: Sequence[str]
    find: Callable[[Inquiry], Iterator[Row]]
    wrong: bool = True


def _over_capacity(inquiry: Inquiry) -> Iterator[Row]:
    for row in statements.over_capacity().rows(inquiry.conn):
        yield row._asdict()


def _without_owner(inquiry: Inquiry) -> Iterator[Row]:
    owners = inquiry.owners
    if owners is None:
        return
    for row in _consumers(inquiry.conn):
        young = row.created is not None and row.created >= owners.created_before
        consumer_type = row.type or UNKNOWN_CONSUMER_TYPE
        if young or (owners.types and consumer_type not in owners.types):
            continue
        if (identifiers.canonical(row.consumer) or row.consumer) not in owners.uuids:
            yield row._asdict() | {"type": consumer_type}


def _consumers(conn: Connection) -> Iterator[Any]:
    """Yield all consumers, one page of them in memory."""
    last_id = 0
    while rows := statements.consumers(last_id, PAGE).rows(conn):
        yield from rows
        last_id = rows[-1].id


def _on_several_trees(inquiry: Inquiry) -> Iterator[Row]:
    consumer = ""
    names: list[str] = []
    for row in statements.on_several_trees(SHARING_TRAIT).rows(inquiry.conn):
        if names and row.consumer != consumer:
            yield {"consumer": consumer, "trees": len(names), "roots": names}
            names = []
        consumer = row.consumer
        names.append(row.name)
    if names:
        yield {"consumer": consumer, "trees": len(names), "roots": names}


def _empty_projects(inquiry: Inquiry) -> Iterator[Row]:
    for row in statements.empty_projects().rows(inquiry.conn):
        yield row._asdict()


WITHOUT_OWNER = "without-owner"
CHECKS = (
    AuditCheck(
        "over-capacity",
        "providers that give more than their capacity",
        ("provider", "name", "resource_class", "used", "capacity", "excess"),
        _over_capacity,
    ),
    AuditCheck(
        WITHOUT_OWNER,
        "consumers whose owner is not in the list",
        ("consumer", "type", "project", "user", "created", "generation"),
        _without_owner,
    ),
    AuditCheck(
        "several-trees",
        "consumers that use several trees, sharing providers aside",
        ("consumer", "trees", "roots"),
        _on_several_trees,
    ),
    AuditCheck(
        "empty-projects",
        "projects that have no consumers",
        ("project",),
        _empty_projects,
        wrong=False,
    ),
)


def delete_unchanged(conn: Connection, listed: Sequence[Row]) -> int:
    """Delete the consumers that are still as an audit has listed them; return how many these are.

    The number of statements is the same for one consumer and for a thousand.
    """
    listed_as = {str(row["consumer"]): (row["id"], row["generation"]) for row in listed}

    def unchanged(consumer: Consumer) -> bool:
        # The id tells it from a later consumer of the same UUID, whose generation may be the same.
        return listed_as.get(consumer.uuid) == (consumer.id, consumer.generation)

    return allocations.delete_if(conn, listed_as, unchanged)
