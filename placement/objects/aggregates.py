"""Aggregates of providers.

An aggregate is only a UUID. The first request that names it creates its row.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import partial

from sqlalchemy.engine import Connection

from placement.db.statement import Unchanged
from placement.db.statements import associations, provider_snapshots
from placement.db.statements.provider_snapshots import ProviderSnapshot
from placement.objects import catalog, identifiers, provider_snapshot, providers
from placement.objects.providers import Provider
from placement.objects.unset import Unset


def get_for_provider(
    conn: Connection, uuid: str, seen: Callable[[Provider], object]
) -> tuple[Provider, list[str]]:
    """Return a provider and its direct aggregates (see `providers.get_with`)."""

    def read(provider: Provider) -> list[str]:
        return [row.uuid for row in associations.aggregates_of(provider.id).rows(conn)]

    return providers.get_with(conn, uuid, read, seen)


def replace(
    conn: Connection, uuid: str, generation: int | Unset, aggregates: Sequence[str]
) -> tuple[int, list[str]]:
    """Replace the aggregates of the provider; return its new generation and the aggregates.

    The result contains each aggregate once, in the order of the request and in its original
    spelling. The generation is incremented even if the set does not change. If it is UNSET, it is
    neither checked nor incremented.

    Raises:
        ProviderNotFound, ProviderGenerationConflict
        Unchanged: there is nothing to write.
    """

    def decide(provider: ProviderSnapshot) -> dict[str, int]:
        ids = {spelling: row_id for row_id, spelling, _changed_at in provider.entries}
        if not isinstance(generation, Unset):
            providers.check_generation(provider, generation)
            return ids
        rows = _rows(aggregates, ids)
        if rows.keys() == set(aggregates):
            spellings = _spellings(aggregates, rows)
            if spellings.keys() == provider.associated_ids:
                raise Unchanged((provider.generation, list(spellings.values())))
        return ids

    names = identifiers.spellings(*aggregates)
    reader = partial(provider_snapshots.with_aggregates, spellings=names)
    stated = not isinstance(generation, Unset)
    provider, ids = provider_snapshot.decide(conn, uuid, reader, decide, bump=stated)
    spellings = _ensure(conn, aggregates, ids)
    _write(conn, provider, spellings.keys())
    return provider.generation + stated, list(spellings.values())


def _write(conn: Connection, provider: ProviderSnapshot, aggregate_ids: Set[int]) -> None:
    """Add the provider to exactly these aggregates, and remove it from all others."""
    present_ids = provider.associated_ids
    associations.remove_aggregates(provider.id, present_ids - aggregate_ids).execute(conn)
    associations.add_aggregates(provider.id, aggregate_ids - present_ids).execute(conn)


def _ensure(conn: Connection, aggregates: Sequence[str], ids: Mapping[str, int]) -> dict[int, str]:
    """Return id -> spelling of the aggregates' rows, in the order of the request.

    The function creates a row for each aggregate that has none. `ids` contains the ids of the
    existing rows by spelling.
    """
    rows = _rows(aggregates, ids)
    missing = [aggregate for aggregate in aggregates if aggregate not in rows]
    if missing:
        rows |= _rows(aggregates, {**ids, **create(conn, missing)})
    return _spellings(aggregates, rows)


def create(conn: Connection, aggregates: Iterable[str]) -> dict[str, int]:
    """Create rows for aggregates that have none in any spelling. Return spelling -> id.

    If the request contains several spellings of an aggregate, the row contains the first one.
    """
    new_spellings: dict[str, str] = {}
    for aggregate in aggregates:
        spelling = identifiers.new_spelling(aggregate)
        new_spellings.setdefault(identifiers.key(aggregate), spelling)
    return catalog.create(conn, {"aggregate": new_spellings.values()})["aggregate"]


def _spellings(aggregates: Sequence[str], rows: Mapping[str, tuple[int, str]]) -> dict[int, str]:
    """Return id -> spelling of rows, in the order of the request."""
    return dict(rows[aggregate] for aggregate in aggregates)


def _rows(aggregates: Sequence[str], ids: Mapping[str, int]) -> dict[str, tuple[int, str]]:
    """Return aggregate -> (id, spelling) of its row, or of its oldest row if there are several."""
    rows: dict[str, tuple[int, str]] = {}
    for row_id, spelling in sorted((row_id, spelling) for spelling, row_id in ids.items()):
        rows[spelling] = (row_id, spelling)
    return identifiers.match(aggregates, rows)
