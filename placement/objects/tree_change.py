"""The difference between the listed and the existing providers of a tree."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy.engine import Connection

from placement.errors import (
    BadParent,
    NotARoot,
    ProviderGenerationConflict,
    ProviderInUse,
    ProviderNameTaken,
    ProviderOfAnotherTree,
    UnknownResourceClasses,
    UnknownTraits,
    at_member,
)
from placement.inventory import InventoryRecord
from placement.objects import catalog, identifiers, lineage
from placement.objects.inventory_change import InventoryChange, check_capacity, inventory_change
from placement.objects.tree_state import Edit, ListedProvider, TreeCommand, TreeMember, TreeState
from placement.objects.unset import Unset

CREATE_NAMES = " or with create_names"


@dataclass(slots=True)
class LinkChange:
    """Traits or aggregates to add and to remove, by the UUID of the provider."""

    # Aggregates without a row are added by UUID, and all others by id.
    added: dict[str, set[int]] = field(default_factory=dict)
    # UUIDs of the aggregates to add that have no row.
    created: dict[str, Sequence[str]] = field(default_factory=dict)
    # Ids to remove.
    removed: dict[str, frozenset[int]] = field(default_factory=dict)

    def record(
        self, uuid: str, added: set[int], removed: frozenset[int], created: Sequence[str] = ()
    ) -> None:
        """Record the additions and removals for the provider with this UUID, if there are any."""
        if added:
            self.added[uuid] = added
        if removed:
            self.removed[uuid] = removed
        if created:
            self.created[uuid] = created

    def __bool__(self) -> bool:
        return bool(self.added or self.created or self.removed)

    def __contains__(self, uuid: str) -> bool:
        return uuid in self.added or uuid in self.created or uuid in self.removed


@dataclass(slots=True)
class TreeChange:
    """The changes that a request writes. Keys are UUIDs of listed providers."""

    # Existing members to delete.
    deleted: Sequence[TreeMember] = ()
    # Providers to create.
    created: list[ListedProvider] = field(default_factory=list)
    # Members that get a different name or parent.
    moved: dict[str, ListedProvider] = field(default_factory=dict)
    # Changes of existing members by UUID. For new providers, all inventories are inserted.
    inventories: dict[str, InventoryChange] = field(default_factory=dict)
    # Traits to add and to remove.
    traits: LinkChange = field(default_factory=LinkChange)
    # Aggregates to add and to remove.
    aggregates: LinkChange = field(default_factory=LinkChange)

    def __bool__(self) -> bool:
        return bool(
            self.deleted
            or self.created
            or self.moved
            or self.inventories
            or self.traits
            or self.aggregates
        )

    def is_bumped(self, uuid: str) -> bool:
        """Return whether the generation of a member is incremented: one of its parts changes."""
        return uuid in self.inventories or uuid in self.traits or uuid in self.aggregates


def tree_change(conn: Connection, command: TreeCommand, state: TreeState) -> TreeChange:
    """Compare the listed providers with the existing ones. Return the changes to write.

    Returns the changes to write. Raises the same errors as the separate requests. Their texts begin
    with the path of the member in the request. Deletions are checked first, and then the listed
    providers in order.
    """
    _refuse_child(command, state)
    change = TreeChange(deleted=command.unlisted(state.members) if command.prune else ())
    for unlisted in change.deleted:
        if unlisted.id in state.used_ids:
            with at_member("prune"):
                raise ProviderInUse(unlisted.uuid)
    rules = _Rules(command, state)
    for index, listed in enumerate(command.providers):
        path = f"providers[{index}]"
        rules.check(listed, path)
        _check_inventories(conn, listed.inventories or {}, state, f"{path}.inventories")
        member = state.members.get(listed.uuid)
        if member is None:
            change.created.append(listed)
        elif (member.name, member.parent_key) != (listed.name, listed.parent_uuid):
            change.moved[listed.uuid] = listed
        if member is not None and listed.inventories is not None:
            stock = _stock_change(conn, state, member, listed.inventories, path)
            if stock != InventoryChange():
                change.inventories[listed.uuid] = stock
        _edit_traits(conn, change.traits, listed, member, state, path)
        _edit_aggregates(change.aggregates, listed, member, state)
    return change


def _refuse_child(command: TreeCommand, state: TreeState) -> None:
    for other in state.others:
        if other.key == command.root_uuid:
            raise NotARoot(other.uuid, other.root_uuid)


class _Rules:
    """The rules for a listed provider that involve other providers: UUIDs, names and parents."""

    def __init__(self, command: TreeCommand, state: TreeState) -> None:
        self._root_uuid = command.root_uuid
        self._state = state
        self._others = {other.key: other for other in state.others}
        staying = [] if command.prune else command.unlisted(state.members)
        # Name -> the provider that has this name after the write.
        self._taken_names = {other.name: other.name for other in state.others}
        self._taken_names |= {member.name: member.name for member in staying}
        # Names that only the database considers equal.
        self._folded_names = {_folded(name): name for name in self._taken_names}
        self._parents = {member.key: member.parent_key for member in staying}
        self._parents |= {provider.uuid: provider.parent_uuid for provider in command.providers}
        self._cyclic = _in_loops(self._parents)

    def check(self, listed: ListedProvider, path: str) -> None:
        """Raise the error of a provider that violates a rule."""
        if listed.uuid in self._others:
            with at_member(f"{path}.uuid"):
                raise ProviderOfAnotherTree(listed.uuid, self._others[listed.uuid].root_uuid)
        member = self._state.members.get(listed.uuid)
        _check_generation(listed, member, f"{path}.generation")
        self._check_name(listed.name, f"{path}.name")
        self._check_parent(listed, f"{path}.parent_provider_uuid")

    def _check_name(self, name: str, path: str) -> None:
        existing = self._taken_names.get(name)
        if existing is None and self._state.others:
            existing = self._folded_names.get(_folded(name))
        if existing is not None:
            with at_member(path):
                raise ProviderNameTaken(name, existing)
        self._taken_names[name] = name

    def _check_parent(self, listed: ListedProvider, path: str) -> None:
        parent = listed.parent_uuid
        with at_member(path):
            if listed.uuid == self._root_uuid:
                if parent is not None:
                    raise BadParent("the root of the tree has no parent: use null")
            elif parent is None:
                raise BadParent(f"only the root {self._root_uuid} has no parent")
            elif parent not in self._parents:
                raise BadParent(f"no such resource provider in the list or the tree: {parent}")
            elif listed.uuid in self._cyclic:
                raise BadParent(f"{parent} is the provider itself or below it: that makes a loop")


def _folded(name: str) -> str:
    """Return the part of a name that some collations compare."""
    return name.casefold().rstrip()


def _in_loops(parents: Mapping[str, str | None]) -> set[str]:
    """Return the providers whose chain of parents contains a loop."""
    uuids = list(parents)
    numbers = {uuid: number for number, uuid in enumerate(uuids)}
    chains = {
        numbers[uuid]: None if parent is None else numbers.get(parent)
        for uuid, parent in parents.items()
    }
    return {uuids[number] for number in lineage.trace(chains).cyclic}


def _check_generation(listed: ListedProvider, member: TreeMember | None, path: str) -> None:
    if isinstance(listed.generation, Unset):
        return
    present = None if member is None else member.generation
    if present != listed.generation:
        with at_member(path):
            raise ProviderGenerationConflict(listed.uuid, listed.generation, present)


def _check_inventories(
    conn: Connection, records: Mapping[str, InventoryRecord], state: TreeState, path: str
) -> None:
    for name, record in records.items():
        with at_member(f"{path}.{name}"):
            check_capacity(conn, {name: record})
    unknown = records.keys() - state.class_ids.keys()
    if unknown:
        with at_member(f"{path}.{min(unknown)}"):
            hint = catalog.hint(conn, "resource_class", unknown, another_way=CREATE_NAMES)
            raise UnknownResourceClasses(unknown, hint=hint)


def _stock_change(
    conn: Connection,
    state: TreeState,
    member: TreeMember,
    records: Mapping[str, InventoryRecord],
    path: str,
) -> InventoryChange:
    """Return the change of the inventories of a member.

    Raises InventoryInUse for inventories in use that would be deleted.
    """
    change = inventory_change(conn, state.inventories, {member.id: records}, state.class_ids)
    with at_member(f"{path}.inventories"):
        change.refuse_in_use({member.id: member.uuid})
    return change


def _edit_traits(
    conn: Connection,
    change: LinkChange,
    listed: ListedProvider,
    member: TreeMember | None,
    state: TreeState,
    path: str,
) -> None:
    for name, where in _paths(listed.traits, f"{path}.traits"):
        if name not in state.traits:
            with at_member(where):
                hint = catalog.hint(conn, "trait", [name], another_way=CREATE_NAMES)
                raise UnknownTraits([name], hint=hint)
    present = frozenset[int]() if member is None else state.trait_ids[member.id]
    wanted = {state.traits[name] for name in listed.traits.add}
    unwanted = {state.traits[name] for name in listed.traits.remove if name in state.traits}
    removed = present - wanted if listed.traits.replaces else present & unwanted
    change.record(listed.uuid, wanted - present, removed)


def _paths(edit: Edit, path: str) -> Iterator[tuple[str, str]]:
    """Yield each name to add and its path in the request."""
    prefix = path if edit.replaces else f"{path}.add"
    for index, name in enumerate(edit.add):
        yield name, f"{prefix}[{index}]"


def _edit_aggregates(
    change: LinkChange, listed: ListedProvider, member: TreeMember | None, state: TreeState
) -> None:
    present = frozenset[int]() if member is None else state.aggregate_ids[member.id]
    added: set[int] = set()
    created: dict[str, str] = {}
    wanted: set[int] = set()
    for text in listed.aggregates.add:
        rows = state.aggregates.get(identifiers.key(text), frozenset())
        wanted |= rows
        if not rows:
            created.setdefault(identifiers.key(text), text)
        elif not rows & present:
            added.add(min(rows))
    unwanted: set[int] = set()
    for text in listed.aggregates.remove:
        unwanted |= state.aggregates.get(identifiers.key(text), frozenset())
    removed = present - wanted if listed.aggregates.replaces else present & unwanted
    change.record(listed.uuid, added, removed, list(created.values()))
