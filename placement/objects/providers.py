"""Resource providers: rows, parents and generations."""

import uuid as uuid_module
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from operator import attrgetter
from typing import NamedTuple, TypeVar

from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from placement.db.statement import Unchanged
from placement.db.statements import provider_snapshots
from placement.db.statements import providers as statements
from placement.db.statements.provider_snapshots import ProviderSnapshot
from placement.errors import (
    BadParent,
    ProviderGenerationConflict,
    ProviderHasChildren,
    ProviderInUse,
    ProviderNameTaken,
    ProviderNotFound,
    ProviderUuidTaken,
)
from placement.objects import identifiers, lineage, locking, provider_snapshot, revisions
from placement.objects.locking import LockedProvider
from placement.objects.revisions import UNKNOWN
from placement.objects.unset import Unset

Content = TypeVar("Content")


class Provider(NamedTuple):
    """A resource provider as the API shows it, and the id of its row.

    revision: of its tree; UNKNOWN also where what is shown with it is not known to be that of the
    revision.
    """

    uuid: str
    name: str
    generation: int
    parent_uuid: str | None
    root_uuid: str
    changed_at: datetime | None
    id: int
    revision: int = UNKNOWN


def get(conn: Connection, uuid: str) -> Provider:
    """Return the provider.  Raises ProviderNotFound."""
    rows = map(
        Provider._make, statements.with_all_fields(identifiers.stored_forms(uuid)).rows(conn)
    )
    providers = identifiers.match([uuid], {provider.uuid: provider for provider in rows})
    if uuid not in providers:
        raise ProviderNotFound(uuid)
    return providers[uuid]


def get_with(
    conn: Connection,
    uuid: str,
    read: Callable[[Provider], Content],
    seen: Callable[[Provider], object],
) -> tuple[Provider, Content]:
    """Return a provider, and what `read` returns of it: both of one revision of the tree.

    If the tree keeps changing, the provider comes without the revision, and the content is at least
    as new as the generation. seen: is called with the provider before the content is read, and may
    raise. Raises ProviderNotFound.
    """

    def content(provider: Provider) -> Content:
        seen(provider)
        return read(provider)

    look = partial(get, conn, uuid)
    revision = attrgetter("id", "revision")
    provider, value, is_true = revisions.read_between(conn, look, content, revision)
    return (provider if is_true else provider._replace(revision=UNKNOWN)), value


def create(
    conn: Connection, name: str, uuid: str | None = None, parent_uuid: str | None = None
) -> Provider:
    """Create a provider, at the root of a new tree or below its parent.

    uuid: None chooses one. Raises BadParent, ProviderUuidTaken, ProviderNameTaken.
    """
    uuid = (identifiers.canonical(uuid) if uuid is not None else None) or str(uuid_module.uuid4())
    if parent_uuid is not None and identifiers.canonical(parent_uuid) == uuid:
        raise BadParent(f"parent_provider_uuid: {parent_uuid} is the provider itself")
    if parent_uuid is None:
        _refuse_taken(conn, uuid, name)
        return _create_root(conn, uuid, name)
    return _create_child(conn, uuid, name, parent_uuid)


def _create_root(conn: Connection, uuid: str, name: str) -> Provider:
    revision = locking.new_revision()
    write = statements.create(uuid, name, parent_id=None, root_id=None, revision=revision)
    row_id = write.insert(conn)
    # A root is its own root: its id is known only now.
    statements.set_root([row_id], row_id).execute(conn)
    are_free = partial(_are_free, uuid=uuid, name=name)
    locking.leave_commit_marker(conn, {row_id: None}, revision, are_free)
    return Provider(uuid, name, 0, None, uuid, write.params["created_at"], row_id)


def _create_child(conn: Connection, uuid: str, name: str, parent_uuid: str) -> Provider:
    def decide(_parent: ProviderSnapshot) -> None:
        _refuse_taken(conn, uuid, name)

    try:
        parent, _ = provider_snapshot.decide(
            conn, parent_uuid, provider_snapshots.without_parts, decide, bump=False
        )
    except ProviderNotFound:
        raise _unknown_parent(parent_uuid) from None
    write = statements.create(uuid, name, parent.id, parent.root_id, revision=0)
    row_id = write.insert(conn)
    created_at = write.params["created_at"]
    return Provider(uuid, name, 0, parent.uuid, parent.root_uuid, created_at, row_id)


def _are_free(conn: Connection, uuid: str, name: str) -> bool:
    """Whether nobody has the uuid or name; waits for transactions that are taking them."""
    attempt = conn.begin_nested()
    try:
        statements.create(uuid, name, None, None, 0).execute(conn)
    except IntegrityError:
        return False
    finally:
        attempt.rollback()
    return True


def _parent(providers: Mapping[str, LockedProvider], uuid: str | None) -> LockedProvider | None:
    """Return the provider that a request names as parent; None for none.  Raises BadParent."""
    if uuid is None:
        return None
    if uuid not in providers:
        raise _unknown_parent(uuid)
    return providers[uuid]


def _unknown_parent(uuid: str) -> BadParent:
    return BadParent(f"parent_provider_uuid: no such resource provider: {uuid}")


def _refuse_taken(conn: Connection, uuid: str, name: str, own_id: int | None = None) -> str | None:
    """Raise ProviderUuidTaken or ProviderNameTaken if a row other than `own_id` has them.

    Returns the name that the row `own_id` has.
    """
    own_name = None
    taken_by: dict[str, str] = {}
    for row_id, its_uuid, its_name in statements.clashing(uuid, name).rows(conn):
        if row_id == own_id:
            own_name = its_name
        else:
            taken_by[identifiers.canonical(its_uuid) or its_uuid] = its_name
    if uuid in taken_by:
        raise ProviderUuidTaken(uuid)
    if taken_by:
        raise ProviderNameTaken(name, next(iter(taken_by.values())))
    return own_name


def update(
    conn: Connection,
    uuid: str,
    name: str,
    parent_uuid: str | Unset | None,
    *,
    movable: bool = True,
) -> Provider:
    """Rename a provider and move it, with all below it, under another parent or to a root.

    parent_uuid: UNSET keeps the parent, None makes the provider a root. movable: False lets only
    roots get a parent. Raises ProviderNotFound, BadParent (unknown, a loop, or not movable) and
    ProviderNameTaken; Unchanged where it has the name and the parent.
    """
    uuids = [uuid, parent_uuid] if isinstance(parent_uuid, str) else [uuid]
    providers = locking.lock_trees(conn, uuids)
    if uuid not in providers:
        raise ProviderNotFound(uuid)
    provider = providers[uuid]
    parent_id = provider.parent_id
    if not isinstance(parent_uuid, Unset):
        parent = _parent(providers, parent_uuid)
        parent_id = _change_parent(conn, provider, parent, movable=movable)
    old_name = _refuse_taken(conn, provider.uuid, name, own_id=provider.id)
    if (old_name, provider.parent_id) == (name, parent_id):
        raise Unchanged(get(conn, provider.uuid))
    statements.rename(provider.id, name, parent_id).execute(conn)
    return get(conn, provider.uuid)


def _change_parent(
    conn: Connection, provider: LockedProvider, parent: LockedProvider | None, *, movable: bool
) -> int | None:
    """Move the provider's subtree below the parent, if it is another; return the parent's id.

    The column of the provider's parent is left to the caller, who writes the row.
    """
    parent_id = None if parent is None else parent.id
    if parent_id == provider.parent_id:
        return parent_id
    if not movable and provider.parent_id is not None:
        action = "un-parenting" if parent is None else "re-parenting"
        raise BadParent(
            f"parent_provider_uuid: {action} a provider is not currently allowed: "
            f"it needs microversion 1.37"
        )
    _move_subtree(conn, provider, parent)
    return parent_id


def _move_subtree(
    conn: Connection, provider: LockedProvider, parent: LockedProvider | None
) -> None:
    """Make a provider and all below it members of the parent's tree, or of a new one."""
    parents = dict(statements.members_of_tree(provider.root_id).rows(conn))
    subtree = lineage.below(parents, provider.id)
    if parent is not None and parent.id in subtree:
        raise BadParent(
            f"parent_provider_uuid: {parent.uuid} is the provider itself or below it: "
            f"that would make a loop"
        )
    root_id = provider.id if parent is None else parent.root_id
    statements.set_root(subtree, root_id).execute(conn)
    if parent is None:
        # The row has become the mutex of a tree of its own.
        locking.renew_revisions(conn, [provider.id])


def delete(conn: Connection, uuid: str) -> None:
    """Delete a provider with its inventories, traits and aggregate memberships.

    Raises ProviderNotFound, ProviderHasChildren, ProviderInUse.
    """

    def decide(provider: ProviderSnapshot) -> Mapping[str, int]:
        ((inventories, traits, aggregates, children, allocations),) = provider.parts
        if children:
            raise ProviderHasChildren(provider.uuid)
        if allocations:
            raise ProviderInUse(provider.uuid)
        return {"inventories": inventories, "traits": traits, "aggregates": aggregates}

    reader = provider_snapshots.with_dependants
    provider, counts = provider_snapshot.decide(conn, uuid, reader, decide, bump=False)
    is_root = provider.id == provider.root_id
    statements.delete(provider.id, counts, is_root=is_root).execute(conn)


def check_generation(provider: LockedProvider | ProviderSnapshot, generation: int) -> None:
    """Raise ProviderGenerationConflict unless the client's generation is the present one."""
    if provider.generation != generation:
        raise ProviderGenerationConflict(provider.uuid, generation, provider.generation)


def bump_generations(
    conn: Connection, increments: Mapping[int, int], providers: Iterable[LockedProvider]
) -> None:
    """Add increments (id -> number) to the generations of providers, all of which must exist.

    providers: those that were read. Raises Unmatched where one of them has another generation.
    """
    generations = {provider.id: provider.generation for provider in providers}
    statements.bump_generations(increments, generations).execute(conn)
