"""Names and ids of the catalogues: classes, traits, types, projects, users, aggregates."""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import groupby, zip_longest
from operator import itemgetter

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement

from placement.db import constructs, fragments
from placement.db import tables as t
from placement.db.fragments import Rows, Union
from placement.db.statement import Queries, Query, Write, Writes, chunks, sorted_chunks

# kind -> (table, column that holds the name)
_CATALOGUES: Mapping[str, tuple[sa.Table, str]] = {
    "resource_class": (t.resource_classes, "name"),
    "trait": (t.traits, "name"),
    "consumer_type": (t.consumer_types, "name"),
    "project": (t.projects, "external_id"),
    "user": (t.users, "external_id"),
    "aggregate": (t.placement_aggregates, "uuid"),
}


def ids(names: Mapping[str, Collection[str]]) -> Queries:
    """Select (kind, id, name, 0) of the names of every kind, a thousand in one statement.

    The name is as stored, which on some databases matches a name of another case.
    """
    return with_trees(names, ())


def with_trees(
    names: Mapping[str, Collection[str]],
    providers: Collection[str],
    consumers: Collection[str] = (),
) -> Queries:
    """As `ids`, and (`tree`, root id, uuid, the tree's revision) of providers.

    They are those named and all that the consumers use; the uuid is the provider's own.
    """
    pairs = [(kind, name) for kind in names for name in sorted(set(names[kind]))]
    pieces = zip_longest(
        chunks(pairs), sorted_chunks(providers), sorted_chunks(consumers), fillvalue=()
    )
    return Queries(_ids_and_trees(*piece) for piece in pieces)


def _ids_and_trees(
    names: Sequence[tuple[str, str]], providers: Sequence[str], consumers: Sequence[str]
) -> Query:
    params: dict[str, Sequence[str]] = {}
    for kind, pairs in groupby(names, key=itemgetter(0)):
        params[kind] = [name for _kind, name in pairs]
    kinds = tuple(params)
    if providers:
        params["providers"] = providers
    if consumers:
        params["consumers"] = consumers
    return Query(_with_trees(kinds, bool(providers), bool(consumers)), params)


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


def all_names(kind: str, limit: int | None = None) -> Query:
    """Select (id, name) of a catalogue, in the order of ids: `limit` of them, or all."""
    table, column = _CATALOGUES[kind]
    name = table.c[column].label("name")
    return Query(sa.select(table.c.id, name).order_by(table.c.id).limit(limit))


def add_unless_present(kind: str, names: Collection[str]) -> Writes:
    """Insert those names that the database does not take for one that it has."""
    table, column = _CATALOGUES[kind]
    created = t.now()
    insert = constructs.insert_unless_present(table)
    writes = []
    for chunk in sorted_chunks(names):
        rows = [{column: name, "created_at": created} for name in chunk]
        writes.append(Write(insert.values(rows), matches=len(rows), or_fewer=True))
    return Writes(writes)


def add(kind: str, rows: Sequence[Mapping[str, object]]) -> Write:
    """Insert entries; each row has `name`, and `id` where the catalogue's ids are given."""
    table, column = _CATALOGUES[kind]
    values = []
    for row in rows:
        value = {column if key == "name" else key: value for key, value in row.items()}
        values.append({**value, "created_at": t.now()})
    return Write(sa.insert(table).values(values), matches=len(rows))


def change_id(kind: str, old_id: int, new_id: int) -> Write:
    """Give an entry another id."""
    table, _ = _CATALOGUES[kind]
    return Write(sa.update(table).where(table.c.id == old_id).values(id=new_id), matches=1)


def newest(kind: str) -> Query:
    """Select the largest id of a catalogue, or null."""
    return Query(sa.select(sa.func.max(_CATALOGUES[kind][0].c.id)))


def dated(kind: str, *conditions: ColumnElement[bool]) -> Query:
    """Select (id, name, changed_at) of a catalogue's entries that meet the conditions."""
    table, column = _CATALOGUES[kind]
    changed = sa.func.coalesce(table.c.updated_at, table.c.created_at).label("changed_at")
    rows = sa.select(table.c.id, table.c[column].label("name"), changed).order_by(table.c.id)
    return Query(rows.where(*conditions))


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
    delete = sa.delete(t.traits).where(t.traits.c.name == name, ~trait_is_associated())
    return Write(delete, matches=1)


def rename_resource_class(name: str, new_name: str) -> Write:
    """Give a class another name."""
    table = t.resource_classes
    update = sa.update(table).where(table.c.name == name)
    return Write(update.values(name=new_name, updated_at=t.now()), matches=1)


def lock_shared(kind: str, ids: Collection[int]) -> Queries:
    """Select (id, name) of those that exist; they stay so until this transaction ends."""
    table, column = _CATALOGUES[kind]
    rows = sa.select(table.c.id, table.c[column].label("name")).with_for_update(read=True)
    return Queries(Query(rows.where(table.c.id.in_(chunk))) for chunk in sorted_chunks(ids))


def lock_exclusive(kind: str, name: str) -> Query:
    """Select an entry's id, once no other transaction holds it."""
    table, column = _CATALOGUES[kind]
    return Query(sa.select(table.c.id).where(table.c[column] == name).with_for_update())


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
    delete = sa.delete(table).where(table.c.name == name, ~resource_class_is_stocked())
    return Write(delete, matches=1)
