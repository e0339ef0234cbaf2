"""Traits, and the traits of providers (contract resources.md section 4)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.engine import Connection

from placement.db.statement import Restart, Unmatched
from placement.db.statements import associations, names
from placement.errors import NotCustom, TraitInUse, TraitNotFound, UnknownTraits
from placement.objects import locking, providers
from placement.objects.locking import LockedProvider
from placement.objects.providers import Provider
from placement.vocabulary import CUSTOM_PREFIX


@dataclass(frozen=True, slots=True)
class Trait:
    """A trait and when it was made."""

    name: str
    changed_at: datetime | None


@dataclass(frozen=True, slots=True)
class TraitFilter:
    """Which traits to list: of these names, with this prefix, (not) associated; None: any."""

    names: frozenset[str] | None = None
    prefix: str | None = None
    associated: bool | None = None


def find(conn: Connection, wanted: TraitFilter) -> list[Trait]:
    """Return the traits that meet the filter."""
    conditions = []
    if wanted.names is not None:
        conditions.append(names.named("trait", wanted.names))
    if wanted.prefix is not None:
        conditions.append(names.starts_with("trait", wanted.prefix))
    if wanted.associated is not None:
        associated = names.trait_is_associated()
        conditions.append(associated if wanted.associated else ~associated)
    rows = names.dated("trait", *conditions).rows(conn)
    # Some databases compare prefixes without case.
    prefix = wanted.prefix or ""
    return [Trait(row.name, row.changed_at) for row in rows if row.name.startswith(prefix)]


def get(conn: Connection, name: str) -> Trait:
    """Return one trait.  Raises TraitNotFound."""
    for trait in find(conn, TraitFilter(names=frozenset([name]))):
        if trait.name == name:
            return trait
    raise TraitNotFound(name)


def ensure(conn: Connection, name: str) -> tuple[Trait, bool]:
    """Create a custom trait unless it exists; return it and whether it is new."""
    try:
        return get(conn, name), False
    except TraitNotFound:
        names.add("trait", [{"name": name}]).execute(conn)
        return get(conn, name), True


def delete(conn: Connection, name: str) -> None:
    """Delete a custom trait.  Raises TraitNotFound, NotCustom, TraitInUse."""
    get(conn, name)
    if not name.startswith(CUSTOM_PREFIX):
        raise NotCustom("delete", "trait", name)
    try:
        names.delete_trait(name).execute(conn)
    except Unmatched:
        if find(conn, TraitFilter(names=frozenset([name]), associated=True)):
            raise TraitInUse(name) from None
        raise


def of_provider(conn: Connection, uuid: str) -> tuple[Provider, list[Trait]]:
    """Return a provider and its traits.  Raises ProviderNotFound."""
    provider = providers.get(conn, uuid)
    rows = associations.traits_of(provider.id).rows(conn)
    return provider, [Trait(row.name, row.changed_at) for row in rows]


def replace(
    conn: Connection, uuid: str, generation: int, wanted: Collection[str]
) -> tuple[int, Sequence[Trait]]:
    """Make the names the whole set of the provider; return its generation and the traits.

    The generation moves only if the set changes. Raises ProviderNotFound,
    ProviderGenerationConflict, UnknownTraits; checked in this order.
    """
    provider, ids = locking.lock_provider(conn, uuid, {"trait": set(wanted)})
    providers.check_generation(provider, generation)
    known = ids["trait"]
    if set(wanted) - known.keys():
        raise UnknownTraits(set(wanted) - known.keys())
    wanted_ids = set(known.values())
    rows = associations.traits_of_and(provider.id, wanted_ids).rows(conn)
    traits = {row.id: Trait(row.name, row.changed_at) for row in rows if row.id in wanted_ids}
    if traits.keys() != wanted_ids:
        raise Restart  # one has been deleted
    changed = _write(conn, provider, {row.id for row in rows if row.present}, wanted_ids)
    return provider.generation + changed, sorted(traits.values(), key=lambda each: each.name)


def clear(conn: Connection, uuid: str) -> None:
    """Take all traits from a provider.  Raises ProviderNotFound."""
    provider, _ids = locking.lock_provider(conn, uuid)
    present = {row.id for row in associations.traits_of(provider.id).rows(conn)}
    _write(conn, provider, present, set())


def _write(conn: Connection, provider: LockedProvider, present: set[int], wanted: set[int]) -> bool:
    """Bring the provider to the wanted trait ids; return whether that changed anything."""
    if present == wanted:
        return False
    associations.remove_traits(provider.id, present - wanted).execute(conn)
    associations.add_traits(provider.id, wanted - present).execute(conn)
    providers.bump_generations(conn, {provider.id: 1})
    return True
