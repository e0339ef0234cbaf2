"""Sharing providers, and the sets of aggregates through which trees reach them."""

from collections.abc import Iterable, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple

import orjson
import sqlalchemy as sa

from placement.db import fragments
from placement.db import tables as t
from placement.db.conditions import RootCondition, root_clauses
from placement.db.forms import by_form
from placement.db.fragments import PROVIDERS_WITH_ROOTS, ROOT, Selection
from placement.db.json_rows import JsonRow, JsonRows
from placement.db.statement import Query
from placement.vocabulary import SHARING_TRAIT

provider = t.resource_providers
_link = t.resource_provider_aggregates.alias("link")
_aggregate = t.placement_aggregates
_trait_link = t.resource_provider_traits

KIND = "sharing"
FIRST = 100  # number of sharing providers that the statement that resolves names returns


def _list(rows: Selection) -> Any:
    return sa.func.coalesce(rows.scalar_subquery(), "[]")


def _texts(sharing: sa.Subquery, *, with_traits: bool) -> Selection:
    """Select (`KIND`, id, text, number) of sharing providers, in the form of the rows of `names`.

    The text is JSON for `parse`. In a damaged database, a provider may have no root, and the text
    or the revision in it is null. The number is the id of the trait.
    """
    # A condition on the parent would let PostgreSQL scan all roots for each sharing provider, until
    # it has statistics of the providers.
    revision = sa.case((ROOT.c.parent_provider_id.is_(None), ROOT.c.revision))
    tree = (
        sa.select(JsonRow(ROOT.c.id, revision, provider.c.uuid))
        .select_from(PROVIDERS_WITH_ROOTS)
        .where(provider.c.id == sharing.c.id)
        .scalar_subquery()
    )
    aggregates = (
        sa.select(JsonRows(_aggregate.c.id, _aggregate.c.uuid))
        .select_from(_link.join(_aggregate, _aggregate.c.id == _link.c.aggregate_id))
        .where(_link.c.resource_provider_id == sharing.c.id)
    )
    stocks = fragments.stocks_of(sharing.c.id, t.inventories.c.resource_class_id)
    parts = [tree, _list(aggregates), _list(stocks)]
    if with_traits:
        traits = sa.select(JsonRows(_trait_link.c.trait_id))
        parts.append(_list(traits.where(_trait_link.c.resource_provider_id == sharing.c.id)))
    text = reduce(lambda joined, part: joined + "," + part, parts)
    return sa.select(
        sa.literal(KIND).label("kind"),
        sharing.c.id,
        ("[" + text + "]").label("text"),
        sharing.c.trait_id.label("number"),
    )


# Engines estimate that this trait is as common as others. The first providers are therefore read in
# the order of an index and with a limit. Thus, engines do not scan all providers, and PostgreSQL
# does not start its compiler.
_first = (
    sa.select(_trait_link.c.resource_provider_id.label("id"), _trait_link.c.trait_id)
    .where(
        _trait_link.c.trait_id
        == sa.select(t.traits.c.id).where(t.traits.c.name == SHARING_TRAIT).scalar_subquery()
    )
    .order_by(_trait_link.c.resource_provider_id)
    .limit(FIRST)
    .subquery("sharing")
)
FIRST_PROVIDERS = _texts(_first, with_traits=False)
FIRST_PROVIDERS_WITH_TRAITS = _texts(_first, with_traits=True)
_OTHERS = _texts(
    sa.select(_trait_link.c.resource_provider_id.label("id"), _trait_link.c.trait_id)
    .where(
        _trait_link.c.trait_id == sa.bindparam("trait", type_=sa.Integer),
        _trait_link.c.resource_provider_id > sa.bindparam("after", type_=sa.Integer),
    )
    .subquery("sharing"),
    with_traits=True,
)


def others(trait_id: int, after: int) -> Query:
    """Select sharing providers after an id, with the columns of `FIRST_PROVIDERS_WITH_TRAITS`."""
    return Query(_OTHERS, {"trait": trait_id, "after": after})


class SharingRow(NamedTuple):
    id: int
    # Id of the sharing trait.
    trait_id: int
    root_id: int
    revision: int
    # UUID of the provider, in the spelling of its row.
    uuid: str
    # (id, uuid as stored) of each aggregate.
    aggregates: list[tuple[int, str]]
    # For each class, its id and the fields of `Stock`.
    stocks: list[list[int]]
    # The ids of the traits, each in a separate list. Empty if traits were not selected.
    traits: Sequence[tuple[int]] = ()


def parse(rows: Iterable[Sequence[Any]]) -> list[SharingRow]:
    """Return the sharing providers of rows, sorted by id."""
    providers = []
    for _kind, row_id, text, trait_id in rows:
        (root_id, revision, uuid), *parts = orjson.loads(text) if text else ((0, None, ""),)
        if revision is not None:
            providers.append(SharingRow(row_id, trait_id, root_id, revision, uuid, *parts))
    return sorted(providers)


_MEMBERSHIPS = (
    sa.select(provider.c.id, provider.c.uuid, provider.c.root_provider_id, _aggregate.c.uuid)
    .select_from(
        provider.join(_link, _link.c.resource_provider_id == provider.c.id).join(
            _aggregate, _aggregate.c.id == _link.c.aggregate_id
        )
    )
    .where(
        provider.c.id.in_(
            sa.select(t.resource_provider_traits.c.resource_provider_id)
            .join(t.traits, t.traits.c.id == t.resource_provider_traits.c.trait_id)
            .where(t.traits.c.name == SHARING_TRAIT)
        )
    )
    .order_by(provider.c.id)
)


def memberships() -> Query:
    """Select (provider id, uuid, root id, aggregate uuid as stored) of all sharing providers."""
    return Query(_MEMBERSHIPS)


_BITS = 62  # aggregates in one mask, which is a signed 64-bit integer


def reached_sets(aggregates: Sequence[int], root: RootCondition) -> Query:
    """Select the distinct sets of aggregates that the members of trees are in.

    A row is a frozenset of ids. Only trees whose root satisfies the condition count.
    """
    sql, params = _reached_sets((tuple(aggregates), root))
    return Query(sql, params, parse=partial(_parse_masks, aggregates))


@by_form
def _reached_sets(form: tuple[Sequence[int], RootCondition]) -> Selection:
    aggregates, root = form
    member, link = provider.alias("member"), t.resource_provider_aggregates.alias("link")
    root_id, aggregate_id = member.c.root_provider_id, link.c.aggregate_id
    is_one = aggregate_id.in_(sorted(aggregates))
    rows = sa.select(root_id.label("root_id"), aggregate_id)
    rows = rows.select_from(link.join(member, member.c.id == link.c.resource_provider_id))
    pairs = rows.where(is_one, *root_clauses(root_id, root)).distinct().subquery("pairs")
    # Each tree is converted to a few numbers whose bits are its aggregates, so DISTINCT merges
    # equal sets.
    masks = []
    for number, part in enumerate(_parts(aggregates)):
        bits = {sa.literal(each, sa.Integer()): 1 << bit for bit, each in enumerate(part)}
        mask = sa.func.sum(sa.case(bits, value=pairs.c.aggregate_id, else_=0))
        masks.append(mask.label(f"mask{number}"))
    sums = sa.select(*masks).group_by(pairs.c.root_id).subquery("sums")
    return sa.select(*sums.c).distinct()


def _parse_masks(aggregates: Sequence[int], rows: Sequence[Any]) -> list[frozenset[int]]:
    sets = []
    for row in rows:
        aggregate_ids: list[int] = []
        for mask, part in zip(row, _parts(aggregates), strict=True):
            aggregate_ids += [part[bit] for bit in range(len(part)) if int(mask) >> bit & 1]
        sets.append(frozenset(aggregate_ids))
    return sets


def _parts(aggregates: Sequence[int]) -> list[Sequence[int]]:
    """Split aggregates into parts, each of which fits into one mask."""
    return [aggregates[start : start + _BITS] for start in range(0, len(aggregates), _BITS)]
