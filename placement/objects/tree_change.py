"""The difference between the listed and the existing providers of a tree."""

from collections.abc import Iterator, Mapping

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
from placement.objects.tree_state import (
    Edit,
    LinkChange,
    ListedProvider,
    TreeChange,
    TreeCommand,
    TreeMember,
    TreeState,
)
from placement.objects.unset import Unset

CREATE_NAMES = " or with create_names"


def tree_change(conn: Connection, command: TreeCommand, state: TreeState) -> TreeChange:
    """Compare the listed providers with the existing ones. Return the changes to write.

    Raises the same errors as the separate requests. Their texts begin with the path of the member
    in the request. Deletions are checked first, and then the listed providers in order.
    """
    _refuse_child(command, state)
    ids = {uuid: member.id for uuid, member in state.members.items()}
    change = TreeChange(ids, command.root_uuid, listed=command.providers, class_ids=state.class_ids)
    if command.prune:
        _delete_unlisted(change, command, state)
    rules = _Rules(command, state)
    for index, listed in enumerate(command.providers):
        path = f"providers[{index}]"
        rules.check(listed, path)
        _check_inventories(conn, listed.inventories or {}, state, f"{path}.inventories")
        member = state.members.get(listed.uuid)
        if member is not None:
            _place(change, member, listed)
        is_stocked = member is not None and _stock(conn, change, listed, member, state, path)
        has_traits = _edit_traits(conn, change.traits, listed, member, state, path)
        has_aggregates = _edit_aggregates(change.aggregates, listed, member, state)
        if member is not None and (is_stocked or has_traits or has_aggregates):
            change.bumped[member.id] = member.generation
    return change


def _delete_unlisted(change: TreeChange, command: TreeCommand, state: TreeState) -> None:
    deleted = command.unlisted(state.members)
    for unlisted in deleted:
        if unlisted.id in state.used_ids:
            with at_member("prune"):
                raise ProviderInUse(unlisted.uuid)
    uuids = {member.key for member in deleted}
    members = state.members.values()
    change.detached = [member.id for member in members if member.parent_key in uuids]
    change.deleted = {
        member.id: {
            "inventories": len(state.inventories[member.id]),
            "traits": len(state.trait_ids[member.id]),
            "aggregates": len(state.aggregate_ids[member.id]),
        }
        for member in deleted
    }


def _place(change: TreeChange, member: TreeMember, listed: ListedProvider) -> None:
    """Record the name and the parent of a member if they change."""
    if member.name != listed.name:
        change.renamed[member.id] = (member.name, listed.name)
    if listed.parent_uuid is not None and member.parent_key != listed.parent_uuid:
        change.moved[listed.uuid] = listed.parent_uuid


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


def _stock(
    conn: Connection,
    change: TreeChange,
    listed: ListedProvider,
    member: TreeMember,
    state: TreeState,
    path: str,
) -> bool:
    """Record the change of the inventories of a member. Return whether there is any.

    Raises InventoryInUse for inventories in use that would be deleted.
    """
    if listed.inventories is None:
        return False
    records = {member.id: listed.inventories}
    inventories = inventory_change(conn, state.inventories, records, state.class_ids)
    with at_member(f"{path}.inventories"):
        inventories.refuse_in_use({member.id: member.uuid})
    change.inventories.append(inventories)
    return inventories != InventoryChange()


def _edit_traits(
    conn: Connection,
    change: LinkChange,
    listed: ListedProvider,
    member: TreeMember | None,
    state: TreeState,
    path: str,
) -> bool:
    """Record the change of the traits of a provider. Return whether there is any."""
    for name, where in _paths(listed.traits, f"{path}.traits"):
        if name not in state.traits:
            with at_member(where):
                hint = catalog.hint(conn, "trait", [name], another_way=CREATE_NAMES)
                raise UnknownTraits([name], hint=hint)
    present = frozenset[int]() if member is None else state.trait_ids[member.id]
    wanted = {state.traits[name] for name in listed.traits.add}
    unwanted = {state.traits[name] for name in listed.traits.remove if name in state.traits}
    removed = present - wanted if listed.traits.replaces else present & unwanted
    return change.record(listed.uuid, wanted - present, removed)


def _paths(edit: Edit, path: str) -> Iterator[tuple[str, str]]:
    """Yield each name to add and its path in the request."""
    prefix = path if edit.replaces else f"{path}.add"
    for index, name in enumerate(edit.add):
        yield name, f"{prefix}[{index}]"


def _edit_aggregates(
    change: LinkChange, listed: ListedProvider, member: TreeMember | None, state: TreeState
) -> bool:
    """Record the change of the aggregates of a provider. Return whether there is any."""
    present = frozenset[int]() if member is None else state.aggregate_ids[member.id]
    added: set[int] = set()
    created: list[str] = []
    wanted: set[int] = set()
    for text in listed.aggregates.add:
        rows = state.aggregates.get(identifiers.key(text), frozenset())
        wanted |= rows
        if not rows:
            created.append(text)
        elif not rows & present:
            added.add(min(rows))
    unwanted: set[int] = set()
    for text in listed.aggregates.remove:
        unwanted |= state.aggregates.get(identifiers.key(text), frozenset())
    removed = present - wanted if listed.aggregates.replaces else present & unwanted
    change.created += [(listed.uuid, text) for text in created]
    return change.record(listed.uuid, added, removed) or bool(created)
