"""Names and ids: resource classes, traits, consumer types, projects, users, aggregates.

Ids are read where they are needed and hold for one transaction only: an id of a deleted class
or trait may come back with another name. Names are compared by the database.
"""

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from itertools import zip_longest

import os_resource_classes
import os_traits
from sqlalchemy.engine import Connection

from placement.db.dialect import chunks
from placement.db.statements import names
from placement.db.writes import Restart, carry_out

FIRST_CUSTOM_CLASS = 10000
NO_ID = -1  # stands for id 0 while a row is inserted: there, MySQL takes 0 for "any"

MOST_MEANT = 3  # names for which others are proposed
MOST_COMPARED = 5000

STANDARD_CLASSES: tuple[str, ...] = tuple(os_resource_classes.STANDARDS)
STANDARD_TRAITS: frozenset[str] = frozenset(os_traits.get_traits())


def look(
    conn: Connection,
    wanted: Mapping[str, Collection[str]],
    uuids: Collection[str] = (),
    consumers: Collection[str] = (),
) -> tuple[dict[str, dict[str, int]], dict[int, int]]:
    """Return kind -> name -> id of those wanted names that exist, and root id -> revision.

    Aggregates come under the spelling that is stored, others under the name that was asked.
    The trees are those of the providers named by `uuids` and of all that the consumers use. One
    statement, and one more for each further thousand names.
    """
    found: dict[str, dict[str, int]] = {kind: {} for kind in wanted}
    roots: dict[int, int] = {}
    asked = [(kind, name) for kind, of_kind in wanted.items() for name in sorted(set(of_kind))]
    alike: set[str] = set()  # kinds of which a row was found under another name than was asked
    for some_names, some_uuids, some_consumers in zip_longest(
        chunks(asked), chunks(sorted(uuids)), chunks(sorted(consumers)), fillvalue=()
    ):
        part: dict[str, list[str]] = {kind: [] for kind in wanted}
        for kind, name in some_names:
            part[kind].append(name)
        query = names.with_trees(part, some_uuids, some_consumers)
        assert query is not None
        for kind, row_id, name, revision in conn.execute(*query):
            if kind == "tree":
                roots[row_id] = revision
            elif kind == "aggregate" or name in wanted[kind]:
                found[kind][name] = row_id
            else:
                alike.add(kind)
    for kind in alike:
        found[kind].update(_one_by_one(conn, kind, set(wanted[kind]) - found[kind].keys()))
    return found, roots


def _one_by_one(conn: Connection, kind: str, given: Collection[str]) -> dict[str, int]:
    """Return name -> id; which names are equal to a row's, the database alone can tell."""
    found = {}
    for name in given:
        query = names.ids({kind: [name]})
        assert query is not None
        for row in conn.execute(*query):
            found[name] = row.id
    return found


def ids(conn: Connection, wanted: Mapping[str, Collection[str]]) -> dict[str, dict[str, int]]:
    """Return kind -> name -> id of those wanted names that exist."""
    return look(conn, wanted)[0]


def nearest(conn: Connection, kind: str, unknown: Collection[str]) -> list[str]:
    """Return the existing names that the first few unknown ones may have been meant for.

    For messages about errors: it reads the catalogue, and compares some 25 us for each name.
    """
    rows = conn.execute(names.all_names(kind).limit(MOST_COMPARED))
    known = {row.name.upper(): row.name for row in rows}
    close = (get_close_matches(name.upper(), known, 1) for name in sorted(unknown)[:MOST_MEANT])
    return [known[name] for found in close for name in found]


def create(conn: Connection, absent: Mapping[str, Collection[str]]) -> dict[str, dict[str, int]]:
    """Create names (not resource classes, whose ids are given) and return their ids.

    A name that somebody else creates at the same time, or that the database takes for another,
    gets the id of that one. Raises Restart when one is not there afterwards.
    """
    for kind, of_kind in absent.items():
        for chunk in chunks(sorted(of_kind)):
            carry_out(conn, names.add_unless_present(kind, chunk))
    found = ids(conn, absent)
    for kind, of_kind in absent.items():
        found[kind].update(_one_by_one(conn, kind, set(of_kind) - found[kind].keys()))
        if found[kind].keys() != set(of_kind):
            raise Restart
    return found


def ensure(conn: Connection, wanted: Mapping[str, Collection[str]]) -> dict[str, dict[str, int]]:
    """Return the ids of the wanted names, creating what does not exist."""
    found = ids(conn, wanted)
    absent = {kind: set(wanted[kind]) - found[kind].keys() for kind in wanted}
    for kind, created in create(conn, absent).items():
        found[kind].update(created)
    return found


def hold_classes(conn: Connection, known: Mapping[int, str]) -> None:
    """See to it that custom classes (id -> name) stay until the transaction ends.

    Raises Restart when one is gone, even if its id has come back with another name.
    """
    custom = [class_id for class_id in known if class_id >= FIRST_CUSTOM_CLASS]
    for chunk in chunks(sorted(custom)):
        held = {row.id: row.name for row in conn.execute(names.hold("resource_class", chunk))}
        if held != {class_id: known[class_id] for class_id in chunk}:
            raise Restart


def sync(conn: Connection) -> tuple[int, int]:
    """Add the standard classes and traits that the database lacks; return how many of each.

    Idempotent and safe to run by many processes at once; never removes anything.
    """
    known = {row.name for row in conn.execute(names.all_names("resource_class"))}
    absent = [
        {"id": position or NO_ID, "name": name}
        for position, name in enumerate(STANDARD_CLASSES)
        if name not in known
    ]
    if absent:
        carry_out(conn, names.add("resource_class", absent))
        if absent[0]["id"] == NO_ID:
            carry_out(conn, names.move("resource_class", NO_ID, 0))
    known = {row.name for row in conn.execute(names.all_names("trait"))}
    new_traits = STANDARD_TRAITS - known
    create(conn, {"trait": new_traits})
    return len(absent), len(new_traits)
