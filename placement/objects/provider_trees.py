"""Whole trees of providers: read, and written in one transaction.

As other writes of providers, a write reads all that it decides on, locks the tree if it is still
as it was read, and only then writes. A request that changes nothing locks nothing.
"""

import uuid as uuid_module
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import NamedTuple

from sqlalchemy.engine import Connection

from placement import stopwatch
from placement.db.statement import Restart, Unchanged
from placement.db.statements import inventories as inventory_statements
from placement.db.statements import locks
from placement.db.statements import provider_parts as part_statements
from placement.db.statements import provider_trees as statements
from placement.db.statements import providers as provider_statements
from placement.errors import TreeNotFound
from placement.objects import (
    catalog,
    identifiers,
    inventory_rows,
    locking,
    provider_parts,
    providers,
    resource_classes,
    revisions,
    traits,
)
from placement.objects.inventory_change import inventory_change
from placement.objects.inventory_rows import Inventory
from placement.objects.locking import TreesChanged
from placement.objects.provider_parts import Part
from placement.objects.tree_change import (
    TreeChange,
    TreeCommand,
    TreeMember,
    TreeState,
    tree_change,
)
from placement.vocabulary import CUSTOM_PREFIX

PARTS = (Part.INVENTORIES, Part.TRAITS, Part.AGGREGATES)


class ProviderTree(NamedTuple):
    """A tree as it is shown: the root first, parents before their children."""

    members: list[TreeMember]
    # Part -> provider id -> the value of the part.
    parts: Mapping[Part, Mapping[int, object]]


class ProviderOutcome(NamedTuple):
    """What became of a listed provider."""

    generation: int
    # `created`, `updated` or `unchanged`.
    change: str


class TreeOutcome(NamedTuple):
    """What a write has changed."""

    providers: Mapping[str, ProviderOutcome]
    # UUIDs.
    deleted: list[str]


# -- reading -----------------------------------------------------------------------------------


def get(conn: Connection, root_uuid: str) -> ProviderTree:
    """Return the tree of a root.

    Raises:
        TreeNotFound: there is no such provider, or it is not a root.
    """

    def look() -> list[TreeMember]:
        members = _members(conn, root_uuid)
        if not members:
            raise TreeNotFound(root_uuid)
        return members

    def read(members: list[TreeMember]) -> Mapping[Part, Mapping[int, object]]:
        return provider_parts.read(conn, [member.id for member in members], PARTS)

    members, parts, _ = revisions.read_between(
        conn, look, read, lambda members: tuple((each.id, each.revision) for each in members)
    )
    return ProviderTree(_parents_first(members), parts)


def _members(conn: Connection, root_uuid: str) -> list[TreeMember]:
    rows = statements.members(identifiers.stored_forms(root_uuid)).rows(conn)
    return sorted(TreeMember._make(row) for row in rows)


def _parents_first(members: list[TreeMember]) -> list[TreeMember]:
    children: dict[str | None, list[TreeMember]] = {}
    for member in members:
        children.setdefault(member.parent_uuid, []).append(member)
    ordered = list(children.get(None, ()))
    for member in ordered:  # grows while it is walked through
        ordered += children.get(member.uuid, ())
    return ordered


# -- writing -----------------------------------------------------------------------------------


def put(conn: Connection, command: TreeCommand, may_create: Callable[[str], None]) -> TreeOutcome:
    """Make a tree what the command lists, in one transaction.

    Args:
        conn: the transaction.
        command: the tree.
        may_create: is called with the kind of names (`resource_class`, `trait`) that have to be
            created, and raises where the caller may not create them.

    Raises:
        Unchanged: with the outcome, where there is nothing to write.
        PlacementError: what the separate requests raise, beginning with the path of the member.
        Restart: the tree keeps changing.
    """
    creates = command.create_names and _create_names(conn, command, may_create)
    state = _read(conn, command)
    try:
        return _write(conn, command, state, is_empty=not creates)
    except TreesChanged:
        # Other transactions may keep writing to this tree, so it is locked before it is read again.
        root_ids = [member.root_id for member in state.members.values()][:1]
        with stopwatch.LOCKS:
            locks.revisions(root_ids).rows(conn)
    try:
        return _write(conn, command, _read(conn, command), is_empty=not creates)
    except TreesChanged:
        raise Restart from None


def _create_names(
    conn: Connection, command: TreeCommand, may_create: Callable[[str], None]
) -> bool:
    """Create the custom names that do not exist; return whether there were any."""
    class_names: set[str] = set()
    trait_names: set[str] = set()
    for listed in command.providers:
        class_names |= (listed.inventories or {}).keys()
        trait_names.update(listed.traits.add)
    names = {"resource_class": class_names, "trait": trait_names}
    existing = catalog.find_ids(conn, names)
    creators = {"resource_class": resource_classes.ensure, "trait": traits.ensure}
    missing = {
        kind: sorted(
            name for name in names[kind] - existing[kind].keys() if name.startswith(CUSTOM_PREFIX)
        )
        for kind in names
    }
    for kind, missing_names in missing.items():
        if missing_names:
            may_create(kind)
    for kind, missing_names in missing.items():
        for name in missing_names:
            creators[kind](conn, name)
    return any(missing.values())


def _read(conn: Connection, command: TreeCommand) -> TreeState:
    """Read what a command is decided on; the tree is confirmed by its revision under the lock."""
    root_forms = identifiers.stored_forms(command.root_uuid)
    seen = revisions.get_for_provider(conn, command.root_uuid) if revisions.may_tear(conn) else None
    rows = statements.members_and_others(
        root_forms,
        identifiers.stored_forms(*(listed.uuid for listed in command.providers)),
        {listed.name for listed in command.providers},
    ).rows(conn)
    members: dict[str, TreeMember] = {}
    others: list[TreeMember] = []
    for member in sorted(map(TreeMember._make, rows)):
        if member.root_uuid in root_forms:
            members[member.key] = member
        else:
            others.append(member)
    if seen is not None and members:
        _refuse_torn(members[command.root_uuid], seen)
    ids = [member.id for member in members.values()]
    names = _names(command)
    known = catalog.look_up(conn, names) if any(names.values()) else None
    used_ids: frozenset[int] = frozenset()
    listed_uuids = {listed.uuid for listed in command.providers}
    pruned = [member.id for uuid, member in members.items() if uuid not in listed_uuids]
    if command.prune and pruned:
        used_ids = frozenset(row_id for (row_id,) in statements.in_use(pruned).rows(conn))
    trait_ids: dict[int, frozenset[int]] = dict.fromkeys(ids, frozenset())
    aggregate_ids: dict[int, frozenset[int]] = dict.fromkeys(ids, frozenset())
    if ids:
        for provider_id, of_provider in part_statements.trait_ids(ids).rows(conn):
            trait_ids[provider_id] = frozenset(of_provider)
        for provider_id, aggregate_id in statements.aggregate_ids(ids).rows(conn):
            aggregate_ids[provider_id] |= {aggregate_id}
    return TreeState(
        members=members,
        others=others,
        inventories=inventory_rows.read(conn, ids) if ids else {},
        trait_ids=trait_ids,
        aggregate_ids=aggregate_ids,
        used_ids=used_ids,
        class_ids={} if known is None else known.ids["resource_class"],
        traits={} if known is None else known.ids["trait"],
        aggregates={} if known is None else known.aggregates,
    )


def _refuse_torn(root: TreeMember, seen: Mapping[str, int]) -> None:
    """Raise Restart where a view may show the new revision of a write without its content."""
    if seen.get(root.uuid) != root.revision:
        raise Restart


def _names(command: TreeCommand) -> dict[str, set[str]]:
    names: dict[str, set[str]] = {"resource_class": set(), "trait": set(), "aggregate": set()}
    for listed in command.providers:
        names["resource_class"] |= (listed.inventories or {}).keys()
        names["trait"].update(listed.traits.add, listed.traits.remove)
        names["aggregate"].update(listed.aggregates.add, listed.aggregates.remove)
    return names


def _write(
    conn: Connection, command: TreeCommand, state: TreeState, *, is_empty: bool
) -> TreeOutcome:
    """Write the difference; is_empty: whether the transaction has written nothing yet.

    Raises TreesChanged before anything of the tree is written.
    """
    change = tree_change(conn, command, state)
    outcome = _outcome(command, state, change)
    if not change:
        if is_empty:
            raise Unchanged(outcome)
        return outcome
    root = state.members.get(command.root_uuid)
    if root is None:
        listed = next(each for each in command.providers if each.uuid == command.root_uuid)
        root_id = providers.create_root(conn, listed.uuid, listed.name).id
        # The root exists now, and is the last provider without parts.
        bumped = {root_id: 0} if listed.has_parts else {}
    else:
        root_id = root.id
        locking.lock_unchanged(conn, {root.id: root.revision}, ())
        bumped = {
            member.id: member.generation
            for uuid, member in state.members.items()
            if change.is_bumped(uuid)
        }
    _Writer(conn, command.root_uuid, root_id, state, change).write()
    provider_statements.bump_generations(dict.fromkeys(bumped, 1), bumped).execute(conn)
    return outcome


def _outcome(command: TreeCommand, state: TreeState, change: TreeChange) -> TreeOutcome:
    outcomes: dict[str, ProviderOutcome] = {}
    for listed in command.providers:
        member = state.members.get(listed.uuid)
        if member is None:
            outcomes[listed.uuid] = ProviderOutcome(int(listed.has_parts), "created")
        else:
            is_bumped = change.is_bumped(listed.uuid)
            is_updated = is_bumped or listed.uuid in change.moved
            generation = member.generation + is_bumped
            outcomes[listed.uuid] = ProviderOutcome(
                generation, "updated" if is_updated else "unchanged"
            )
    return TreeOutcome(outcomes, [member.uuid for member in change.deleted])


class _Writer:
    """Writes a change of a tree that the transaction has locked."""

    def __init__(
        self,
        conn: Connection,
        root_uuid: str,
        root_id: int,
        state: TreeState,
        change: TreeChange,
    ) -> None:
        self._conn = conn
        self._root_uuid = root_uuid
        self._root_id = root_id
        self._state = state
        self._change = change
        # By UUID, of the providers that exist so far.
        self._ids = {uuid: member.id for uuid, member in state.members.items()}
        self._ids[root_uuid] = root_id

    def write(self) -> None:
        """Delete, rename, create and move providers, then write their parts."""
        if self._change.deleted:
            self._delete()
        self._rename()
        self._create()
        self._move()
        self._write_inventories()
        traits, aggregates = self._change.traits, self._change.aggregates
        statements.remove_traits(self._links(traits.removed)).execute(self._conn)
        statements.add_traits(self._links(traits.added)).execute(self._conn)
        statements.remove_aggregates(self._links(aggregates.removed)).execute(self._conn)
        added = {*self._links(aggregates.added), *self._new_aggregates()}
        statements.add_aggregates(added).execute(self._conn)

    def _delete(self) -> None:
        """Delete providers; those below them are children of the root until they are moved."""
        conn, state = self._conn, self._state
        ids = {member.id for member in self._change.deleted}
        uuids = {member.key for member in self._change.deleted}
        below = {member.id for member in state.members.values() if member.parent_key in uuids}
        statements.set_parent(below, self._root_id).execute(conn)
        rows = [row.id for row_id in ids for row in state.inventories[row_id].values()]
        inventory_statements.delete_unused(rows).execute(conn)
        trait_links = {(row_id, each) for row_id in ids for each in state.trait_ids[row_id]}
        statements.remove_traits(trait_links).execute(conn)
        aggregate_links = {(row_id, each) for row_id in ids for each in state.aggregate_ids[row_id]}
        statements.remove_aggregates(aggregate_links).execute(conn)
        statements.delete(ids).execute(conn)

    def _rename(self) -> None:
        """Rename providers; a name that two of them exchange is free in between."""
        members = self._state.members
        renamed = {
            members[uuid].id: listed.name
            for uuid, listed in self._change.moved.items()
            if members[uuid].name != listed.name
        }
        old_names = {members[uuid].name.casefold() for uuid in self._change.moved}
        if any(name.casefold() in old_names for name in renamed.values()):
            between = {row_id: f"renamed {uuid_module.uuid4()}" for row_id in renamed}
            statements.rename(between).execute(self._conn)
        statements.rename(renamed).execute(self._conn)

    def _create(self) -> None:
        """Create providers as children of the root."""
        new = [listed for listed in self._change.created if listed.uuid != self._root_uuid]
        if not new:
            return
        rows = [(listed.uuid, listed.name, int(listed.has_parts)) for listed in new]
        statements.create(rows, self._root_id).execute(self._conn)
        for row in provider_statements.locked([listed.uuid for listed in new]).rows(self._conn):
            self._ids[row.uuid] = row.id

    def _move(self) -> None:
        """Set the parents of moved providers, and of new ones that are not children of the root."""
        members = self._state.members
        parents: dict[int, int] = {}
        for listed in (*self._change.created, *self._change.moved.values()):
            member = members.get(listed.uuid)
            present = self._root_uuid if member is None else member.parent_key
            if listed.parent_uuid is not None and present != listed.parent_uuid:
                parents[self._ids[listed.uuid]] = self._ids[listed.parent_uuid]
        statements.move(parents).execute(self._conn)

    def _write_inventories(self) -> None:
        records = {
            self._ids[listed.uuid]: listed.inventories
            for listed in self._change.created
            if listed.inventories
        }
        nothing: dict[int, dict[str, Inventory]] = {row_id: {} for row_id in records}
        new = inventory_change(self._conn, nothing, records, self._state.class_ids)
        present = self._change.inventories
        change = replace(present, created=(*present.created, *new.created))
        change.insert_and_update(self._conn)
        change.delete(self._conn)

    def _links(self, ids: Mapping[str, Collection[int]]) -> set[tuple[int, int]]:
        """Return (provider id, id) of each trait or aggregate, by UUID of the provider."""
        return {(self._ids[uuid], row_id) for uuid, row_ids in ids.items() for row_id in row_ids}

    def _new_aggregates(self) -> set[tuple[int, int]]:
        """Create aggregates; return (provider id, aggregate id)."""
        created = self._change.aggregates.created
        spellings: dict[str, str] = {}  # key -> the spelling that comes first in the request
        for texts in created.values():
            for text in texts:
                spellings.setdefault(identifiers.key(text), identifiers.new_spelling(text))
        if not spellings:
            return set()
        rows = catalog.create(self._conn, {"aggregate": spellings.values()})["aggregate"]
        ids = identifiers.match(spellings, rows)
        return {
            (self._ids[uuid], ids[identifiers.key(text)])
            for uuid, texts in created.items()
            for text in texts
        }
