"""The list of providers that meet a condition."""

from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import starmap
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement

from placement.db import bulk, fragments
from placement.db import tables as t
from placement.db.conditions import SQL_OF, ProviderCondition, provider_meets
from placement.db.constructs import same_text, with_numbers
from placement.db.fragments import Selection, changed_at
from placement.db.json_rows import JsonRow, JsonRows, parse_each, parse_rows, parse_time
from placement.db.statement import CHUNK, Queries, Query
from placement.vocabulary import ConditionKind

# Planners make a join of every selection of ids and try the orders of joins: for thirty of them
# MariaDB takes 7 s, PostgreSQL minutes. The first so many are left to them.
MOST_JOINED = 6

# Kinds of conditions for which a selection of ids is a place to begin; others check each provider.
_SELECTED = {ConditionKind.ANY_TRAIT, ConditionKind.ANY_AGGREGATE, ConditionKind.TREE}
_CHECKED = [kind for kind in SQL_OF if kind not in _SELECTED]

_provider = t.resource_providers
_other = _provider.alias("other")


def _uuid_of(row_id: ColumnElement[int]) -> Any:
    return sa.select(_other.c.uuid).where(_other.c.id == row_id).scalar_subquery()


# PERF: most of a large cloud are roots, for which nothing need be looked up.
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
_CHANGED_AT = -2  # the place of the time among the columns
_IN_TEXTS = _provider.c.id.bitwise_rshift(8)  # none is longer than a database makes them
_LISTED = sa.select(JsonRows(*_COLUMNS)).group_by(_IN_TEXTS)
_AMONG = _LISTED.where(bulk.in_list(_provider.c.id))
_AFTER = sa.bindparam("after", type_=_provider.c.uuid.type)
_SIZE = sa.bindparam("size", type_=sa.BigInteger)
_REVISIONS = sa.select(JsonRows(_provider.c.id, _REVISION)).group_by(_IN_TEXTS)
_PAGE = sa.select(JsonRow(*_COLUMNS)).order_by(_provider.c.uuid).limit(_SIZE)


def listed(condition: ProviderCondition) -> Query:
    """Select those that meet the condition, by id.

    The columns are the id, the other fields of `Provider`, and the revision of the tree or null.
    """
    return Query(_listed(condition), parse=_parse)


def revisions(condition: ProviderCondition) -> Query:
    """Select the ids of those that meet it, each with the revision of its tree or null, by id."""
    return Query(_revisions(condition), parse=parse_rows)


def among(condition: ProviderCondition, ids: Collection[int]) -> Queries:
    """Select what `listed` does, of those with these ids alone unless these are many."""
    if len(ids) > CHUNK:
        return Queries([listed(condition)])
    return bulk.select_by(_AMONG, ids, parse=_parse)


def page(condition: ProviderCondition, after: str, size: int) -> Query:
    """Select what `listed` does, of the next `size` of them after a uuid, by uuid."""
    return Query(_page(condition), {"after": after, "size": size}, parse=_parse_page)


# PERF: clients ask the same again and again, and building it takes a third of a short answer.
@lru_cache(maxsize=256)
def _listed(condition: ProviderCondition) -> Selection:
    return with_numbers(_LISTED.where(*_meets(condition)))


@lru_cache(maxsize=256)
def _revisions(condition: ProviderCondition) -> Selection:
    return with_numbers(_REVISIONS.where(*_meets(condition)))


@lru_cache(maxsize=256)
def _page(condition: ProviderCondition) -> Selection:
    return with_numbers(_PAGE.where(_provider.c.uuid > _AFTER, *_meets_in_order(condition)))


def _meets(condition: ProviderCondition) -> tuple[ColumnElement[bool], ...]:
    """Return what a listed provider must meet. A planner may begin with what few meet."""
    single, several = _by_alternatives(condition.traits)
    owners = [
        *map(_in_aggregates, condition.aggregates),
        *map(_with_traits, several),
        *map(_with_traits, single[:MOST_JOINED]),
        *starmap(_with_room, condition.resources),
    ]
    joined, looked_up = owners[:MOST_JOINED], owners[MOST_JOINED:]
    return (
        *_of_row(condition),
        *_have_all(single[MOST_JOINED:]),
        *map(_provider.c.id.in_, joined),
        *map(_is_looked_up, looked_up),
        *provider_meets(_provider, condition, _CHECKED),
    )


def _meets_in_order(condition: ProviderCondition) -> tuple[ColumnElement[bool], ...]:
    """Return what a provider of a page must meet.

    No planner begins with traits or room, which most may have: it would collect all who have, for
    each page. Nobody is looked at if no inventory is large enough.
    """
    single, several = _by_alternatives(condition.traits)
    owners = [*map(_in_aggregates, condition.aggregates), *map(_with_traits, several)]
    joined, looked_up = owners[:MOST_JOINED], owners[MOST_JOINED:]
    return (
        *starmap(_anybody_gives, condition.resources),
        *_of_row(condition),
        *_have_all(single),
        *(_of_provider(each).exists() for each in joined),
        *map(_is_looked_up, looked_up),
        *map(_is_looked_up, starmap(_with_room, condition.resources)),
        *provider_meets(_provider, condition, _CHECKED),
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
    """Select the ids of the provider that has one of the uuids, and of all below it."""
    top, below = _provider.alias("top"), _provider.alias("below")
    subtree = sa.select(top.c.id).where(top.c.uuid.in_(sorted(uuids))).cte(recursive=True)
    children = sa.select(below.c.id).where(below.c.parent_provider_id == subtree.c.id)
    return sa.select(subtree.union_all(children).c.id)


def _of_row(condition: ProviderCondition) -> list[ColumnElement[bool]]:
    """Return what the provider's row must meet."""
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


def _by_alternatives(
    trait_sets: Sequence[frozenset[int]],
) -> tuple[list[frozenset[int]], list[frozenset[int]]]:
    """Return the sets of one trait, and those of several."""
    single = [traits for traits in trait_sets if len(traits) == 1]
    return single, [traits for traits in trait_sets if len(traits) > 1]


def _have_all(traits: Sequence[frozenset[int]]) -> list[ColumnElement[bool]]:
    """Return one condition for all traits, however many they are, or none."""
    return [fragments.has_all_traits(_provider.c.id, frozenset().union(*traits))] if traits else []


# -- providers that have something: selections of their ids ------------------------------------


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


def _of_provider(owners: Selection) -> Selection:
    """Select from a selection the provider that is looked at."""
    (owner,) = owners.selected_columns
    return owners.where(owner == _provider.c.id)


def _is_looked_up(owners: Selection) -> ColumnElement[bool]:
    """Return that a provider is in the selection; what has a LIMIT is looked up one by one."""
    return _of_provider(owners).limit(1).scalar_subquery().is_not(None)


def _anybody_gives(class_id: int, amount: int) -> ColumnElement[bool]:
    """Return that there is an inventory that gives so much at once, which an index tells."""
    if amount > fragments.LARGEST_UNIT:
        return sa.false()
    inventory = t.inventories
    largest = sa.select(sa.func.max(inventory.c.max_unit))
    largest_unit = largest.where(inventory.c.resource_class_id == class_id).scalar_subquery()
    return largest_unit >= amount
