"""Resource providers and their trees (contract resources.md section 1)."""

import uuid as uuids
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError
from sqlalchemy.sql import ColumnElement

from placement.db import dialect
from placement.db.dialect import chunks
from placement.db.fragments import Rows
from placement.db.statements import names
from placement.db.statements import providers as statements
from placement.db.writes import carry_out
from placement.errors import (
    BadParent,
    ProviderGenerationConflict,
    ProviderHasChildren,
    ProviderInUse,
    ProviderNameTaken,
    ProviderNotFound,
    ProviderUuidTaken,
    UnknownResourceClasses,
    UnknownTraits,
)
from placement.objects import catalog, identifiers, trees
from placement.objects.trees import Locked, Provider, Shown
from placement.objects.unset import UNSET, Unset


@dataclass(frozen=True, slots=True)
class ProviderFilter:
    """What a listed provider must meet; all fields at once.

    required and member_of: any of each set. resources: (class, amount) pairs, all with room.
    """

    name: str | None = None
    uuid: str | None = None
    in_tree: str | None = None
    required: tuple[frozenset[str], ...] = ()
    forbidden: frozenset[str] = frozenset()
    member_of: tuple[frozenset[str], ...] = ()
    not_member_of: frozenset[str] = frozenset()
    resources: tuple[tuple[str, int], ...] = ()


def get(conn: Connection, uuid: str) -> Provider:
    """Return the provider.  Raises ProviderNotFound."""
    rows = conn.execute(*statements.whole(identifiers.forms(uuid)))
    found = identifiers.match([uuid], {row.uuid: Provider._make(row) for row in rows})
    if uuid not in found:
        raise ProviderNotFound(uuid)
    return found[uuid]


def find(conn: Connection, wanted: ProviderFilter) -> list[Shown]:
    """Return the providers that meet the filter, in two statements.

    Raises UnknownTraits and UnknownResourceClasses for names that do not exist.
    """
    where: list[ColumnElement[bool]] = []
    if wanted.name is not None:
        where.append(statements.is_named(wanted.name))
    if wanted.uuid is not None:
        where.append(statements.named(identifiers.forms(wanted.uuid)))
    conditions = _conditions(conn, wanted)
    if conditions is None:
        return []
    where += conditions.where
    query = statements.listed(*where, some=conditions.some, none=conditions.none)
    rows = sorted(dialect.read(conn, query))
    return [
        Shown(uuid, name, generation, parent, root, dialect.moment(changed_at))
        for _id, uuid, name, generation, parent, root, changed_at in rows
    ]


@dataclass(frozen=True, slots=True)
class _Conditions:
    """What a filter asks of a provider, as `statements.listed` takes it."""

    where: list[ColumnElement[bool]]
    some: list[Rows]
    none: list[Rows]


def _conditions(conn: Connection, wanted: ProviderFilter) -> _Conditions | None:
    """The conditions that need ids of names; None when a name leaves nothing to find."""
    traits = wanted.forbidden.union(*wanted.required)
    aggregates = wanted.not_member_of.union(*wanted.member_of)
    classes = {name for name, _amount in wanted.resources}
    query = names.with_trees(
        {
            "trait": traits,
            "resource_class": classes,
            "aggregate": identifiers.spellings(*aggregates),
        },
        identifiers.forms(wanted.in_tree) if wanted.in_tree is not None else (),
    )
    known: dict[str, dict[str, int]] = {
        "trait": {}, "resource_class": {}, "aggregate": {}, "tree": {}
    }  # fmt: skip
    if query is not None:
        for kind, row_id, name, _revision in conn.execute(*query):
            known[kind][name] = row_id
    if unknown := traits - known["trait"].keys():
        raise UnknownTraits(unknown, "required", catalog.nearest(conn, "trait", unknown))
    if absent := classes - known["resource_class"].keys():
        meant = catalog.nearest(conn, "resource_class", absent)
        raise UnknownResourceClasses(absent, "resources", meant)

    in_aggregate = identifiers.by_key(known["aggregate"])

    def rows_of(uuids: Iterable[str]) -> frozenset[int]:
        nothing: frozenset[int] = frozenset()
        return nothing.union(*(in_aggregate.get(identifiers.key(uuid), ()) for uuid in uuids))

    memberships = [rows_of(term) for term in wanted.member_of]
    if not all(memberships) or (wanted.in_tree is not None and not known["tree"]):
        return None
    terms = [{known["trait"][name] for name in term} for term in wanted.required]
    single = {trait for term in terms if len(term) == 1 for trait in term}
    banned = {known["trait"][name] for name in wanted.forbidden}
    barred = rows_of(wanted.not_member_of)
    return _Conditions(
        where=[
            *(statements.in_tree(root_id) for root_id in known["tree"].values()),
            *([statements.has_all_traits(single)] if single else []),
        ],
        some=[
            *(statements.any_aggregate(term) for term in memberships),
            *(statements.any_trait(term) for term in terms if len(term) > 1),
            *(
                statements.room(known["resource_class"][name], amount)
                for name, amount in wanted.resources
            ),
        ],
        none=[
            *([statements.any_trait(banned)] if banned else []),
            *([statements.any_aggregate(barred)] if barred else []),
        ],
    )


def create(conn: Connection, name: str, uuid: str | None, parent: str | None) -> Provider:
    """Create a provider, at the root of a new tree or below its parent.

    Raises BadParent, ProviderUuidTaken, ProviderNameTaken.
    """
    uuid = (identifiers.canonical(uuid) if uuid is not None else None) or str(uuids.uuid4())
    above: Locked | None = None
    if parent is not None:
        if identifiers.canonical(parent) == uuid:
            raise BadParent(f"parent_provider_uuid: {parent} is the provider itself")
        above = trees.lock(conn, [parent]).named.get(parent)
        if above is None:
            raise BadParent(f"parent_provider_uuid: no such resource provider: {parent}")
    _refuse_clash(conn, uuid, name)
    revision = trees.fresh_revision()
    write = statements.create(
        uuid,
        name,
        parent_id=above.id if above else None,
        root_id=above.root_id if above else None,
        revision=0 if above else revision,
    )
    key = carry_out(conn, write).inserted_primary_key
    assert key is not None
    (row_id,) = key
    if above is None:
        carry_out(conn, statements.set_root([row_id], row_id))
        trees.witness(conn, {row_id: None}, revision, partial(_is_free, uuid=uuid, name=name))
    if above is not None:
        return get(conn, uuid)
    return Provider(uuid, name, 0, None, uuid, write.params["created_at"], row_id, row_id, None)


def _is_free(conn: Connection, uuid: str, name: str) -> bool:
    """Whether nobody has the uuid or name, once those who are taking them are through."""
    attempt = conn.begin_nested()
    try:
        carry_out(conn, statements.create(uuid, name, None, None, 0))
    except IntegrityError:
        return False
    finally:
        attempt.rollback()
    return True


def _refuse_clash(conn: Connection, uuid: str, name: str, but: int | None = None) -> None:
    """Raise ProviderUuidTaken or ProviderNameTaken; `but`: the row that may have them."""
    holders = {row.uuid for row in conn.execute(*statements.clashing(uuid, name)) if row.id != but}
    if uuid in holders:
        raise ProviderUuidTaken(uuid)
    if holders:
        raise ProviderNameTaken(name)


def update(
    conn: Connection, uuid: str, name: str, parent: str | Unset | None, movable: bool = True
) -> Provider:
    """Rename a provider and move it, with all below it, under another parent or to a root.

    UNSET keeps the parent; if not `movable`, only a root may be given one. Raises
    ProviderNotFound, BadParent (unknown, a loop, or not movable) and ProviderNameTaken.
    """
    named = [uuid] if parent is UNSET or parent is None else [uuid, parent]
    found = trees.lock(conn, named).named
    if uuid not in found:
        raise ProviderNotFound(uuid)
    provider = found[uuid]
    above: Locked | None = None
    if parent is not UNSET and parent is not None:
        above = found.get(parent)
        if above is None:
            raise BadParent(f"parent_provider_uuid: no such resource provider: {parent}")
    parent_id = provider.parent_id if parent is UNSET else (above.id if above else None)
    if parent_id != provider.parent_id:
        if not movable and provider.parent_id is not None:
            what = "un-parenting" if parent_id is None else "re-parenting"
            raise BadParent(
                f"parent_provider_uuid: {what} a provider is not currently allowed: "
                f"it needs microversion 1.37"
            )
        _move(conn, provider, above)
    _refuse_clash(conn, provider.uuid, name, but=provider.id)
    carry_out(conn, statements.rename(provider.id, name, parent_id))
    return get(conn, provider.uuid)


def _move(conn: Connection, provider: Locked, above: Locked | None) -> None:
    subtree = set(_below(conn, provider))
    if above is not None and above.id in subtree:
        raise BadParent(
            f"parent_provider_uuid: {above.uuid} is the provider itself or below it: "
            f"that would make a loop"
        )
    root_id = above.root_id if above else provider.id
    for chunk in chunks(sorted(subtree)):
        carry_out(conn, statements.set_root(chunk, root_id))
    if above is None:
        # The row has become the mutex of a tree of its own.
        trees.renew(conn, [provider.id])


def _below(conn: Connection, provider: Locked) -> Iterator[int]:
    """Yield the ids of the provider and of all providers below it."""
    children: dict[int | None, list[int]] = {}
    for member_id, parent_id in conn.execute(statements.members_of_tree(provider.root_id)):
        children.setdefault(parent_id, []).append(member_id)
    waiting = [provider.id]
    while waiting:
        member_id = waiting.pop()
        yield member_id
        waiting += children.get(member_id, [])


def delete(conn: Connection, uuid: str) -> None:
    """Delete a provider with its inventories, traits and aggregate memberships.

    Raises ProviderNotFound, ProviderHasChildren, ProviderInUse.
    """
    provider, _ids = trees.lock_one(conn, uuid)
    dependants = conn.execute(statements.dependants(provider.id)).one()
    if dependants.children:
        raise ProviderHasChildren(provider.uuid)
    if dependants.allocations:
        raise ProviderInUse(provider.uuid)
    for write in statements.delete(provider.id, dependants._asdict()):
        carry_out(conn, write)


def expect_generation(provider: Locked, stated: int) -> None:
    """Raise ProviderGenerationConflict unless the client's generation is the present one."""
    if provider.generation != stated:
        raise ProviderGenerationConflict(provider.uuid, stated, provider.generation)


def bump_generations(conn: Connection, increments: dict[int, int]) -> None:
    """Add to the generations of providers, by id, all of which must be there."""
    for chunk in chunks(sorted(increments)):
        part = {provider_id: increments[provider_id] for provider_id in chunk}
        carry_out(conn, statements.bump_generations(part))
