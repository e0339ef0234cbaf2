"""Names and ids: classes, traits, types, projects, users, aggregates; consumers by uuid."""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import zip_longest

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement

from placement.db import bulk, constructs
from placement.db import tables as t
from placement.db.fragments import PROVIDERS_WITH_ROOTS, ROOT, Selection, Union, changed_at
from placement.db.statement import Queries, Query, Write, Writes, chunks, sorted_chunks

# kind -> column of the rows that use an entry, and the one that follows it in an index
_USES: Mapping[str, tuple[sa.Column[int], sa.Column[int]]] = {
    "resource_class": (t.inventories.c.resource_class_id, t.inventories.c.max_unit),
    "trait": (
        t.resource_provider_traits.c.trait_id,
        t.resource_provider_traits.c.resource_provider_id,
    ),
}

# -- ids of names, and trees -------------------------------------------------------------------


def ids(names: Mapping[str, Collection[str]]) -> Queries:
    """Select (kind, id, text, number) of names of every kind, a thousand in one statement.

    text: the name as stored. Some databases ignore case, accents and trailing spaces: their rows
    may have names that are not among those given. number: 0.
    """
    return with_trees(names, ())


def with_trees(
    names: Mapping[str, Collection[str]],
    providers: Collection[str],
    further: Sequence[Selection] = (),
) -> Queries:
    """As `ids`, and rows ("tree", root id, text, number) of the providers named.

    text: the provider's own uuid. number: the revision of its tree. further: selections of rows of
    this form, of kinds of their own, that are to come in the same statement.
    """
    pairs = bulk.kinds_and_names(names)
    rest = [tuple(further)] if further else ()
    pieces = zip_longest(chunks(pairs), sorted_chunks(providers), rest, fillvalue=())
    return Queries(_ids_and_trees(*piece) for piece in pieces)


def _ids_and_trees(
    names: Sequence[tuple[str, str]],
    providers: Sequence[str],
    further: tuple[Selection, ...],
) -> Query:
    params = bulk.params_by_kind(names)
    kinds = tuple(params)
    if providers:
        params["providers"] = providers
    return Query(_with_trees(kinds, bool(providers), further), params)


_TREE = sa.select(
    sa.literal("tree").label("kind"),
    ROOT.c.id,
    t.resource_providers.c.uuid.label("text"),
    ROOT.c.revision.label("number"),
).select_from(PROVIDERS_WITH_ROOTS)


@lru_cache(maxsize=256)
def _with_trees(
    kinds: tuple[str, ...],
    of_providers: bool,
    further: tuple[Selection, ...],
) -> Union:
    parts = [*map(_ids_of, kinds), *further]
    if of_providers:
        parts.append(_TREE.where(bulk.in_list(t.resource_providers.c.uuid, "providers")))
    return sa.union_all(*parts)


def _ids_of(kind: str) -> Selection:
    name = t.NAMES[kind]
    return sa.select(
        sa.literal(kind).label("kind"),
        name.table.c.id,
        name.label("text"),
        sa.literal_column("0").label("number"),
    ).where(bulk.in_list(name, kind))


# -- reading a catalogue -----------------------------------------------------------------------


def all_names(kind: str, limit: int | None = None) -> Query:
    """Select (id, name) of a catalogue, in the order of ids: `limit` of them, or all."""
    name = t.NAMES[kind]
    row_id = name.table.c.id
    return Query(sa.select(row_id, name.label("name")).order_by(row_id).limit(limit))


def newest(kind: str) -> Query:
    """Select the largest id of a catalogue, or null."""
    return Query(sa.select(sa.func.max(t.NAMES[kind].table.c.id)))


def dated(
    kind: str,
    names: Collection[str] | None = None,
    prefix: str | None = None,
    is_used: bool | None = None,
) -> Query:
    """Select (id, name, changed_at) of a catalogue's entries, in the order of ids.

    names: of these only. prefix: of those whose name begins so; no character of it is a wildcard.
    is_used: of those that some provider has (a trait) or has an inventory of (a class), or of
    the others.
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
    # The first of an index. Of an EXISTS, MariaDB makes a join of all uses, and PostgreSQL reads
    # all uses for one where it takes the entry for a common one.
    return rows.order_by(following).limit(1).scalar_subquery().is_not(None)


# -- locks -------------------------------------------------------------------------------------


def lock_shared(kind: str, row_ids: Collection[int]) -> Queries:
    """Select (id, name) of those that exist; they stay so until this transaction ends."""
    name = t.NAMES[kind]
    row_id = name.table.c.id
    rows = sa.select(row_id, name.label("name")).where(bulk.in_list(row_id))
    return bulk.select_by(rows.with_for_update(read=True), row_ids, locks=True)


def lock_exclusive(kind: str, name: str) -> Query:
    """Select an entry's id, once no other transaction has locked it."""
    column = t.NAMES[kind]
    rows = sa.select(column.table.c.id).where(column == name)
    return Query(rows.with_for_update(), locks=True)


# -- writing -----------------------------------------------------------------------------------


def add_unless_present(kind: str, names: Collection[str]) -> Writes:
    """Insert those names that the database does not take for one that it has."""
    name = t.NAMES[kind]
    created_at = t.now()
    insert = constructs.insert_unless_present(name.table)
    writes = []
    for chunk in sorted_chunks(names):
        rows = [{name.key: value, "created_at": created_at} for value in chunk]
        writes.append(Write(insert.values(rows), matches=len(rows), or_fewer=True))
    return Writes(writes)


def add(kind: str, rows: Sequence[Mapping[str, object]]) -> Write:
    """Insert entries; each row has `name`, and `id` where the catalogue's ids are not generated."""
    name = t.NAMES[kind]
    created_at = t.now()
    values = []
    for row in rows:
        value = {**row, "created_at": created_at}
        value[name.key] = value.pop("name")
        values.append(value)
    return Write(sa.insert(name.table).values(values), matches=len(rows))


def change_id(kind: str, old_id: int, new_id: int) -> Write:
    """Give an entry another id."""
    table = t.NAMES[kind].table
    return Write(sa.update(table).where(table.c.id == old_id).values(id=new_id), matches=1)


def rename_resource_class(name: str, new_name: str) -> Write:
    """Give a class another name."""
    table = t.resource_classes
    update = sa.update(table).where(table.c.name == name)
    return Write(update.values(name=new_name, updated_at=t.now()), matches=1)


def delete_unused(kind: str, name: str) -> Write:
    """Delete a trait or class that nothing uses; one that is used is not matched."""
    column = t.NAMES[kind]
    return Write(sa.delete(column.table).where(column == name, ~_is_used(kind)), matches=1)
