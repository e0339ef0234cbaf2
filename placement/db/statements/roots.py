"""Roots whose trees may match.

`driven_roots` evaluates one part of one condition that only a few trees may satisfy, so it may
select too many roots, but never too few. The search checks the other conditions in memory, which is
faster than SQL. `root_windows` selects the roots of all trees.
"""

from collections.abc import Sequence

import sqlalchemy as sa

from placement.db import fragments
from placement.db import tables as t
from placement.db.conditions import Driver, DrivingCondition, MemberCondition
from placement.db.constructs import straight_join, without_index
from placement.db.forms import by_form
from placement.db.fragments import Selection, revision_of_root
from placement.db.json_rows import JsonRows, parse_rows
from placement.db.statement import Query

# PERF: creating an alias takes much longer than creating the condition that uses it. All subqueries
# therefore share these aliases. The subqueries are never nested.
_member = t.resource_providers.alias("member")
_link = t.resource_provider_aggregates.alias("link")
_trait_link = t.resource_provider_traits.alias("trait_link")
_root = t.resource_providers.alias("root")
_inventory = t.inventories


def driven_roots(after: int, driving: tuple[DrivingCondition, ...]) -> Query:
    """Select (id, revision) of the roots after an id with a member that one condition admits.

    For the revision, see `root_windows`.
    """
    sql, params = _driven_roots(driving)
    return Query(sql, {"after": after, **params}, parse=parse_rows)


def _roots_of_trees(condition: MemberCondition) -> Selection:
    return sa.select(_member.c.root_provider_id).where(_member.c.id == condition.tree)


def _roots_in_aggregates(condition: MemberCondition) -> Selection:
    """Select the roots of trees with a member that is in one aggregate from each set.

    This includes conditions that the root satisfies for all members of the tree.
    """
    first, *others = condition.aggregates
    return (
        sa.select(_member.c.root_provider_id)
        .select_from(_link.join(_member, _member.c.id == _link.c.resource_provider_id))
        .where(
            _link.c.aggregate_id.in_(sorted(first)),
            *(fragments.in_any_aggregate(_member.c.id, aggregates) for aggregates in others),
        )
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
    Driver.TREE: _roots_of_trees,
    Driver.AGGREGATES: _roots_in_aggregates,
    Driver.TRAITS: _roots_with_traits,
    Driver.RESOURCES: _roots_with_room,
    Driver.PARTS: _roots_with_free_capacity,
}


_AFTER = sa.bindparam("after", type_=t.resource_providers.c.id.type)
_ROOTS_IN_TEXT = 12  # bits of the ids in one text; a root needs about 30 bytes


@by_form
def _driven_roots(driving: Sequence[DrivingCondition]) -> Selection:
    # Engines cannot estimate how rare a class, trait or aggregate is. If they begin with a rare
    # one, they read only its rows.
    selections = [_DRIVEN_BY[each.driver](each.condition) for each in driving]
    if len(selections) == 1:
        # SQLite would begin with the index of roots, in whose order the ids are distinct.
        (root_id,) = selections[0].selected_columns
        distinct = selections[0].with_only_columns(without_index(root_id).label("id")).distinct()
        first: sa.FromClause = straight_join(distinct).subquery("first")
    else:
        first = sa.union(*selections).subquery("first")
    root_id = first.c[0]
    rows = (
        sa.select(_root.c.id, revision_of_root(_root))
        .select_from(first.join(_root, _root.c.id == root_id))
        # Otherwise, SQLite would begin with the index of parents, because it estimates that only a
        # few providers are roots, or with the ids: if hosts are equal, it estimates that every
        # trait is common.
        .where(without_index(_root.c.parent_provider_id).is_(None), without_index(root_id) > _AFTER)
    )
    roots = rows.subquery("roots")
    texts = sa.select(JsonRows(roots.c.id, roots.c.revision))
    texts = texts.group_by(roots.c.id.bitwise_rshift(_ROOTS_IN_TEXT))
    return straight_join(texts)
