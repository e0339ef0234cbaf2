"""Roots whose trees may match.

`driven_roots` evaluates one part of one condition that only a few trees may satisfy.
`matching_roots` begins with such a part, and selects the roots of trees that seem to satisfy every
condition. Both may select too many roots, but never too few. `root_windows` selects the roots of
all trees.
"""

from collections.abc import Collection, Sequence

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
    member_clauses,
    root_clauses,
)
from placement.db.constructs import straight_join, without_index
from placement.db.forms import by_form
from placement.db.fragments import Selection, Union, revision_of_root
from placement.db.json_rows import JsonRows, parse_rows
from placement.db.statement import Query

# PERF: creating an alias takes much longer than creating the condition that uses it. All subqueries
# therefore share these aliases. The subqueries are never nested.
_member = t.resource_providers.alias("member")
_reached = t.resource_providers.alias("reached")
_link = t.resource_provider_aggregates.alias("link")
_trait_link = t.resource_provider_traits.alias("trait_link")
_root = t.resource_providers.alias("root")
_inventory = t.inventories


def matching_roots(after: int, tree_filter: TreeFilter, driving: DrivingCondition | None) -> Query:
    """Select (id, revision, matches) of the roots after an id, by id.

    Roots that are not returned do not match. For the revision, see `root_windows`. The statement
    begins with the `driving` condition, or with the conditions on the root for None.
    """
    sql, params = _matching_roots(tree_filter, driving)
    return Query(sql, {"after": after, **params}, parse=parse_rows)


def driven_roots(after: int, condition: MemberCondition, driver: Driver, limit: int) -> Query:
    """Select (id, revision) of the roots with a member that satisfies a part of a condition.

    A root is repeated for each such member. For the revision, see `root_windows`.
    """
    sql, params = _driven_roots(condition, driver)
    return Query(sql, {"after": after, "size": limit, **params}, parse=parse_rows)


# -- whole trees ------------------------------------------------------------------------------


def _serving_members(condition: MemberCondition) -> Selection:
    """Select the root ids of members that satisfy the condition, ignoring its reach.

    The selection is used only for the members of one tree, whose inventories are found by provider.
    """
    return sa.select(_member.c.root_provider_id).where(*member_clauses(_member, condition))


def _reached_roots(aggregates: Collection[int]) -> Selection:
    """Select the roots of trees that have a member in one of the aggregates."""
    link = _link
    return (
        sa.select(_reached.c.root_provider_id)
        .select_from(link.join(_reached, _reached.c.id == link.c.resource_provider_id))
        .where(link.c.aggregate_id.in_(sorted(aggregates)))
    )


def _tree_clause(
    root_id: ColumnElement[int], conditions: Sequence[MemberCondition], root: RootCondition
) -> ColumnElement[bool]:
    def among(roots: Selection) -> ColumnElement[bool]:
        return roots.where(roots.selected_columns[0] == root_id).exists()

    where = root_clauses(root_id, root)
    for condition in conditions:
        met = among(_serving_members(condition))
        if condition.reach:
            met = sa.or_(met, among(_reached_roots(condition.reach)))
        where.append(met)
    return sa.and_(sa.true(), *where)


# -- where the database begins ----------------------------------------------------------------


def _roots_in_aggregates(condition: MemberCondition) -> Selection:
    """Select the roots of trees with a member that is in one aggregate from each set.

    This includes conditions that the root satisfies for all members of the tree.
    """
    first, *others = condition.aggregates
    return _reached_roots(first).where(
        *(fragments.in_any_aggregate(_reached.c.id, aggregates) for aggregates in others)
    )


def _roots_with_traits(condition: MemberCondition) -> Selection:
    """Select the roots of trees with a member that has one trait from each set."""
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


def _roots_with_free_capacity(condition: MemberCondition) -> Selection:
    """Select the roots of trees with a member that has free capacity of the first class."""
    return (
        sa.select(_member.c.root_provider_id)
        .select_from(_inventory.join(_member, _member.c.id == _inventory.c.resource_provider_id))
        .where(
            _inventory.c.resource_class_id == condition.parts_of[0],
            fragments.has_free_capacity(_inventory),
        )
    )


_DRIVEN_BY = {
    Driver.AGGREGATES: _roots_in_aggregates,
    Driver.TRAITS: _roots_with_traits,
    Driver.RESOURCES: _roots_with_room,
    Driver.PARTS: _roots_with_free_capacity,
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
    """Select the distinct providers in any of the aggregates."""
    link = t.resource_provider_aggregates
    members = sa.select(link.c.resource_provider_id).where(
        link.c.aggregate_id.in_(sorted(aggregates))
    )
    return members.distinct()


def _driving_roots(
    tree_filter: TreeFilter, driving: DrivingCondition | None
) -> Selection | Union | None:
    """Select the roots that are checked one by one, or return None for all roots.

    Engines cannot estimate how rare a class, trait or aggregate is. If they begin with a rare one
    and check the other conditions for each root, they read only the rows of the rare one.
    """
    conditions = tree_filter.conditions
    if tree_filter.own and all(condition.resources for condition in conditions):
        return sa.union(*(_roots_with_room(condition) for condition in conditions))
    if driving is not None:
        select = _DRIVEN_BY[driving.driver]
        return straight_join(select(conditions[driving.index])).distinct()
    if tree_filter.root.aggregates:
        return _members_of(tree_filter.root.aggregates[0])
    if tree_filter.root.all_traits:
        return _roots_having(tree_filter.root.all_traits)
    return None


def _conditions_left(
    tree_filter: TreeFilter, driving: DrivingCondition | None
) -> Sequence[MemberCondition]:
    """Return the conditions that the driving roots do not already satisfy."""
    conditions = tree_filter.conditions
    if driving is None or tree_filter.own:
        return conditions
    condition = conditions[driving.index]
    if condition != MemberCondition(resources=condition.resources[:1], spans=condition.spans):
        return conditions
    return conditions[: driving.index] + conditions[driving.index + 1 :]


_AFTER = sa.bindparam("after", type_=t.resource_providers.c.id.type)


def _after(root: sa.FromClause) -> list[ColumnElement[bool]]:
    return [root.c.parent_provider_id.is_(None), root.c.id > _AFTER]


def _is_root(root: sa.FromClause) -> ColumnElement[bool]:
    # Otherwise, SQLite would begin with the index of parents, because it estimates that only a few
    # providers are roots.
    return without_index(root.c.parent_provider_id).is_(None)


def _is_after(root_id: ColumnElement[int]) -> ColumnElement[bool]:
    # SQLite must not begin with the ids either. If hosts are equal, it estimates that every trait
    # is common.
    return without_index(root_id) > _AFTER


_SIZE = sa.bindparam("size", type_=sa.Integer)


@by_form
def _driven_roots(condition: MemberCondition, driver: Driver) -> Selection:
    driving = _DRIVEN_BY[driver](condition)
    (root_id,) = driving.selected_columns
    rows = (
        driving.with_only_columns(_root.c.id, revision_of_root(_root))
        .join(_root, _root.c.id == root_id)
        .where(_is_root(_root), _is_after(root_id))
        .limit(_SIZE)
    )
    roots = straight_join(rows).subquery("roots")
    return sa.select(JsonRows(roots.c.id, roots.c.revision))


_ROOTS_IN_TEXT = 12  # bits of the ids in one text; a root needs about 30 bytes


@by_form
def _matching_roots(tree_filter: TreeFilter, driving: DrivingCondition | None) -> Selection:
    root = _root
    source: sa.FromClause = root
    where = _after(root)
    conditions: Sequence[MemberCondition] = tree_filter.conditions

    # Begin with the only tree that may serve the request, or with the roots that satisfy a rare
    # condition.
    pinned = _pinned_trees(conditions)
    if pinned:
        where += [root.c.id == tree for tree in pinned]
    else:
        driving_roots = _driving_roots(tree_filter, driving)
        conditions = _conditions_left(tree_filter, driving)
        if driving_roots is not None:
            first = driving_roots.subquery("first")
            source = first.join(root, root.c.id == first.c[0])
            where = [_is_root(root), _is_after(first.c[0])]

    # The other conditions are checked for each root. They are a column, because engines would begin
    # with them in a WHERE clause.
    matches = _tree_clause(root.c.id, conditions, tree_filter.root).label("matches")
    rows = sa.select(root.c.id, revision_of_root(root), matches).select_from(source).where(*where)

    roots = rows.subquery("roots")
    number = sa.case((roots.c.matches, 1), else_=0)
    texts = sa.select(JsonRows(roots.c.id, roots.c.revision, number))
    texts = texts.group_by(roots.c.id.bitwise_rshift(_ROOTS_IN_TEXT))
    return straight_join(texts)


def _pinned_trees(conditions: Sequence[MemberCondition]) -> list[int]:
    """Return the trees of conditions that only a single tree may satisfy."""
    return [
        condition.tree
        for condition in conditions
        if condition.tree is not None and not condition.reach
    ]
