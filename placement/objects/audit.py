"""Find and correct states that the API allows but that an operator should review.

`integrity` finds faults of the database itself.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy.engine import Connection

from placement.db.statements import audit as statements
from placement.objects import allocations, identifiers
from placement.objects.consumers import Consumer
from placement.vocabulary import SHARING_TRAIT, UNKNOWN_CONSUMER_TYPE

PAGE = 10_000  # maximum number of consumers in memory at a time

Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Owners:
    """The possible owners of consumers, and the consumers that are compared with them."""

    # Uuids of servers and other owners in canonical form.
    uuids: Collection[str]
    # Younger consumers are skipped, because their owners may not be in the list yet.
    created_before: datetime
    # Types of the consumers to compare, or empty for all.
    types: Collection[str] = field(default=())


@dataclass(frozen=True, slots=True)
class Inquiry:
    """The input of an audit of one snapshot."""

    # Connection in the transaction that reads the snapshot.
    conn: Connection
    # The owners, or None if no list of owners was supplied.
    owners: Owners | None = None
    # Number of skipped consumers by the name of the check.
    left_out: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class AuditCheck:
    """One check of an audit."""

    # Name of the check on the command line.
    name: str
    # Description of the rows.
    meaning: str
    # Columns of the rows.
    columns: Sequence[str]
    # Function that yields the rows.
    find: Callable[[Inquiry], Iterator[Row]]
    # Whether the rows are faults. Otherwise, they are only information.
    wrong: bool = True


def _over_capacity(inquiry: Inquiry) -> Iterator[Row]:
    for row in statements.over_capacity().rows(inquiry.conn):
        yield row._asdict()


def _without_owner(inquiry: Inquiry) -> Iterator[Row]:
    owners = inquiry.owners
    if owners is None:
        return
    for row in _consumers(inquiry.conn):
        consumer_type = row.type or UNKNOWN_CONSUMER_TYPE
        if owners.types and consumer_type not in owners.types:
            continue
        if row.created is not None and row.created >= owners.created_before:
            inquiry.left_out[WITHOUT_OWNER] += 1
            continue
        if (identifiers.canonical(row.consumer) or row.consumer) not in owners.uuids:
            yield row._asdict() | {"type": consumer_type}


def _consumers(conn: Connection) -> Iterator[Any]:
    """Yield all consumers. Only one page of them is in memory at a time."""
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


def _crowded_hosts(inquiry: Inquiry) -> Iterator[Row]:
    for row in statements.crowded_hosts(SHARING_TRAIT).rows(inquiry.conn):
        yield row._asdict()


def _empty_projects(inquiry: Inquiry) -> Iterator[Row]:
    for row in statements.empty_projects().rows(inquiry.conn):
        yield row._asdict()


WITHOUT_OWNER = "without-owner"
CHECKS = (
    AuditCheck(
        "over-capacity",
        "inventories whose usage exceeds their capacity",
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
        "consumers with allocations in several trees (sharing providers do not count)",
        ("consumer", "trees", "roots"),
        _on_several_trees,
    ),
    AuditCheck(
        "spread-groups",
        "hosts with more members of a spread group than the smallest max_per_host of the members",
        ("project", "group", "host", "name", "members", "max_per_host"),
        _crowded_hosts,
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
    """Delete the listed consumers that have not changed since an audit. Return their number.

    The number of statements does not depend on the number of consumers.
    """
    listed_as = {str(row["consumer"]): (row["id"], row["generation"]) for row in listed}

    def unchanged(consumer: Consumer) -> bool:
        # The condition on the id excludes a later consumer with the same UUID, whose generation may
        # be equal.
        return listed_as.get(consumer.uuid) == (consumer.id, consumer.generation)

    return allocations.delete_if(conn, listed_as, unchanged)
