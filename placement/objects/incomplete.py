"""What very old databases lack: root ids of providers, records of consumers."""

from collections.abc import Callable, Mapping

from sqlalchemy.engine import Connection

from placement.db import schema
from placement.db.dialect import chunks
from placement.db.fragments import Rows
from placement.db.statements import check as statements
from placement.db.writes import carry_out
from placement.errors import ConfigurationError
from placement.objects import catalog, trees
from placement.objects.forest import survey


def set_root_provider_ids(conn: Connection, most: int, unowned: tuple[str, str]) -> int:
    """Give providers without a root id the one that follows from their parents.

    Returns how many. Raises ConfigurationError when the parents of one of them lead in a circle.
    """
    rows = conn.execute(statements.rootless(most)).all()
    asked = [row.id for row in rows]
    parents = {row.id: row.parent_id for row in rows}
    while above := {parent for parent in parents.values() if parent is not None} - parents.keys():
        found = conn.execute(statements.parents(above)).all()
        if not found:
            break
        parents.update({row.id: row.parent_id for row in found})
    roots = survey(parents).roots
    if circling := [each for each in asked if each not in roots]:
        raise ConfigurationError(f"the parents of provider {circling[0]} (id) lead in a circle")
    if asked:
        carry_out(conn, statements.set_roots({each: roots[each] for each in asked}))
        if schema.version(conn) == schema.newest():
            trees.renew(conn, {roots[each] for each in asked})
    return len(asked)


def record_consumers(conn: Connection, most: int | None, unowned: tuple[str, str]) -> int:
    """Make records for consumers that only have allocations; `unowned`: their project and user.

    Returns how many.
    """
    missing = statements.unrecorded_consumers().limit(most)
    uuids = [row.consumer for row in conn.execute(missing)]
    if uuids:
        project, user = unowned
        ids = catalog.ensure(conn, {"project": {project}, "user": {user}})
        owner = ids["project"][project], ids["user"][user]
        for chunk in chunks(uuids):
            carry_out(conn, statements.record_consumers(chunk, *owner))
    return len(uuids)


# The names are those that operators know from the table that the command prints.
MIGRATIONS: Mapping[str, Callable[..., int]] = {
    "set_root_provider_ids": set_root_provider_ids,
    "create_incomplete_consumers": record_consumers,
}


def rootless(conn: Connection) -> int:
    """How many providers have no root id."""
    return _number(conn, statements.rootless(None))


def unrecorded(conn: Connection) -> int:
    """How many consumers have allocations and no record."""
    return _number(conn, statements.unrecorded_consumers())


def refuse(conn: Connection) -> None:
    """Raise ConfigurationError for a database that lacks something."""
    for number, what in (
        (rootless(conn), "providers have no root id"),
        (unrecorded(conn), "consumers of allocations have no record"),
    ):
        if number:
            raise ConfigurationError(
                f"{number} {what}: run placement-manage db online_data_migrations first"
            )


def _number(conn: Connection, rows: Rows) -> int:
    return int(conn.execute(statements.count(rows)).scalar_one())
