"""Find hazardous settings of a database, and measure the latency of a COMMIT.

The values of the tables of hazards have three sources: the server, a connection of the service, and
the options of the service.
"""

import random
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy.engine import Connection

from placement.config import DatabaseSettings
from placement.db import schema
from placement.db.dialects.errors import RIGHT
from placement.db.engine import Database
from placement.db.prepared import MAX_PREPARED
from placement.db.statement import Unchanged, send
from placement.db.statements import change_numbering as statements
from placement.errors import DatabaseUnavailable, DatabaseUnusable
from placement.operate.hazards import TABLES, Hazard, HazardTable, Values, find_hazards

ROUNDS = 8  # new connections, each with two transactions, with which a proxy is detected
COMMITS = 20  # whose latency is measured
POOLS = 2  # of a process, for reads and for writes
DEFAULT_PROCESSES = 2  # as in etc/gunicorn.conf.py
DEFAULT_THREADS = 32


@dataclass(frozen=True, slots=True)
class Workers:
    """The processes that use the database."""

    # Number of processes on all machines.
    processes: int = DEFAULT_PROCESSES
    # Number of threads of a process.
    threads: int = DEFAULT_THREADS

    def connections(self, settings: DatabaseSettings) -> int:
        """Return the maximum number of their connections. One more thread releases holds."""
        of_pool = min(settings.max_connections or self.threads + 1, self.threads + 1)
        return self.processes * POOLS * of_pool


def inspect(database: Database, settings: DatabaseSettings, workers: Workers) -> Sequence[Hazard]:
    """Return the hazards that are present, the worst ones first.

    Raises:
        PlacementError: the database fails.
    """
    table = TABLES[database.writer.url.get_backend_name()]
    return find_hazards(table, read_values(database, table, settings, workers))


def read_values(
    database: Database, table: HazardTable, settings: DatabaseSettings, workers: Workers
) -> Values:
    """Return all values on which hazards depend."""
    connections = workers.connections(settings)
    values: dict[str, Any] = {
        "processes": workers.processes,
        "threads": workers.threads,
        "connections": connections,
        "prepared_statements": connections * MAX_PREPARED,
        "mariadb_prepared_statements": settings.mariadb_prepared_statements,
        "postgresql_prepared_statements": settings.postgresql_prepared_statements,
    }
    # The first statements, because a proxy may stop sharing a connection after some statements.
    session_values = _session_values(database, table)
    with database.primary().read() as conn:
        for sql in table.variables:
            values |= _select(conn, sql)
        # All other character sets have names that begin with utf8.
        limited = {n: c for n, c in schema.charsets(conn).items() if not c.startswith("utf8")}
    values["charsets"] = ", ".join(f"{name} ({charset})" for name, charset in limited.items())
    if settings.slave_connection and table.replica:
        values |= _replica_values(database, *table.replica)
    return values | session_values  # of writes


def _select(conn: Connection, sql: str) -> Values:
    """Execute a statement of a table of hazards."""
    result = conn.exec_driver_sql(sql)
    if len(result.keys()) == 2:
        return {str(name): value for name, value in result}
    return dict(result.mappings().first() or {})


def _replica_values(database: Database, sql: str, name: str) -> Values:
    """Return the lag in seconds, that the replica has failed, or why its lag cannot be read."""
    try:
        with database.read() as conn:
            values = _select(conn, sql)
    except DatabaseUnavailable:
        return {"replica": "failed"}
    except DatabaseUnusable as error:
        is_connected = error.reason == RIGHT.reason  # for this statement
        return {"lag_error": error.reason} if is_connected else {"replica": "failed"}
    for column, lag in values.items():
        if column.startswith(name):
            return {"replica": "failed"} if lag is None else {"lag": lag}
    return {}


def _session_values(database: Database, table: HazardTable) -> dict[str, Any]:
    """Return how the variables of a session differ between transactions.

    `moves`: whether a proxy executes the transactions of one connection on several connections of
    the server. `lost`: names of variables that then have other values. `servers`: number of servers
    to which connections lead.
    """
    if not table.session:
        return {}
    pairs = list(_transactions(database, table.session))
    sessions = [values for pair in pairs for values in pair]
    names = sessions[0].keys() - {table.connection, *table.server}
    lost = {name for name in names if len({values[name] for values in sessions}) > 1}
    return {
        **sessions[0],
        "moves": any(first[table.connection] != last[table.connection] for first, last in pairs),
        "lost": ", ".join(sorted(lost)),
        "servers": len({tuple(map(values.get, table.server)) for values in sessions}),
    }


def _transactions(database: Database, sql: str) -> Iterator[tuple[Values, Values]]:
    """Yield the values in two transactions of a connection, for several new connections.

    During the second transaction, another client has an open transaction. It uses the connection
    that a proxy has lent to the first transaction, unless the proxy has further connections.
    """
    look = partial(_select_unchanged, sql=sql)
    for _ in range(ROUNDS):
        database.dispose()
        first = database.write(look)
        with database.primary().read() as conn:
            _select(conn, sql)
            yield first, database.write(look)


def _select_unchanged(conn: Connection, sql: str) -> Values:
    raise Unchanged(_select(conn, sql))


# -- the latency of a commit -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CommitLatency:
    """Measured durations, in seconds."""

    # Median duration of a COMMIT.
    median: float
    # Longest duration of a COMMIT.
    longest: float
    # Mean duration of a COMMIT with the statement before it. A claim holds the lock of the host's
    # tree for this time. The mean determines the rate of transactions that wait for each other.
    with_statement: float

    @property
    def claims_per_second(self) -> int:
        """Maximum rate of claims on one host, which hold the lock of its tree one after another."""
        return int(1 / self.with_statement)


def measure_commits(database: Database) -> CommitLatency | None:
    """Return the latency of commits, or None if the schema is not that of this release.

    Raises:
        DBAPIError: the user of the database may not write.

    Each transaction inserts a row and deletes it, so it changes nothing, and no other transaction
    can see the row. In contrast to an UPDATE to the same values, which InnoDB does not write, and
    to a temporary table, the database must log, flush and replicate this transaction. The table
    has no automatic ids that it would use up, and no other transaction locks the position.
    """
    with database.primary().read() as conn:
        if not schema.fits(conn):
            return None
    commits, totals = [], []
    for _ in range(COMMITS):
        began, deleted = database.write(_insert_and_delete)
        ended = time.perf_counter()
        commits.append(ended - deleted)
        totals.append(ended - began)
    return CommitLatency(statistics.median(commits), max(commits), statistics.fmean(totals))


def _insert_and_delete(conn: Connection) -> tuple[float, float]:
    """Insert and delete a row. Return the times before and after the deletion."""
    position = -random.getrandbits(62) - 1  # numberings have positive positions
    statements.insert_batch(position, 0, 0).execute(conn)
    send(conn)
    began = time.perf_counter()
    statements.delete_batches([position]).execute(conn)
    send(conn)
    return began, time.perf_counter()
