"""Parts of many providers. One or two statements read each part.

Explanations also read the names and inventories of a few providers.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from enum import Enum
from typing import Any

from sqlalchemy.engine import Connection

from placement.db.statements import provider_parts as statements
from placement.db.statements import providers, trees
from placement.inventory import FIELDS
from placement.objects.allocations import Holding
from placement.runtime.messages import escaped


class Part(Enum):
    """A part of a provider."""

    INVENTORIES = "inventories"
    USAGES = "usages"
    TRAITS = "traits"
    AGGREGATES = "aggregates"
    ALLOCATIONS = "allocations"


# Provider id -> value of the part, for every requested provider.
ByProvider = Mapping[int, Any]


def read(
    conn: Connection, provider_ids: Collection[int], parts: Collection[Part]
) -> dict[Part, ByProvider]:
    """Return the requested parts of each provider.

    Inventories are class name -> fields of a record, usages are class -> amount, traits and
    aggregates are lists of names, and allocations are consumer -> `Holding`.
    """
    values: dict[Part, ByProvider] = {}
    for part in parts:
        if part not in values:  # one statement reads inventories and usages
            values |= _READERS[part](conn, provider_ids)
    return {part: values[part] for part in parts}


def _inventories(conn: Connection, provider_ids: Collection[int]) -> dict[Part, ByProvider]:
    inventories: dict[int, dict[str, Any]] = {provider_id: {} for provider_id in provider_ids}
    usages: dict[int, dict[str, int]] = {provider_id: {} for provider_id in provider_ids}
    # PERF: these are mappings instead of records, because thousands of them are only rendered.
    rows = statements.inventories(provider_ids).rows(conn)
    for provider_id, name, used, *amounts, ratio in rows:
        values = (*amounts, float(ratio))
        inventories[provider_id][name] = dict(zip(FIELDS, values, strict=True))
        usages[provider_id][name] = used
    return {Part.INVENTORIES: inventories, Part.USAGES: usages}


def _traits(conn: Connection, provider_ids: Collection[int]) -> dict[Part, ByProvider]:
    traits: dict[int, list[str]] = {provider_id: [] for provider_id in provider_ids}
    ids_by_provider = dict(statements.trait_ids(provider_ids).rows(conn))
    # Providers of one model have the same traits, so each set of names is built only once.
    sets = set(ids_by_provider.values())
    all_ids = frozenset[int]().union(*sets)
    names: dict[int, str] = dict(trees.trait_names(all_ids).rows(conn))
    positions = {trait_id: position for position, trait_id in enumerate(names)}
    lists: dict[tuple[int, ...], list[str]] = {}
    for trait_ids in sets:
        # In a damaged database, a row may refer to a missing trait, which has no name.
        known_ids = sorted(names.keys() & trait_ids, key=positions.__getitem__)
        lists[trait_ids] = [names[trait_id] for trait_id in known_ids]
    for provider_id, trait_ids in ids_by_provider.items():
        traits[provider_id] = lists[trait_ids]
    return {Part.TRAITS: traits}


def _aggregates(conn: Connection, provider_ids: Collection[int]) -> dict[Part, ByProvider]:
    aggregates: dict[int, list[str]] = {provider_id: [] for provider_id in provider_ids}
    for provider_id, uuid in statements.aggregates(provider_ids).rows(conn):
        aggregates[provider_id].append(uuid)
    return {Part.AGGREGATES: aggregates}


def _allocations(conn: Connection, provider_ids: Collection[int]) -> dict[Part, ByProvider]:
    allocations: dict[int, dict[str, Holding]] = {provider_id: {} for provider_id in provider_ids}
    rows = statements.allocations(provider_ids).rows(conn)
    for provider_id, consumer, generation, class_name, amount in rows:
        holding = allocations[provider_id].setdefault(consumer, Holding({}, generation))
        holding.resources[class_name] = amount
    return {Part.ALLOCATIONS: allocations}


_READERS: Mapping[Part, Callable[[Connection, Collection[int]], dict[Part, ByProvider]]] = {
    Part.INVENTORIES: _inventories,
    Part.USAGES: _inventories,
    Part.TRAITS: _traits,
    Part.AGGREGATES: _aggregates,
    Part.ALLOCATIONS: _allocations,
}


def read_inventories(
    conn: Connection, uuids: Sequence[str]
) -> Mapping[tuple[str | None, str | None], Mapping[str, Any]]:
    """Return (provider, class) -> the fields of the inventory, and its usage as `used`."""
    rows = providers.with_all_fields(uuids).rows(conn)
    uuid_by_id = {row_id: uuid for uuid, *_, row_id, _revision in rows}
    parts = read(conn, uuid_by_id, (Part.INVENTORIES, Part.USAGES))
    usages = parts[Part.USAGES]
    inventories: dict[tuple[str | None, str | None], Mapping[str, Any]] = {}
    for row_id, by_class in parts[Part.INVENTORIES].items():
        for name, inventory in by_class.items():
            inventories[uuid_by_id[row_id], name] = {**inventory, "used": usages[row_id][name]}
    return inventories


def read_names(conn: Connection, uuids: Sequence[str]) -> Mapping[str, str]:
    """Return UUID -> name of existing providers. Unprintable characters are escaped."""
    rows = providers.with_all_fields(uuids).rows(conn)
    return {uuid: escaped(name) for uuid, name, *_others in rows}
