"""Which trees may serve a request, and what stands in a tree.

A `Need` is what one slot of a request asks of one provider. `run` selects the next roots whoever
they are, for trees that are in memory are looked at there; `rest` selects all roots of trees in
which every need seems to be met, starting from the one need that few meet. It may offer too
much, never too little.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement

from placement.db import fragments
from placement.db import tables as t
from placement.db.dialect import JsonRows, in_this_order
from placement.db.fragments import Bound, Rows, Union

provider = t.resource_providers

# PERF: an alias costs far more to make than the condition that uses it, so each has one for
# all subqueries; these never stand inside one another.
_member = provider.alias("member")
_reached = provider.alias("reached")
_link = t.resource_provider_aggregates.alias("link")
_root = provider.alias("root")
_inventory = t.inventories
_aggregate = t.placement_aggregates


@dataclass(frozen=True, slots=True)
class Need:
    """What one member of a tree must have, by ids.

    resources: (class, amount) pairs, all of them with room.
    traits: any of each set.  forbidden: none of these traits.
    aggregates: in any of each set.  not_aggregates: in none of these.
    spans: the root's aggregates count for its members too (the unsuffixed group).
    tree: the root of the only tree that may serve, if any.
    reach: a tree with a member in one of these aggregates is served from elsewhere.
    """

    resources: tuple[tuple[int, int], ...] = ()
    traits: tuple[frozenset[int], ...] = ()
    forbidden: frozenset[int] = frozenset()
    aggregates: tuple[frozenset[int], ...] = ()
    not_aggregates: frozenset[int] = frozenset()
    spans: bool = False
    tree: int | None = None
    reach: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class RootNeed:
    """What the anchor itself must have: all of `traits`, none of `forbidden` and `not_in`."""

    traits: frozenset[int] = frozenset()
    forbidden: frozenset[int] = frozenset()
    not_in: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Asked:
    """All that a tree must meet; with `own`, at least one need by a member of its own."""

    needs: tuple[Need, ...]
    root: RootNeed
    own: bool


def _serving_members(need: Need) -> Rows:
    """Select the root ids of the members that meet the need, not looking at reach.

    For the members of one tree: each of them is asked for its inventories.
    """
    member, inventory = _member, _inventory
    where: list[ColumnElement[bool]] = []
    for class_id, amount in need.resources:
        own = inventory.c.resource_provider_id == member.c.id
        some = sa.select(sa.literal(1)).select_from(inventory)
        some = some.where(own, inventory.c.resource_class_id == class_id)
        where.append(some.where(fragments.fits(inventory, amount)).correlate(member).exists())
    where += [fragments.has_any_trait(member.c.id, traits) for traits in need.traits]
    if need.forbidden:
        where.append(~fragments.has_any_trait(member.c.id, need.forbidden))
    if need.aggregates:
        own = _in_all(member.c.id, need.aggregates)
        root = _in_all(member.c.root_provider_id, need.aggregates)
        where.append(sa.or_(own, root) if need.spans else own)
    if need.not_aggregates:
        where.append(~fragments.in_any_aggregate(member.c.id, need.not_aggregates))
        if need.spans:
            where.append(
                ~fragments.in_any_aggregate(member.c.root_provider_id, need.not_aggregates)
            )
    if need.tree is not None:
        where.append(member.c.root_provider_id == need.tree)
    return sa.select(member.c.root_provider_id).where(*where)


def _with_room(need: Need) -> Rows:
    """Select the roots of trees with a member that has room for the first of the resources."""
    (class_id, amount), *_others = need.resources
    return (
        sa.select(_member.c.root_provider_id)
        .select_from(_inventory.join(_member, _member.c.id == _inventory.c.resource_provider_id))
        .where(_inventory.c.resource_class_id == class_id, fragments.fits(_inventory, amount))
    )


def _with_traits(need: Need) -> Rows:
    """Select the roots of trees with a member that has one of the first set of traits."""
    link = t.resource_provider_traits
    return (
        sa.select(_member.c.root_provider_id)
        .select_from(link.join(_member, _member.c.id == link.c.resource_provider_id))
        .where(link.c.trait_id.in_(sorted(need.traits[0])))
    )


def _in_aggregates(need: Need) -> Rows:
    """Select the roots of trees with a member in one of the first set of aggregates."""
    return _reached_roots(need.aggregates[0])


class By(Enum):
    """What of a need to start from, in the order of preference where nothing else is known."""

    AGGREGATES = "aggregates"
    TRAITS = "traits"
    RESOURCES = "resources"


_STARTING = {By.AGGREGATES: _in_aggregates, By.TRAITS: _with_traits, By.RESOURCES: _with_room}


@dataclass(frozen=True, slots=True)
class Start:
    """Where the engine is to begin: with one of the needs (by place), one that no reach helps."""

    place: int
    by: By


def _in_all(
    provider_id: ColumnElement[int], terms: Sequence[frozenset[int]]
) -> ColumnElement[bool]:
    return sa.and_(*(fragments.in_any_aggregate(provider_id, term) for term in terms))


def _reached_roots(aggregates: Collection[int]) -> Rows:
    """Select the roots of trees with a member in one of the aggregates."""
    link = _link
    return (
        sa.select(_reached.c.root_provider_id)
        .select_from(link.join(_reached, _reached.c.id == link.c.resource_provider_id))
        .where(link.c.aggregate_id.in_(sorted(aggregates)))
    )


def _root_meets(root_id: ColumnElement[int], need: RootNeed) -> list[ColumnElement[bool]]:
    where: list[ColumnElement[bool]] = []
    if need.traits:
        where.append(fragments.has_all_traits(root_id, need.traits))
    if need.forbidden:
        where.append(~fragments.has_any_trait(root_id, need.forbidden))
    if need.not_in:
        where.append(~fragments.in_any_aggregate(root_id, need.not_in))
    return where


def _tree_meets(
    root_id: ColumnElement[int], needs: Sequence[Need], root: RootNeed
) -> list[ColumnElement[bool]]:

    def among(roots: Rows) -> ColumnElement[bool]:
        return roots.where(roots.selected_columns[0] == root_id).exists()

    where = _root_meets(root_id, root)
    for need in needs:
        met = among(_serving_members(need))
        where.append(sa.or_(met, among(_reached_roots(need.reach))) if need.reach else met)
    return where


def _after(root: sa.FromClause) -> list[ColumnElement[bool]]:
    return [
        root.c.parent_provider_id.is_(None),
        root.c.id > sa.bindparam("after", type_=root.c.id.type),
    ]


def _revision(root: sa.FromClause) -> ColumnElement[int | None]:
    # Not as a condition: PostgreSQL would take it for a rare one, and sort all roots first.
    return sa.case((root.c.root_provider_id == root.c.id, root.c.revision)).label("revision")


_roots = (
    sa.select(provider.c.id, _revision(provider))
    .where(*_after(provider))
    .order_by(provider.c.id)
    .limit(sa.bindparam("size", type_=sa.Integer))
    .subquery("run")
)
_RUN = sa.select(JsonRows(_roots.c.id, _roots.c.revision))


def run(after: int, size: int) -> Bound:
    """Select, as one `JsonRows`, (id, revision) of the next `size` roots in the order of ids.

    The revision is null where the row names another root, as in a damaged database.
    """
    return _RUN, {"after": after, "size": size}


def rest(after: int, asked: Asked, start: Start | None) -> Bound:
    """Select (id, revision, matches) of the roots after an id, as several `JsonRows`.

    Roots that are left out do not match. start: None for what the root must have. Of the
    revision, see `run`.
    """
    return _rest(asked, start), {"after": after}


_MANY_ROOTS = 12  # bits of an id: roots in one text, of some 30 bytes each


# PERF: schedulers ask for the same few flavors again and again.
@lru_cache(maxsize=256)
def _rest(asked: Asked, start: Start | None) -> Rows:
    # Engines do not know how rare a class, trait or aggregate is: told to begin with one, and to
    # look at all else root by root, they read no more than what this one leaves.
    root, needs = _root, asked.needs
    first: Rows | Union | None = None
    pinned = [need.tree for need in needs if need.tree is not None and not need.reach]
    if pinned:
        pass  # there is one root to look at
    elif asked.own and all(need.resources for need in needs):
        first = sa.union(*(_with_room(need) for need in needs))
    elif start is not None:
        need = needs[start.place]
        first = in_this_order(_STARTING[start.by](need)).distinct()
        if need == Need(resources=need.resources[:1], spans=need.spans):
            needs = needs[: start.place] + needs[start.place + 1 :]  # met with that
    elif asked.root.traits:
        first = _having_traits(asked.root.traits)
    source: sa.FromClause = root
    if first is not None:
        found = first.subquery("first")
        source = found.join(root, root.c.id == found.c[0])
    matches = sa.and_(sa.true(), *_tree_meets(root.c.id, needs, asked.root)).label("matches")
    roots = (
        sa.select(root.c.id, _revision(root), matches)
        .select_from(source)
        .where(*_after(root), *(root.c.id == tree for tree in pinned))
        .subquery("roots")
    )
    whether = sa.case((roots.c.matches, 1), else_=0)
    texts = sa.select(JsonRows(roots.c.id, roots.c.revision, whether))
    return in_this_order(texts.group_by(roots.c.id.bitwise_rshift(_MANY_ROOTS)))


def _having_traits(traits: Collection[int]) -> Rows:
    link = t.resource_provider_traits
    return (
        sa.select(link.c.resource_provider_id)
        .where(link.c.trait_id.in_(sorted(traits)))
        .group_by(link.c.resource_provider_id)
        .having(sa.func.count() == len(traits))
    )


def outermost_roots() -> Rows:
    """Select the smallest and the largest id of a root, or nulls."""
    return sa.select(sa.func.min(provider.c.id), sa.func.max(provider.c.id)).where(
        provider.c.parent_provider_id.is_(None)
    )


# In the order of `Stock`, the value that is made of them.
_STOCK_COLUMNS = tuple(
    t.inventories.c[name] for name in ("capacity", "used", "min_unit", "max_unit", "step_size")
)

_SHARING = (
    sa.select(
        provider.c.uuid,
        _root.c.id.label("root_id"),
        _root.c.revision,
        _aggregate.c.id.label("aggregate_id"),
        _aggregate.c.uuid.label("aggregate"),
        _inventory.c.resource_class_id.label("class_id"),
        *_STOCK_COLUMNS,
    )
    .select_from(
        provider.join(_root, _root.c.id == provider.c.root_provider_id)
        .outerjoin(_link, _link.c.resource_provider_id == provider.c.id)
        .outerjoin(_aggregate, _aggregate.c.id == _link.c.aggregate_id)
        .outerjoin(_inventory, _inventory.c.resource_provider_id == provider.c.id)
    )
    # By id, and not joined: engines would take the trait for as common as others, and look at
    # every provider.
    .where(
        _root.c.parent_provider_id.is_(None),  # not so in a damaged database
        provider.c.id.in_(
            sa.select(t.resource_provider_traits.c.resource_provider_id).where(
                t.resource_provider_traits.c.trait_id == sa.bindparam("trait", type_=sa.Integer)
            )
        ),
    )
    .order_by(provider.c.id)
)


def sharing(trait_id: int) -> Bound:
    """Select the providers with the trait, their trees, aggregates and stock.

    One row for each (provider, aggregate, class); aggregate and class may be null.
    """
    return _SHARING, {"trait": trait_id}


BITS = 62  # aggregates in one signed 64-bit mask


def reaches(aggregates: Sequence[int], root_need: RootNeed) -> Rows:
    """Select the distinct sets of the aggregates that trees have members in.

    A row is one set: mask k holds bit i for aggregate number BITS * k + i of the sequence. Only
    trees whose root meets the need count.
    """
    member, link = provider.alias("member"), t.resource_provider_aggregates.alias("link")
    pairs = (
        sa.select(member.c.root_provider_id.label("root_id"), link.c.aggregate_id)
        .select_from(link.join(member, member.c.id == link.c.resource_provider_id))
        .where(
            link.c.aggregate_id.in_(sorted(aggregates)),
            *_root_meets(member.c.root_provider_id, root_need),
        )
        .distinct()
        .subquery("pairs")
    )
    masks = []
    for start in range(0, len(aggregates), BITS):
        bits = {
            aggregate: 1 << position
            for position, aggregate in enumerate(aggregates[start : start + BITS])
        }
        bit = sa.case(bits, value=pairs.c.aggregate_id, else_=0)
        masks.append(sa.func.sum(bit).label(f"mask{start // BITS}"))
    sums = sa.select(*masks).group_by(pairs.c.root_id).subquery("sums")
    return sa.select(*sums.c).distinct()


def _of_member(rows: JsonRows, source: sa.FromClause, member_id: ColumnElement[int]) -> Any:
    return (
        sa.select(rows)
        .select_from(source)
        .where(member_id == provider.c.id)
        .correlate(provider)
        .scalar_subquery()
    )


_MEMBERS = sa.select(
    provider.c.root_provider_id,
    provider.c.id,
    provider.c.parent_provider_id,
    provider.c.uuid,
    _of_member(
        JsonRows(t.resource_classes.c.name, *_STOCK_COLUMNS),
        _inventory.join(
            t.resource_classes, t.resource_classes.c.id == _inventory.c.resource_class_id
        ),
        _inventory.c.resource_provider_id,
    ).label("stocks"),
    _of_member(
        JsonRows(t.resource_provider_traits.c.trait_id),
        t.resource_provider_traits,
        t.resource_provider_traits.c.resource_provider_id,
    ).label("traits"),
    _of_member(
        JsonRows(_aggregate.c.uuid),
        _link.join(_aggregate, _aggregate.c.id == _link.c.aggregate_id),
        _link.c.resource_provider_id,
    ).label("aggregates"),
).where(provider.c.root_provider_id.in_(fragments.many("roots", provider.c.root_provider_id)))


def members(root_ids: Collection[int]) -> Bound:
    """Select the members of trees with all that they have, in any order.

    A row is (root id, id, parent id, uuid, stocks, traits, aggregates); the last three are
    `JsonRows` of (class, the fields of `Stock`), (trait id) and (uuid).
    """
    return _MEMBERS, {"roots": sorted(root_ids)}


_TRAIT_NAMES = sa.select(t.traits.c.id, t.traits.c.name).where(
    t.traits.c.id.in_(fragments.many("ids", t.traits.c.id))
)


def trait_names(ids: Collection[int]) -> Bound:
    """Select (id, name) of traits."""
    return _TRAIT_NAMES, {"ids": sorted(ids)}
