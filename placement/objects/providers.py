"""Resource providers: their rows, parents and generations."""

import uuid as uuid_module
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from functools import partial
from typing import NamedTuple, TypeVar

from sqlalchemy.engine import Connection

from placement.db.statement import Contended, Unchanged
from placement.db.statements import provider_snapshots
from placement.db.statements import provider_trees as tree_statements
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
from placement.objects import identifiers, lineage, provider_snapshot, revisions, tree_writer
from placement.objects.locking import LockedProvider
from placement.objects.revisions import MIXED, UNKNOWN
from placement.objects.tree_state import TreeChange, TreeMember
from placement.objects.unset import Unset

Content = TypeVar("Content")


class Provider(NamedTuple):
    """A resource provider, as the API returns it, with the id of its row."""

    uuid: str
    name: str
    generation: int
    # UUID of the parent, or None for a root.
    parent_uuid: str | None
    root_uuid: str
    # Time of the last change, or None in rows of very old databases.
    changed_at: datetime | None
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


class _Named(NamedTuple):
    """The existing providers that a request names."""

    # Providers by the identifiers in the request.
    by_uuid: Mapping[str, TreeMember]
    # Id -> name, of the providers whose name the database considers equal to the new name.
    names: Mapping[int, str]

    @property
    def revisions(self) -> Mapping[int, int]:
        """Root id -> revision, of the trees of these providers."""
        return {each.root_id: each.revision for each in self.by_uuid.values() if each.root_id}

    def parent(self, uuid: str) -> TreeMember:
        """Return the requested parent.  Raises BadParent."""
        parent = self.by_uuid.get(uuid)
        if parent is None or not parent.root_id:
            raise BadParent(
                f"parent_provider_uuid: no such resource provider: {uuid}; create it first"
            )
        return parent

    def refuse_taken(self, name: str, uuid: str | None = None, own_id: int | None = None) -> None:
        """Raise ProviderUuidTaken or ProviderNameTaken if another row has the uuid or the name."""
        if uuid is not None and uuid in self.by_uuid:
            raise ProviderUuidTaken(uuid)
        for row_id, existing in self.names.items():
            if row_id != own_id:
                raise ProviderNameTaken(name, existing)


def _read(conn: Connection, uuids: Collection[str], name: str) -> _Named:
    members: dict[str, TreeMember] = {}
    names: dict[int, str] = {}
    forms = identifiers.stored_forms(*uuids)
    for *fields, has_name in tree_statements.with_uuid_or_name(forms, name).rows(conn):
        member = TreeMember._make(fields)
        members[member.uuid] = member
        if has_name:
            names[member.id] = member.name
    return _Named(identifiers.match(uuids, members), names)


def _write(
    conn: Connection, uuids: Collection[str], name: str, decide: Callable[[_Named], TreeChange]
) -> _Named:
    """Determine and write a change of the trees of providers. Return the state before it."""
    is_complete = tree_writer.later_views(conn, *uuids)
    state, _, _ = tree_writer.write(conn, partial(_read, conn, uuids, name), decide, is_complete)
    return state


def create(
    conn: Connection, name: str, uuid: str | None = None, parent_uuid: str | None = None
) -> Provider:
    """Create a provider as the root of a new tree, or below a parent.

    A random uuid is generated if it is None.

    Raises:
        BadParent, ProviderUuidTaken, ProviderNameTaken
    """
    new_uuid = (uuid and identifiers.canonical(uuid)) or str(uuid_module.uuid4())
    if parent_uuid is None:
        _read(conn, [new_uuid], name).refuse_taken(name, new_uuid)
        row_id, created_at = tree_writer.create_root(conn, new_uuid, name)
        return Provider(new_uuid, name, 0, None, new_uuid, created_at, row_id)
    if identifiers.canonical(parent_uuid) == new_uuid:
        raise BadParent(
            f"parent_provider_uuid: {parent_uuid} is the provider itself: leave it out for a root"
        )

    def decide(state: _Named) -> TreeChange:
        parent = state.parent(parent_uuid)
        state.refuse_taken(name, new_uuid)
        return TreeChange({}, parent.root_uuid)

    parent = _write(conn, [new_uuid, parent_uuid], name, decide).parent(parent_uuid)
    write = statements.create(new_uuid, name, parent.id, parent.root_id, revision=0)
    row_id = write.insert(conn)
    created_at = write.params["created_at"]
    return Provider(new_uuid, name, 0, parent.uuid, parent.root_uuid, created_at, row_id)


def update(
    conn: Connection, uuid: str, name: str, parent_uuid: str | Unset | None, *, movable: bool = True
) -> Provider:
    """Rename a provider, and move its subtree to another parent or to the top.

    Args:
        parent_uuid: UNSET keeps the parent; None makes the provider a root.
        movable: whether providers with a parent may move.

    Raises:
        ProviderNotFound, ProviderNameTaken
        BadParent: the parent does not exist, is a descendant, or may not be changed.
        Unchanged: the provider has this name and parent.
    """

    def decide(state: _Named) -> TreeChange:
        provider = state.by_uuid.get(uuid)
        if provider is None or not provider.root_id:
            raise ProviderNotFound(uuid)
        change = TreeChange(
            {each.uuid: each.id for each in state.by_uuid.values()}, provider.root_uuid
        )
        if not isinstance(parent_uuid, Unset):
            parent = None if parent_uuid is None else state.parent(parent_uuid)
            _move(conn, change, provider, parent, movable=movable)
        state.refuse_taken(name, own_id=provider.id)
        if provider.name != name:
            change.renamed[provider.id] = (provider.name, name)
        if not change:
            shown = get(conn, provider.uuid)
            if shown.revision != provider.revision:
                raise Contended
            raise Unchanged(shown)
        return change

    uuids = [uuid, parent_uuid] if isinstance(parent_uuid, str) else [uuid]
    return get(conn, _write(conn, uuids, name, decide).by_uuid[uuid].uuid)


def _move(
    conn: Connection,
    change: TreeChange,
    provider: TreeMember,
    parent: TreeMember | None,
    *,
    movable: bool,
) -> None:
    """Record that a provider moves with its descendants to a parent, or to the top."""
    new_parent = None if parent is None else parent.uuid
    if new_parent == provider.parent_uuid:
        return
    if not movable and provider.parent_uuid is not None:
        action = "un-parenting" if parent is None else "re-parenting"
        raise BadParent(
            f"parent_provider_uuid: {action} a provider is not currently allowed: "
            f"send OpenStack-API-Version: placement 1.37 or later"
        )
    parents = dict(statements.members_of_tree(provider.root_id).rows(conn))
    subtree = lineage.below(parents, provider.id)
    if parent is not None and parent.id in subtree:
        raise BadParent(
            f"parent_provider_uuid: {parent.uuid} is the provider itself or below it: "
            f"that would make a loop"
        )
    change.moved[provider.uuid] = new_parent
    root_id = provider.id if parent is None else parent.root_id
    if root_id != provider.root_id:
        change.new_roots = {root_id: subtree}


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
