"""All that a write of one provider decides on: the provider, what it has, and names.

One statement reads all of it, as rows of three sorts. To put those of a sort together to one text
would take MariaDB 0.1 ms more.
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
    row_of_sort,
)
from placement.db.json_rows import parse_each, parse_time
from placement.db.statement import Queries, Query, sorted_chunks

_provider = t.resource_providers
_child = _provider.alias("child")
_trait_link, _aggregate_link = t.resource_provider_traits, t.resource_provider_aggregates


class ProviderSnapshot(NamedTuple):
    """A provider as it was at one moment.

    revision: of its tree. parts: what it has, of which the maker of the statement says how.
    entries: (id, name, changed_at) of those names that were asked for and exist; a name is as
    stored, which on some databases matches one of another case.
    """

    uuid: str
    generation: int
    id: int
    root_id: int
    root_uuid: str
    revision: int
    parts: list[list[Any]]
    entries: list[list[Any]]

    @property
    def associated_ids(self) -> set[int]:
        """The ids of its traits, or of its aggregates, whichever it was read with."""
        return {row_id for (row_id,) in self.parts}


# Sorts of rows.
_PROVIDER, _PART, _ENTRY = "provider", "part", "entry"

_PROVIDERS = (
    row_of_sort(
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


def _of_providers(source: sa.FromClause, *columns: ColumnElement[Any]) -> Selection:
    """Select what belongs to the providers; the first column is the id of each."""
    return row_of_sort(_PART, *columns).select_from(source).where(bulk.in_list(_provider.c.uuid))


def _linked(link: sa.Table, row_id: sa.Column[int]) -> Selection:
    """Select (provider id, row id) of what is linked with the providers."""
    owner = link.c.resource_provider_id
    return _of_providers(_provider.join(link, owner == _provider.c.id), owner, row_id)


def _count(owner: sa.Column[Any]) -> ColumnElement[int]:
    rows = sa.select(sa.func.count()).where(owner == _provider.c.id)
    return rows.correlate(_provider).scalar_subquery()


def _any(owner: sa.Column[Any]) -> ColumnElement[int]:
    return sa.case((sa.exists().where(owner == _provider.c.id).correlate(_provider), 1), else_=0)


_PARTS: Mapping[str, Sequence[Selection]] = {
    "inventories": [_of_providers(PROVIDERS_WITH_INVENTORIES, *INVENTORY_COLUMNS)],
    "traits": [_linked(_trait_link, _trait_link.c.trait_id)],
    "aggregates": [_linked(_aggregate_link, _aggregate_link.c.aggregate_id)],
    "dependants": [
        _of_providers(
            _provider,
            _provider.c.id,
            _count(t.inventories.c.resource_provider_id),
            _count(_trait_link.c.resource_provider_id),
            _count(_aggregate_link.c.resource_provider_id),
            _any(_child.c.parent_provider_id),
            _any(t.allocations.c.resource_provider_id),
        )
    ],
    "nothing": [],
}


def with_inventories(uuids: Collection[str], class_names: Collection[str]) -> Queries:
    """Select providers with (class id, class, id, used, fields of the record) of inventories.

    The ratio may come as an integer.
    """
    return _seen("inventories", uuids, "resource_class", class_names)


def with_traits(uuids: Collection[str], trait_names: Collection[str]) -> Queries:
    """Select providers with (id) of their traits."""
    return _seen("traits", uuids, "trait", trait_names)


def with_aggregates(uuids: Collection[str], spellings: Collection[str]) -> Queries:
    """Select providers with (id) of the aggregates that they are directly in."""
    return _seen("aggregates", uuids, "aggregate", spellings)


def with_dependants(uuids: Collection[str]) -> Queries:
    """Select providers with one list of what depends on each.

    How many inventories, traits and aggregates it has, and whether it has children and
    allocations.
    """
    return _seen("dependants", uuids)


def alone(uuids: Collection[str]) -> Queries:
    """Select providers with nothing that they have."""
    return _seen("nothing", uuids)


def _seen(
    part: str, uuids: Collection[str], kind: str = "", names: Collection[str] = ()
) -> Queries:
    """Select a `ProviderSnapshot` of each of a few; and all again for each further 1,000 names."""
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
        entries = row_of_sort(_ENTRY, name.table.c.id, name, changed_at(name.table))
        selections.append(entries.where(bulk.in_list(name, "names")))
    return sa.union_all(*selections)


def _parse(rows: Sequence[Any]) -> list[ProviderSnapshot]:
    providers: dict[int, ProviderSnapshot] = {}
    entries: list[list[Any]] = []
    parts: list[list[Any]] = []
    for sort, *values in parse_each(rows):
        if sort == _PROVIDER:
            provider = ProviderSnapshot._make([*values, [], entries])
            providers[provider.id] = provider
        elif sort == _PART:
            parts.append(values)
        else:
            row_id, name, time = values
            entries.append([row_id, name, parse_time(time)])
    for provider_id, *values in parts:
        if provider_id in providers:  # not of one without a root
            providers[provider_id].parts.append(values)
    return list(providers.values())
