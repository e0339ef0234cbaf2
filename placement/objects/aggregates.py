"""Aggregates of providers.

An aggregate is only a UUID. The first request that names it creates its row.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from sqlalchemy.engine import Connection

from placement.db.statement import Unchanged
from placement.db.statements import provider_parts, provider_snapshots
from placement.db.statements.provider_snapshots import ProviderSnapshot
from placement.objects import identifiers, provider_snapshot, providers
from placement.objects.providers import Provider
from placement.objects.tree_state import TreeChange
from placement.objects.unset import Unset


def read(conn: Connection, provider: Provider) -> list[str]:
    """Return the direct aggregates of a provider."""
    return [uuid for _provider_id, uuid in provider_parts.aggregates([provider.id]).rows(conn)]


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

    def decide(provider: ProviderSnapshot) -> TreeChange:
        rows = _rows(aggregates, provider)
        missing = [aggregate for aggregate in aggregates if aggregate not in rows]
        ids, present_ids = {row_id for row_id, _spelling in rows.values()}, provider.associated_ids
        if not isinstance(generation, Unset):
            providers.check_generation(provider, generation)
        elif not missing and ids == present_ids:
            raise Unchanged((provider.generation, _spellings(aggregates, provider, {})))
        change = provider_snapshot.change_of(provider, bump=stated)
        change.aggregates.record(provider.uuid, ids - present_ids, present_ids - ids)
        change.aggregates.created += [(provider.uuid, aggregate) for aggregate in missing]
        return change

    stated = not isinstance(generation, Unset)
    names = identifiers.spellings(*aggregates)
    reader = partial(provider_snapshots.with_aggregates, spellings=names)
    provider, created = provider_snapshot.write(conn, uuid, reader, decide)
    return provider.generation + stated, _spellings(aggregates, provider, created)


def _spellings(
    aggregates: Sequence[str], provider: ProviderSnapshot, created: Mapping[str, str]
) -> list[str]:
    """Return the spellings of rows, each once, in the order of the request."""
    rows = _rows(aggregates, provider)
    spellings = {**created, **{text: spelling for text, (_id, spelling) in rows.items()}}
    return list(dict.fromkeys(spellings[aggregate] for aggregate in aggregates))


def _rows(aggregates: Sequence[str], provider: ProviderSnapshot) -> dict[str, tuple[int, str]]:
    """Return aggregate -> (id, spelling) of its row, or of its oldest row if there are several."""
    rows: dict[str, tuple[int, str]] = {}
    for row_id, spelling in sorted((row_id, name) for row_id, name, _time in provider.entries):
        rows[spelling] = (row_id, spelling)
    return identifiers.match(aggregates, rows)
