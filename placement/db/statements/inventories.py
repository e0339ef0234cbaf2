"""Statements about the inventories of providers and their usage."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from placement.db import bulk
from placement.db import tables as t
from placement.db.fragments import INVENTORY_COLUMNS, RECORD_COLUMNS, allocated_amount, changed_at
from placement.db.json_rows import JsonRow, parse_each, parse_time
from placement.db.statement import Queries, Query, Write, Writes, mapping_chunks

FIELDS = (*[column.name for column in RECORD_COLUMNS], "capacity")

_inventory = t.inventories
_class = t.resource_classes

_FOR_PROVIDERS = (
    sa.select(JsonRow(*INVENTORY_COLUMNS, changed_at(_inventory)))
    .select_from(_inventory.join(_class, _class.c.id == _inventory.c.resource_class_id))
    .where(bulk.in_list(_inventory.c.resource_provider_id))
    .order_by(_inventory.c.resource_provider_id, _inventory.c.resource_class_id)
)


def for_providers(provider_ids: Collection[int]) -> Queries:
    """Select (time of the last change, values for `inventory_rows.from_list`) of inventories."""
    return bulk.select_by(_FOR_PROVIDERS, provider_ids, _parse)


def _parse(texts: Sequence[Any]) -> Sequence[Any]:
    return [(parse_time(changed), *values) for *values, changed in parse_each(texts)]


_root = t.resource_providers.alias("root")
_EVERYWHERE = (
    sa.select(
        t.resource_providers.c.name.label("provider"),
        _root.c.name.label("root"),
        _class.c.name.label("class_name"),
        _inventory.c.total,
        _inventory.c.reserved,
        _inventory.c.allocation_ratio,
        _inventory.c.used,
        t.resource_providers.c.generation,
    )
    .select_from(
        _inventory.join(_class, _class.c.id == _inventory.c.resource_class_id)
        .join(t.resource_providers, t.resource_providers.c.id == _inventory.c.resource_provider_id)
        .join(_root, _root.c.id == t.resource_providers.c.root_provider_id)
    )
    .order_by(_inventory.c.resource_provider_id, _inventory.c.resource_class_id)
)


def everywhere() -> Query:
    """Select the inventories of all providers, with their usage."""
    return Query(_EVERYWHERE)


_ALLOCATED = (
    "(SELECT COALESCE(SUM(allocations.used), 0) FROM allocations"
    " WHERE allocations.resource_provider_id = :resource_provider_id_{index}"
    " AND allocations.resource_class_id = :resource_class_id_{index})"
)


def create(rows: Sequence[Mapping[str, int | float]]) -> Writes:
    """Insert inventories. The database initializes `used` from existing allocations.

    A row has `resource_provider_id`, `resource_class_id` and the FIELDS.
    """
    return bulk.insert(_inventory, _dated(rows), (("used", _ALLOCATED),))


def create_unused(rows: Sequence[Mapping[str, int | float]]) -> Writes:
    """Insert inventories as `create` does, of providers that have no allocations.

    PERF: on MariaDB the sums of allocations take as long as the rest of the statement.
    """
    return bulk.insert(_inventory, [{**row, "used": 0} for row in _dated(rows)])


def _dated(rows: Sequence[Mapping[str, int | float]]) -> list[dict[str, Any]]:
    created_at = t.now()
    return [{**row, "created_at": created_at} for row in rows]


def update(rows: Mapping[int, Mapping[str, int | float]]) -> Writes:
    """Set the FIELDS of inventories, by id."""
    return Writes(_update(chunk) for chunk in mapping_chunks(rows))


def _update(rows: Mapping[int, Mapping[str, int | float]]) -> Write:
    values = {}
    for field in FIELDS:
        values[f"new_{field}"] = {row_id: row[field] for row_id, row in rows.items()}
    params = {**bulk.case_params(rows, **values), "now": t.now()}
    return Write(_inventories_update(size=len(rows)), params, matches=len(rows))


@bulk.cached_by_size
def _inventories_update(size: int) -> sa.Update:
    column = _inventory.c
    values = {field: bulk.case_by_id(column[field], size, f"new_{field}") for field in FIELDS}
    now = sa.bindparam("now", type_=column.updated_at.type)
    return sa.update(_inventory).where(bulk.in_list(column.id)).values(updated_at=now, **values)


_DELETE_UNUSED = sa.delete(_inventory).where(_inventory.c.used == 0, bulk.in_list(_inventory.c.id))


def delete_unused(row_ids: Collection[int]) -> Writes:
    """Delete inventories without allocations. Inventories with allocations do not match."""
    return bulk.write_by(_DELETE_UNUSED, row_ids)


def move_used(moves: Mapping[int, tuple[int, int, int, int]]) -> Writes:
    """Add amounts to `used` of inventories, if their capacity and units allow it.

    A negative delta always fits, because the usage of an overcommitted inventory may decrease. If
    the capacity of an inventory would be exceeded, or if its units do not allow the amounts, the
    inventory does not match.

    If `used` would become negative, it was wrong, because SQL has changed allocations. It is then
    recomputed. Therefore, the allocations must have been written before, and the trees locked.

    Args:
        moves: inventory id -> (delta, least, most, divisor). The last three describe the new
            amounts, which the units of the inventory must allow.
    """
    return Writes(_move(chunk) for chunk in mapping_chunks(moves))


def _move(moves: Mapping[int, Sequence[int]]) -> Write:
    columns = zip(*moves.values(), strict=True)
    values: dict[str, dict[int, int]] = {}
    for name, column in zip(_MOVE, columns, strict=True):
        values[name] = dict(zip(moves, column, strict=True))
    if not any(values["most"].values()):
        # All amounts are released, so no conditions are needed.
        values = {"delta": values["delta"]}
    releases = min(values["delta"].values()) < 0
    update = _move_used(size=len(moves), guarded=len(values) > 1, releases=releases)
    return Write(update, bulk.case_params(moves, **values), matches=len(moves))


def take(moves: Mapping[tuple[int, int], tuple[int, int, int, int]]) -> Write:
    """Add amounts to `used` of inventories, if their capacity and units allow it.

    This statement is used for a few inventories whose ids are unknown.

    Args:
        moves: (provider id, class id) -> positive delta, and the other values of `move_used`.
    """
    params: dict[str, int] = {}
    for index, ((provider_id, class_id), values) in enumerate(sorted(moves.items())):
        params[f"provider_{index}"] = provider_id
        params[f"class_{index}"] = class_id
        for name, value in zip(_MOVE, values, strict=True):
            params[f"{name}_{index}"] = value
    return Write(_take(size=len(moves)), params, matches=len(moves))


@bulk.cached_by_size
def _take(size: int) -> sa.Update:
    column = _inventory.c
    # An expression, because MariaDB could use the index of classes and maximum units.
    max_unit = column.max_unit + sa.literal_column("0", sa.Integer())
    deltas: list[tuple[sa.ColumnElement[bool], sa.BindParameter[int]]] = []
    fitting: list[sa.ColumnElement[bool]] = []
    for index in range(size):
        is_provider = column.resource_provider_id == sa.bindparam(f"provider_{index}")
        is_class = column.resource_class_id == sa.bindparam(f"class_{index}")
        delta, least, most, divisor = (
            sa.bindparam(f"{name}_{index}", type_=column.used.type) for name in _MOVE
        )
        is_key = sa.and_(is_provider, is_class)
        deltas.append((is_key, delta))
        fitting.append(
            sa.and_(
                is_key,
                column.used + delta <= column.capacity,
                *_allow(least, most, divisor, max_unit),
            )
        )
    used = column.used + sa.case(*deltas)
    return sa.update(_inventory).where(sa.or_(*fitting)).values(used=used)


_MOVE = ("delta", "least", "most", "divisor")


@bulk.cached_by_size
def _move_used(size: int, *, guarded: bool, releases: bool) -> sa.Update:
    column = _inventory.c
    delta = bulk.case_by_id(column.used, size, "delta")
    used: sa.ColumnElement[int] = column.used + delta
    if releases:
        # PERF: a quarter of the time of the statement. Most claims release nothing.
        used = sa.case((used >= 0, used), else_=allocated_amount(_inventory))
    update = sa.update(_inventory).where(bulk.in_list(column.id)).values(used=used)
    if not guarded:
        return update
    units = zip((column.min_unit, column.max_unit, column.step_size), _MOVE[1:], strict=True)
    least, most, divisor = (bulk.case_by_id(unit, size, name) for unit, name in units)
    return update.where(
        sa.or_(delta <= 0, column.used + delta <= column.capacity),
        *_allow(least, most, divisor, column.max_unit),
    )


def _allow(
    least: sa.ColumnElement[int],
    most: sa.ColumnElement[int],
    divisor: sa.ColumnElement[int],
    max_unit: sa.ColumnElement[int],
) -> Iterator[sa.ColumnElement[bool]]:
    """Yield the conditions under which the units of an inventory allow new amounts."""
    yield _inventory.c.min_unit <= least
    yield max_unit >= most
    yield divisor % _inventory.c.step_size == 0
