"""MySQL and MariaDB, as single servers or as nodes of a Galera cluster."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection
from sqlalchemy.types import TypeEngine

from placement.config import DatabaseSettings
from placement.db.dialects import mysqlclient
from placement.db.dialects.errors import COLLATIONS, LOGIN, RIGHT, SETTING, SHAPE, TLS, ErrorCodes
from placement.db.dialects.protocol import Dialect, Role, run
from placement.errors import ConfigurationError

LOCK = "placement schema"
LOCK_TIMEOUT = 600  # seconds

# Maximum size of one JSON list in bytes (`group_concat_max_len`). It is the default limit of a row.
MAX_TEXT_SIZE = 16 * 1024 * 1024

# Character sets of connections. The tables may have any character set.
UNICODE = ("utf8mb4", "utf8mb3", "utf8")

# A variable that exists only on servers with Galera.
SYNC_WAIT = "wsrep_sync_wait"

READ_ONLY = frozenset({1290, 1792, 1836})

ERRORS = ErrorCodes(
    retriable=frozenset(
        {
            1020,  # the snapshot is too old (with innodb_snapshot_isolation)
            1180,  # on Galera, the result of a COMMIT while the quorum is being lost
            1205,  # timeout while waiting for a lock
            1213,  # deadlock, or a conflict on Galera
            1317,  # interrupted
            1412,  # the table definition has changed
        }
    ),
    reconnect=frozenset(
        {
            1047,  # no quorum
            1053,  # shutdown
            # A member that has left a replication group of MySQL, or has to wait for the group.
            *(3032, 3100, 3101, 3781, 3782, 3783, 3796, 3797, 3798, 3799),
        }
    )
    | READ_ONLY,
    read_only=READ_ONLY,
    # Without 1180: on Galera, the changes may be applied when the nodes rejoin. Without 1317 and
    # 1969: they may occur while a COMMIT waits for the other nodes. Without 1053: a server that is
    # shutting down does not report an outcome. A server that accepts only reads rolls back.
    not_committed=frozenset({1205, 1213}) | READ_ONLY,
    deadlock=frozenset({1213}),
    # utf8mb3 cannot store characters above U+FFFF.
    unstorable=frozenset({1300, 1366, 3854, 3988}),
    incomparable=frozenset({1267, 1270, 1271, 1300, 3854, 3988}),
    duplicate=frozenset({1062}),
    too_long=frozenset({1969, 3024}),  # MariaDB, MySQL
    permanent={
        1142: RIGHT,
        1143: RIGHT,
        1227: RIGHT,
        1044: LOGIN,
        1045: LOGIN,
        1049: LOGIN,
        1129: LOGIN,  # the server has blocked the host
        1130: LOGIN,
        1251: LOGIN,  # the client does not support the method of authentication
        1698: LOGIN,
        1820: LOGIN,  # the password has expired, as with 1862
        1862: LOGIN,
        3118: LOGIN,  # the account is locked, on MySQL
        4151: LOGIN,  # the same on MariaDB
        1193: SETTING,
        1231: SETTING,
        3159: TLS,  # the server requires TLS
        1054: SHAPE,
        1146: SHAPE,
        1267: COLLATIONS,
        1270: COLLATIONS,
        1271: COLLATIONS,
    },
    # Errors of the drivers. Their codes are also used for handshakes that were interrupted.
    permanent_patterns={
        re.compile(
            "SSL is required|certificate verif.* fail|insecure transport", re.IGNORECASE
        ): TLS
    },
)


class MySql(Dialect):
    """MySQL and MariaDB, at READ COMMITTED.

    A view of MariaDB may be torn, because MariaDB lists the running transactions without a lock
    while some of them end. MySQL locks this list. The service cannot distinguish the two databases
    before it has a connection.
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
    # This is not INSERT IGNORE, which would also store truncated values. MySQL refuses `id = id` if
    # the statement has generated an id for another row (1869).
    unless_present = "ON DUPLICATE KEY UPDATE created_at = created_at"
    straight_join = "STRAIGHT_JOIN"
    force_index = "FORCE INDEX ({})"
    without_index = ""
    # The columns and the connection may have different character sets.
    any_text = "CONVERT({} USING utf8mb4)"
    ascii_text = "CONVERT({} USING ascii)"
    bytes_of_text = f"CAST({any_text} AS BINARY)"
    # The time is in UTC, because local times repeat at the end of summer time.
    clock = "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000)"
    locks_before_update = False
    generic_plans = False

    def connect_args(self, url: URL, settings: DatabaseSettings) -> dict[str, Any]:
        """Return the mode of the session, and secure defaults of the driver.

        SQLAlchemy reads the mode when it is connected, and then quotes names accordingly.
        """
        mode = {"sql_mode": settings.mysql_sql_mode} if settings.mysql_sql_mode else {}
        charset = url.query.get("charset", "utf8mb4")
        if charset not in UNICODE:
            raise ValueError(
                f"charset={charset}: a connection must transfer all characters; use utf8mb4, for "
                "tables with any character set"
            )
        driver = url.get_driver_name()
        if driver == mysqlclient.DRIVER:
            return mode | mysqlclient.arguments(url)
        if driver == "pymysql":
            # PERF: importing the driver takes time, and other databases do not need the driver.
            from placement.db.dialects import pymysql  # noqa: PLC0415

            return mode | pymysql.arguments(url)
        return mode

    def before_connect(self, arguments: Sequence[Any], options: Mapping[str, Any]) -> None:
        """Do nothing."""

    def open_session(self, dbapi_connection: Any, role: Role, settings: DatabaseSettings) -> None:
        """Set the limit of texts, and the timeouts for row locks and table locks."""
        if hasattr(dbapi_connection, "server_capabilities"):  # PyMySQL
            from placement.db.dialects import pymysql  # noqa: PLC0415

            pymysql.refuse_plain_text(dbapi_connection)
        lock_wait = max(1, round(settings.write_timeout))
        statements = [
            f"SET SESSION group_concat_max_len = {MAX_TEXT_SIZE}",
            f"SET SESSION innodb_lock_wait_timeout = {lock_wait}",
            f"SET SESSION lock_wait_timeout = {lock_wait}",
        ]
        if role is Role.READ:
            # The drivers have different options for autocommit.
            statements.append("SET SESSION autocommit = 1")
        if settings.wsrep_sync_wait is not None:
            statements.append(f"SET SESSION {SYNC_WAIT} = {settings.wsrep_sync_wait}")
        run(dbapi_connection, statements)

    def limit_statements(self, engine: sa.Engine, seconds: float) -> None:
        """Set the limit of the session. MySQL applies it only to SELECT statements."""
        # MariaDB executes only the first comment, and MySQL only the second one.
        statement = (
            f"SET SESSION /*M! max_statement_time = {seconds} */"
            f" /*!50708 max_execution_time = {math.ceil(seconds * 1000)} */"
        )

        @sa.event.listens_for(engine, "connect")
        def prepare(dbapi_connection: Any, _record: Any) -> None:
            run(dbapi_connection, [statement])

    def as_stored(self, number: float) -> float:
        """Round to six digits, as FLOAT does."""
        return float(f"{number:.6g}")

    def json_row(self, columns: Sequence[tuple[str, TypeEngine[Any]]]) -> str:
        """Concatenate the text, because JSON_ARRAY takes twice as long."""
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
        return f"CONCAT('[', GROUP_CONCAT({self.json_row(columns)}), ']')"

    @contextmanager
    def migration_lock(self, conn: Connection) -> Iterator[None]:
        """Acquire a named lock. The lock is local to a node of a cluster.

        Raises:
            ConfigurationError: another process holds it for too long.
        """
        if conn.exec_driver_sql(f"SELECT GET_LOCK('{LOCK}', {LOCK_TIMEOUT})").scalar() != 1:
            raise ConfigurationError(
                f"another process has been migrating the database for {LOCK_TIMEOUT} seconds: "
                "try again when it has finished"
            )
        try:
            yield
            # Each migration commits separately, and the next process must see all of them.
            conn.exec_driver_sql("COMMIT")
        finally:
            if not conn.invalidated:  # the lock ends with the connection
                conn.exec_driver_sql(f"SELECT RELEASE_LOCK('{LOCK}')")

    def wait_for_replication(self, conn: Connection) -> None:
        """Make later statements of the connection wait for the pending writes of the cluster."""
        if conn.exec_driver_sql(f"SHOW VARIABLES LIKE '{SYNC_WAIT}'").first():
            conn.exec_driver_sql(f"SET SESSION {SYNC_WAIT} = 15")

    def charsets(self, conn: Connection) -> Mapping[str, str]:
        rows = conn.exec_driver_sql(
            "SELECT CONCAT(table_name, '.', column_name), character_set_name"
            " FROM information_schema.columns"
            " WHERE table_schema = DATABASE() AND character_set_name IS NOT NULL"
        )
        return {row[0]: row[1] for row in rows}

    def gather_statistics(self, conn: Connection, tables: Sequence[str]) -> None:
        """Do nothing, because InnoDB maintains the statistics."""
