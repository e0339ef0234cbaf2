"""The traits and aggregates of providers."""

from collections.abc import Collection, Mapping

import sqlalchemy as sa

from placement.db import bulk
from placement.db import tables as t
from placement.db.fragments import changed_at
from placement.db.statement import Query, Write, Writes, chunks

_PROVIDER = sa.bindparam("provider_id", type_=sa.Integer)
_trait_link, _aggregate_link = t.resource_provider_traits, t.resource_provider_aggregates

_TRAITS_OF = (
    sa.select(t.traits.c.id, t.traits.c.name, changed_at(t.traits))
    .join_from(_trait_link, t.traits, t.traits.c.id == _trait_link.c.trait_id)
    .where(_trait_link.c.resource_provider_id == _PROVIDER)
    .order_by(t.traits.c.name)
)


def traits_of(provider_id: int) -> Query:
    """Select (id, name, changed_at) of the traits of a provider."""
    return Query(_TRAITS_OF, {"provider_id": provider_id})


# -- links of several providers ----------------------------------------------------------------

Links = Collection[tuple[int, int]]  # (provider id, id of the trait or aggregate)

_COLUMNS: Mapping[str, sa.Column[int]] = {
    "trait": _trait_link.c.trait_id,
    "aggregate": _aggregate_link.c.aggregate_id,
}


def add(kind: str, links: Links) -> Writes:
    """Add traits or aggregates that the providers do not have."""
    column = _COLUMNS[kind]
    created_at = t.now()
    rows = [
        {"resource_provider_id": provider_id, column.name: row_id, "created_at": created_at}
        for provider_id, row_id in sorted(links)
    ]
    return bulk.insert(column.table, rows)


def remove(kind: str, links: Links) -> Writes:
    """Remove traits or aggregates that the providers have."""
    return Writes(_remove(kind, chunk) for chunk in chunks(sorted(links)))


def _remove(kind: str, links: Links) -> Write:
    provider_ids, row_ids = map(sorted, map(set, zip(*links, strict=True)))
    params = {"ids": provider_ids}
    if len(provider_ids) == 1:
        delete = _DELETE_OF_ONE[kind]
        params["linked"] = row_ids
    else:
        # The engines use no index for a list of pairs alone.
        column = _COLUMNS[kind]
        pair = sa.tuple_(column.table.c.resource_provider_id, column)
        delete = _DELETE[kind].where(pair.in_(links))
    return Write(delete, params, matches=len(links))


_DELETE = {
    kind: sa.delete(column.table).where(bulk.in_list(column.table.c.resource_provider_id))
    for kind, column in _COLUMNS.items()
}
_DELETE_OF_ONE = {
    kind: delete.where(bulk.in_list(_COLUMNS[kind], "linked")) for kind, delete in _DELETE.items()
}
