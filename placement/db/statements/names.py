"""Names and their ids, and the uuids of consumers."""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement

from placement.db import bulk, constructs
from placement.db import tables as t
from placement.db.fragments import PROVIDERS_WITH_ROOTS, ROOT, Selection, Union, changed_at
from placement.db.statement import Queries, Query, Write, Writes, chunks, sorted_chunks

# Kind -> column of the rows that use an entry, and the column that follows it in the index.
_USES: Mapping[str, tuple[sa.Column[int], sa.Column[int]]] = {
    "resource_class": (t.inventories.c.resource_class_id, t.inventories.c.max_unit),
    "trait": (
        t.resource_provider_traits.c.trait_id,
        t.resource_provider_traits.c.resource_provider_id,
    ),
}

# -- ids of names, and trees -------------------------------------------------------------------


def ids(names: Mapping[str, Collection[str]]) -> Queries:
    """Select (kind, id, text, number) for names of several kinds, a thousand in one statement.

    The text is the name as stored, and the number is 0. Some databases ignore case, accents and
    trailing spaces, and may also return names that were not requested.
    """
    return with_trees(names, ())


def with_trees(
    names: Mapping[str, Collection[str]],
    providers: Collection[str],
    further: Sequence[Selection] = (),
    further_params: Mapping[str, Any] | None = None,
) -> Queries:
    """Select rows like `ids`, and a row ("tree", root id, text, number) for each provider.

    The text is the provider's own uuid, and the number is the revision of its tree.

    Args:
        names: kind -> names.
        providers: uuids.
        further: selections of rows with the same columns and other kinds, to include in the
            statement.
        further_params: parameters of `further`.
    """
    pairs = bulk.kinds_and_names(names)
    rest = [tuple(further)] if further else ()
    pieces = zip_longest(chunks(pairs), sorted_chunks(providers), rest, fillvalue=())
    return Queries(_ids_and_trees(*piece, further_params or {}) for piece in pieces)


def _ids_and_trees(
    names: Sequence[tuple[str, str]],
    providers: Sequence[str],
    further: tuple[Selection, ...],
    further_params: Mapping[str, Any],
) -> Query:
    params: dict[str, Any] = bulk.params_by_kind(names)
    kinds = tuple(params)
    if further:
        params |= further_params
    if providers:
        params["providers"] = providers
    # PERF: `list` does not convert the rows. Naming their values would take longer.
    return Query(_with_trees(kinds, bool(providers), further), params, list)


_TREE = sa.select(
    sa.literal("tree").label("kind"),
    ROOT.c.id,
    constructs.any_text(t.resource_providers.c.uuid).label("text"),
    ROOT.c.revision.label("number"),
).select_from(PROVIDERS_WITH_ROOTS)


@lru_cache(maxsize=256)
def _with_trees(
    kinds: tuple[str, ...], with_providers: bool, further: tuple[Selection, ...]
) -> Union:
    parts = [*map(_ids_of, kinds), *further]
    if with_providers:
        parts.append(_TREE.where(bulk.in_list(t.resource_providers.c.uuid, "providers")))
    return sa.union_all(*parts)


def _ids_of(kind: str) -> Selection:
    name = t.NAMES[kind]
    return sa.select(
        sa.literal(kind).label("kind"),
        name.table.c.id,
        constructs.any_text(name).label("text"),
        sa.literal_column("0").label("number"),
    ).where(bulk.in_list(name, kind))


# -- reading a catalogue -----------------------------------------------------------------------


def all_names(kind: str, limit: int | None = None) -> Query:
    """Select (id, name) of a catalogue, by id. Without a limit, select all."""
    name = t.NAMES[kind]
    row_id = name.table.c.id
    return Query(sa.select(row_id, name.label("name")).order_by(row_id).limit(limit))


def newest(kind: str) -> Query:
    """Select the largest id in a catalogue, or null."""
    return Query(sa.select(sa.func.max(t.NAMES[kind].table.c.id)))


def entries_with_times(
    kind: str,
    names: Collection[str] | None = None,
    prefix: str | None = None,
    is_used: bool | None = None,
) -> Query:
    """Select (id, name, changed_at) of the entries in a catalogue, by id.

    Args:
        kind: the catalogue.
        names: only entries with these names.
        prefix: only entries whose name starts with it; no character is a wildcard.
        is_used: only entries that a provider has (traits) or has an inventory of (classes), or
            only the other entries.
    """
    name = t.NAMES[kind]
    table = name.table
    rows = sa.select(table.c.id, name.label("name"), changed_at(table)).order_by(table.c.id)
    if names is not None:
        rows = rows.where(name.in_(sorted(names)))
    if prefix is not None:
        rows = rows.where(name.startswith(prefix, autoescape=True))
    if is_used is not None:
        rows = rows.where(_is_used(kind) if is_used else ~_is_used(kind))
    return Query(rows)


def _is_used(kind: str) -> ColumnElement[bool]:
    use, following = _USES[kind]
    rows = sa.select(use).where(use == t.NAMES[kind].table.c.id)
    # This reads the first row of an index. For an EXISTS, MariaDB would join all uses, and
    # PostgreSQL would read all uses of an entry that it estimates to be common. MySQL uses the
    # order of the index only if all columns are stated.
    return rows.order_by(use, following).limit(1).scalar_subquery().is_not(None)


# -- locks -------------------------------------------------------------------------------------


def lock_shared(kind: str, row_ids: Collection[int]) -> Queries:
    """Select (id, name) of the existing entries, and lock the entries against changes."""
    return bulk.select_by(_LOCK_SHARED[kind], row_ids, locks=True)


_LOCK_SHARED = {
    kind: sa.select(name.table.c.id, name.label("name"))
    .where(bulk.in_list(name.table.c.id))
    .with_for_update(read=True)
    for kind, name in t.NAMES.items()
}


def lock_exclusive(kind: str, name: str) -> Query:
    """Select the id of an entry and lock the entry."""
    column = t.NAMES[kind]
    rows = sa.select(column.table.c.id).where(column == name)
    return Query(rows.with_for_update(), locks=True)


# -- writing -----------------------------------------------------------------------------------


def add_unless_present(kind: str, names: Collection[str]) -> Writes:
    """Insert the names that do not exist yet. The database determines which names are equal."""
    name = t.NAMES[kind]
    created_at = t.now()
    insert = constructs.insert_unless_present(name.table)
    writes = []
    for chunk in sorted_chunks(names):
        rows = [{name.key: value, "created_at": created_at} for value in chunk]
        writes.append(Write(insert.values(rows), matches=len(rows), allow_fewer=True))
    return Writes(writes)


def add(kind: str, rows: Sequence[Mapping[str, object]]) -> Write:
    """Insert entries.

    A row contains `name`. If the catalogue does not generate ids, it contains `id`.
    """
    name = t.NAMES[kind]
    created_at = t.now()
    values = []
    for row in rows:
        value = {**row, "created_at": created_at}
        value[name.key] = value.pop("name")
        values.append(value)
    return Write(sa.insert(name.table).values(values), matches=len(rows))


def change_id(kind: str, old_id: int, new_id: int) -> Write:
    """Change the id of an entry."""
    table = t.NAMES[kind].table
    return Write(sa.update(table).where(table.c.id == old_id).values(id=new_id), matches=1)


def rename_resource_class(name: str, new_name: str) -> Write:
    """Change the name of a class."""
    table = t.resource_classes
    update = sa.update(table).where(table.c.name == name)
    return Write(update.values(name=new_name, updated_at=t.now()), matches=1)


def delete_unused(kind: str, name: str) -> Write:
    """Delete a trait or class that has no uses. An entry with uses does not match."""
    column = t.NAMES[kind]
    return Write(sa.delete(column.table).where(column == name, ~_is_used(kind)), matches=1)
