"""The consumers of trees, with all of their allocations."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sqlalchemy.engine import Connection

from placement.db.statements import allocations as statements


@dataclass(frozen=True, slots=True)
class HoldingConsumer:
    """A consumer with its allocations in any tree."""

    uuid: str
    generation: int
    # External id of the project, or None in rows of very old databases.
    project: str | None
    # External id of the user, or None in rows of very old databases.
    user: str | None
    # Name of the type, or None if the consumer has no type.
    consumer_type: str | None
    # Provider UUID -> class -> units.
    allocations: Mapping[str, Mapping[str, int]]
    # Provider UUID -> UUID of the root of its tree.
    root_of: Mapping[str, str]


def get_in_trees(
    conn: Connection, root_ids: Collection[int], most: int
) -> list[HoldingConsumer] | None:
    """Return the consumers with allocations in some trees.

    Args:
        root_ids: ids of the roots of the trees.
        most: maximum number of consumers.

    Returns:
        None if there are more consumers.
    """
    uuids: set[str] = set()
    for query in statements.consumers_in_trees(root_ids):
        uuids.update(row.consumer_id for row in query.rows(conn))
        if len(uuids) > most:
            return None
    return get_for_consumers(conn, uuids)


def get_for_consumers(conn: Connection, uuids: Collection[str]) -> list[HoldingConsumer]:
    allocations: dict[str, dict[str, dict[str, int]]] = {}
    roots: dict[str, dict[str, str]] = {}
    owners = {}
    for row in statements.held(uuids).rows(conn):
        owners[row.uuid] = row
        held = allocations.setdefault(row.uuid, {})
        held.setdefault(row.provider_uuid, {})[row.class_name] = row.used
        roots.setdefault(row.uuid, {})[row.provider_uuid] = row.root_uuid
    return [
        HoldingConsumer(
            uuid,
            row.generation,
            row.project,
            row.user,
            row.type,
            allocations[uuid],
            roots[uuid],
        )
        for uuid, row in owners.items()
    ]
