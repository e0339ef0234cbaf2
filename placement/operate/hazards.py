"""Settings of databases with which data may be lost or requests may fail, as one table per engine.

A hazard is a line `KIND NAME | UNSAFE | STATE | CONSEQUENCE | REMEDY` with indented continuations.
Dangers come first, the worst ones before the others.

KIND: `danger`, or `note` if neither data can be lost nor requests can fail.
UNSAFE: comparisons, joined by `and` and `or`, such as `log_bin = ON and sync_binlog != 1`. The left
    side is the name of a value, or several names, separated by `/`, of which servers have one. The
    right side of `=` and `!=` consists of texts. The one of `<` and `>` is a number, or the name of
    a value. A comparison with a value that does not exist is false.
STATE: what is unsafe, by default `{variable} is {value}`. In this and the following texts, names of
    values in braces are replaced by the values, `variable` and `value` by the first comparison.
CONSEQUENCE, REMEDY: what may happen, and what to set or do.

A value is a variable of the server, or one of the values that `preflight` collects.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

# Name -> value.
Values = Mapping[str, Any]

# Name of the hazard of a server that accepts no writes.
READ_ONLY = "read-only"


@dataclass(frozen=True, slots=True)
class Hazard:
    """A hazardous state of a database, or of the connections to it."""

    # Name in the output of `db preflight`.
    name: str
    # Comparisons that are true in this state.
    unsafe: str
    # Description of the state.
    state: str
    # What may happen.
    consequence: str
    # What to set or do.
    remedy: str
    # True for a danger, False for a note.
    wrong: bool = True

    @property
    def line(self) -> str:
        return f"{self.name}: {self.state}: {self.consequence}; {self.remedy}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HazardTable:
    """The hazards of an engine, and the statements that select their values.

    A statement selects either names and values, or one row whose columns are the names.
    """

    hazards: str
    # Statements that select the variables of a server and of the session.
    variables: Sequence[str]
    # Statement that selects the id of a connection and variables that the service sets for it. It
    # is empty for a file, which has no connections that a proxy could share.
    session: str = ""
    # Name of the id of the connection.
    connection: str = ""
    # Names of the variables that identify the server.
    server: Sequence[str] = ()
    # Statement that selects the lag of a replica, and how the name of the lag begins. None for a
    # file.
    replica: tuple[str, str] | None = None


def read_hazards(table: HazardTable) -> list[Hazard]:
    """Return the hazards of a table, the worst ones first."""
    hazards = []
    for line in table.hazards.replace("\n ", " ").strip().splitlines():
        title, unsafe, *state, consequence, remedy = " ".join(line.split()).split(" | ")
        kind, name = title.split()
        (described,) = state or ["{variable} is {value}"]
        hazards.append(Hazard(name, unsafe, described, consequence, remedy, kind == "danger"))
    return hazards


def find_hazards(table: HazardTable, values: Values) -> list[Hazard]:
    """Return the hazards that are present, with texts that contain the values."""
    hazards = []
    for hazard in read_hazards(table):
        for part in hazard.unsafe.split(" or "):
            comparisons = [_compare(comparison, values) for comparison in part.split(" and ")]
            if all(comparisons):
                shown = {**values, "variable": comparisons[0], "value": values[comparisons[0]]}
                texts = {
                    text: getattr(hazard, text).format_map(shown)
                    for text in ("state", "consequence", "remedy")
                }
                hazards.append(replace(hazard, **texts))
                break
    return hazards


def _compare(comparison: str, values: Values) -> str:
    """Return the name of the compared value, or "" if the comparison is false."""
    names, operator, *expected = shlex.split(comparison)
    name = next((each for each in names.split("/") if each in values), "")
    if not name:
        return ""
    value = values[name]
    if operator in {"=", "!="}:
        return name if (str(value) in expected) == (operator == "=") else ""
    (limit,) = expected
    difference = float(value) - float(values.get(limit, limit))
    return name if (difference < 0 if operator == "<" else difference > 0) else ""


# The hazards of all servers, from the second column of the first one.
_OF_SERVERS = """ | {variable} is {value}, and {processes} processes with {threads} threads may open
    {connections} connections | requests fail with 503 under load | increase the limit, or reduce
    processes, threads, or [placement_database] max_pool_size and max_overflow
danger replication | replica = failed | the replica of [placement_database] slave_connection does
    not respond, does not accept the login, or does not replicate | reads are outdated, and writes
    that are based on them fail with 409, or requests fail with 503 | start the replication,
    correct slave_connection, or remove it
note lag | lag > 0 | the replica of [placement_database] slave_connection lags {lag} seconds
    | reads are outdated, and writes that are based on them fail with 409 | remove slave_connection,
    or let commits wait until the replica has applied them (PostgreSQL: synchronous_commit =
    remote_apply)"""
_STALE = """reads use the replica of [placement_database] slave_connection
    | reads may miss the latest acknowledged writes, and writes that are based on them fail with
    409 | remove slave_connection"""
# Values of wsrep_sync_wait with which reads do not wait.
_EVEN = " ".join(map(str, range(0, 16, 2)))
# Milliseconds. A primary that waits longer for a replica does not continue alone.
_A_DAY = 24 * 60 * 60 * 1000

SQLITE = HazardTable(
    hazards="""
danger synchronous | synchronous = 0 | a power failure can destroy the database
    | set [placement_database] sqlite_synchronous = true
danger journal | journal_mode != wal | the journal mode is {journal_mode}, because the file system
    does not support WAL | readers and writers wait for each other, and requests fail with 503
    | move the file to a local file system
""",
    variables=(
        "SELECT 'synchronous', synchronous FROM pragma_synchronous",
        "SELECT 'journal_mode', journal_mode FROM pragma_journal_mode",
    ),
)

# Variables that the service sets for each connection of MySQL and MariaDB, and the id of the
# connection. ProxySQL itself responds to `SELECT CONNECTION_ID()`. No statement contains `@`, after
# which ProxySQL stops sharing the connection.
_OF_SESSION = ("autocommit", "character_set_client", "group_concat_max_len", "lock_wait_timeout",
               "innodb_lock_wait_timeout", "sql_mode", "transaction_isolation", "tx_isolation",
               "wsrep_sync_wait", "pseudo_thread_id", "hostname", "port")  # fmt: skip

# Names of MariaDB, and of MySQL since 8.0.26.
_SEMI_SYNC = "rpl_semi_sync_master_{0}/rpl_semi_sync_source_{0}"
_ENABLED, _TIMEOUT, _WAIT_POINT = map(_SEMI_SYNC.format, ("enabled", "timeout", "wait_point"))
_STATUS, _CLIENTS = map(_SEMI_SYNC.replace("rpl", "Rpl").format, ("status", "clients"))
_IS_PRIMARY = f"{_ENABLED} = ON and read_only = OFF"
# The service does not prepare statements on MySQL, which has no `Slaves_connected`.
_PREPARED = "mariadb_prepared_statements = True and Slaves_connected != ''"
# `group_replication_…` are variables of MySQL's plugin for replication groups.
_GALERA = "wsrep_on = ON and wsrep_cluster_size > 1"
_GROUP = "group_replication_group_name != ''"
_WAIT = "set [placement_database] mysql_wsrep_sync_wait = 1"
_CONFIRM = "rpl_semi_sync_slave_enabled = ON (MySQL: rpl_semi_sync_replica_enabled = ON)"

MYSQL = HazardTable(
    hazards=f"""
danger {READ_ONLY} | read_only != OFF or innodb_read_only = ON
    | the server accepts only reads ({{variable}} is {{value}}) | writes fail with 503, or, if the
    account has the privilege READ ONLY ADMIN (MySQL: CONNECTION_ADMIN), the servers diverge
    | use the address of the primary, or on the primary set [mysqld] {{variable}} = OFF
danger session | lost != '' | a proxy does not preserve variables between the transactions of a
    connection: {{lost}} | writes may not be atomic
    | use a direct connection, or disable the sharing of connections in the proxy
danger isolation | transaction_isolation/tx_isolation != READ-COMMITTED | a proxy or the server
    changes the isolation level of writes ({{variable}} is {{value}}) | writes fail more often, on
    MariaDB with 1020 (innodb_snapshot_isolation) | use a direct connection, and remove init_connect
danger flush | innodb_flush_log_at_trx_commit = 0 2 | a power failure, and if the value is 0 a crash
    of the server, loses the acknowledged writes of a second or more (in a cluster: if it affects
    all nodes) | set [mysqld] {{variable}} = 1
danger redo-log | Innodb_redo_log_enabled = OFF | a crash of the server destroys the database
    | ALTER INSTANCE ENABLE INNODB REDO_LOG
danger doublewrite | innodb_doublewrite = OFF DETECT_ONLY | a power failure can destroy pages,
    unless the file system writes them atomically | set [mysqld] {{variable}} = ON
danger binary-log | sync_binlog != 1 and log_bin = ON | sync_binlog is {{sync_binlog}}, and the
    binary log is on | after a power failure (in a cluster: of all nodes), the server or its
    replicas may lack acknowledged writes | set [mysqld] {{variable}} = 1
danger replicas | {_STATUS} != ON and {_IS_PRIMARY} | semi-synchronous replication is
    enabled, but no replica confirms commits | a replica that becomes the primary may lack
    acknowledged writes | start a replica with {_CONFIRM}
danger replicas | {_CLIENTS} < 1 and {_STATUS} = ON and {_IS_PRIMARY} | no replica confirms commits
    | a COMMIT waits for the timeout of semi-synchronous replication, and requests fail with 503 if
    write_timeout is shorter | start a replica with {_CONFIRM}
danger replicas | {_ENABLED} != ON and Slaves_connected/dump_threads > 0
    | asynchronous replicas are connected | a replica that becomes the primary may lack acknowledged
    writes | set [mysqld] {{variable}} = ON (MySQL: load its plugin), and on replicas {_CONFIRM}
danger stale-reads | wsrep_sync_wait = {_EVEN} and servers > 1 and {_GALERA} | {{variable}} is
    {{value}}, and the service uses {{servers}} nodes of a cluster
    | reads may miss acknowledged writes of other nodes | {_WAIT}
danger writers | servers > 1 and {_GROUP} | the service uses {{servers}} members of a replication
    group | concurrent writes to one tree fail with 503, and reads may miss acknowledged writes
    | use an address that leads to the primary only
danger connections | max_connections < connections
    or max_user_connections < connections and max_user_connections > 0{_OF_SERVERS}
note lag | lag_error != '' | the lag of the replica of [placement_database] slave_connection cannot
    be read, because {{lag_error}} | reads may be outdated, and writes that are based on them fail
    with 409 | on the replica, grant REPLICA MONITOR, or on MySQL REPLICATION CLIENT
note stale-reads | lag = 0 | {_STALE}
note replicas | {_TIMEOUT} < {_A_DAY} and {_IS_PRIMARY} | {{variable}} is {{value}} ms
    | if no replica confirms a COMMIT within this time, the server continues alone, and a replica
    that becomes the primary may lack acknowledged writes | set [mysqld] {{variable}} = 4000000000
note replicas | {_WAIT_POINT} = AFTER_COMMIT and {_IS_PRIMARY} | clients can read a write that no
    replica has confirmed, and that a failover loses | set [mysqld] {{variable}} = AFTER_SYNC
note stale-reads | wsrep_sync_wait = {_EVEN} and servers < 2 and {_GALERA}
    | {{variable}} is {{value}} on a cluster | after a switch to another node, and if other
    processes use other nodes, reads may miss acknowledged writes | {_WAIT}
note stale-reads | group_replication_consistency != BEFORE BEFORE_AND_AFTER and servers < 2
    and {_GROUP} | {{variable}} is {{value}} | reads may miss acknowledged writes on a primary that
    has lost its replication group (without AFTER, also on other members) | let the proxy close the
    connections to such a primary, or set [mysqld] {{variable}} = BEFORE
note writers | servers > 1 and {_GALERA} | the service writes to {{servers}} nodes of a cluster
    | concurrent writes to one tree on two nodes conflict, and are retried
    | send all writes to one node, and to another node only if the first node fails
note cluster | wsrep_cluster_size > 1 and wsrep_on = ON | the server is one of {{value}} nodes of a
    Galera cluster | if nodes crash or lose contact, known faults of Galera can lose acknowledged
    writes | after such a failure, run placement-manage db check, and audit --owners FILE
note proxy | moves = True and {_PREPARED} | a proxy distributes the transactions of one connection
    | prepared statements are missing, and connections log a warning
    | set [placement_database] mariadb_prepared_statements = false
note prepared-statements | max_prepared_stmt_count < prepared_statements and {_PREPARED}
    | {{variable}} is {{value}}, and {{connections}} connections may prepare {{prepared_statements}}
    statements | further statements take longer | increase [mysqld] {{variable}}
note characters | charsets != '' | columns cannot store all characters: {{charsets}} | writes of
    names with other characters fail with 400 | stop the service, and convert the tables to utf8mb4
""",
    variables=(
        # MySQL has the variable only with the plugin, and no number of replicas.
        "SELECT 'rpl_semi_sync_source_enabled', 'OFF'",
        "SELECT 'dump_threads', CAST(COUNT(*) AS CHAR) FROM information_schema.processlist"
        " WHERE LEFT(command, 11) = 'Binlog Dump'",
        "SHOW VARIABLES",
        "SHOW GLOBAL STATUS",
    ),
    session=f"SHOW SESSION VARIABLES WHERE Variable_name IN ({', '.join(map(repr, _OF_SESSION))})",
    connection="pseudo_thread_id",
    server=("hostname", "port"),
    replica=("SHOW REPLICA STATUS", "Seconds_Behind_"),
)

POSTGRESQL = HazardTable(
    hazards=f"""
danger {READ_ONLY} | is_standby = true or default_transaction_read_only = on | writes fail with 503
    | use the address of the primary, or list all servers in the URL with
    target_session_attrs=read-write; on a primary, set default_transaction_read_only = off
danger standbys | synchronous_standbys < 1 and synchronous_standby_names != ''
    and synchronous_commit != off local and is_standby = false
    and default_transaction_read_only != on | no standby of synchronous_standby_names
    ({{synchronous_standby_names}}) is connected | each COMMIT waits, and writes fail with 503
    | start a standby, or remove it from synchronous_standby_names
danger fsync | fsync = off | a power failure can destroy the database | set fsync = on
danger full-page-writes | full_page_writes = off | a power failure can destroy pages, unless the
    file system writes them atomically | set full_page_writes = on
danger flush | synchronous_commit = off | a crash of the server loses the acknowledged writes of the
    last {{wal_writer_delay}} ms or more | set synchronous_commit = on
danger standbys | standbys > 0 and synchronous_standby_names = '' | asynchronous standbys are
    connected ({{standbys}}) | a standby that becomes the primary may lack acknowledged writes
    | set synchronous_standby_names, with Patroni synchronous_mode
danger standbys | synchronous_commit = local and synchronous_standby_names != ''
    | synchronous_commit is local, so a COMMIT does not wait for {{synchronous_standby_names}}
    | a standby that becomes the primary may lack acknowledged writes | set synchronous_commit = on
danger proxy | moves = True and postgresql_prepared_statements = True | a proxy distributes the
    transactions of one connection | reads fail with 503, unless the proxy manages prepared
    statements | set [placement_database] postgresql_prepared_statements = false
danger connections | max_connections_without_reserved < connections{_OF_SERVERS}
note stale-reads | lag = 0 and synchronous_standby_names = '' or lag = 0
    and synchronous_commit != remote_apply | {_STALE}, or set synchronous_commit = remote_apply
note session | lost != '' | a proxy does not preserve variables between the transactions of a
    connection: {{lost}} | some statements may wait longer or shorter than write_timeout and
    statement_timeout | set lock_timeout and statement_timeout of the user of the service (ALTER
    ROLE … SET), and [placement_database] statement_timeout = 0
note characters | server_encoding != UTF8 | the encoding of the database is {{server_encoding}}
    | writes of names with other characters fail with 400
    | restore a dump into a database with the encoding UTF8
""",
    variables=(
        "SELECT name, setting FROM pg_settings",
        "SELECT 'max_connections_without_reserved', CAST(sum(CAST(setting AS INTEGER)"
        " * CASE name WHEN 'max_connections' THEN 1 ELSE -1 END) AS TEXT) FROM pg_settings WHERE"
        " name IN ('max_connections', 'reserved_connections', 'superuser_reserved_connections')",
        "SELECT 'is_standby', CAST(pg_is_in_recovery() AS TEXT)",
        # Backups are no standbys.
        "SELECT 'standbys', CAST(count(*) AS TEXT) FROM pg_stat_replication"
        " WHERE application_name NOT IN ('pg_basebackup', 'pg_receivewal')",
        # The state is null for an account without the role pg_monitor.
        "SELECT 'synchronous_standbys', CAST(count(*) AS TEXT) FROM pg_stat_replication"
        " WHERE sync_state IS DISTINCT FROM 'async'",
    ),
    session="SELECT name, setting FROM pg_settings"
    " WHERE name IN ('lock_timeout', 'statement_timeout')"
    " UNION ALL SELECT 'connection', CAST(pg_backend_pid() AS TEXT)",
    connection="connection",
    # The time of the last transaction is no lag if the primary is idle.
    replica=(
        "SELECT 'lag', CASE WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() THEN '0' ELSE"
        " CAST(round(EXTRACT(EPOCH FROM now() - pg_last_xact_replay_timestamp())) AS TEXT) END"
        " WHERE pg_is_in_recovery()",
        "lag",
    ),
)

# Name of the SQLAlchemy dialect -> its table.
TABLES = {"sqlite": SQLITE, "mysql": MYSQL, "mariadb": MYSQL, "postgresql": POSTGRESQL}
