"""The parts of many providers. One statement reads each part."""

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement

from placement.db import bulk
from placement.db import tables as t
from placement.db.constructs import same_identifier
from placement.db.fragments import RECORD_COLUMNS
from placement.db.json_rows import JsonRow, JsonRows, parse_each, parse_text, parse_unsorted
from placement.db.statement import Queries

_inventory, _class = t.inventories, t.resource_classes
_trait_link, _aggregate_link = t.resource_provider_traits, t.resource_provider_aggregates
_allocation, _consumer = t.allocations, t.consumers


def _in_texts(row_id: ColumnElement[int]) -> ColumnElement[int]:
    """Return a grouping into about 60 texts, which keeps each text below its limit."""
    return row_id.bitwise_and(63)


_INVENTORIES = (
    sa.select(
        JsonRows(
            _inventory.c.resource_provider_id, _class.c.name, _inventory.c.used, *RECORD_COLUMNS
        )
    )
    .select_from(_inventory.join(_class, _class.c.id == _inventory.c.resource_class_id))
    .where(bulk.in_list(_inventory.c.resource_provider_id))
    .group_by(_in_texts(_inventory.c.id))
)


def inventories(provider_ids: Collection[int]) -> Queries:
    """Select (provider id, class, used, fields of the record) of the providers' inventories.

    The allocation ratio may be an `int`, so callers must convert it.
    """
    return bulk.select_by(_INVENTORIES, provider_ids, parse=parse_unsorted)


_TRAIT_IDS = (
    sa.select(
        _trait_link.c.resource_provider_id, JsonRows(_trait_link.c.trait_id).label("trait_ids")
    )
    .where(bulk.in_list(_trait_link.c.resource_provider_id))
    .group_by(_trait_link.c.resource_provider_id)
)


def trait_ids(provider_ids: Collection[int]) -> Queries:
    """Select (provider id, tuple of trait ids) of the providers that have traits.

    Providers with the same traits usually share the same tuple.
    """
    return bulk.select_by(_TRAIT_IDS, provider_ids, parse=_parse_trait_ids)


def _parse_trait_ids(rows: Sequence[Any]) -> list[tuple[int, tuple[int, ...]]]:
    # PERF: traits are most of the data, and hosts of one model have the same traits.
    sets = {
        text: tuple(trait_id for (trait_id,) in parse_text(text))
        for text in {text for _provider_id, text in rows}
    }
    return [(provider_id, sets[text]) for provider_id, text in rows]


_AGGREGATES = (
    sa.select(JsonRow(_aggregate_link.c.resource_provider_id, t.placement_aggregates.c.uuid))
    .select_from(
        _aggregate_link.join(
            t.placement_aggregates, t.placement_aggregates.c.id == _aggregate_link.c.aggregate_id
        )
    )
    .where(bulk.in_list(_aggregate_link.c.resource_provider_id))
    .order_by(t.placement_aggregates.c.uuid)
)


def aggregates(provider_ids: Collection[int]) -> Queries:
    """Select (provider id, aggregate uuid as stored) of the providers' aggregates, by uuid."""
    return bulk.select_by(_AGGREGATES, provider_ids, parse=parse_each)


_ALLOCATIONS = (
    sa.select(
        JsonRows(
            _allocation.c.resource_provider_id,
            _consumer.c.uuid,
            _consumer.c.generation,
            _class.c.name,
            _allocation.c.used,
        )
    )
    .select_from(
        _allocation.join(
            _consumer, same_identifier(_consumer.c.uuid, _allocation.c.consumer_id)
        ).join(_class, _class.c.id == _allocation.c.resource_class_id)
    )
    .where(bulk.in_list(_allocation.c.resource_provider_id))
    .group_by(_in_texts(_allocation.c.id))
)


def allocations(provider_ids: Collection[int]) -> Queries:
    """Select (provider id, consumer, its generation, class, amount) of the allocations."""
    return bulk.select_by(_ALLOCATIONS, provider_ids, parse=parse_unsorted)
