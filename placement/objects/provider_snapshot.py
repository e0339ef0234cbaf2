"""Writes of one provider, which read it with one statement."""

from collections.abc import Callable, Collection

from sqlalchemy.engine import Connection

from placement.db.statement import Queries
from placement.db.statements.provider_snapshots import ProviderSnapshot
from placement.errors import ProviderNotFound
from placement.objects import identifiers, tree_writer
from placement.objects.tree_state import TreeChange
from placement.objects.tree_writer import Spellings

# Function that returns the statement that reads a provider. Its argument contains the possible
# forms of the uuid.
Reader = Callable[[Collection[str]], Queries]


def write(
    conn: Connection, uuid: str, reader: Reader, decide: Callable[[ProviderSnapshot], TreeChange]
) -> tuple[ProviderSnapshot, Spellings]:
    """Determine a change of a provider, lock its tree, and write the change.

    Args:
        reader: returns the statement that reads it.
        decide: returns the change for a snapshot, or raises; it may be called twice.

    Returns:
        The provider before the change, and the spellings of new aggregates.

    Raises:
        ProviderNotFound, the errors of `decide`
        Restart: the provider moves between trees concurrently.
    """
    is_complete = tree_writer.later_views(conn, uuid)
    provider, _, spellings = tree_writer.write(
        conn, lambda: _read(conn, uuid, reader), decide, is_complete
    )
    return provider, spellings


def change_of(provider: ProviderSnapshot, *, bump: bool = True) -> TreeChange:
    """Return an empty change of a provider, which may increment its generation."""
    bumped = {provider.id: provider.generation} if bump else {}
    return TreeChange({provider.uuid: provider.id}, provider.root_uuid, bumped)


def _read(conn: Connection, uuid: str, reader: Reader) -> ProviderSnapshot:
    providers: dict[str, ProviderSnapshot] = {}
    for row in reader(identifiers.stored_forms(uuid)).rows(conn):
        # For many class or trait names, the reader returns several statements, each with some of
        # the entries.
        if row.uuid in providers:
            providers[row.uuid].entries.extend(row.entries)
        else:
            providers[row.uuid] = row
    matches = identifiers.match([uuid], providers)
    if uuid not in matches:
        raise ProviderNotFound(uuid)
    return matches[uuid]
