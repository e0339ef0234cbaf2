"""Resource classes."""

from collections.abc import Sequence

from sqlalchemy.engine import Connection

from placement.db.statement import Restart, chunks
from placement.db.statements import names, providers
from placement.errors import (
    NotCustom,
    ResourceClassExists,
    ResourceClassInUse,
    ResourceClassNotFound,
)
from placement.objects import catalog, locking
from placement.objects.catalog import Entry
from placement.vocabulary import CUSTOM_PREFIX


def find(conn: Connection) -> list[Entry]:
    """Return all classes by id. The standard classes come first."""
    return catalog.entries(conn, "resource_class")


def get(conn: Connection, name: str) -> Entry:
    """Return one class.  Raises ResourceClassNotFound."""
    for entry in catalog.entries(conn, "resource_class", [name]):
        return entry
    raise ResourceClassNotFound(name)


def create(conn: Connection, name: str) -> None:
    """Create a custom class.  Raises ResourceClassExists."""
    if not ensure(conn, name):
        raise ResourceClassExists(name)


def ensure(conn: Connection, name: str) -> bool:
    """Create a custom class unless it exists. Return whether the class was created."""
    if catalog.exists(conn, "resource_class", name):
        return False
    _insert(conn, [name])
    return True


def create_all(conn: Connection, class_names: Sequence[str]) -> None:
    """Create custom classes that did not exist before.

    Raises:
        NameNotDistinct: the collation does not distinguish a class from an existing one.
        Restart: another transaction has created a class.
    """
    if names.ids({"resource_class": class_names}).rows(conn):
        for name in class_names:
            catalog.exists(conn, "resource_class", name)
        raise Restart
    _insert(conn, class_names)


def _insert(conn: Connection, class_names: Sequence[str]) -> None:
    # Custom classes get consecutive ids. This lock serializes concurrent creations.
    names.lock_exclusive("resource_class", catalog.STANDARD_CLASSES[0]).rows(conn)
    newest_id = names.newest("resource_class").value(conn)
    first_id = max(catalog.FIRST_CUSTOM_CLASS, (newest_id or 0) + 1)
    rows = [{"id": first_id + index, "name": name} for index, name in enumerate(class_names)]
    for chunk in chunks(rows):
        names.add("resource_class", chunk).execute(conn)


def rename(conn: Connection, name: str, new_name: str) -> None:
    """Rename a custom class, including in the inventories and allocations that use it.

    Raises:
        ResourceClassNotFound, NotCustom, ResourceClassExists
    """
    _refuse_standard(conn, "update", name)
    if new_name == name:
        return
    if catalog.exists(conn, "resource_class", new_name):
        raise ResourceClassExists(new_name)
    names.rename_resource_class(name, new_name).execute(conn)
    # Cached trees, and responses that clients have cached, contain the old name.
    ids = catalog.find_ids(conn, {"resource_class": [new_name]})["resource_class"]
    _renew_revisions(conn, ids[new_name])


def _renew_revisions(conn: Connection, class_id: int) -> None:
    """Renew the revisions of the trees that contain a class or contained it until now."""
    revisions = {row.id: row.revision for row in providers.roots_using_class(class_id).rows(conn)}
    if not revisions:
        return  # without a revision, the outcome of a lost COMMIT cannot be verified
    locking.leave_commit_marker(conn, revisions, locking.renew_revisions(conn, revisions))
    # Between the read and the lock, a provider may have moved to a tree that is not locked.
    if any(row.id not in revisions for row in providers.roots_using_class(class_id).rows(conn)):
        raise Restart


def delete(conn: Connection, name: str) -> None:
    """Delete a custom class.  Raises ResourceClassNotFound, NotCustom, ResourceClassInUse."""
    _refuse_standard(conn, "delete", name)
    # Wait for writes that create an inventory of the class. They hold a shared lock.
    class_ids = [row.id for row in names.lock_exclusive("resource_class", name).rows(conn)]
    catalog.delete_unused(conn, "resource_class", name, ResourceClassInUse(name))
    # In an adopted database, allocations without an inventory are no longer shown.
    for class_id in class_ids:
        _renew_revisions(conn, class_id)


def _refuse_standard(conn: Connection, verb: str, name: str) -> None:
    """Raise ResourceClassNotFound, or NotCustom for a standard class."""
    get(conn, name)
    if not name.startswith(CUSTOM_PREFIX):
        raise NotCustom(verb, "resource class", name)
