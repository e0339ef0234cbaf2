"""What a check of a database finds."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy.engine import Connection

from placement.db.statement import Query
from placement.db.statements import audit as audit_statements
from placement.db.statements import cards as card_statements
from placement.db.statements import integrity as statements
from placement.objects import derived, identifiers
from placement.objects.card_use import CardTrees
from placement.objects.cards import BELOW
from placement.operate import ancestry
from placement.operate.ancestry import Ancestry
from placement.vocabulary import UNKNOWN_CONSUMER_TYPE

PAGE = 10_000  # maximum number of consumers in memory at a time
WITHOUT_OWNER = "without-owner"

Row = Mapping[str, object]  # column -> value


@dataclass(frozen=True, slots=True)
class Finding:
    """The rows that a check finds."""

    # The first rows.
    rows: Sequence[Row]
    count: int
    # Number of rows that were not examined because of their age.
    left_out: int = 0
    # Type -> number of consumers that were not examined because of their type.
    other_types: Mapping[str, int] = field(default_factory=dict)


class Owners(NamedTuple):
    """The possible owners of consumers, and the consumers that are compared with them."""

    # Uuids of servers and other owners in canonical form.
    uuids: Collection[str]
    # Younger consumers are skipped, because their owners may not be in the list yet.
    created_before: datetime
    # Types of the consumers to compare, or empty for all.
    types: Collection[str] = ()


@dataclass(frozen=True)
class Inspection:
    """An inspection of one snapshot of a database."""

    # Connection in the transaction that reads the snapshot.
    conn: Connection
    # Maximum number of rows in a finding, or None for all.
    limit: int | None = None
    # The owners, or None if no list of owners was supplied.
    owners: Owners | None = None
    # The traits of cards.
    cards: Collection[str] = ()

    @cached_property
    def ancestry(self) -> Ancestry:
        return ancestry.read_all(self.conn)


Find = Callable[[Inspection], Finding]


def counted(query: Callable[[], Query]) -> Find:
    """Return a function that counts the rows of a statement and reads the first of them."""

    def find(inspection: Inspection) -> Finding:
        count = int(statements.count(query()).value(inspection.conn))
        first = statements.examples(query(), inspection.limit)
        return Finding(_dicts(first.rows(inspection.conn) if count else ()), count)

    return find


def selected(query: Callable[[], Query]) -> Find:
    """Return a function that reads all rows of a statement, in the order of the statement."""

    def find(inspection: Inspection) -> Finding:
        rows = query().rows(inspection.conn)
        return Finding(_dicts(rows), len(rows))

    return find


def _dicts(rows: Iterable[Any]) -> list[dict[str, Any]]:
    return [row._asdict() for row in rows]


def providers(ids_of: Callable[[Ancestry], Iterable[int]]) -> Find:
    """Return a function that finds providers, in the order of their ids."""

    def find(inspection: Inspection) -> Finding:
        ids = sorted(ids_of(inspection.ancestry))
        shown = islice(ids, inspection.limit)
        rows = inspection.ancestry.rows
        return Finding([{"provider": rows[row_id].uuid} for row_id in shown], len(ids))

    return find


def inventories(correct: Callable[[Connection, Collection[int]], Mapping[int, int]]) -> Find:
    """Return a function that finds inventories.

    `correct` returns inventory id -> correct value, for the trees with these root ids.
    """

    def find(inspection: Inspection) -> Finding:
        conn = inspection.conn
        right: dict[int, int] = {}
        for root_ids in derived.windows(conn):
            right.update(correct(conn, root_ids))
        shown = list(islice(sorted(right), inspection.limit))
        rows = _dicts(statements.numbered_inventories(shown).rows(conn))
        for row in rows:
            row["right"] = right[row.pop("id")]
        return Finding(rows, len(right))

    return find


def without_owner(inspection: Inspection) -> Finding:
    """Find consumers whose owner is not in the list."""
    owners = inspection.owners
    if owners is None:
        return Finding((), 0)
    rows: list[Row] = []
    left_out = 0
    other_types: Counter[str] = Counter()
    for row in _consumers(inspection.conn):
        consumer_type = row.type or UNKNOWN_CONSUMER_TYPE
        if owners.types and consumer_type not in owners.types:
            other_types[consumer_type] += 1
            continue
        if row.created is not None and row.created >= owners.created_before:
            left_out += 1
        elif identifiers.key(row.consumer) not in owners.uuids:
            rows.append(row._asdict() | {"type": consumer_type})
    return Finding(rows, len(rows), left_out, other_types)


def _consumers(conn: Connection) -> Iterator[Any]:
    """Yield all consumers. Only one page of them is in memory at a time."""
    last_id = 0
    while rows := audit_statements.consumers(last_id, PAGE).rows(conn):
        yield from rows
        last_id = rows[-1].id


def on_several_trees(inspection: Inspection) -> Finding:
    """Find consumers with allocations in several trees."""
    names: dict[str, list[str]] = {}
    for row in audit_statements.on_several_trees().rows(inspection.conn):
        names.setdefault(row.consumer, []).append(row.name)
    rows = [{"consumer": each, "trees": len(of), "roots": of} for each, of in names.items()]
    return Finding(rows, len(rows))


def used_in_several_ways(inspection: Inspection) -> Finding:
    """Find cards of which several faces are in use."""
    rows: list[Row] = []
    if not inspection.cards:
        return Finding(rows, 0)
    trees = CardTrees(card_statements.use(inspection.cards).rows(inspection.conn))
    for card, faces in trees.used.items():
        if len(faces) > 1:
            provider = trees.providers[card]
            uses = {"serves": sorted(faces.keys() - {BELOW}), "below": sorted(faces.get(BELOW, ()))}
            rows.append({"provider": provider.uuid, "name": provider.name, **uses})
    return Finding(rows, len(rows))
