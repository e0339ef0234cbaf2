"""What a write of allocations decides on, in one statement: all of it is of one moment."""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import zip_longest

import sqlalchemy as sa

from placement.db import bulk
from placement.db import tables as t
from placement.db.fragments import (
    INVENTORY_COLUMNS,
    PROVIDERS_WITH_INVENTORIES,
    PROVIDERS_WITH_ROOTS,
    ROOT,
    Selection,
    Union,
    row_of_sort,
)
from placement.db.json_rows import parse_each
from placement.db.statement import Queries, Query, chunks, sorted_chunks

_provider, _inventory = t.resource_providers, t.inventories
_consumer, _allocation = t.consumers, t.allocations


def state(
    names: Mapping[str, Collection[str]], providers: Collection[str], consumers: Collection[str]
) -> Queries:
    """Select lists of which the first value says what the others are.

    The kind of a name: its id, and the name as stored. "provider": one of those named, in the order
    of `LockedProvider`, and the revision of its tree. "inventory": one of these providers, with its
    class. "consumer": one of those named, with one of its allocations or with none; with the
    allocation come root and revision of its provider, and its inventory, null where there is none.
    More than a thousand of a sort are more than one statement, and not of one moment.
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
    return Query(_of_state(kinds, bool(providers), bool(consumers)), params, parse_each)


@lru_cache(maxsize=64)
def _of_state(kinds: tuple[str, ...], of_providers: bool, of_consumers: bool) -> Union:
    parts = [_names(kind) for kind in kinds]
    parts += [_PROVIDERS, _INVENTORIES] if of_providers else []
    parts += [_CONSUMERS] if of_consumers else []
    return sa.union_all(*parts)


def _names(kind: str) -> Selection:
    name = t.NAMES[kind]
    return row_of_sort(kind, name.table.c.id, name).where(bulk.in_list(name, kind))


_PROVIDERS = (
    row_of_sort(
        "provider",
        _provider.c.uuid,
        _provider.c.generation,
        _provider.c.id,
        _provider.c.root_provider_id,
        _provider.c.parent_provider_id,
        ROOT.c.revision,
    )
    .select_from(PROVIDERS_WITH_ROOTS)
    .where(bulk.in_list(_provider.c.uuid, "providers"))
)

_INVENTORIES = (
    row_of_sort("inventory", *INVENTORY_COLUMNS)
    .select_from(PROVIDERS_WITH_INVENTORIES)
    .where(bulk.in_list(_provider.c.uuid, "providers"))
)

_CONSUMERS = (
    row_of_sort(
        "consumer",
        _consumer.c.id,
        _consumer.c.uuid,
        _consumer.c.generation,
        _consumer.c.project_id,
        _consumer.c.user_id,
        _consumer.c.consumer_type_id,
        _allocation.c.id,
        _allocation.c.resource_provider_id,
        _allocation.c.resource_class_id,
        _allocation.c.used,
        ROOT.c.id,
        ROOT.c.revision,
        _inventory.c.id,
    )
    .select_from(
        _consumer.outerjoin(_allocation, _allocation.c.consumer_id == _consumer.c.uuid)
        .outerjoin(_provider, _provider.c.id == _allocation.c.resource_provider_id)
        .outerjoin(ROOT, ROOT.c.id == _provider.c.root_provider_id)
        .outerjoin(
            _inventory,
            sa.and_(
                _inventory.c.resource_provider_id == _allocation.c.resource_provider_id,
                _inventory.c.resource_class_id == _allocation.c.resource_class_id,
            ),
        )
    )
    .where(bulk.in_list(_consumer.c.uuid, "consumers"))
)
