"""Names and ids: resource classes, traits, consumer types, projects, users, aggregates.

Ids are read where they are needed and hold for one transaction only: an id of a deleted class
or trait may come back with another name. Names are compared by the database.
"""

from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

import os_resource_classes
import os_traits
from sqlalchemy.engine import Connection

from placement.db.statement import Restart
from placement.db.statements import names as statements

FIRST_CUSTOM_CLASS = 10000
NO_ID = -1  # stands for id 0 while a row is inserted: MySQL would choose an id instead of 0

MOST_MEANT = 3  # unknown names for which existing ones are proposed
MOST_COMPARED = 5000  # existing names that they are compared with

STANDARD_CLASSES: tuple[str, ...] = tuple(os_resource_classes.STANDARDS)
STANDARD_TRAITS: frozenset[str] = frozenset(os_traits.get_traits())

Names = Mapping[str, Collection[str]]  # kind -> names
Ids = Mapping[str, Mapping[str, int]]  # kind -> name -> id
NO_NAMES: Names = MappingProxyType({})


def find_ids(conn: Connection, names: Names) -> dict[str, dict[str, int]]:
    """Return kind -> name -> id of those names that exist.

    Aggregates come under the spelling that is stored, other names as they are in the request.
    Executes one statement, and one more for each further thousand names.
    """
    rows_by_kind: dict[str, list[tuple[int, str]]] = {kind: [] for kind in names}
    for kind, row_id, name, _number in statements.ids(names).rows(conn):
        rows_by_kind[kind].append((row_id, name))
    ids: dict[str, dict[str, int]] = {}
    for kind, rows in rows_by_kind.items():
        if kind == "aggregate":
            ids[kind] = {spelling: row_id for row_id, spelling in rows}
        else:
            ids[kind] = match(conn, kind, names[kind], rows)
    return ids


def match(
    conn: Connection, kind: str, names: Collection[str], rows: Collection[Sequence[Any]]
) -> dict[str, int]:
    """Return name -> id of those of the names that exist, from the rows (id, name, …) read of them.

    Executes no statement unless the database takes a name for equal that Python does not.
    """
    unmatched = set(names)
    ids = {name: row_id for row_id, name, *_ in rows if name in unmatched}
    if len(ids) < len(rows):  # some row has another name than the request
        ids.update(_ids_one_by_one(conn, kind, unmatched - ids.keys()))
    return ids


def _ids_one_by_one(conn: Connection, kind: str, names: Collection[str]) -> dict[str, int]:
    """Return name -> id; the database alone can tell which names are equal to a row's."""
    ids: dict[str, int] = {}
    for name in names:
        for row in statements.ids({kind: [name]}).rows(conn):
            ids[name] = row.id
    return ids


def nearest(conn: Connection, kind: str, unknown_names: Collection[str]) -> list[str]:
    """Return the existing names that the first few unknown ones may have been meant for.

    For messages about errors: it reads the catalogue, and compares some 25 us for each name.
    """
    rows = statements.all_names(kind, limit=MOST_COMPARED).rows(conn)
    names = {row.name.upper(): row.name for row in rows}
    proposals: dict[str, None] = {}
    for unknown in sorted(unknown_names)[:MOST_MEANT]:
        matches = get_close_matches(unknown.upper(), names, 1)
        proposals |= dict.fromkeys(names[match] for match in matches)
    return list(proposals)


def create(conn: Connection, names: Names) -> dict[str, dict[str, int]]:
    """Create names (not resource classes, whose ids are chosen) and return their ids.

    A name that somebody else creates at the same time, or that the database takes for another,
    gets the id of that one. Raises Restart when one does not exist afterwards.
    """
    for kind, names_of_kind in names.items():
        statements.add_unless_present(kind, names_of_kind).execute(conn)
    ids = find_ids(conn, names)
    for kind, names_of_kind in names.items():
        missing = set(names_of_kind) - ids[kind].keys()
        ids[kind].update(_ids_one_by_one(conn, kind, missing))
        if ids[kind].keys() != set(names_of_kind):
            raise Restart
    return ids


def ensure(conn: Connection, names: Names) -> dict[str, dict[str, int]]:
    """Return the ids of the names, creating those that do not exist."""
    ids = find_ids(conn, names)
    missing = {kind: set(names[kind]) - ids[kind].keys() for kind in names}
    for kind, new_ids in create(conn, missing).items():
        ids[kind].update(new_ids)
    return ids


def lock_classes(conn: Connection, names: Mapping[int, str]) -> None:
    """Keep custom classes (id -> name) from being deleted until the transaction ends.

    Raises Restart when one does not exist any more, even if its id now has another name.
    """
    custom = {row_id: name for row_id, name in names.items() if row_id >= FIRST_CUSTOM_CLASS}
    rows = statements.lock_shared("resource_class", custom).rows(conn)
    if {row.id: row.name for row in rows} != custom:
        raise Restart


def sync(conn: Connection) -> tuple[int, int]:
    """Add the standard classes and traits that the database lacks; return how many of each.

    Idempotent and safe to run by many processes at once; never removes anything.
    """
    class_names = {row.name for row in statements.all_names("resource_class").rows(conn)}
    new_classes = [
        {"id": position or NO_ID, "name": name}
        for position, name in enumerate(STANDARD_CLASSES)
        if name not in class_names
    ]
    if new_classes:
        statements.add("resource_class", new_classes).execute(conn)
        if new_classes[0]["id"] == NO_ID:
            statements.change_id("resource_class", NO_ID, 0).execute(conn)
    trait_names = {row.name for row in statements.all_names("trait").rows(conn)}
    new_traits = STANDARD_TRAITS - trait_names
    create(conn, {"trait": new_traits})
    return len(new_classes), len(new_traits)
