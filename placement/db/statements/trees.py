"""The members of trees, with their stocks, traits and aggregates."""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement.db import bulk, fragments
from placement.db import tables as t
from placement.db.constructs import force_index
from placement.db.fragments import Selection
from placement.db.json_rows import JsonRows, parse_text
from placement.db.statement import Queries

provider = t.resource_providers
_aggregate = t.placement_aggregates
_link = t.resource_provider_aggregates
_trait_link = t.resource_provider_traits


def _text(label: str, rows: Selection) -> sa.Label[Any]:
    return rows.correlate(provider).scalar_subquery().label(label)


_members = sa.select(
    provider.c.root_provider_id,
    provider.c.id,
    provider.c.parent_provider_id,
    provider.c.revision,
    provider.c.uuid,
    _text("stocks", fragments.stocks_of(provider.c.id, t.resource_classes.c.name)),
    _text(
        "traits",
        sa.select(JsonRows(_trait_link.c.trait_id)).where(
            _trait_link.c.resource_provider_id == provider.c.id
        ),
    ),
    _text(
        "aggregates",
        sa.select(JsonRows(_aggregate.c.uuid))
        .select_from(_link.join(_aggregate, _aggregate.c.id == _link.c.aggregate_id))
        .where(_link.c.resource_provider_id == provider.c.id),
    ),
).where(bulk.in_list(provider.c.root_provider_id))
_MEMBERS = force_index(_members, provider, t.MEMBERS_INDEX)

# Indexes of columns in such a row.
_STOCKS, _TRAITS = 5, 6


class MemberRow(NamedTuple):
    """A provider with its stocks, traits and aggregates."""

    root_id: int
    id: int
    # Id of the row of the parent, or None for a root.
    parent_id: int | None
    # Revision of the tree, if the provider is its root.
    revision: int
    # UUID of the provider, as stored.
    uuid: str
    # For each class, its name and the fields of `Stock`. Members with equal stocks share one object
    # within a statement.
    stocks: tuple[tuple[Any, ...], ...]
    # Names of the traits. Members with equal traits share one object within a statement.
    trait_ids: frozenset[int]
    # Uuids of the aggregates, as stored.
    aggregates: list[str]


def members(root_ids: Collection[int]) -> Queries:
    """Select the members of trees, in any order. A row is a `MemberRow`."""
    return bulk.select_by(_MEMBERS, root_ids, parse=_parse_members)


def _parse_members(rows: Sequence[Any]) -> list[MemberRow]:
    # PERF: traits are most of the data, and hosts of one model have the same traits. Many of these
    # hosts also have the same stocks.
    trait_ids = {
        text: frozenset(trait_id for (trait_id,) in parse_text(text))
        for text in {row[_TRAITS] for row in rows}
    }
    stocks_by_text = {
        text: tuple(map(tuple, parse_text(text))) for text in {row[_STOCKS] for row in rows}
    }
    return [
        MemberRow(
            root_id,
            row_id,
            parent_id,
            revision,
            uuid,
            stocks_by_text[stocks],
            trait_ids[traits],
            [name for (name,) in parse_text(aggregates)],
        )
        for root_id, row_id, parent_id, revision, uuid, stocks, traits, aggregates in rows
    ]


_TRAIT_NAMES = (
    sa.select(t.traits.c.id, t.traits.c.name)
    .where(bulk.in_list(t.traits.c.id))
    .order_by(t.traits.c.name)
)


def trait_names(ids: Collection[int]) -> Queries:
    """Select (id, name) of traits, by name."""
    return bulk.select_by(_TRAIT_NAMES, ids, parse=list)
