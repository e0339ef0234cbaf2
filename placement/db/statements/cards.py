"""The use of trees that contain a card, which is a provider with one of some traits."""

from collections.abc import Collection

import sqlalchemy as sa

from placement.db import bulk
from placement.db import tables as t
from placement.db.fragments import has_row
from placement.db.statement import Queries, Query, sorted_chunks

_provider, _inventory, _link = t.resource_providers, t.inventories, t.resource_provider_traits
_card = _provider.alias("card")
_of_trait = _link.join(t.traits, t.traits.c.id == _link.c.trait_id)
_has_trait = bulk.in_list(t.traits.c.name, "traits")
_is_card = has_row(_of_trait, sa.and_(_link.c.resource_provider_id == _provider.c.id, _has_trait))
_roots = (
    sa.select(_card.c.root_provider_id)
    .select_from(_of_trait.join(_card, _card.c.id == _link.c.resource_provider_id))
    .where(_has_trait)
)
_USE = (
    sa.select(
        _provider.c.id,
        _provider.c.parent_provider_id,
        _provider.c.uuid,
        _provider.c.name,
        sa.case((_is_card, 1), else_=0).label("is_card"),
        _inventory.c.resource_class_id,
        t.resource_classes.c.name.label("resource_class"),
    )
    .select_from(
        _provider.outerjoin(
            _inventory,
            sa.and_(_inventory.c.resource_provider_id == _provider.c.id, _inventory.c.used > 0),
        ).outerjoin(t.resource_classes, t.resource_classes.c.id == _inventory.c.resource_class_id)
    )
    .order_by(_provider.c.name, t.resource_classes.c.name)
)
_USE_OF_ALL = _USE.where(_provider.c.root_provider_id.in_(_roots))
_USE_IN_TREES = _USE.where(
    bulk.in_list(_provider.c.root_provider_id),
    _provider.c.root_provider_id.in_(_roots.where(bulk.in_list(_card.c.root_provider_id))),
)


def use(traits: Collection[str]) -> Query:
    """Select all providers of trees with a card, each with one of its used classes or null.

    The columns are the id, the id of the parent, the uuid, the name, whether the provider is a card
    (1 or 0), and the id and the name of the class.
    """
    return Query(_USE_OF_ALL, {"traits": sorted(traits)})


def use_in_trees(traits: Collection[str], root_ids: Collection[int]) -> Queries:
    """Select the rows of `use` in trees with these roots."""
    names = sorted(traits)
    return Queries(
        Query(_USE_IN_TREES, {"ids": ids, "traits": names}) for ids in sorted_chunks(root_ids)
    )
