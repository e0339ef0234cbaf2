"""Traits, and the traits of providers."""

from collections.abc import Collection, Sequence
from functools import partial
from typing import NamedTuple

from sqlalchemy.engine import Connection

from placement.db.statement import Unchanged
from placement.db.statements import associations, names, provider_snapshots
from placement.db.statements.provider_snapshots import ProviderSnapshot
from placement.errors import NameNotDistinct, NotCustom, TraitInUse, TraitNotFound, UnknownTraits
from placement.objects import catalog, provider_snapshot, providers
from placement.objects.catalog import Entry
from placement.objects.providers import Provider
from placement.objects.tree_state import TreeChange
from placement.vocabulary import CUSTOM_PREFIX


class TraitFilter(NamedTuple):
    """The traits to list."""

    # Accepted names, or None for any.
    names: frozenset[str] | None = None
    # Prefix of the names, or None for any.
    prefix: str | None = None
    # Whether a provider has the trait. None accepts both.
    associated: bool | None = None


def find(conn: Connection, trait_filter: TraitFilter) -> list[Entry]:
    """Return the traits that satisfy the filter."""
    return catalog.entries(conn, "trait", *trait_filter)


def get(conn: Connection, name: str) -> Entry:
    """Return one trait.  Raises TraitNotFound."""
    for entry in catalog.entries(conn, "trait", [name]):
        return entry
    raise TraitNotFound(name)


def ensure(conn: Connection, name: str) -> tuple[Entry, bool]:
    """Create a custom trait unless it exists. Return the trait, and whether it was created.

    Raises:
        NameNotDistinct: the database does not distinguish it from an existing trait.
    """
    for row in names.entries_with_times("trait", [name]).rows(conn):
        if row.name != name:
            raise NameNotDistinct("trait", name, row.name)
        return Entry(row.name, row.changed_at), False
    names.add("trait", [{"name": name}]).execute(conn)
    return get(conn, name), True


def delete(conn: Connection, name: str) -> None:
    """Delete a custom trait.  Raises TraitNotFound, NotCustom, TraitInUse."""
    get(conn, name)
    if not name.startswith(CUSTOM_PREFIX):
        raise NotCustom("delete", "trait", name)
    catalog.delete_unused(conn, "trait", name, TraitInUse(name))


def read(conn: Connection, provider: Provider) -> list[Entry]:
    rows = associations.traits_of(provider.id).rows(conn)
    return [Entry(row.name, row.changed_at) for row in rows]


def replace(
    conn: Connection, uuid: str, generation: int, trait_names: Collection[str]
) -> tuple[int, Sequence[Entry]]:
    """Replace the traits of the provider. Return its generation and the traits by name.

    The generation is incremented only if the set changes.

    Raises:
        ProviderNotFound, ProviderGenerationConflict, UnknownTraits: in this order.
        Unchanged: the provider has these traits.
    """

    def decide(provider: ProviderSnapshot) -> TreeChange:
        providers.check_generation(provider, generation)
        ids = catalog.match(trait_names, provider.entries)
        unknown = set(trait_names) - ids.keys()
        if unknown:
            raise UnknownTraits(unknown, hint=catalog.hint(conn, "trait", unknown))
        return _replacement(provider, set(ids.values()))

    reader = partial(provider_snapshots.with_traits, trait_names=trait_names)
    provider, _ = provider_snapshot.write(conn, uuid, reader, decide)
    return provider.generation + 1, _requested_traits(provider)


def clear(conn: Connection, uuid: str) -> None:
    """Remove all traits from a provider. Raises ProviderNotFound, or Unchanged if it has none."""
    reader = partial(provider_snapshots.with_traits, trait_names=())
    provider_snapshot.write(conn, uuid, reader, lambda provider: _replacement(provider, set()))


def _replacement(provider: ProviderSnapshot, trait_ids: set[int]) -> TreeChange:
    """Return the change that sets the traits of a provider.

    If another transaction has deleted a trait, the statement violates a constraint, and the write
    is repeated.

    Raises:
        Unchanged: the provider has these traits.
    """
    present_ids = provider.associated_ids
    if trait_ids == present_ids:
        raise Unchanged((provider.generation, _requested_traits(provider)))
    change = provider_snapshot.change_of(provider)
    change.traits.record(provider.uuid, trait_ids - present_ids, present_ids - trait_ids)
    return change


def _requested_traits(provider: ProviderSnapshot) -> Sequence[Entry]:
    """Return the existing traits of the request, by name."""
    # Collect the traits by id. Many names require several statements, and each of these may return
    # the same trait.
    by_id = {row_id: Entry(name, changed_at) for row_id, name, changed_at in provider.entries}
    return sorted(by_id.values(), key=lambda trait: trait.name)
