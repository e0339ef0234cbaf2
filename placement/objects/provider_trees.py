"""Read whole trees of providers, and replace them in one transaction.

Like other writes of providers, the write reads its inputs, locks the tree if the tree has not
changed since then, and only then writes. If a request changes nothing, it does not lock anything.
"""

from collections.abc import Callable, Collection, Mapping
from operator import attrgetter
from typing import NamedTuple

from sqlalchemy.engine import Connection

from placement.db.statement import Unchanged
from placement.db.statements import provider_parts as part_statements
from placement.db.statements import provider_trees as statements
from placement.errors import TreeNotFound
from placement.objects import (
    catalog,
    identifiers,
    inventory_rows,
    provider_parts,
    resource_classes,
    revisions,
    tree_writer,
)
from placement.objects.provider_parts import Part
from placement.objects.tree_change import tree_change
from placement.objects.tree_state import TreeChange, TreeCommand, TreeMember, TreeState
from placement.vocabulary import is_custom_name

PARTS = (Part.INVENTORIES, Part.TRAITS, Part.AGGREGATES)


class ProviderTree(NamedTuple):
    """A tree. Parents come before their children, so the root is the first provider."""

    members: list[TreeMember]
    # Part -> provider id -> the value of the part.
    parts: Mapping[Part, Mapping[int, object]]
    # Whether the tree kept changing, so that the members and parts may combine several states.
    changing: bool


class ProviderOutcome(NamedTuple):
    """The outcome of a write for one of the listed providers."""

    # Generation after the write.
    generation: int
    # `created`, `updated` or `unchanged`.
    change: str


class TreeOutcome(NamedTuple):
    """The changes of a write."""

    # Provider UUID -> outcome, for each listed provider.
    providers: Mapping[str, ProviderOutcome]
    # UUIDs of the deleted providers.
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

    def rows_of(members: list[TreeMember]) -> Mapping[str, list[TreeMember]]:
        return {root_uuid: members}

    def read(members: list[TreeMember], _: Collection[str]) -> None:
        parts.update(provider_parts.read(conn, [member.id for member in members], PARTS))

    parts: dict[Part, Mapping[int, object]] = {}
    members, exact = revisions.read_between(conn, look, rows_of, read)
    return ProviderTree(_parents_first(members), parts, changing=root_uuid not in exact)


def _members(conn: Connection, root_uuid: str) -> list[TreeMember]:
    rows = statements.members(identifiers.stored_forms(root_uuid)).rows(conn)
    return sorted(TreeMember._make(row) for row in rows)


def _parents_first(members: list[TreeMember]) -> list[TreeMember]:
    children: dict[str | None, list[TreeMember]] = {}
    for member in members:
        children.setdefault(member.parent_uuid, []).append(member)
    ordered = list(children.get(None, ()))
    for member in ordered:  # the list grows during the iteration
        ordered += children.get(member.uuid, ())
    return ordered


# -- writing -----------------------------------------------------------------------------------


def put(conn: Connection, command: TreeCommand, may_create: Callable[[str], None]) -> TreeOutcome:
    """Change a tree to match the command, in one transaction.

    `may_create` is called with the kind of missing names (`resource_class`, `trait`), and raises if
    the caller may not create them.

    Raises:
        Unchanged: there is nothing to write; the error contains the outcome.
        PlacementError: an error of the separate requests, beginning with the path of the member.
        Restart: the tree keeps changing.
    """
    creates = command.create_names and _create_names(conn, command, may_create)

    def decide(state: TreeState) -> TreeChange:
        change = tree_change(conn, command, state)
        change.locks = bool(change)
        if not change and not creates:
            raise Unchanged(_outcome(command, state, change))
        return change

    state, change, _ = tree_writer.write(
        conn, lambda: _read(conn, command), decide, attrgetter("is_complete")
    )
    return _outcome(command, state, change)


def _create_names(
    conn: Connection, command: TreeCommand, may_create: Callable[[str], None]
) -> bool:
    """Create the custom names that do not exist. Return whether any names were created."""
    class_names: set[str] = set()
    trait_names: set[str] = set()
    for listed in command.providers:
        class_names |= (listed.inventories or {}).keys()
        trait_names.update(listed.traits.add)
    names = {"resource_class": class_names, "trait": trait_names}
    existing = catalog.find_ids(conn, names)
    missing = {
        kind: sorted(name for name in names[kind] - existing[kind].keys() if is_custom_name(name))
        for kind in names
    }
    for kind, missing_names in missing.items():
        if missing_names:
            may_create(kind)
    if missing["resource_class"]:
        resource_classes.create_all(conn, missing["resource_class"])
    if missing["trait"]:
        catalog.create(conn, {"trait": missing["trait"]})
    return any(missing.values())


def _read(conn: Connection, command: TreeCommand) -> TreeState:
    """Read the inputs of a command. The lock of the tree verifies the revision later."""
    known = catalog.look_up(
        conn,
        _names(command),
        {command.root_uuid, *(listed.uuid for listed in command.providers)},
        (statements.NAMED,),
        {"names": sorted({listed.name for listed in command.providers})},
    )
    members: dict[str, TreeMember] = {}
    others: list[TreeMember] = []
    if known.trees or known.further:
        members, others = _read_members(conn, command)
    ids = [member.id for member in members.values()]
    unlisted = [member.id for member in command.unlisted(members)] if command.prune else []
    trait_ids: dict[int, frozenset[int]] = dict.fromkeys(ids, frozenset())
    for provider_id, of_provider in part_statements.trait_ids(ids).rows(conn):
        trait_ids[provider_id] = frozenset(of_provider)
    aggregate_ids: dict[int, frozenset[int]] = dict.fromkeys(ids, frozenset())
    for provider_id, aggregate_id in statements.aggregate_ids(ids).rows(conn):
        aggregate_ids[provider_id] |= {aggregate_id}
    return TreeState(
        members=members,
        others=others,
        inventories=inventory_rows.read(conn, ids),
        trait_ids=trait_ids,
        aggregate_ids=aggregate_ids,
        used_ids=frozenset(row_id for (row_id,) in statements.in_use(unlisted).rows(conn)),
        class_ids=known.ids["resource_class"],
        traits=known.ids["trait"],
        aggregates=known.aggregates,
        is_complete=not revisions.may_tear(conn)
        or all(known.revisions.get(each.root_id) == each.revision for each in members.values()),
    )


def _read_members(
    conn: Connection, command: TreeCommand
) -> tuple[dict[str, TreeMember], list[TreeMember]]:
    """Return the members of the tree by UUID, and other providers with a listed UUID or name."""
    root_forms = identifiers.stored_forms(command.root_uuid)
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
    return members, others


def _names(command: TreeCommand) -> dict[str, set[str]]:
    names: dict[str, set[str]] = {"resource_class": set(), "trait": set(), "aggregate": set()}
    for listed in command.providers:
        names["resource_class"] |= (listed.inventories or {}).keys()
        names["trait"].update(listed.traits.add, listed.traits.remove)
        names["aggregate"].update(listed.aggregates.add, listed.aggregates.remove)
    return names


def _outcome(command: TreeCommand, state: TreeState, change: TreeChange) -> TreeOutcome:
    outcomes: dict[str, ProviderOutcome] = {}
    for listed in command.providers:
        member = state.members.get(listed.uuid)
        if member is None:
            outcomes[listed.uuid] = ProviderOutcome(int(listed.has_parts), "created")
        else:
            is_bumped = member.id in change.bumped
            is_placed = member.id in change.renamed or listed.uuid in change.moved
            outcomes[listed.uuid] = ProviderOutcome(
                member.generation + is_bumped, "updated" if is_bumped or is_placed else "unchanged"
            )
    deleted = [each.uuid for each in state.members.values() if each.id in change.deleted]
    return TreeOutcome(outcomes, deleted)
