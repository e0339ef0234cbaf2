"""Names and ids of the catalogues: classes, traits, types, projects, users, aggregates."""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement

from placement.db import dialect, fragments
from placement.db import tables as t
from placement.db.fragments import Bound, Rows, Union
from placement.db.writes import Write

# kind -> (table, column that holds the name)
_CATALOGUES: Mapping[str, tuple[sa.Table, str]] = {
    "resource_class": (t.resource_classes, "name"),
    "trait": (t.traits, "name"),
    "consumer_type": (t.consumer_types, "name"),
    "project": (t.projects, "external_id"),
    "user": (t.users, "external_id"),
    "aggregate": (t.placement_aggregates, "uuid"),
}


def ids(wanted: Mapping[str, Collection[str]]) -> Bound | None:
    """Select (kind, id, name, 0) of the wanted names of every kind in one statement.

    None when nothing is wanted. The name is as stored, which on some databases matches a name
    of another case.
    """
    return with_trees(wanted, ())


def with_trees(
    wanted: Mapping[str, Collection[str]],
    providers: Collection[str],
    consumers: Collection[str] = (),
) -> Bound | None:
    """As `ids`, and (`tree`, root id, uuid, the tree's revision) of providers.

    They are those named and all that the consumers use; the uuid is the provider's own. None
    when nothing is wanted.
    """
    params = {kind: sorted(names) for kind, names in wanted.items() if names}
    kinds = tuple(params)
    if providers:
        params["providers"] = sorted(providers)
    if consumers:
        params["consumers"] = sorted(consumers)
    if not params:
        return None
    return _with_trees(kinds, bool(providers), bool(consumers)), params


_root = t.resource_providers.alias("root")


@lru_cache(maxsize=256)
def _with_trees(kinds: tuple[str, ...], trees: bool, of_consumers: bool) -> Union:
    parts: list[Rows] = []
    for kind in kinds:
        table, column = _CATALOGUES[kind]
        name = table.c[column]
        parts.append(
            sa.select(
                sa.literal(kind).label("kind"),
                table.c.id,
                name.label("name"),
                sa.literal_column("0").label("revision"),
            ).where(name.in_(fragments.many(kind, name)))
        )
    provider, root, allocation = t.resource_providers, _root, t.allocations
    tree = sa.select(
        sa.literal("tree").label("kind"), root.c.id, provider.c.uuid, root.c.revision
    ).select_from(provider.join(root, root.c.id == provider.c.root_provider_id))
    if trees:
        named = provider.c.uuid.in_(fragments.many("providers", provider.c.uuid))
        parts.append(tree.where(named))
    if of_consumers:
        # A part of its own: an OR of the two would have engines look at every provider.
        used = allocation.c.consumer_id.in_(fragments.many("consumers", allocation.c.consumer_id))
        of_provider = allocation.c.resource_provider_id == provider.c.id
        parts.append(tree.join(allocation, of_provider).where(used))
    return sa.union_all(*parts)


def all_names(kind: str) -> Rows:
    """Select (id, name) of a whole catalogue, by id."""
    table, column = _CATALOGUES[kind]
    return sa.select(table.c.id, table.c[column].label("name")).order_by(table.c.id)


def add_unless_present(kind: str, names: Collection[str]) -> Write:
    """Insert those names that the database does not take for one that it has."""
    table, column = _CATALOGUES[kind]
    created = t.now()
    rows = [{column: name, "created_at": created} for name in sorted(names)]
    statement = dialect.insert_unless_present(table).values(rows)
    return Write(statement, len(rows), or_fewer=True)


def add(kind: str, rows: Sequence[Mapping[str, object]]) -> Write:
    """Insert entries; each row has `name`, and `id` where the catalogue's ids are given."""
    table, column = _CATALOGUES[kind]
    statement = sa.insert(table).values(
        [
            {column if key == "name" else key: value for key, value in row.items()}
            | {"created_at": t.now()}
            for row in rows
        ]
    )
    return Write(statement, len(rows))


def move(kind: str, old_id: int, new_id: int) -> Write:
    """Give an entry another id."""
    table, _ = _CATALOGUES[kind]
    return Write(sa.update(table).where(table.c.id == old_id).values(id=new_id), 1)


def newest(kind: str) -> Rows:
    """Select the largest id of a catalogue, or null."""
    return sa.select(sa.func.max(_CATALOGUES[kind][0].c.id))


def dated(kind: str, condition: ColumnElement[bool] | None = None) -> Rows:
    """Select (name, changed_at) of a catalogue's entries that meet the condition."""
    table, column = _CATALOGUES[kind]
    changed = sa.func.coalesce(table.c.updated_at, table.c.created_at).label("changed_at")
    query = sa.select(table.c.id, table.c[column].label("name"), changed).order_by(table.c.id)
    return query if condition is None else query.where(condition)


def named(kind: str, names: Collection[str]) -> ColumnElement[bool]:
    """The entry is one of the names."""
    table, column = _CATALOGUES[kind]
    return table.c[column].in_(sorted(names))


def starts_with(kind: str, prefix: str) -> ColumnElement[bool]:
    """The entry's name begins with the prefix; no character of it is a wildcard."""
    table, column = _CATALOGUES[kind]
    return table.c[column].startswith(prefix, autoescape=True)


def trait_is_associated() -> ColumnElement[bool]:
    """Some provider has the trait."""
    link = t.resource_provider_traits
    return (
        sa.select(sa.literal(1)).select_from(link).where(link.c.trait_id == t.traits.c.id).exists()
    )


def delete_trait(name: str) -> Write:
    """Delete a trait that no provider has; another is not matched."""
    return Write(sa.delete(t.traits).where(t.traits.c.name == name, ~trait_is_associated()), 1)


def rename_resource_class(name: str, new_name: str) -> Write:
    """Give a class another name."""
    table = t.resource_classes
    statement = sa.update(table).where(table.c.name == name)
    return Write(statement.values(name=new_name, updated_at=t.now()), 1)


def hold(kind: str, ids: Collection[int]) -> Rows:
    """Select (id, name) of those that exist; they stay so until this transaction ends."""
    table, column = _CATALOGUES[kind]
    return (
        sa.select(table.c.id, table.c[column].label("name"))
        .where(table.c.id.in_(sorted(ids)))
        .with_for_update(read=True)
    )


def own(kind: str, name: str) -> Rows:
    """Select an entry's id, once no other transaction holds it."""
    table, column = _CATALOGUES[kind]
    return sa.select(table.c.id).where(table.c[column] == name).with_for_update()


def resource_class_is_stocked() -> ColumnElement[bool]:
    """Some provider has an inventory of the class."""
    inventory = t.inventories
    return (
        sa.select(sa.literal(1))
        .select_from(inventory)
        .where(inventory.c.resource_class_id == t.resource_classes.c.id)
        .exists()
    )


def delete_resource_class(name: str) -> Write:
    """Delete a class that no inventory uses; another is not matched."""
    table = t.resource_classes
    return Write(sa.delete(table).where(table.c.name == name, ~resource_class_is_stocked()), 1)
