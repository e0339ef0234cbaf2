"""Resource classes (contract resources.md section 3)."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.engine import Connection

from placement.db.statement import Restart, Unmatched
from placement.db.statements import names, providers
from placement.errors import (
    NotCustom,
    ResourceClassExists,
    ResourceClassInUse,
    ResourceClassNotFound,
)
from placement.objects import catalog, locking
from placement.vocabulary import CUSTOM_PREFIX


@dataclass(frozen=True, slots=True)
class ResourceClass:
    """A class and when it was made."""

    name: str
    changed_at: datetime | None


def find(conn: Connection) -> list[ResourceClass]:
    """Return all classes, standard ones first, in the order of their ids."""
    rows = names.dated("resource_class").rows(conn)
    return [ResourceClass(row.name, row.changed_at) for row in rows]


def get(conn: Connection, name: str) -> ResourceClass:
    """Return one class.  Raises ResourceClassNotFound."""
    query = names.dated("resource_class", names.named("resource_class", [name]))
    for row in query.rows(conn):
        if row.name == name:
            return ResourceClass(row.name, row.changed_at)
    raise ResourceClassNotFound(name)


def create(conn: Connection, name: str) -> None:
    """Create a custom class.  Raises ResourceClassExists."""
    if not ensure(conn, name):
        raise ResourceClassExists(name)


def ensure(conn: Connection, name: str) -> bool:
    """Create a custom class unless it exists; return whether it is new."""
    if catalog.find_ids(conn, {"resource_class": [name]})["resource_class"]:
        return False
    # Whoever makes a class waits here: ids follow one another.
    names.lock_exclusive("resource_class", catalog.STANDARD_CLASSES[0]).rows(conn)
    newest = names.newest("resource_class").value(conn)
    row_id = max(catalog.FIRST_CUSTOM_CLASS, (newest or 0) + 1)
    names.add("resource_class", [{"id": row_id, "name": name}]).execute(conn)
    return True


def rename(conn: Connection, name: str, new_name: str) -> None:
    """Give a custom class another name, in the inventories and allocations that use it too.

    Raises ResourceClassNotFound, NotCustom, ResourceClassExists.
    """
    _expect_custom(conn, "update", name)
    if new_name == name:
        return
    if catalog.find_ids(conn, {"resource_class": [new_name]})["resource_class"]:
        raise ResourceClassExists(new_name)
    names.rename_resource_class(name, new_name).execute(conn)
    stocking = {row.id: row.revision for row in providers.roots_stocking(new_name).rows(conn)}
    locking.leave_commit_marker(conn, stocking, locking.renew_revisions(conn, stocking))
    now = providers.roots_stocking(new_name).rows(conn)
    if any(row.id not in stocking for row in now):
        raise Restart  # a provider moved to a tree that is not owned


def delete(conn: Connection, name: str) -> None:
    """Delete a custom class.  Raises ResourceClassNotFound, NotCustom, ResourceClassInUse."""
    _expect_custom(conn, "delete", name)
    # Afterwards, whoever gives it to an inventory is through.
    names.lock_exclusive("resource_class", name).rows(conn)
    try:
        names.delete_resource_class(name).execute(conn)
    except Unmatched:
        stocked = names.dated("resource_class", names.resource_class_is_stocked())
        if any(row.name == name for row in stocked.rows(conn)):
            raise ResourceClassInUse(name) from None
        raise


def _expect_custom(conn: Connection, verb: str, name: str) -> None:
    """Raise ResourceClassNotFound, or NotCustom for a class that nobody may `verb`."""
    get(conn, name)
    if not name.startswith(CUSTOM_PREFIX):
        raise NotCustom(verb, "resource class", name)
