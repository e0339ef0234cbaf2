"""The list of providers that satisfy a condition."""

from collections.abc import Collection, Sequence
from itertools import starmap
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement

from placement.db import bulk, fragments
from placement.db import tables as t
from placement.db.conditions import SQL_OF, ProviderCondition, provider_clauses
from placement.db.constructs import same_text
from placement.db.forms import by_form
from placement.db.fragments import Selection, changed_at
from placement.db.json_rows import JsonRow, JsonRows, parse_each, parse_rows, parse_text, parse_time
from placement.db.statement import CHUNK_SIZE, Queries, Query
from placement.vocabulary import ConditionKind

# Maximum number of subqueries of ids that planners may turn into joins. Planners turn every such
# subquery into a join and compare the orders of the joins. For thirty subqueries, MariaDB takes 7 s
# and PostgreSQL minutes.
MAX_JOINED = 6

# Kinds of conditions with which a planner may begin. Other conditions are checked for each
# provider.
_SELECTED = {ConditionKind.ANY_TRAIT, ConditionKind.ANY_AGGREGATE, ConditionKind.TREE}
_CHECKED = [kind for kind in SQL_OF if kind not in _SELECTED]

_provider = t.resource_providers
_other = _provider.alias("other")


def _uuid_of(row_id: ColumnElement[int]) -> Any:
    return sa.select(_other.c.uuid).where(_other.c.id == row_id).scalar_subquery()


# PERF: in a large cloud, most providers are roots, which need no subquery.
_REVISION = sa.case(
    (_provider.c.root_provider_id == _provider.c.id, _provider.c.revision),
    else_=sa.select(_other.c.revision)
    .where(_other.c.id == _provider.c.root_provider_id)
    .scalar_subquery(),
)
_COLUMNS = (
    _provider.c.id,
    _provider.c.uuid,
    _provider.c.name,
    _provider.c.generation,
    sa.case(
        (_provider.c.parent_provider_id.is_not(None), _uuid_of(_provider.c.parent_provider_id))
    ),
    sa.case(
        (_provider.c.root_provider_id == _provider.c.id, _provider.c.uuid),
        else_=_uuid_of(_provider.c.root_provider_id),
    ),
    changed_at(_provider),
    _REVISION,
)
_CHANGED_AT = -2  # index of the time in the columns of listed_with_ids
# Number of groups that keeps each text below its limit.
_IN_TEXTS = _provider.c.id.bitwise_rshift(8)
_LISTED = sa.select(JsonRows(*_COLUMNS)).group_by(_IN_TEXTS)
_AMONG = _LISTED.where(bulk.in_list(_provider.c.id))
_AFTER = sa.bindparam("after", type_=_provider.c.uuid.type)
_SIZE = sa.bindparam("size", type_=sa.BigInteger)
_REVISIONS = sa.select(JsonRows(_provider.c.id, _REVISION)).group_by(_IN_TEXTS)
_PAGE = sa.select(JsonRow(*_COLUMNS)).order_by(_provider.c.uuid).limit(_SIZE)


def listed(condition: ProviderCondition) -> Query:
    """Select the providers that satisfy the condition, by id.

    The columns are the id, the other fields of `Provider`, and the revision of the tree or null.
    """
    return Query(*_listed(condition), parse=_parse)


def revisions(condition: ProviderCondition) -> Query:
    """Select the revisions of the same providers as `listed`, in blocks.

    A block is a text with the ids and the revisions of providers with consecutive ids. If two texts
    are equal, the providers have not changed. The blocks have no order.
    """
    return Query(*_revisions(condition), parse=_first_values)


def _first_values(rows: Sequence[Sequence[str]]) -> list[str]:
    return [value for (value,) in rows]


def rows_of_block(block: str) -> list[list[Any]]:
    """Return (id, revision of the tree or null) of the providers of a block, by id."""
    return sorted(parse_text(block))


def count_rows(block: str) -> int:
    """Return the number of providers of a block without parsing it."""
    return block.count("[") - 1


def listed_with_ids(condition: ProviderCondition, ids: Collection[int]) -> Queries:
    """Select the rows of `listed` with these ids.

    With more than CHUNK_SIZE ids, select all rows.
    """
    if len(ids) > CHUNK_SIZE:
        return Queries([listed(condition)])
    return bulk.select_by(_AMONG, ids, parse=_parse)


def page(condition: ProviderCondition, after: str, size: int) -> Query:
    """Select up to `size` rows of `listed` with a uuid after `after`, by uuid."""
    sql, params = _page(condition)
    return Query(sql, {"after": after, "size": size, **params}, parse=_parse_page)


@by_form
def _listed(condition: ProviderCondition) -> Selection:
    return _LISTED.where(*_list_clauses(condition))


@by_form
def _revisions(condition: ProviderCondition) -> Selection:
    return _REVISIONS.where(*_list_clauses(condition))


@by_form
def _page(condition: ProviderCondition) -> Selection:
    return _PAGE.where(_provider.c.uuid > _AFTER, *_page_clauses(condition))


def _list_clauses(condition: ProviderCondition) -> tuple[ColumnElement[bool], ...]:
    """Return the SQL of the condition. A planner may begin with any selective part of the SQL."""
    single, several = _split_trait_sets(condition.traits)
    owners = [
        *map(_in_aggregates, condition.aggregates),
        *map(_with_traits, several),
        *map(_with_traits, single[:MAX_JOINED]),
        *starmap(_with_room, condition.resources),
    ]
    joined, looked_up = owners[:MAX_JOINED], owners[MAX_JOINED:]
    return (
        *_row_clauses(condition),
        *_has_all_clauses(single[MAX_JOINED:]),
        *map(_provider.c.id.in_, joined),
        *map(_is_selected, looked_up),
        *provider_clauses(_provider, condition, _CHECKED),
    )


def _page_clauses(condition: ProviderCondition) -> tuple[ColumnElement[bool], ...]:
    """Return the SQL of the condition for a page.

    The planner must not begin with traits or room. Most providers may satisfy these conditions, and
    each page would collect all of them. If no inventory is large enough, no provider is read.
    """
    single, several = _split_trait_sets(condition.traits)
    owners = [*map(_in_aggregates, condition.aggregates), *map(_with_traits, several)]
    joined, looked_up = owners[:MAX_JOINED], owners[MAX_JOINED:]
    return (
        *starmap(_any_inventory_allows, condition.resources),
        *_row_clauses(condition),
        *_has_all_clauses(single),
        *(_for_outer_row(each).exists() for each in joined),
        *map(_is_selected, looked_up),
        *map(_is_selected, starmap(_with_room, condition.resources)),
        *provider_clauses(_provider, condition, _CHECKED),
    )


def _parse(texts: Sequence[Any]) -> list[list[Any]]:
    return _with_times(parse_rows(texts))


def _parse_page(texts: Sequence[Any]) -> list[list[Any]]:
    return _with_times(parse_each(texts))


def _with_times(rows: list[list[Any]]) -> list[list[Any]]:
    for row in rows:
        row[_CHANGED_AT] = parse_time(row[_CHANGED_AT])
    return rows


def _subtree(uuids: Collection[str]) -> Selection:
    """Select the ids of the providers with these uuids, and of their descendants."""
    top, below = _provider.alias("top"), _provider.alias("below")
    subtree = sa.select(top.c.id).where(top.c.uuid.in_(sorted(uuids))).cte(recursive=True)
    children = sa.select(below.c.id).where(below.c.parent_provider_id == subtree.c.id)
    return sa.select(subtree.union_all(children).c.id)


def _row_clauses(condition: ProviderCondition) -> list[ColumnElement[bool]]:
    """Return the SQL of the conditions on the provider's own row."""
    where: list[ColumnElement[bool]] = []
    if condition.tree is not None:
        where.append(_provider.c.root_provider_id == condition.tree)
    for top in condition.sets(ConditionKind.SUBTREE):
        where.append(_provider.c.id.in_(_subtree(top)))
    if condition.name is not None:
        where.append(same_text(_provider.c.name, condition.name))
    if condition.uuids is not None:
        where.append(_provider.c.uuid.in_(sorted(condition.uuids)))
    return where


def _split_trait_sets(
    trait_sets: Sequence[frozenset[int]],
) -> tuple[list[frozenset[int]], list[frozenset[int]]]:
    """Return the sets with a single trait, and the sets of alternatives."""
    single = [traits for traits in trait_sets if len(traits) == 1]
    return single, [traits for traits in trait_sets if len(traits) > 1]


def _has_all_clauses(traits: Sequence[frozenset[int]]) -> list[ColumnElement[bool]]:
    """Return a single condition for any number of traits, or nothing if there are no traits."""
    return [fragments.has_all_traits(_provider.c.id, frozenset().union(*traits))] if traits else []


# -- selections of the ids of providers --------------------------------------------------------


def _in_aggregates(aggregates: Collection[int]) -> Selection:
    link = t.resource_provider_aggregates
    return sa.select(link.c.resource_provider_id).where(link.c.aggregate_id.in_(sorted(aggregates)))


def _with_traits(traits: Collection[int]) -> Selection:
    link = t.resource_provider_traits
    return sa.select(link.c.resource_provider_id).where(link.c.trait_id.in_(sorted(traits)))


def _with_room(class_id: int, amount: int) -> Selection:
    inventory = t.inventories
    return sa.select(inventory.c.resource_provider_id).where(
        inventory.c.resource_class_id == class_id, fragments.fits(inventory, amount)
    )


def _for_outer_row(owners: Selection) -> Selection:
    """Restrict a selection to the provider of the outer row."""
    (owner,) = owners.selected_columns
    return owners.where(owner == _provider.c.id)


def _is_selected(owners: Selection) -> ColumnElement[bool]:
    """Return whether the provider is selected. A LIMIT prevents joining the lookup."""
    return _for_outer_row(owners).limit(1).scalar_subquery().is_not(None)


def _any_inventory_allows(class_id: int, amount: int) -> ColumnElement[bool]:
    """Return whether any inventory allows the amount at once. The index of the maximum is used."""
    if amount > fragments.MAX_UNIT:
        return sa.false()
    inventory = t.inventories
    largest = sa.select(sa.func.max(inventory.c.max_unit))
    largest_unit = largest.where(inventory.c.resource_class_id == class_id).scalar_subquery()
    return largest_unit >= amount
