"""MySQL and MariaDB, alone or as nodes of a Galera cluster."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection
from sqlalchemy.types import TypeEngine

from placement.config import DatabaseSettings
from placement.db.dialects import mysqlclient
from placement.db.dialects.errors import LOGIN, RIGHT, SHAPE, ErrorCodes
from placement.db.dialects.protocol import Dialect, Role, run
from placement.errors import ConfigurationError

LOCK = "placement schema"
LOCK_TIMEOUT = 600  # seconds

LONGEST_TEXT = 16 * 1024 * 1024  # bytes of one list of JSON; rows have no more by default

SYNC_WAIT = "wsrep_sync_wait"  # a variable that servers without Galera do not know

ERRORS = ErrorCodes(
    retriable=frozenset(
        {
            1020,  # a snapshot that is too old, where snapshots are isolated
            1180,  # on Galera, the answer to a COMMIT that meets the loss of the majority
            1205,  # waited too long for a lock
            1213,  # deadlock, or a conflict on Galera
            1317,  # interrupted
            1412,  # the table has changed
        }
    ),
    reconnect=frozenset(
        {
            1047,  # outside of the quorum
            1053,  # shutdown
            1290,  # read only, as the next two
            1792,
            1836,
            3101,  # a conflict or the loss of the majority of a replication group
        }
    ),
    # Not 1180: on Galera, changes may be applied when the nodes meet again; and not 1317 and 1969,
    # which may come while a COMMIT waits for them, nor 1053, for the server no longer knows.
    not_committed=frozenset({1205, 1213}),
    deadlock=frozenset({1213}),
    # A text of utf8mb3 ends at U+FFFF.
    unstorable=frozenset({1267, 1270, 1271, 1300, 1366, 3988}),
    duplicate=frozenset({1062}),
    too_long=frozenset({1969, 3024}),  # MariaDB, MySQL
    lasting={
        1142: RIGHT,
        1143: RIGHT,
        1227: RIGHT,
        1044: LOGIN,
        1045: LOGIN,
        1049: LOGIN,
        1698: LOGIN,
        1054: SHAPE,
        1146: SHAPE,
    },
)


class MySql(Dialect):
    """MySQL and MariaDB: statements that see what others have committed.

    MariaDB collects the transactions that a view does not show without a lock, while they end.
    MySQL does it under a lock, but is not told from MariaDB before there is a connection.
    """

    names = ("mysql", "mariadb")
    drivers = frozenset()
    extras: Mapping[str, str] = {mysqlclient.MODULE: "mysqlclient"}
    is_file = False
    begin: Mapping[Role, str] = {Role.READ: "START TRANSACTION READ ONLY"}
    isolation: Mapping[Role, str] = {Role.READ: "READ COMMITTED", Role.WRITE: "READ COMMITTED"}
    tears_views = True
    one_view = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"
    errors = ERRORS
    # INSERT IGNORE would also store what it has cut off.
    unless_present = "ON DUPLICATE KEY UPDATE id = id"
    in_written_order = "STRAIGHT_JOIN"
    by_no_index = ""
    # In one character set, whichever the column and the connection have.
    bytes_of_text = "CAST(CONVERT({} USING utf8mb4) AS BINARY)"
    locks_before_update = False

    def connect_args(self, url: URL, settings: DatabaseSettings) -> dict[str, Any]:
        """Return what one of the drivers does not do by itself."""
        return mysqlclient.arguments(url) if url.get_driver_name() == mysqlclient.DRIVER else {}

    def before_connect(self, arguments: Sequence[Any], options: Mapping[str, Any]) -> None:
        """Do nothing."""

    def open_session(self, dbapi_connection: Any, role: Role, settings: DatabaseSettings) -> None:
        """Set modes, and how long a statement waits for locks on rows and on tables."""
        lock_wait = max(1, round(settings.write_timeout))
        statements = [
            f"SET SESSION group_concat_max_len = {LONGEST_TEXT}",
            f"SET SESSION innodb_lock_wait_timeout = {lock_wait}",
            f"SET SESSION lock_wait_timeout = {lock_wait}",
        ]
        if role is Role.READ:
            statements.append("SET SESSION autocommit = 1")  # drivers differ in how to ask for it
        if settings.mysql_sql_mode:
            statements.append(f"SET SESSION sql_mode = '{settings.mysql_sql_mode}'")
        if settings.wsrep_sync_wait is not None:
            statements.append(f"SET SESSION {SYNC_WAIT} = {settings.wsrep_sync_wait}")
        run(dbapi_connection, statements)

    def limit_statements(self, engine: sa.Engine, seconds: float) -> None:
        """Set the limit of the session; that of MySQL is for SELECT only."""
        # MariaDB reads the first comment only, MySQL the second.
        statement = (
            f"SET SESSION /*M! max_statement_time = {seconds} */"
            f" /*!50708 max_execution_time = {math.ceil(seconds * 1000)} */"
        )

        @sa.event.listens_for(engine, "connect")
        def prepare(dbapi_connection: Any, _record: Any) -> None:
            run(dbapi_connection, [statement])

    def as_stored(self, number: float) -> float:
        """Return six digits, all that FLOAT shows."""
        return float(f"{number:.6g}")

    def json_row(self, columns: Sequence[tuple[str, TypeEngine[Any]]]) -> str:
        """Put the text together by hand, for JSON_ARRAY takes twice as long."""
        values = []
        for sql, kind in columns:
            value = sql
            if isinstance(kind, sa.String):
                value = f"JSON_QUOTE({sql})"
            elif isinstance(kind, sa.DateTime):
                value = f"CONCAT('\"', {sql}, '\"')"
            values.append(f"IFNULL({value}, 'null')")
        row = ", ',', ".join(values)
        return f"CONCAT('[', {row}, ']')"

    def json_rows(self, columns: Sequence[tuple[str, TypeEngine[Any]]]) -> str:
        """Join the texts of the rows."""
        return f"CONCAT('[', GROUP_CONCAT({self.json_row(columns)}), ']')"

    @contextmanager
    def migration_lock(self, conn: Connection) -> Iterator[None]:
        """Take a named lock, which the processes of one node of a cluster share.

        Raises ConfigurationError if another process keeps it for too long.
        """
        if conn.exec_driver_sql(f"SELECT GET_LOCK('{LOCK}', {LOCK_TIMEOUT})").scalar() != 1:
            raise ConfigurationError(
                f"another process has been migrating the database for {LOCK_TIMEOUT} seconds: "
                "try again when it has ended"
            )
        try:
            yield
            # Its migrations commit one by one anyway; the next process must see the last one.
            conn.exec_driver_sql("COMMIT")
        finally:
            if not conn.invalidated:  # it goes with its connection
                conn.exec_driver_sql(f"SELECT RELEASE_LOCK('{LOCK}')")

    def wait_for_replication(self, conn: Connection) -> None:
        """Have a node of a Galera cluster wait, for as long as the connection lives."""
        if conn.exec_driver_sql(f"SHOW VARIABLES LIKE '{SYNC_WAIT}'").first():
            conn.exec_driver_sql(f"SET SESSION {SYNC_WAIT} = 15")

    def gather_statistics(self, conn: Connection, tables: Sequence[str]) -> None:
        """Do nothing: it counts rows as they change."""
