"""Which trees may serve a request, and what stands in a tree.

A `Need` is what one slot of a request asks of one provider. `window` and `rest` select the
roots of trees in which every need seems to be met; they may offer too much, never too little.
The two differ in form because engines plan them differently: `window` looks at a bounded run of
roots and evaluates each need for each (its cost is that of the run, whatever the cloud), `rest`
leaves it to the engine to start from the rarest need (its cost is that of the matches).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement

from placement.db import fragments
from placement.db import tables as t
from placement.db.fragments import Bound, Rows, Union

provider = t.resource_providers

# PERF: an alias costs far more to make than the condition that uses it, so each has one for
# all subqueries; these never stand inside one another.
_member = provider.alias("member")
_reached = provider.alias("reached")
_link = t.resource_provider_aggregates.alias("link")
_root = provider.alias("root")


@cache
def _stock(number: int) -> sa.FromClause:
    return t.inventories.alias(f"stock{number}")


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


def _serving_members(need: Need, from_members: bool) -> Rows:
    """Select the root ids of the members that meet the need, not looking at reach.

    `from_members` asks each member for its inventory, which is the way to go from a few
    members; otherwise the engine may start from the inventories of the class.
    """
    member = _member
    source: sa.FromClause = member
    where: list[ColumnElement[bool]] = []
    for number, (class_id, amount) in enumerate(need.resources):
        inventory = _stock(number)
        own = inventory.c.resource_provider_id == member.c.id
        room = [inventory.c.resource_class_id == class_id, fragments.fits(inventory, amount)]
        if from_members:
            some = sa.select(sa.literal(1)).select_from(inventory).where(own, *room)
            where.append(some.correlate(member).exists())
        else:
            source = source.join(inventory, own)
            where += room
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
    return sa.select(member.c.root_provider_id).select_from(source).where(*where)


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
    root_id: ColumnElement[int], asked: Asked, correlate: bool
) -> list[ColumnElement[bool]]:

    def among(roots: Rows) -> ColumnElement[bool]:
        if not correlate:
            return root_id.in_(roots)
        found = roots.selected_columns[0]
        return roots.where(found == root_id).exists()

    where = _root_meets(root_id, asked.root)
    own: list[ColumnElement[bool]] = []
    for need in asked.needs:
        met = among(_serving_members(need, from_members=correlate))
        own.append(met)
        where.append(sa.or_(met, among(_reached_roots(need.reach))) if need.reach else met)
    if asked.own:
        where.append(sa.or_(*own))
    return where


def window(after: int, size: int, up_to: int | None, asked: Asked) -> Bound:
    """Select (id, uuid, revision, matches) of the next `size` roots, in the order of ids.

    The run is after < id <= up_to. Fewer rows than `size` mean that it is at its end.
    """
    return _window(asked, up_to is not None), {"size": size, **_run(after, up_to)}


def rest(after: int, up_to: int | None, asked: Asked) -> Bound:
    """Select (id, uuid, revision) of all matching roots with after < id <= up_to."""
    return _rest(asked, up_to is not None), _run(after, up_to)


def _run(after: int, up_to: int | None) -> dict[str, int]:
    return {"after": after} if up_to is None else {"after": after, "up_to": up_to}


def _in_run(root_id: ColumnElement[int], bounded: bool) -> list[ColumnElement[bool]]:
    number = root_id.type
    where = [root_id > sa.bindparam("after", type_=number)]
    return [*where, root_id <= sa.bindparam("up_to", type_=number)] if bounded else where


# PERF: schedulers ask for the same few flavors again and again, window after window.
@lru_cache(maxsize=256)
def _window(asked: Asked, bounded: bool) -> Rows:
    run = (
        sa.select(provider.c.id, provider.c.uuid, provider.c.revision)
        .where(provider.c.parent_provider_id.is_(None), *_in_run(provider.c.id, bounded))
        .order_by(provider.c.id)
        .limit(sa.bindparam("size", type_=sa.Integer))
        .subquery("run")
    )
    matches = sa.and_(sa.true(), *_tree_meets(run.c.id, asked, correlate=True))
    return sa.select(run.c.id, run.c.uuid, run.c.revision, matches.label("matches")).order_by(
        run.c.id
    )


@lru_cache(maxsize=256)
def _rest(asked: Asked, bounded: bool) -> Rows:
    root = _root
    return sa.select(root.c.id, root.c.uuid, root.c.revision).where(
        root.c.parent_provider_id.is_(None),
        *_in_run(root.c.id, bounded),
        *_tree_meets(root.c.id, asked, correlate=False),
    )


def last_root() -> Rows:
    """Select the largest id of a root, or null."""
    return sa.select(sa.func.max(provider.c.id)).where(provider.c.parent_provider_id.is_(None))


# In the order of `Stock`, the value that is made of them.
_STOCK_COLUMNS = tuple(
    t.inventories.c[name] for name in ("capacity", "used", "min_unit", "max_unit", "step_size")
)

_SHARING = (
    sa.select(
        provider.c.uuid,
        _root.c.id.label("root_id"),
        _root.c.uuid.label("root_uuid"),
        _root.c.revision,
        t.placement_aggregates.c.id.label("aggregate_id"),
        t.placement_aggregates.c.uuid.label("aggregate"),
        t.inventories.c.resource_class_id.label("class_id"),
        *_STOCK_COLUMNS,
    )
    .select_from(
        t.traits.join(
            t.resource_provider_traits, t.resource_provider_traits.c.trait_id == t.traits.c.id
        )
        .join(provider, provider.c.id == t.resource_provider_traits.c.resource_provider_id)
        .join(_root, _root.c.id == provider.c.root_provider_id)
        .outerjoin(_link, _link.c.resource_provider_id == provider.c.id)
        .outerjoin(t.placement_aggregates, t.placement_aggregates.c.id == _link.c.aggregate_id)
        .outerjoin(t.inventories, t.inventories.c.resource_provider_id == provider.c.id)
    )
    .order_by(provider.c.id)
)


def sharing(trait_name: str) -> Rows:
    """Select the providers with the trait, their trees, aggregates and stock.

    One row for each (provider, aggregate, class); aggregate and class may be null.
    """
    return _SHARING.where(t.traits.c.name == trait_name)


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


_MEMBERS = (
    sa.select(
        provider.c.root_provider_id,
        provider.c.id,
        provider.c.parent_provider_id,
        provider.c.uuid,
        t.resource_classes.c.name,
        *_STOCK_COLUMNS,
    )
    .select_from(
        provider.outerjoin(
            t.inventories, t.inventories.c.resource_provider_id == provider.c.id
        ).outerjoin(
            t.resource_classes, t.resource_classes.c.id == t.inventories.c.resource_class_id
        )
    )
    .order_by(provider.c.root_provider_id, provider.c.id, t.inventories.c.resource_class_id)
)


def members(root_ids: Collection[int]) -> Rows:
    """Select the members of trees with their stock: one row an inventory, or one bare row.

    Rows of a tree stand together; parents do not always come before their children.
    """
    return _MEMBERS.where(provider.c.root_provider_id.in_(sorted(root_ids)))


_TRAITS = sa.select(
    t.resource_provider_traits.c.resource_provider_id, sa.literal("trait"), t.traits.c.name
).select_from(
    provider.join(
        t.resource_provider_traits,
        t.resource_provider_traits.c.resource_provider_id == provider.c.id,
    ).join(t.traits, t.traits.c.id == t.resource_provider_traits.c.trait_id)
)

_AGGREGATES = sa.select(
    _link.c.resource_provider_id, sa.literal("aggregate"), t.placement_aggregates.c.uuid
).select_from(
    provider.join(_link, _link.c.resource_provider_id == provider.c.id).join(
        t.placement_aggregates, t.placement_aggregates.c.id == _link.c.aggregate_id
    )
)


def tags(root_ids: Collection[int]) -> Union:
    """Select (provider id, kind, name) of the members' traits and aggregates.

    kind is `trait` or `aggregate`.
    """
    of_trees = provider.c.root_provider_id.in_(sorted(root_ids))
    return sa.union_all(_TRAITS.where(of_trees), _AGGREGATES.where(of_trees))
