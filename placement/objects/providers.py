"""Resource providers: their rows, parents and generations."""

import uuid as uuid_module
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from functools import partial
from typing import NamedTuple, TypeVar

from sqlalchemy.engine import Connection

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
from placement.objects import (
    identifiers,
    lineage,
    locking,
    provider_snapshot,
    revisions,
    tree_writer,
)
from placement.objects.locking import LockedProvider
from placement.objects.revisions import MIXED, UNKNOWN
from placement.objects.tree_state import TreeChange
from placement.objects.unset import Unset

Content = TypeVar("Content")


class Provider(NamedTuple):
    """A resource provider, as the API returns it, with the id of its row."""

    # UUID of the provider.
    uuid: str
    # Unique name.
    name: str
    # Generation of the provider.
    generation: int
    # UUID of the parent, or None for a root.
    parent_uuid: str | None
    # UUID of the root of its tree.
    root_uuid: str
    # Time of the last change, or None in rows of very old databases.
    changed_at: datetime | None
    # Id of the row.
    id: int
    # Revision of the tree, and of the content that was read with the provider. MIXED if this
    # content may combine several states.
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
    """Return a provider and its content at a single revision of the tree.

    If the tree keeps changing, the revision of the provider is MIXED, and the content is at least
    as new as its generation.

    Args:
        conn: the connection.
        uuid: the provider.
        read: reads the content.
        seen: called with the provider before the content is read; it may raise.

    Raises:
        ProviderNotFound, the errors of `seen`
    """
    content: dict[int, Content] = {}

    def read_content(provider: Provider, _: Collection[int]) -> None:
        seen(provider)
        content[provider.id] = read(provider)

    def row_of(provider: Provider) -> Mapping[int, Provider]:
        return {provider.id: provider}

    look = partial(get, conn, uuid)
    provider, exact = revisions.read_between(conn, look, row_of, read_content)
    return exact.get(provider.id) or provider._replace(revision=MIXED), content[provider.id]


def create(
    conn: Connection, name: str, uuid: str | None = None, parent_uuid: str | None = None
) -> Provider:
    """Create a provider as the root of a new tree, or below a parent.

    A random uuid is generated if it is None.

    Raises:
        BadParent, ProviderUuidTaken, ProviderNameTaken
    """
    uuid = (identifiers.canonical(uuid) if uuid is not None else None) or str(uuid_module.uuid4())
    if parent_uuid is not None and identifiers.canonical(parent_uuid) == uuid:
        raise BadParent(f"parent_provider_uuid: {parent_uuid} is the provider itself")
    if parent_uuid is None:
        _refuse_taken(conn, uuid, name)
        row_id, created_at = tree_writer.create_root(conn, uuid, name)
        return Provider(uuid, name, 0, None, uuid, created_at, row_id)
    return _create_child(conn, uuid, name, parent_uuid)


def _create_child(conn: Connection, uuid: str, name: str, parent_uuid: str) -> Provider:
    def decide(parent: ProviderSnapshot) -> TreeChange:
        _refuse_taken(conn, uuid, name)
        return provider_snapshot.change_of(parent, bump=False)

    reader = provider_snapshots.without_parts
    try:
        parent, _ = provider_snapshot.write(conn, parent_uuid, reader, decide)
    except ProviderNotFound:
        raise _unknown_parent(parent_uuid) from None
    write = statements.create(uuid, name, parent.id, parent.root_id, revision=0)
    row_id = write.insert(conn)
    created_at = write.params["created_at"]
    return Provider(uuid, name, 0, parent.uuid, parent.root_uuid, created_at, row_id)


def _parent(providers: Mapping[str, LockedProvider], uuid: str | None) -> LockedProvider | None:
    """Return the requested parent, or None. Raise BadParent if the parent does not exist."""
    if uuid is None:
        return None
    if uuid not in providers:
        raise _unknown_parent(uuid)
    return providers[uuid]


def _unknown_parent(uuid: str) -> BadParent:
    return BadParent(f"parent_provider_uuid: no such resource provider: {uuid}")


def _refuse_taken(conn: Connection, uuid: str, name: str, own_id: int | None = None) -> str | None:
    """Check that no other row has the uuid or the name. Return the name of the row `own_id`.

    Raises:
        ProviderUuidTaken, ProviderNameTaken: another row has the uuid or the name.
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
    """Rename a provider, and move its subtree to another parent or to the top.

    Args:
        conn: the connection.
        uuid: the provider.
        name: the new name.
        parent_uuid: UNSET keeps the parent; None makes the provider a root.
        movable: whether providers with a parent may move.

    Raises:
        ProviderNotFound, ProviderNameTaken
        BadParent: the parent does not exist, is a descendant, or may not be changed.
        Unchanged: the provider has this name and parent.
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
    """Move the provider's subtree to another parent. Return the id of the parent.

    The caller writes the parent into the row of the provider.
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
    """Move a provider and its descendants to the parent's tree, or to a new tree."""
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
        # The provider has become the root of a new tree.
        locking.renew_revisions(conn, [provider.id])


def delete(conn: Connection, uuid: str) -> None:
    """Delete a provider with its inventories, traits and aggregate memberships.

    Raises:
        ProviderNotFound, ProviderHasChildren, ProviderInUse
    """

    def decide(provider: ProviderSnapshot) -> TreeChange:
        ((inventories, traits, aggregates, children, allocations),) = provider.parts
        if children:
            raise ProviderHasChildren(provider.uuid, _consumers_below(conn, provider))
        if allocations:
            raise ProviderInUse(provider.uuid)
        counts = {"inventories": inventories, "traits": traits, "aggregates": aggregates}
        change = provider_snapshot.change_of(provider, bump=False)
        change.deleted = {provider.id: counts}
        return change

    provider_snapshot.write(conn, uuid, provider_snapshots.with_dependants, decide)


def _consumers_below(conn: Connection, provider: ProviderSnapshot) -> Mapping[str, int]:
    """Return uuid -> number of consumers, of the providers below a provider with allocations."""
    parents = dict(statements.members_of_tree(provider.root_id).rows(conn))
    subtree = lineage.below(parents, provider.id)
    used = statements.consumers_of(subtree - {provider.id}).rows(conn)
    return {row.uuid: row.consumers for row in used}


def check_generation(provider: LockedProvider | ProviderSnapshot, generation: int) -> None:
    """Raise ProviderGenerationConflict if the client's generation is outdated."""
    if provider.generation != generation:
        raise ProviderGenerationConflict(provider.uuid, generation, provider.generation)


def bump_generations(
    conn: Connection, increments: Mapping[int, int], providers: Iterable[LockedProvider]
) -> None:
    """Add increments (id -> number) to the generations of existing providers.

    Raises:
        Unmatched: the generation of one of `providers` has changed since it was read.
    """
    generations = {provider.id: provider.generation for provider in providers}
    statements.bump_generations(increments, generations).execute(conn)
