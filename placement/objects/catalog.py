"""Names and ids: resource classes, traits, consumer types, projects, users, aggregates.

Ids are read where they are needed and hold for one transaction only: an id of a deleted class
or trait may come back with another name.

Names are found by the database's indexes and compared in Python. Unique indexes of MySQL and
MariaDB usually ignore case, accents and trailing spaces, so such a database cannot hold two names
that differ in nothing else: one of them is never taken for the other, and cannot be created.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import os_resource_classes
import os_traits
from sqlalchemy.engine import Connection

from placement import suggestions
from placement.db.fragments import Selection
from placement.db.statement import Restart
from placement.db.statements import names as statements
from placement.errors import NameNotDistinct
from placement.objects import identifiers

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
    ids: dict[str, dict[str, int]] = {kind: {} for kind in names}
    known_names = {kind: set(names_of_kind) for kind, names_of_kind in names.items()}
    for kind, row_id, name, _number in statements.ids(names).rows(conn):
        # Another name than those asked for is one that the collation does not distinguish.
        if kind == "aggregate" or name in known_names[kind]:
            ids[kind][name] = row_id
    return ids


class LookUp(NamedTuple):
    """What exists of the names of a request."""

    # Kind -> name -> id, for each kind; aggregates are not among them.
    ids: Ids
    # Key of an aggregate -> ids of all rows that mean it.
    aggregates: Mapping[str, frozenset[int]]
    # UUID of a provider, as its row has it -> id of the root of its tree.
    trees: Mapping[str, int]
    # The rows of the further statements.
    further: Sequence[Any]


def look_up(
    conn: Connection,
    names: Names,
    trees: Collection[str] = (),
    further: Sequence[Selection] = (),
) -> LookUp:
    """Look up names, with the roots of the trees of providers, in one statement.

    names: of each kind; aggregates in any spelling. trees: UUIDs of providers in any form.
    further: statements in the form of `names.with_trees`, whose rows come with the names.
    Executes no statement where there is nothing to look up.
    """
    spelled = {
        kind: identifiers.spellings(*values) if kind == "aggregate" else values
        for kind, values in names.items()
    }
    query = statements.with_trees(spelled, identifiers.stored_forms(*trees), further=further)
    ids: dict[str, dict[str, int]] = {kind: {} for kind in (*names, "aggregate", "tree")}
    others = []
    for row in query.rows(conn):
        kind, row_id, name, _number = row
        if kind in ids:
            ids[kind][name] = row_id
        else:
            others.append(row)
    aggregates = identifiers.ids_by_key(ids.pop("aggregate"))
    return LookUp(ids, aggregates, ids.pop("tree"), others)


def match(names: Collection[str], rows: Iterable[Sequence[Any]]) -> dict[str, int]:
    """Return name -> id of those of the names that exist, from the rows (id, name, …) read of them.

    Names are equal if Python compares them as equal. A row of any other name is left out, even
    though the database's collation does not distinguish the two.
    """
    known = set(names)
    return {name: row_id for row_id, name, *_ in rows if name in known}


def exists(conn: Connection, kind: str, name: str) -> bool:
    """Whether the name exists.

    Raises NameNotDistinct if it does not and cannot be created, as the database's collation does
    not distinguish it from one that exists.
    """
    for row in statements.ids({kind: [name]}).rows(conn):
        if row.text != name:
            raise NameNotDistinct(kind, name, row.text)
        return True
    return False


def nearest(conn: Connection, kind: str, unknown_names: Collection[str]) -> list[str]:
    """Return the existing names that the first few unknown ones may have been meant for.

    For messages about errors, with a name once for each unknown one that resembles it.
    """
    names: dict[str, str] = {}
    for row in statements.all_names(kind, limit=MOST_COMPARED).rows(conn):
        names[row.name.upper()] = row.name
    proposals: list[str] = []
    for unknown in sorted(unknown_names)[:MOST_MEANT]:
        proposals += [names[close] for close in suggestions.nearest(unknown.upper(), names)]
    return proposals


def create(conn: Connection, names: Names) -> dict[str, dict[str, int]]:
    """Create names (not resource classes, whose ids are chosen) and return their ids.

    A name that another transaction creates at the same time gets the id of that row; aggregates
    come under the spelling that is stored. Raises NameNotDistinct for a name that the database's
    collation does not distinguish from another one, and Restart when one does not exist afterwards.
    """
    for kind, names_of_kind in names.items():
        statements.add_unless_present(kind, names_of_kind).execute(conn)
    ids = find_ids(conn, names)
    for kind, names_of_kind in names.items():
        existing = ids[kind]
        if kind == "aggregate":
            existing = identifiers.match(names_of_kind, existing)
        missing = set(names_of_kind) - existing.keys()
        if missing:
            exists(conn, kind, min(missing))
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
