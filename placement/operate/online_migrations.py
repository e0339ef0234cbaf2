"""Complete the providers and consumers of very old databases."""

from collections.abc import Callable, Collection, Mapping

from sqlalchemy.engine import Connection

from placement.db import schema
from placement.db.statements import integrity as statements
from placement.errors import ConfigurationError
from placement.objects import catalog
from placement.operate import ancestry


def set_root_provider_ids(conn: Connection, limit: int, _consumer_owner: tuple[str, str]) -> int:
    """Set the root ids of up to `limit` providers that have none. Return the number of providers.

    Raises:
        ConfigurationError: the parents of a provider form a cycle.
    """
    provider_ids = [row.id for row in statements.rootless(limit).rows(conn)]
    if provider_ids:
        cyclic = ancestry.correct(conn, provider_ids)
        if cyclic:
            raise ConfigurationError(f"the parents of provider {min(cyclic)} (id) form a cycle")
    return len(provider_ids)


def record_consumers(conn: Connection, limit: int | None, consumer_owner: tuple[str, str]) -> int:
    """Create records of consumers that only have allocations. Return their number.

    Args:
        limit: maximum number of consumers, or None for all.
        consumer_owner: project and user of the records.
    """
    rows = statements.unrecorded_consumers(limit).rows(conn)
    record(conn, [row.consumer for row in rows], consumer_owner)
    return len(rows)


def record(conn: Connection, uuids: Collection[str], consumer_owner: tuple[str, str]) -> None:
    """Create records of consumers that have no records."""
    if uuids:
        project, user = consumer_owner
        ids = catalog.ensure(conn, {"project": {project}, "user": {user}})
        project_id, user_id = ids["project"][project], ids["user"][user]
        statements.record_consumers(uuids, project_id, user_id).execute(conn)


# Operators know these names from the output of the command.
MIGRATIONS: Mapping[str, Callable[..., int]] = {
    "set_root_provider_ids": set_root_provider_ids,
    "create_incomplete_consumers": record_consumers,
}


def count_rootless(conn: Connection) -> int:
    """Return the number of providers without a root id."""
    return int(statements.count(statements.rootless(None)).value(conn))


def count_unrecorded(conn: Connection) -> int:
    """Return the number of consumers that have allocations but no record."""
    return int(statements.count(statements.unrecorded_consumers()).value(conn))


def check_schema(conn: Connection) -> None:
    """Check that this release can use the schema.

    Raises:
        ConfigurationError: it cannot. The text is the refusal of `db sync` if it would refuse the
            schema, or else the advice to run it.
    """
    if not schema.fits(conn):
        refuse_unsyncable(conn)
    schema.check(conn)


def refuse_unsyncable(conn: Connection) -> None:
    """Raise ConfigurationError if `db sync` cannot migrate the schema or its incomplete rows."""
    if not schema.refuse_unknown(conn):
        return
    for count, rows in (
        (count_rootless(conn), "providers have no root id"),
        (count_unrecorded(conn), "consumers of allocations have no record"),
    ):
        if count:
            raise ConfigurationError(
                f"{count} {rows}: run placement-manage db online_data_migrations first"
            )
