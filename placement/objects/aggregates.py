"""Aggregates that providers are in (contract resources.md section 5).

An aggregate is only a UUID, which exists from the moment it is named.
"""

from collections.abc import Mapping, Sequence

from sqlalchemy.engine import Connection

from placement.db.statements import associations
from placement.objects import catalog, identifiers, locking, providers
from placement.objects.providers import Provider
from placement.objects.unset import Unset


def of_provider(conn: Connection, uuid: str) -> tuple[Provider, list[str]]:
    """Return a provider and the aggregates that it is directly in.  Raises ProviderNotFound."""
    provider = providers.get(conn, uuid)
    return provider, [row.uuid for row in associations.aggregates_of(provider.id).rows(conn)]


def replace(
    conn: Connection, uuid: str, generation: int | Unset, wanted: Sequence[str]
) -> tuple[int, list[str]]:
    """Make these the aggregates of the provider; return its new generation and the aggregates.

    They come in the order wanted, each once, in the spelling in which it was first sent. The
    generation moves even if the set stays; with UNSET it is neither checked nor moved.
    Raises ProviderNotFound, ProviderGenerationConflict.
    """
    provider, found = locking.lock_provider(
        conn, uuid, {"aggregate": identifiers.spellings(*wanted)}
    )
    if not isinstance(generation, Unset):
        providers.check_generation(provider, generation)
    known = _known(wanted, found["aggregate"])
    unheard: dict[str, str] = {}  # key -> spelling
    for given in wanted:
        if given not in known:
            unheard.setdefault(identifiers.key(given), identifiers.new_spelling(given))
    if unheard:
        created = catalog.create(conn, {"aggregate": unheard.values()})["aggregate"]
        known |= _known(wanted, {**found["aggregate"], **created})
    aim = dict(known[given] for given in wanted)
    present = {row.id for row in associations.aggregates_of(provider.id).rows(conn)}
    associations.remove_aggregates(provider.id, present - aim.keys()).execute(conn)
    associations.add_aggregates(provider.id, aim.keys() - present).execute(conn)
    if isinstance(generation, Unset):
        return provider.generation, list(aim.values())
    providers.bump_generations(conn, {provider.id: 1})
    return provider.generation + 1, list(aim.values())


def _known(wanted: Sequence[str], ids: Mapping[str, int]) -> dict[str, tuple[int, str]]:
    """The row (id, spelling) of those wanted that have one: of several the oldest."""
    rows = {spelling: (ids[spelling], spelling) for spelling in sorted(ids, key=ids.__getitem__)}
    return identifiers.match(wanted, rows)
