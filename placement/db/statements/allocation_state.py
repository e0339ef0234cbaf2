"""The state on which a write of allocations is based. One statement reads it at a single moment."""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import zip_longest

import sqlalchemy as sa
from sqlalchemy.sql import FromClause

from placement.db import bulk
from placement.db import tables as t
from placement.db.constructs import same_identifier
from placement.db.fragments import (
    INVENTORY_COLUMNS,
    PROVIDERS_WITH_ROOTS,
    ROOT,
    Selection,
    Union,
    belongs_to,
    has_row,
    tagged_json_row,
)
from placement.db.json_rows import parse_each
from placement.db.statement import Queries, Query, chunks, sorted_chunks

_provider, _inventory, _class = t.resource_providers, t.inventories, t.resource_classes
_consumer, _allocation, _record = t.consumers, t.allocations, t.claim_records


def state(
    names: Mapping[str, Collection[str]], providers: Collection[str], consumers: Collection[str]
) -> Queries:
    """Select lists that start with a tag, on which the other values of a list depend.

    If the tag is a kind of names, they are the id, and the name as stored. For "provider", they are
    the fields of `LockedProvider`, the revision of the tree, and one inventory of the provider with
    its class, or nulls. For "consumer", they are the consumer and one of its allocations, or nulls.
    An allocation has the root and the revision of its provider, and the id of its inventory or
    null. The last values are the id of the consumer's claim record, and the generation and the end
    of its hold, or nulls. For "unrecorded", they are the uuid of a consumer that has no row, and
    one of its allocations with the same values.

    More than a thousand items of one kind take several statements, which may see different states.
    """
    pairs = chunks(bulk.kinds_and_names(names))
    pieces = zip_longest(pairs, sorted_chunks(providers), sorted_chunks(consumers), fillvalue=())
    return Queries(_state(*piece) for piece in pieces)


def _state(
    names: Sequence[tuple[str, str]], providers: Sequence[str], consumers: Sequence[str]
) -> Query:
    params = bulk.params_by_kind(names)
    kinds = tuple(params)
    params |= {"providers": providers} if providers else {}
    params |= {"consumers": consumers} if consumers else {}
    return Query(_state_union(kinds, bool(providers), bool(consumers)), params, parse_each)


@lru_cache(maxsize=64)
def _state_union(kinds: tuple[str, ...], with_providers: bool, with_consumers: bool) -> Union:
    parts = [_names(kind) for kind in kinds]
    parts += [_PROVIDERS] if with_providers else []
    parts += [_CONSUMERS, _UNRECORDED] if with_consumers else []
    return sa.union_all(*parts)


def _names(kind: str) -> Selection:
    name = t.NAMES[kind]
    return tagged_json_row(kind, name.table.c.id, name).where(bulk.in_list(name, kind))


_PROVIDERS = (
    tagged_json_row(
        "provider",
        _provider.c.uuid,
        _provider.c.generation,
        _provider.c.id,
        _provider.c.root_provider_id,
        ROOT.c.revision,
        *INVENTORY_COLUMNS,
    )
    .select_from(
        PROVIDERS_WITH_ROOTS.outerjoin(
            _inventory, _inventory.c.resource_provider_id == _provider.c.id
        ).outerjoin(_class, _class.c.id == _inventory.c.resource_class_id)
    )
    .where(bulk.in_list(_provider.c.uuid, "providers"))
)

# An allocation, in the order of `AllocationRow`.
_ALLOCATION_COLUMNS = (
    _allocation.c.id,
    _allocation.c.resource_provider_id,
    _allocation.c.resource_class_id,
    _allocation.c.used,
    ROOT.c.id,
    ROOT.c.revision,
    _inventory.c.id,
)


def _with_allocations(consumers: FromClause) -> FromClause:
    """Add the provider, root and inventory of allocations, which may be missing."""
    return (
        consumers.outerjoin(_provider, _provider.c.id == _allocation.c.resource_provider_id)
        .outerjoin(ROOT, ROOT.c.id == _provider.c.root_provider_id)
        .outerjoin(
            _inventory,
            sa.and_(
                _inventory.c.resource_provider_id == _allocation.c.resource_provider_id,
                _inventory.c.resource_class_id == _allocation.c.resource_class_id,
            ),
        )
    )


_is_consumer = same_identifier(_allocation.c.consumer_id, _consumer.c.uuid)
_CONSUMERS = (
    tagged_json_row(
        "consumer",
        _consumer.c.id,
        _consumer.c.uuid,
        _consumer.c.generation,
        _consumer.c.project_id,
        _consumer.c.user_id,
        _consumer.c.consumer_type_id,
        *_ALLOCATION_COLUMNS,
        _record.c.id,
        _record.c.hold_generation,
        _record.c.expires_at,
    )
    .select_from(
        _with_allocations(
            _consumer.outerjoin(_record, belongs_to(_record, _consumer)).outerjoin(
                _allocation, _is_consumer
            )
        )
    )
    .where(bulk.in_list(_consumer.c.uuid, "consumers"))
)

_UNRECORDED = (
    tagged_json_row("unrecorded", _allocation.c.consumer_id, *_ALLOCATION_COLUMNS)
    .select_from(_with_allocations(_allocation))
    .where(bulk.in_list(_allocation.c.consumer_id, "consumers"), ~has_row(_consumer, _is_consumer))
)
