"""The structure of the tables of hazards: settings with which data may be lost or requests fail."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy.engine import Connection

# Name -> value of a variable of the server (a text), or of a property of the service or its
# connections. A value that does not exist is "".
Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Hazard:
    """A hazardous state of a database, or of the connections to it."""

    # Name in the output of `db preflight`.
    name: str
    is_present: Callable[[Values], bool]
    # Description of the state. The names of values in braces are replaced by the values.
    state: str
    # What may happen, as in `state`.
    consequence: str
    # What to set or do, as in `state`.
    remedy: str
    # True for a danger: data can be lost, or requests can fail. False for a note.
    wrong: bool = True

    @property
    def line(self) -> str:
        return f"{self.name}: {self.state}: {self.consequence}; {self.remedy}"

    def describe(self, values: Values) -> "Hazard":
        """Return this hazard with texts that contain the values."""
        state, consequence, remedy = (
            text.format_map(values) for text in (self.state, self.consequence, self.remedy)
        )
        return replace(self, state=state, consequence=consequence, remedy=remedy)


@dataclass(frozen=True, slots=True, kw_only=True)
class HazardTable:
    """The hazards of an engine, and the statements that select their values.

    A statement selects either names and values, or one row whose columns are the names.
    """

    # The hazards, the worst ones first.
    hazards: Sequence[Hazard]
    # Statements that select the variables of a server and of the session.
    variables: Sequence[str]
    # Statement that selects the id of a connection and variables that the service sets for it. It
    # is empty for a file, which has no connections that a proxy could share.
    session: str = ""
    # Name of the id of the connection.
    connection: str = ""
    # Names of the variables that identify the server.
    server: Sequence[str] = ()
    # Statement that selects the lag of a replica, and the name of the lag. None for a file.
    replica: tuple[str, str] | None = None


def read_values(conn: Connection, sql: str) -> Values:
    """Execute a statement of a table of hazards."""
    result = conn.exec_driver_sql(sql)
    if len(result.keys()) == 2:
        return {str(name): value for name, value in result}
    row = result.mappings().first()
    return {} if row is None else dict(row)


def number(text: str) -> float:
    """Return the number in a value, or 0 if the value does not exist."""
    return float(text or 0)


def _accepts_too_few(values: Values) -> bool:
    of_user = number(values["max_user_connections"]) or float("inf")
    reserved = number(values["superuser_reserved_connections"])
    accepted = number(values["max_connections"]) - reserved - number(values["reserved_connections"])
    return bool(min(accepted, of_user) < values["connections"])


_OUTDATED = "reads are outdated, and writes that are based on them fail with 409"
_SET_APPLY = (
    "remove slave_connection, or let commits wait until the replica has applied them (PostgreSQL: "
    "synchronous_commit = remote_apply)"
)


def _applies_later(values: Values) -> bool:
    """Return whether a replica that serves reads applies commits after they are acknowledged."""
    is_synchronous = bool(values["synchronous_standby_names"])
    if values["lag"] in {"", None} or number(values["lag"]) >= 1:
        return False
    return not is_synchronous or values["synchronous_commit"] != "remote_apply"


# Name of the hazard of a server that accepts no writes.
READ_ONLY = "read-only"

CONNECTIONS = Hazard(
    "connections",
    _accepts_too_few,
    "max_connections is {max_connections}, and {processes} processes with {threads} threads may "
    "open {connections} connections",
    "requests fail with 503 under load",
    "increase max_connections, or reduce processes, threads, or [placement_database] max_pool_size "
    "and max_overflow",
)
REPLICATION = Hazard(
    "replication",
    lambda values: values["lag"] is None,
    "the replica of [placement_database] slave_connection does not respond, does not accept the "
    "login, or does not replicate",
    f"{_OUTDATED}, or requests fail with 503",
    "start the replication, correct slave_connection, or remove it",
)
LAG = Hazard(
    "lag",
    lambda values: number(values["lag"]) >= 1,
    "the replica of [placement_database] slave_connection lags {lag} seconds",
    _OUTDATED,
    _SET_APPLY,
    wrong=False,
)
LATER_READS = Hazard(
    "stale-reads",
    _applies_later,
    "reads use the replica of [placement_database] slave_connection",
    "reads may miss the latest acknowledged writes, and writes that are based on them fail with "
    "409",
    _SET_APPLY,
    wrong=False,
)
UNKNOWN_LAG = Hazard(
    "lag",
    lambda values: bool(values["lag_error"]),
    "the lag of the replica of [placement_database] slave_connection cannot be read, because "
    "{lag_error}",
    "reads may be outdated, and writes that are based on them fail with 409",
    "on the replica, grant REPLICA MONITOR, or on MySQL REPLICATION CLIENT",
    wrong=False,
)
