"""Names and ids: resource classes, traits, consumer types, projects, users, aggregates.

Ids are read where they are needed and hold for one transaction only: an id of a deleted class
or trait may come back with another name. Names are compared by the database.
"""

from collections.abc import Collection, Mapping
from itertools import zip_longest

import os_resource_classes
import os_traits
from sqlalchemy.engine import Connection

from placement.db.dialect import chunks
from placement.db.statements import names

FIRST_CUSTOM_CLASS = 10000
NO_ID = -1  # stands for id 0 while a row is inserted: there, MySQL takes 0 for "any"

STANDARD_CLASSES: tuple[str, ...] = tuple(os_resource_classes.STANDARDS)
STANDARD_TRAITS: frozenset[str] = frozenset(os_traits.get_traits())


def look(
    conn: Connection,
    wanted: Mapping[str, Collection[str]],
    uuids: Collection[str] = (),
    consumers: Collection[str] = (),
) -> tuple[dict[str, dict[str, int]], set[int]]:
    """Return kind -> name -> id of those wanted names that exist, and the root ids of trees.

    The trees are those of the providers named by `uuids` and of all that the consumers use. One
    statement, and one more for each further thousand names.
    """
    found: dict[str, dict[str, int]] = {kind: {} for kind in wanted}
    roots: set[int] = set()
    asked = [(kind, name) for kind, of_kind in wanted.items() for name in sorted(set(of_kind))]
    # The row's name may differ in case where the database compares without it.
    folded = {(kind, name.casefold()): name for kind, name in asked}
    for some_names, some_uuids, some_consumers in zip_longest(
        chunks(asked), chunks(sorted(uuids)), chunks(sorted(consumers)), fillvalue=()
    ):
        part: dict[str, list[str]] = {kind: [] for kind in wanted}
        for kind, name in some_names:
            part[kind].append(name)
        query = names.with_trees(part, some_uuids, some_consumers)
        assert query is not None
        for kind, row_id, name in conn.execute(query):
            if kind == "tree":
                roots.add(row_id)
            else:
                given = name if name in wanted[kind] else folded.get((kind, name.casefold()), name)
                found[kind][given] = row_id
    return found, roots


def ids(conn: Connection, wanted: Mapping[str, Collection[str]]) -> dict[str, dict[str, int]]:
    """Return kind -> name -> id of those wanted names that exist."""
    return look(conn, wanted)[0]


def create(conn: Connection, absent: Mapping[str, Collection[str]]) -> dict[str, dict[str, int]]:
    """Create names (not resource classes, whose ids are given) and return their ids.

    A name that somebody else creates at the same time raises the engine's IntegrityError,
    upon which the transaction is run again and finds it.
    """
    for kind, of_kind in absent.items():
        for chunk in chunks(sorted(of_kind)):
            conn.execute(names.add(kind, [{"name": name} for name in chunk]))
    return ids(conn, absent)


def ensure(conn: Connection, wanted: Mapping[str, Collection[str]]) -> dict[str, dict[str, int]]:
    """Return the ids of the wanted names, creating what does not exist."""
    found = ids(conn, wanted)
    absent = {kind: set(wanted[kind]) - found[kind].keys() for kind in wanted}
    for kind, created in create(conn, absent).items():
        found[kind].update(created)
    return found


def sync(conn: Connection) -> None:
    """Add the standard classes and traits that the database does not have yet.

    Idempotent and safe to run by many processes at once; never removes anything.
    """
    known = {row.name for row in conn.execute(names.all_names("resource_class"))}
    absent = [
        {"id": position or NO_ID, "name": name}
        for position, name in enumerate(STANDARD_CLASSES)
        if name not in known
    ]
    if absent:
        conn.execute(names.add("resource_class", absent))
        conn.execute(names.move("resource_class", NO_ID, 0))
    known = {row.name for row in conn.execute(names.all_names("trait"))}
    for chunk in chunks(sorted(STANDARD_TRAITS - known)):
        conn.execute(names.add("trait", [{"name": name} for name in chunk]))
