"""The state on which a write of one provider is based.

One statement reads the state as rows of three kinds. Aggregating the rows of each kind into a text
would take MariaDB another 0.1 ms.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement

from placement.db import bulk
from placement.db import tables as t
from placement.db.fragments import (
    INVENTORY_COLUMNS,
    PROVIDERS_WITH_INVENTORIES,
    PROVIDERS_WITH_ROOTS,
    ROOT,
    Selection,
    Union,
    changed_at,
    tagged_json_row,
)
from placement.db.json_rows import parse_each, parse_time
from placement.db.statement import Queries, Query, sorted_chunks

_provider = t.resource_providers
_child = _provider.alias("child")
_trait_link, _aggregate_link = t.resource_provider_traits, t.resource_provider_aggregates


class ProviderSnapshot(NamedTuple):
    """The state of a provider at a single moment."""

    # UUID of the provider, as stored.
    uuid: str
    generation: int
    id: int
    root_id: int
    # UUID of the root, as stored.
    root_uuid: str
    revision: int
    # Rows of the part. The function that created the statement documents their columns.
    parts: list[list[Any]]
    # (id, name, changed_at) of the requested names that exist. The names are as stored. On some
    # databases, their case may differ from the request.
    entries: list[list[Any]]

    @property
    def revisions(self) -> Mapping[int, int]:
        """Root id -> revision of its tree."""
        return {self.root_id: self.revision}

    @property
    def associated_ids(self) -> set[int]:
        """The ids of its traits or aggregates, if these were read together with the provider."""
        return {row_id for (row_id,) in self.parts}


# Tags of the rows.
_PROVIDER, _PART, _ENTRY = "provider", "part", "entry"

_PROVIDERS = (
    tagged_json_row(
        _PROVIDER,
        _provider.c.uuid,
        _provider.c.generation,
        _provider.c.id,
        ROOT.c.id,
        ROOT.c.uuid,
        ROOT.c.revision,
    )
    .select_from(PROVIDERS_WITH_ROOTS)
    .where(bulk.in_list(_provider.c.uuid))
)


def _part_rows(source: sa.FromClause, *columns: ColumnElement[Any]) -> Selection:
    """Select columns of the part of the providers. The first column is the provider id."""
    return (
        tagged_json_row(_PART, *columns).select_from(source).where(bulk.in_list(_provider.c.uuid))
    )


def _linked(link: sa.Table, row_id: sa.Column[int]) -> Selection:
    """Select (provider id, row id) of the rows that are linked to the providers."""
    owner = link.c.resource_provider_id
    return _part_rows(_provider.join(link, owner == _provider.c.id), owner, row_id)


def _count(owner: sa.Column[Any]) -> ColumnElement[int]:
    rows = sa.select(sa.func.count()).where(owner == _provider.c.id)
    return rows.correlate(_provider).scalar_subquery()


def _any(owner: sa.Column[Any]) -> ColumnElement[int]:
    return sa.case((sa.exists().where(owner == _provider.c.id).correlate(_provider), 1), else_=0)


_PARTS: Mapping[str, Sequence[Selection]] = {
    "inventories": [_part_rows(PROVIDERS_WITH_INVENTORIES, *INVENTORY_COLUMNS)],
    "traits": [_linked(_trait_link, _trait_link.c.trait_id)],
    "aggregates": [_linked(_aggregate_link, _aggregate_link.c.aggregate_id)],
    "dependants": [
        _part_rows(
            _provider,
            _provider.c.id,
            _count(t.inventories.c.resource_provider_id),
            _count(_trait_link.c.resource_provider_id),
            _count(_aggregate_link.c.resource_provider_id),
            _any(_child.c.parent_provider_id),
            _any(t.allocations.c.resource_provider_id),
        )
    ],
}


def with_inventories(uuids: Collection[str], class_names: Collection[str]) -> Queries:
    """Select providers with (class id, class, id, used, fields of the record) of inventories.

    The allocation ratio may be an `int`, so callers must convert it.
    """
    return _snapshots("inventories", uuids, "resource_class", class_names)


def with_traits(uuids: Collection[str], trait_names: Collection[str]) -> Queries:
    """Select providers with the ids of their traits."""
    return _snapshots("traits", uuids, "trait", trait_names)


def with_aggregates(uuids: Collection[str], spellings: Collection[str]) -> Queries:
    """Select providers with the ids of the aggregates that they are directly in."""
    return _snapshots("aggregates", uuids, "aggregate", spellings)


def with_dependants(uuids: Collection[str]) -> Queries:
    """Select providers, each with one row about its dependants.

    Its columns are the numbers of inventories, traits and aggregates, and whether the provider has
    children and allocations.
    """
    return _snapshots("dependants", uuids)


def _snapshots(
    part: str, uuids: Collection[str], kind: str = "", names: Collection[str] = ()
) -> Queries:
    """Select `ProviderSnapshot` rows of a few providers. Each query contains up to 1,000 names."""
    if not uuids:
        return Queries()
    ids = {"ids": sorted(uuids)}
    if not names:
        return Queries([Query(_statement(part, ""), ids, _parse)])
    return Queries(
        Query(_statement(part, kind), {**ids, "names": chunk}, _parse)
        for chunk in sorted_chunks(names)
    )


@lru_cache(maxsize=16)
def _statement(part: str, kind: str) -> Union:
    selections = [_PROVIDERS, *_PARTS[part]]
    if kind:
        name = t.NAMES[kind]
        entries = tagged_json_row(_ENTRY, name.table.c.id, name, changed_at(name.table))
        selections.append(entries.where(bulk.in_list(name, "names")))
    return sa.union_all(*selections)


def _parse(rows: Sequence[Any]) -> list[ProviderSnapshot]:
    providers: dict[int, ProviderSnapshot] = {}
    entries: list[list[Any]] = []
    parts: list[list[Any]] = []
    for tag, *values in parse_each(rows):
        if tag == _PROVIDER:
            provider = ProviderSnapshot._make([*values, [], entries])
            providers[provider.id] = provider
        elif tag == _PART:
            parts.append(values)
        else:
            row_id, name, time = values
            entries.append([row_id, name, parse_time(time)])
    for provider_id, *values in parts:
        if provider_id in providers:  # providers without a root are not selected
            providers[provider_id].parts.append(values)
    return list(providers.values())
