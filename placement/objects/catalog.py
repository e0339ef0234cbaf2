"""Names and ids: resource classes, traits, consumer types, projects, users, aggregates.

Ids are read where they are needed and hold for one transaction only: an id of a deleted class
or trait may come back with another name. Names are compared by the database.
"""

from collections.abc import Collection, Mapping

import os_resource_classes
import os_traits
from sqlalchemy.engine import Connection

from placement.db.dialect import chunks
from placement.db.statements import names

FIRST_CUSTOM_CLASS = 10000

STANDARD_CLASSES: tuple[str, ...] = tuple(os_resource_classes.STANDARDS)
STANDARD_TRAITS: frozenset[str] = frozenset(os_traits.get_traits())


def ids(conn: Connection, wanted: Mapping[str, Collection[str]]) -> dict[str, dict[str, int]]:
    """Return kind -> name -> id of those wanted names that exist, in one statement a chunk."""
    found: dict[str, dict[str, int]] = {kind: {} for kind in wanted}
    asked = [(kind, name) for kind, of_kind in wanted.items() for name in sorted(set(of_kind))]
    # The row's name may differ in case where the database compares without it.
    folded = {(kind, name.casefold()): name for kind, name in asked}
    for chunk in chunks(asked):
        part: dict[str, list[str]] = {kind: [] for kind in wanted}
        for kind, name in chunk:
            part[kind].append(name)
        query = names.ids(part)
        assert query is not None
        for kind, row_id, name in conn.execute(query):
            given = name if name in wanted[kind] else folded.get((kind, name.casefold()), name)
            found[kind][given] = row_id
    return found


def ensure(conn: Connection, wanted: Mapping[str, Collection[str]]) -> dict[str, dict[str, int]]:
    """As `ids`, creating what does not exist (not resource classes, whose ids are given).

    A name that somebody else creates at the same time raises the engine's IntegrityError,
    upon which the transaction is run again and finds it.
    """
    found = ids(conn, wanted)
    missing = {kind: sorted(set(wanted[kind]) - found[kind].keys()) for kind in wanted}
    for kind, absent in missing.items():
        for chunk in chunks(absent):
            conn.execute(names.add(kind, [{"name": name} for name in chunk]))
    if any(missing.values()):
        for kind, created in ids(conn, missing).items():
            found[kind].update(created)
    return found


def sync(conn: Connection) -> None:
    """Add the standard classes and traits that the database does not have yet.

    Idempotent and safe to run by many processes at once; never removes anything.
    """
    known = {row.name for row in conn.execute(names.all_names("resource_class"))}
    absent = [
        {"id": position, "name": name}
        for position, name in enumerate(STANDARD_CLASSES)
        if name not in known
    ]
    if absent:
        conn.execute(names.add("resource_class", absent))
    known = {row.name for row in conn.execute(names.all_names("trait"))}
    for chunk in chunks(sorted(STANDARD_TRAITS - known)):
        conn.execute(names.add("trait", [{"name": name} for name in chunk]))
