"""Resource providers: rows, trees, revisions and generations."""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement

from placement.db import fragments
from placement.db import tables as t
from placement.db.fragments import Bound, Rows

provider = t.resource_providers


_RENEW = (
    sa.update(provider)
    .where(provider.c.id.in_(fragments.many("ids", provider.c.id)))
    .values(revision=sa.bindparam("new_revision", type_=provider.c.revision.type))
)


def renew_revisions(root_ids: Collection[int], revision: int) -> Bound:
    """Give the trees a new revision; with it this transaction owns them until its end."""
    return _RENEW, {"ids": sorted(root_ids), "new_revision": revision}


def revisions(root_ids: Collection[int]) -> Rows:
    """Select (id, revision) of trees, once no other transaction has them."""
    return (
        sa.select(provider.c.id, provider.c.revision)
        .where(provider.c.id.in_(sorted(root_ids)))
        .with_for_update()
    )


_parent, _root = provider.alias("parent"), provider.alias("root")
_SHOWN = (
    provider.c.uuid,
    provider.c.name,
    provider.c.generation,
    _parent.c.uuid.label("parent_uuid"),
    _root.c.uuid.label("root_uuid"),
    sa.func.coalesce(provider.c.updated_at, provider.c.created_at).label("changed_at"),
)
_ROWS = (
    sa.select(
        *_SHOWN,
        provider.c.id,
        provider.c.root_provider_id.label("root_id"),
        provider.c.parent_provider_id.label("parent_id"),
    )
    .select_from(
        provider.outerjoin(_parent, _parent.c.id == provider.c.parent_provider_id).outerjoin(
            _root, _root.c.id == provider.c.root_provider_id
        )
    )
    .order_by(provider.c.id)
)


def shown(*conditions: ColumnElement[bool]) -> Rows:
    """Select providers as the API shows them, with the time of their last change."""
    return _ROWS.with_only_columns(*_SHOWN, maintain_column_froms=True).where(*conditions)


def named(uuids: Collection[str]) -> ColumnElement[bool]:
    """The provider has one of the uuids."""
    return provider.c.uuid.in_(sorted(uuids))


_NAMED = provider.c.uuid.in_(fragments.many("uuids", provider.c.uuid))


def _named_or_used() -> Rows:
    # As a join: an OR of the two would have engines look at every provider.
    named, allocation = provider.alias("named"), t.allocations
    ids = sa.union(
        sa.select(named.c.id).where(named.c.uuid.in_(fragments.many("uuids", named.c.uuid))),
        sa.select(allocation.c.resource_provider_id).where(
            allocation.c.consumer_id.in_(fragments.many("consumers", allocation.c.consumer_id))
        ),
    ).subquery("touched")
    return _ROWS.join(ids, ids.c.id == provider.c.id)


_TOUCHED = {False: _ROWS.where(_NAMED), True: _named_or_used()}
_NUMBERED = _ROWS.where(provider.c.id.in_(fragments.many("ids", provider.c.id)))


def touched(uuids: Collection[str], consumers: Collection[str] = ()) -> Bound:
    """Select the providers named, and all that the consumers (uuids) use.

    As `shown`, and the ids of provider, root and parent.
    """
    params = {"uuids": sorted(uuids), "consumers": sorted(consumers)}
    if not consumers:
        del params["consumers"]
    return _TOUCHED[bool(consumers)], params


def numbered(ids: Collection[int]) -> Bound:
    """Select as `touched` the providers with these ids."""
    return _NUMBERED, {"ids": sorted(ids)}


def clashing(uuid: str | None, name: str, other_than: int | None = None) -> Rows:
    """Select the uuids of providers that hold the uuid or the name."""
    taken: ColumnElement[bool] = provider.c.name == name
    if uuid is not None:
        taken = sa.or_(taken, provider.c.uuid == uuid)
    query = sa.select(provider.c.uuid).where(taken)
    return query if other_than is None else query.where(provider.c.id != other_than)


def members_of_tree(root_id: int) -> Rows:
    """Select (id, parent id) of a tree's members."""
    return sa.select(provider.c.id, provider.c.parent_provider_id).where(
        provider.c.root_provider_id == root_id
    )


def create(
    uuid: str, name: str, parent_id: int | None, root_id: int | None, revision: int
) -> sa.Insert:
    """Insert a provider; a root gets its root id afterwards by `set_root`."""
    return sa.insert(provider).values(
        uuid=uuid,
        name=name,
        generation=0,
        parent_provider_id=parent_id,
        root_provider_id=root_id,
        revision=revision,
        created_at=t.now(),
    )


def set_root(ids: Collection[int], root_id: int) -> sa.Update:
    """Make the providers members of the root's tree."""
    return (
        sa.update(provider).where(provider.c.id.in_(sorted(ids))).values(root_provider_id=root_id)
    )


def rename(provider_id: int, name: str, parent_id: int | None) -> sa.Update:
    """Set name and parent."""
    return (
        sa.update(provider)
        .where(provider.c.id == provider_id)
        .values(name=name, parent_provider_id=parent_id, updated_at=t.now())
    )


def has_children(provider_id: int) -> Rows:
    """Select a row if the provider is a parent."""
    return sa.select(provider.c.id).where(provider.c.parent_provider_id == provider_id).limit(1)


def has_allocations(provider_id: int) -> Rows:
    """Select a row if something is allocated on the provider."""
    return (
        sa.select(t.allocations.c.id)
        .where(t.allocations.c.resource_provider_id == provider_id)
        .limit(1)
    )


def delete(provider_id: int) -> Sequence[sa.Delete | sa.Update]:
    """Delete a provider and what belongs to it alone, dependants first."""
    dependants = (t.inventories, t.resource_provider_traits, t.resource_provider_aggregates)
    return [
        *(
            sa.delete(table).where(table.c.resource_provider_id == provider_id)
            for table in dependants
        ),
        # MariaDB does not delete a row that its own foreign key holds.
        sa.update(provider).where(provider.c.id == provider_id).values(root_provider_id=None),
        sa.delete(provider).where(provider.c.id == provider_id),
    ]


def bump_generations(increments: Mapping[int, int]) -> Bound:
    """Add to the generations of providers, by id."""
    params = fragments.placed(sorted(increments), step=increments)
    return _bump_generations(len(increments)), {**params, "now": t.now()}


@lru_cache(maxsize=16)
def _bump_generations(size: int) -> sa.Update:
    step = fragments.by_place(provider.c.id, size, "step", provider.c.generation)
    return (
        sa.update(provider)
        .where(provider.c.id.in_(fragments.many("ids", provider.c.id)))
        .values(
            generation=provider.c.generation + step,
            updated_at=sa.bindparam("now", type_=provider.c.updated_at.type),
        )
    )


# -- conditions of the list (contract resources.md section 1.6) -----------------------------


def is_named(name: str) -> ColumnElement[bool]:
    """The provider has exactly this name."""
    return provider.c.name == name


def in_tree(root_id: int) -> ColumnElement[bool]:
    """The provider is a member of the root's tree."""
    return provider.c.root_provider_id == root_id


def has_any_trait(traits: Collection[int]) -> ColumnElement[bool]:
    """The provider has at least one of the traits (ids)."""
    return fragments.has_any_trait(provider.c.id, traits)


def has_all_traits(traits: Collection[int]) -> ColumnElement[bool]:
    """The provider has every one of the traits (ids)."""
    return fragments.has_all_traits(provider.c.id, traits)


def in_any_aggregate(aggregates: Collection[int]) -> ColumnElement[bool]:
    """The provider is directly in at least one of the aggregates (ids)."""
    return fragments.in_any_aggregate(provider.c.id, aggregates)


def has_room(resource_class_id: int, amount: int) -> ColumnElement[bool]:
    """The provider's own inventory has room for the amount."""
    inventory = t.inventories
    return (
        sa.select(sa.literal(1))
        .select_from(inventory)
        .where(
            inventory.c.resource_provider_id == provider.c.id,
            inventory.c.resource_class_id == resource_class_id,
            fragments.fits(inventory, amount),
        )
        .exists()
    )


def roots_stocking(class_name: str) -> Rows:
    """Select (id, revision) of the roots of the trees that have an inventory of the class."""
    inventory, known = t.inventories, t.resource_classes
    return (
        sa.select(_root.c.id, _root.c.revision)
        .distinct()
        .select_from(_root)
        .join(provider, provider.c.root_provider_id == _root.c.id)
        .join(inventory, inventory.c.resource_provider_id == provider.c.id)
        .join(known, known.c.id == inventory.c.resource_class_id)
        .where(known.c.name == class_name)
    )
