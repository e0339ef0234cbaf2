"""Roots whose trees seem to match.

`driven_roots` knows one part of one condition, which few may meet. `matching_roots` selects the
roots of trees in which every condition seems to be met, beginning with such a part. They may select
too many roots, never too few. Those of all trees are in `root_windows`.
"""

from collections.abc import Collection, Sequence
from functools import lru_cache

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement

from placement.db import fragments
from placement.db import tables as t
from placement.db.conditions import (
    Driver,
    DrivingCondition,
    MemberCondition,
    RootCondition,
    TreeFilter,
    member_meets,
    root_meets,
)
from placement.db.constructs import by_no_index, in_written_order, with_numbers
from placement.db.fragments import Selection, Union, revision_of_root
from placement.db.json_rows import JsonRows, parse_rows
from placement.db.statement import Query

# PERF: an alias costs far more to make than the condition that uses it, so each has one for
# all subqueries; these never stand inside one another.
_member = t.resource_providers.alias("member")
_reached = t.resource_providers.alias("reached")
_link = t.resource_provider_aggregates.alias("link")
_trait_link = t.resource_provider_traits.alias("trait_link")
_root = t.resource_providers.alias("root")
_inventory = t.inventories


def matching_roots(after: int, tree_filter: TreeFilter, driving: DrivingCondition | None) -> Query:
    """Select (id, revision, matches) of the roots after an id, in the order of ids.

    Roots that are left out do not match. driving: None to begin with what the root must have. Of
    the revision, see `root_windows`.
    """
    return Query(_matching_roots(tree_filter, driving), {"after": after}, parse=parse_rows)


def driven_roots(after: int, condition: MemberCondition, driver: Driver, most: int) -> Query:
    """Select (id, revision) of the roots after an id with a member that meets part of a condition.

    `most` rows at the most; a root comes for each such member. Of the revision, see `root_windows`.
    """
    params = {"after": after, "size": most}
    return Query(_driven_roots(condition, driver), params, parse=parse_rows)


# -- whole trees ------------------------------------------------------------------------------


def _serving_members(condition: MemberCondition) -> Selection:
    """Select the root ids of the members that meet the condition, whatever its reach.

    It is for the members of one tree: each is looked up in the inventories.
    """
    return sa.select(_member.c.root_provider_id).where(*member_meets(_member, condition))


def _reached_roots(aggregates: Collection[int]) -> Selection:
    """Select the roots of trees with a member in one of the aggregates."""
    link = _link
    return (
        sa.select(_reached.c.root_provider_id)
        .select_from(link.join(_reached, _reached.c.id == link.c.resource_provider_id))
        .where(link.c.aggregate_id.in_(sorted(aggregates)))
    )


def _tree_meets(
    root_id: ColumnElement[int], conditions: Sequence[MemberCondition], root: RootCondition
) -> ColumnElement[bool]:
    def among(roots: Selection) -> ColumnElement[bool]:
        return roots.where(roots.selected_columns[0] == root_id).exists()

    where = root_meets(root_id, root)
    for condition in conditions:
        met = among(_serving_members(condition))
        if condition.reach:
            met = sa.or_(met, among(_reached_roots(condition.reach)))
        where.append(met)
    return sa.and_(sa.true(), *where)


# -- where the database begins ----------------------------------------------------------------


def _roots_in_aggregates(condition: MemberCondition) -> Selection:
    """Select the roots of trees with a member in one of each set of aggregates.

    Whoever spans meets that too: then the member is the root.
    """
    first, *others = condition.aggregates
    return _reached_roots(first).where(
        *(fragments.in_any_aggregate(_reached.c.id, aggregates) for aggregates in others)
    )


def _roots_with_traits(condition: MemberCondition) -> Selection:
    """Select the roots of trees with a member that has one of each set of traits."""
    link = _trait_link
    first, *others = condition.traits
    return (
        sa.select(_member.c.root_provider_id)
        .select_from(link.join(_member, _member.c.id == link.c.resource_provider_id))
        .where(
            link.c.trait_id.in_(sorted(first)),
            *(fragments.has_any_trait(_member.c.id, traits) for traits in others),
        )
    )


def _roots_with_room(condition: MemberCondition) -> Selection:
    """Select the roots of trees with a member that has room for the first of the resources."""
    (class_id, amount), *_others = condition.resources
    return (
        sa.select(_member.c.root_provider_id)
        .select_from(_inventory.join(_member, _member.c.id == _inventory.c.resource_provider_id))
        .where(_inventory.c.resource_class_id == class_id, fragments.fits(_inventory, amount))
    )


def _roots_with_some(condition: MemberCondition) -> Selection:
    """Select the roots of trees with a member that has any room of the first class in parts."""
    return (
        sa.select(_member.c.root_provider_id)
        .select_from(_inventory.join(_member, _member.c.id == _inventory.c.resource_provider_id))
        .where(
            _inventory.c.resource_class_id == condition.parts_of[0],
            fragments.has_some(_inventory),
        )
    )


_DRIVEN_BY = {
    Driver.AGGREGATES: _roots_in_aggregates,
    Driver.TRAITS: _roots_with_traits,
    Driver.RESOURCES: _roots_with_room,
    Driver.PARTS: _roots_with_some,
}


def _roots_having(traits: Collection[int]) -> Selection:
    """Select the providers that have all of the traits."""
    link = t.resource_provider_traits
    return (
        sa.select(link.c.resource_provider_id)
        .where(link.c.trait_id.in_(sorted(traits)))
        .group_by(link.c.resource_provider_id)
        .having(sa.func.count() == len(traits))
    )


def _members_of(aggregates: Collection[int]) -> Selection:
    """Select the providers in any of the aggregates, each once."""
    link = t.resource_provider_aggregates
    members = sa.select(link.c.resource_provider_id).where(
        link.c.aggregate_id.in_(sorted(aggregates))
    )
    return members.distinct()


def _driving_roots(
    tree_filter: TreeFilter, driving: DrivingCondition | None
) -> Selection | Union | None:
    """Select the roots to look at one by one; None for all.

    Engines do not know how rare a class, trait or aggregate is. If they begin with a rare one, and
    check the other conditions root by root, they read no more than what that one leaves.
    """
    conditions = tree_filter.conditions
    if tree_filter.own and all(condition.resources for condition in conditions):
        return sa.union(*(_roots_with_room(condition) for condition in conditions))
    if driving is not None:
        select = _DRIVEN_BY[driving.driver]
        return in_written_order(select(conditions[driving.place])).distinct()
    if tree_filter.root.aggregates:
        return _members_of(tree_filter.root.aggregates[0])
    if tree_filter.root.all_traits:
        return _roots_having(tree_filter.root.all_traits)
    return None


def _conditions_left(
    tree_filter: TreeFilter, driving: DrivingCondition | None
) -> Sequence[MemberCondition]:
    """Return the conditions that the driving roots do not meet already."""
    conditions = tree_filter.conditions
    if driving is None or tree_filter.own:
        return conditions
    condition = conditions[driving.place]
    if condition != MemberCondition(resources=condition.resources[:1], spans=condition.spans):
        return conditions
    return conditions[: driving.place] + conditions[driving.place + 1 :]


_AFTER = sa.bindparam("after", type_=t.resource_providers.c.id.type)


def _after(root: sa.FromClause) -> list[ColumnElement[bool]]:
    return [root.c.parent_provider_id.is_(None), root.c.id > _AFTER]


def _is_outermost(root: sa.FromClause) -> ColumnElement[bool]:
    # SQLite would begin with all roots: it takes them for few, for there are many parents.
    return by_no_index(root.c.parent_provider_id).is_(None)


def _is_after(root_id: ColumnElement[int]) -> ColumnElement[bool]:
    # Nor with all after one: where hosts are alike, it takes any trait for one that all have.
    return by_no_index(root_id) > _AFTER


_SIZE = sa.bindparam("size", type_=sa.Integer)


# PERF: schedulers ask for the same few flavors again and again.
@lru_cache(maxsize=256)
def _driven_roots(condition: MemberCondition, driver: Driver) -> Selection:
    driving = _DRIVEN_BY[driver](condition)
    (root_id,) = driving.selected_columns
    rows = (
        driving.with_only_columns(_root.c.id, revision_of_root(_root))
        .join(_root, _root.c.id == root_id)
        .where(_is_outermost(_root), _is_after(root_id))
        .limit(_SIZE)
    )
    roots = in_written_order(rows).subquery("roots")
    return with_numbers(sa.select(JsonRows(roots.c.id, roots.c.revision)))


_ROOTS_IN_TEXT = 12  # bits of an id: roots in one text, of some 30 bytes each


@lru_cache(maxsize=256)
def _matching_roots(tree_filter: TreeFilter, driving: DrivingCondition | None) -> Selection:
    root = _root
    source: sa.FromClause = root
    where = _after(root)
    conditions: Sequence[MemberCondition] = tree_filter.conditions

    # Where to begin: with the only tree that may serve, or with the roots of a rare condition.
    pinned = _pinned_trees(conditions)
    if pinned:
        where += [root.c.id == tree for tree in pinned]
    else:
        driving_roots = _driving_roots(tree_filter, driving)
        conditions = _conditions_left(tree_filter, driving)
        if driving_roots is not None:
            first = driving_roots.subquery("first")
            source = first.join(root, root.c.id == first.c[0])
            where = [_is_outermost(root), _is_after(first.c[0])]

    # All else is checked root by root. It is selected, for as a condition of the rows engines
    # would begin with it.
    matches = _tree_meets(root.c.id, conditions, tree_filter.root).label("matches")
    rows = sa.select(root.c.id, revision_of_root(root), matches).select_from(source).where(*where)

    roots = rows.subquery("roots")
    number = sa.case((roots.c.matches, 1), else_=0)
    texts = sa.select(JsonRows(roots.c.id, roots.c.revision, number))
    texts = texts.group_by(roots.c.id.bitwise_rshift(_ROOTS_IN_TEXT))
    return with_numbers(in_written_order(texts))


def _pinned_trees(conditions: Sequence[MemberCondition]) -> list[int]:
    """Return the trees of conditions that name the only one that may serve."""
    return [
        condition.tree
        for condition in conditions
        if condition.tree is not None and not condition.reach
    ]
