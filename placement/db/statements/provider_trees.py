"""Statements for reading and writing whole trees of providers."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from placement.db import bulk
from placement.db import tables as t
from placement.db.constructs import any_text
from placement.db.fragments import NO_PROVIDER
from placement.db.json_rows import JsonRow, parse_each
from placement.db.statement import Queries, Query, Writes

_provider = t.resource_providers
_root = _provider.alias("root")
_parent = _provider.alias("parent")

_MEMBER_COLUMNS = (
    _provider.c.id,
    _provider.c.uuid,
    _provider.c.name,
    _provider.c.generation,
    _parent.c.uuid,
    sa.func.coalesce(_root.c.id, NO_PROVIDER),
    _root.c.uuid,
    sa.func.coalesce(_root.c.revision, 0),
)
_MEMBER = sa.select(JsonRow(*_MEMBER_COLUMNS).label("member")).select_from(
    _provider.join(_root, _root.c.id == _provider.c.root_provider_id).outerjoin(
        _parent, _parent.c.id == _provider.c.parent_provider_id
    )
)


def members(root_uuids: Collection[str]) -> Query:
    """Select the fields of `TreeMember` for all providers in the tree of a root."""
    return Query(_MEMBERS, {"roots": sorted(root_uuids)}, _parse)


def members_and_others(
    root_uuids: Collection[str], uuids: Collection[str], names: Collection[str]
) -> Query:
    """Select the fields of `TreeMember`, for a tree and for providers with these UUIDs or names."""
    params = {"roots": sorted(root_uuids), "uuids": sorted(uuids), "names": sorted(names)}
    return Query(_MEMBERS_AND_OTHERS, params, _parse)


_MEMBERS = _MEMBER.where(bulk.in_list(_root.c.uuid, "roots"))
_MEMBERS_AND_OTHERS = sa.union_all(
    _MEMBERS,
    _MEMBER.where(bulk.in_list(_provider.c.uuid, "uuids")),
    _MEMBER.where(bulk.in_list(_provider.c.name, "names")),
)


_HAS_NAME = _provider.c.name == sa.bindparam("name", type_=_provider.c.name.type)
# PERF: for PyMySQL, one column takes longer than the rest of the row.
_WITH_UUID_OR_NAME = (
    sa.select(JsonRow(*_MEMBER_COLUMNS, sa.case((_HAS_NAME, 1), else_=0)))
    .select_from(
        _provider.outerjoin(_root, _root.c.id == _provider.c.root_provider_id).outerjoin(
            _parent, _parent.c.id == _provider.c.parent_provider_id
        )
    )
    .where(sa.or_(bulk.in_list(_provider.c.uuid), _HAS_NAME))
)


def with_uuid_or_name(uuids: Collection[str], name: str) -> Query:
    """Select the fields of `TreeMember`, and whether the database considers the name equal."""
    return Query(_WITH_UUID_OR_NAME, {"ids": sorted(uuids), "name": name}, parse_each)


# Providers that have one of several names, to include in a lookup (`names.with_trees`).
NAMED = sa.select(
    sa.literal("named").label("kind"),
    _provider.c.id,
    any_text(_provider.c.name).label("text"),
    sa.literal_column("0").label("number"),
).where(bulk.in_list(_provider.c.name, "names"))


def _parse(rows: Sequence[Any]) -> Sequence[Any]:
    # Several parts of the union may return the same provider.
    return list(dict.fromkeys(map(tuple, parse_each(rows))))


# -- providers ---------------------------------------------------------------------------------


def create(rows: Sequence[tuple[str, str, int, int]], root_id: int) -> Writes:
    """Insert providers (UUID, name, generation, parent id) into the tree of a root."""
    created_at = t.now()
    values = [
        {
            "uuid": uuid,
            "name": name,
            "generation": generation,
            "parent_provider_id": parent_id,
            "root_provider_id": root_id,
            "revision": 0,
            "created_at": created_at,
        }
        for uuid, name, generation, parent_id in rows
    ]
    return bulk.insert(_provider, values)


def rename(names: Mapping[int, str]) -> Writes:
    """Set the names of providers, by id."""
    return bulk.set_by_id(_provider.c.name, names, updated_at=t.now())


def move(parents: Mapping[int, int | None]) -> Writes:
    """Set the parents of providers. The argument is id -> id of the parent, or None for a root."""
    return bulk.set_by_id(_provider.c.parent_provider_id, parents, updated_at=t.now())


_IN_USE = (
    sa.select(t.allocations.c.resource_provider_id)
    .where(bulk.in_list(t.allocations.c.resource_provider_id))
    .distinct()
)


def in_use(ids: Collection[int]) -> Queries:
    """Select the ids of the providers that have allocations."""
    return bulk.select_by(_IN_USE, ids)


_AGGREGATE_LINK = t.resource_provider_aggregates
_AGGREGATE_IDS = sa.select(
    _AGGREGATE_LINK.c.resource_provider_id, _AGGREGATE_LINK.c.aggregate_id
).where(bulk.in_list(_AGGREGATE_LINK.c.resource_provider_id))


def aggregate_ids(provider_ids: Collection[int]) -> Queries:
    """Select (provider id, aggregate id) of the providers' aggregates."""
    return bulk.select_by(_AGGREGATE_IDS, provider_ids)
