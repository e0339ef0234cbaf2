"""The consumers of trees, with all of their allocations."""

from collections.abc import Collection
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
    allocations: dict[str, dict[str, int]]
    # Provider UUID -> UUID of the root of its tree.
    root_of: dict[str, str]


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
    consumers: dict[str, HoldingConsumer] = {}
    for row in statements.held(uuids).rows(conn):
        owner = row.project, row.user, row.type
        new = HoldingConsumer(row.uuid, row.generation, *owner, {}, {})
        consumer = consumers.setdefault(row.uuid, new)
        consumer.allocations.setdefault(row.provider_uuid, {})[row.class_name] = row.used
        consumer.root_of[row.provider_uuid] = row.root_uuid
    return list(consumers.values())
