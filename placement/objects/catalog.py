"""Names and ids of resource classes, traits, consumer types, projects, users and aggregates.

Ids are read when they are needed and are valid only in one transaction, because the id of a deleted
class or trait may be reused for another name.

The indexes of the database find names, and Python compares the names exactly. Unique indexes of
MySQL and MariaDB usually ignore case, accents and trailing spaces. Such a database cannot store two
names that differ only in these respects: a lookup does not find the second name, and the name
cannot be created.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple

import os_resource_classes
import os_traits
from sqlalchemy.engine import Connection

from placement.db.fragments import Selection
from placement.db.statement import Restart, Unmatched, send
from placement.db.statements import names as statements
from placement.errors import NameNotDistinct, PlacementError
from placement.objects import identifiers
from placement.runtime import suggestions
from placement.vocabulary import CUSTOM_PREFIX, is_custom_name

FIRST_CUSTOM_CLASS = 10000
# Replaces id 0 while a row is inserted, because MySQL would generate an id for 0.
NO_ID = -1

# Maximum number of unknown names for which suggestions are made.
MAX_UNKNOWN_NAMES = 3
# Maximum number of existing names that are compared for suggestions.
MAX_COMPARED_NAMES = 5000

STANDARD_CLASSES: tuple[str, ...] = tuple(os_resource_classes.STANDARDS)
STANDARD_TRAITS: frozenset[str] = frozenset(os_traits.get_traits())

Names = Mapping[str, Collection[str]]  # kind -> names
Ids = Mapping[str, Mapping[str, int]]  # kind -> name -> id
NO_NAMES: Names = MappingProxyType({})


def find_ids(conn: Connection, names: Names) -> dict[str, dict[str, int]]:
    """Return kind -> name -> id of the existing names, in their stored spelling.

    The result may also contain names that the collation considers equal to those of the request.
    The function executes one statement for each thousand names.
    """
    ids: dict[str, dict[str, int]] = {kind: {} for kind in names}
    for kind, row_id, name, _number in statements.ids(names).rows(conn):
        ids[kind][name] = row_id
    return ids


class LookUp(NamedTuple):
    """The result of looking up the names in a request."""

    # Kind -> name -> id, for each kind except aggregates.
    ids: Ids
    # Key of an aggregate -> ids of all its rows.
    aggregates: Mapping[str, frozenset[int]]
    # Stored uuid of a provider -> id of the root of its tree.
    trees: Mapping[str, int]
    # Id of each of these roots -> revision.
    revisions: Mapping[int, int]
    # Rows of the additional statements.
    further: Sequence[Any]


def look_up(
    conn: Connection,
    names: Names,
    trees: Collection[str] = (),
    further: Sequence[Selection] = (),
    params: Mapping[str, Any] | None = None,
) -> LookUp:
    """Look up names, and the roots of the trees of providers, in one statement.

    If there is nothing to look up, the function executes no statement.

    Args:
        names: kind -> names; aggregates in any spelling.
        trees: uuids of providers in any form.
        further: statements with the columns of `names.with_trees`, to include in the statement.
        params: their parameters.
    """
    spelled = {
        kind: identifiers.spellings(*values) if kind == "aggregate" else values
        for kind, values in names.items()
    }
    query = statements.with_trees(spelled, identifiers.stored_forms(*trees), further, params)
    ids: dict[str, dict[str, int]] = {kind: {} for kind in (*names, "aggregate", "tree")}
    revisions: dict[int, int] = {}
    others = []
    for row in query.rows(conn):
        kind, row_id, name, number = row
        if kind in ids:
            ids[kind][name] = row_id
        else:
            others.append(row)
        if kind == "tree":
            revisions[row_id] = number
    aggregates = identifiers.ids_by_key(ids.pop("aggregate"))
    return LookUp(ids, aggregates, ids.pop("tree"), revisions, others)


class Entry(NamedTuple):
    """A resource class or a trait."""

    name: str
    # Time of creation or renaming, or None in rows of very old databases.
    changed_at: datetime | None


def entries(
    conn: Connection,
    kind: str,
    names: Collection[str] | None = None,
    prefix: str | None = None,
    is_used: bool | None = None,
) -> list[Entry]:
    """Return the entries of a catalogue by id. For the conditions, see `entries_with_times`."""
    rows = statements.entries_with_times(kind, names, prefix, is_used).rows(conn)
    # Some databases ignore case in comparisons.
    return [
        Entry(name, changed_at)
        for _id, name, changed_at in rows
        if (names is None or name in names) and name.startswith(prefix or "")
    ]


def delete_unused(conn: Connection, kind: str, name: str, in_use: PlacementError) -> None:
    """Delete an entry. Raise `in_use` if it has uses."""
    try:
        statements.delete_unused(kind, name).execute(conn)
        send(conn)
    except Unmatched:
        # If the entry has uses, the statement does not match.
        if entries(conn, kind, [name], is_used=True):
            raise in_use from None
        raise


def match(names: Collection[str], rows: Iterable[Sequence[Any]]) -> dict[str, int]:
    """Return name -> id of the names that exist in the rows (id, name, …).

    Names are compared in Python. Rows of other names that the collation considers equal are
    ignored.
    """
    known = set(names)
    return {name: row_id for row_id, name, *_ in rows if name in known}


def exists(conn: Connection, kind: str, name: str) -> bool:
    """Return whether the name exists.

    Raises:
        NameNotDistinct: it does not exist and cannot be created, because the collation does not
            distinguish it from an existing name.
    """
    for _kind, _id, stored_name, _number in statements.ids({kind: [name]}).rows(conn):
        if stored_name != name:
            raise NameNotDistinct(kind, name, stored_name)
        return True
    return False


def hint(
    conn: Connection, kind: str, unknown_names: Collection[str], *, another_way: str = ""
) -> str:
    """Return suggestions for unknown names, for error messages.

    The text contains existing names that resemble the first few unknown names, and the request that
    creates the first custom name. The prefix of custom names is not compared, because it makes all
    short names similar. `another_way` is another way to create names, such as " or a parameter".
    """
    names: dict[str, str] = {}
    for row in statements.all_names(kind, limit=MAX_COMPARED_NAMES).rows(conn):
        names[_compared(row.name)] = row.name
    proposals: list[str] = []
    for unknown in sorted(unknown_names)[:MAX_UNKNOWN_NAMES]:
        proposals += [names[close] for close in suggestions.nearest(_compared(unknown), names)]
    text = suggestions.did_you_mean(proposals)
    new = min(filter(is_custom_name, unknown_names), default=None)
    paths = {"resource_class": "/resource_classes", "trait": "/traits"}
    if not text and new is None:
        return f"; GET {paths[kind]} returns the existing ones; new names begin with CUSTOM_"
    if new is not None:
        text += f"{' Or' if text else ';'} create {new} with PUT {paths[kind]}/{new}{another_way}"
    return text


def _compared(name: str) -> str:
    return name.upper().removeprefix(CUSTOM_PREFIX)


def create(conn: Connection, names: Names) -> dict[str, dict[str, int]]:
    """Create names of any kind except resource classes, and return their ids.

    If another transaction creates a name concurrently, the function returns the id of its row.
    Aggregates are returned in their stored spelling.

    Raises:
        NameNotDistinct: the collation does not distinguish a name from an existing one.
        Restart: a name does not exist afterwards.
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
    """Create the missing names, and return the ids of all names."""
    ids = find_ids(conn, names)
    missing = {kind: set(names[kind]) - ids[kind].keys() for kind in names}
    for kind, new_ids in create(conn, missing).items():
        ids[kind].update(new_ids)
    return ids


def lock_classes(conn: Connection, names: Mapping[int, str]) -> None:
    """Prevent the deletion of custom classes (id -> name) until the transaction ends.

    Raises:
        Restart: one of them does not exist any more, or its id has another name.
    """
    custom = {row_id: name for row_id, name in names.items() if row_id >= FIRST_CUSTOM_CLASS}
    rows = statements.lock_shared("resource_class", custom).rows(conn)
    if {row.id: row.name for row in rows} != custom:
        raise Restart


def sync(conn: Connection) -> tuple[int, int]:
    """Add the missing standard classes and traits. Return the number of each.

    The function is idempotent, safe for concurrent processes, and never removes anything.
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
