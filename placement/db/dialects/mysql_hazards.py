"""Hazardous settings of MySQL, MariaDB and Galera.

No statement contains `@`, after which ProxySQL stops sharing the connection. `pseudo_thread_id` is
the id of the connection: ProxySQL itself responds to `SELECT CONNECTION_ID()`.
"""

from placement.db.dialects.hazards import (
    CONNECTIONS,
    LAG,
    LATER_READS,
    READ_ONLY,
    REPLICATION,
    UNKNOWN_LAG,
    Hazard,
    HazardTable,
    Values,
    number,
)

_CONNECTION, _SERVER = "pseudo_thread_id", ("hostname", "port")
# Variables that the service sets for each connection.
_OF_SERVICE = (
    "autocommit", "character_set_client", "group_concat_max_len", "innodb_lock_wait_timeout",
    "lock_wait_timeout", "sql_mode", "transaction_isolation", "tx_isolation", "wsrep_sync_wait",
)  # fmt: skip
_NAMES = ", ".join(map(repr, (_CONNECTION, *_SERVER, *_OF_SERVICE)))

_FLUSH = "innodb_flush_log_at_trx_commit is {innodb_flush_log_at_trx_commit}"
_SET_FLUSH = "set [mysqld] innodb_flush_log_at_trx_commit = 1"
_PROMOTION = "a replica that becomes the primary may lack acknowledged writes"
_SET_SYNC_WAIT = "set [placement_database] mysql_wsrep_sync_wait = 1"

# Milliseconds. A primary that waits longer for a replica does not continue alone.
_WITHOUT_LIMIT = 24 * 60 * 60 * 1000


def _is_read_only(values: Values) -> bool:
    # MariaDB 12 has further values than ON.
    return values["read_only"] not in {"", "OFF"} or values["innodb_read_only"] == "ON"


def _is_semi_synchronous(values: Values) -> bool:
    return values["rpl_semi_sync_master_enabled"] == "ON" and not _is_read_only(values)


def _is_cluster(values: Values) -> bool:
    return values["wsrep_on"] == "ON" and number(values["wsrep_cluster_size"]) > 1


def _reads_may_be_stale(values: Values) -> bool:
    return _is_cluster(values) and not int(values["wsrep_sync_wait"]) & 1


HAZARDS = (
    Hazard(
        READ_ONLY,
        _is_read_only,
        "the server accepts only reads (read_only is {read_only}, innodb_read_only is "
        "{innodb_read_only})",
        "writes fail with 503, or, if the account has the privilege READ ONLY ADMIN, the servers "
        "diverge",
        "use the address of the primary, or on the primary set [mysqld] read_only = OFF",
    ),
    Hazard(
        "session",
        lambda values: bool(values["lost"]),
        "a proxy does not preserve variables between the transactions of a connection: {lost}",
        "writes may not be atomic",
        "use a direct connection, or disable the sharing of connections in the proxy",
    ),
    Hazard(
        "isolation",
        lambda values: (
            "READ-COMMITTED" not in (values["tx_isolation"], values["transaction_isolation"])
        ),
        "a proxy or the server changes the isolation level of writes",
        "writes fail more often, on MariaDB with 1020 (innodb_snapshot_isolation)",
        "use a direct connection, and remove init_connect of the server",
    ),
    Hazard(
        "flush",
        lambda values: values["innodb_flush_log_at_trx_commit"] == "0",
        _FLUSH,
        "a crash of the server (on Galera: of all nodes) loses the acknowledged writes of a second "
        "or more",
        _SET_FLUSH,
    ),
    Hazard(
        "flush",
        lambda values: values["innodb_flush_log_at_trx_commit"] == "2",
        _FLUSH,
        "a power failure (on Galera: of all nodes) loses the acknowledged writes of a second or "
        "more",
        _SET_FLUSH,
    ),
    Hazard(
        "doublewrite",
        lambda values: values["innodb_doublewrite"] == "OFF",
        "innodb_doublewrite is OFF",
        "a power failure can destroy pages, unless the file system writes them atomically",
        "set [mysqld] innodb_doublewrite = ON",
    ),
    Hazard(
        "binary-log",
        lambda values: values["log_bin"] == "ON" and values["sync_binlog"] != "1",
        "sync_binlog is {sync_binlog}, and the binary log is on",
        "after a power failure (on Galera: of all nodes), the server or its replicas may lack "
        "acknowledged writes",
        "set [mysqld] sync_binlog = 1",
    ),
    Hazard(
        "replicas",
        lambda values: (
            _is_semi_synchronous(values) and values["Rpl_semi_sync_master_status"] != "ON"
        ),
        "rpl_semi_sync_master_enabled is ON, but no replica confirms commits",
        _PROMOTION,
        "start a replica with [mysqld] rpl_semi_sync_slave_enabled = ON",
    ),
    Hazard(
        "replicas",
        lambda values: (
            _is_semi_synchronous(values)
            and values["Rpl_semi_sync_master_status"] == "ON"
            and not number(values["Rpl_semi_sync_master_clients"])
        ),
        "no replica is connected that confirms commits",
        "a COMMIT waits {rpl_semi_sync_master_timeout} ms (rpl_semi_sync_master_timeout), and "
        "requests fail with 503 if write_timeout is shorter",
        "start a replica with [mysqld] rpl_semi_sync_slave_enabled = ON",
    ),
    Hazard(
        "replicas",
        lambda values: (
            number(values["Slaves_connected"]) > 0
            and values["rpl_semi_sync_master_enabled"] != "ON"
        ),
        "asynchronous replicas are connected ({Slaves_connected})",
        _PROMOTION,
        "set [mysqld] rpl_semi_sync_master_enabled = ON, and on replicas "
        "rpl_semi_sync_slave_enabled = ON",
    ),
    Hazard(
        "stale-reads",
        lambda values: _reads_may_be_stale(values) and values["servers"] > 1,
        "the service uses {servers} nodes of a cluster, and wsrep_sync_wait is {wsrep_sync_wait}",
        "reads may miss acknowledged writes of other nodes",
        _SET_SYNC_WAIT,
    ),
    CONNECTIONS,
    REPLICATION,
    LAG,
    UNKNOWN_LAG,
    LATER_READS,
    Hazard(
        "replicas",
        lambda values: (
            _is_semi_synchronous(values)
            and number(values["rpl_semi_sync_master_timeout"]) < _WITHOUT_LIMIT
        ),
        "rpl_semi_sync_master_timeout is {rpl_semi_sync_master_timeout} ms",
        "if no replica confirms a COMMIT within this time, the server continues alone, and "
        + _PROMOTION,
        "set [mysqld] rpl_semi_sync_master_timeout = 4000000000, unless writes without a replica "
        "are acceptable",
        wrong=False,
    ),
    Hazard(
        "replicas",
        lambda values: (
            _is_semi_synchronous(values)
            and values["rpl_semi_sync_master_wait_point"] == "AFTER_COMMIT"
        ),
        "rpl_semi_sync_master_wait_point is AFTER_COMMIT",
        "clients can read a write that no replica has confirmed, and that a failover loses",
        "set [mysqld] rpl_semi_sync_master_wait_point = AFTER_SYNC",
        wrong=False,
    ),
    Hazard(
        "stale-reads",
        lambda values: _reads_may_be_stale(values) and values["servers"] == 1,
        "wsrep_sync_wait is {wsrep_sync_wait} on a cluster",
        "after a switch to another node, and if other processes use other nodes, reads may miss "
        "acknowledged writes",
        _SET_SYNC_WAIT,
        wrong=False,
    ),
    Hazard(
        "writers",
        lambda values: _is_cluster(values) and values["servers"] > 1,
        "the service writes to {servers} nodes of a cluster",
        "concurrent writes to one tree on two nodes conflict, and are retried",
        "send all writes to one node, and to another node only if the first node fails",
        wrong=False,
    ),
    Hazard(
        "cluster",
        _is_cluster,
        "the server is one of {wsrep_cluster_size} nodes of a Galera cluster",
        "if nodes crash or lose contact, known faults of Galera can lose acknowledged writes",
        "after such a failure, run placement-manage db check and placement-manage audit --owners "
        "FILE",
        wrong=False,
    ),
    Hazard(
        "proxy",
        lambda values: values["moves"] and values["mariadb_prepared_statements"],
        "a proxy distributes the transactions of one connection",
        "prepared statements are missing, and connections log a warning",
        "set [placement_database] mariadb_prepared_statements = false",
        wrong=False,
    ),
    Hazard(
        "prepared-statements",
        lambda values: (
            values["mariadb_prepared_statements"]
            and number(values["max_prepared_stmt_count"]) < values["prepared_statements"]
        ),
        "max_prepared_stmt_count is {max_prepared_stmt_count}, and {connections} connections may "
        "prepare {prepared_statements} statements",
        "further statements are sent unprepared, and take longer",
        "increase [mysqld] max_prepared_stmt_count",
        wrong=False,
    ),
    Hazard(
        "characters",
        lambda values: bool(values["charsets"]),
        "columns cannot store all characters: {charsets}",
        "writes of names with other characters fail with 400",
        "convert the tables to utf8mb4, with the service stopped",
        wrong=False,
    ),
)

TABLE = HazardTable(
    hazards=HAZARDS,
    variables=("SHOW VARIABLES", "SHOW GLOBAL STATUS"),
    session=f"SHOW SESSION VARIABLES WHERE Variable_name IN ({_NAMES})",
    connection=_CONNECTION,
    server=_SERVER,
    replica=("SHOW REPLICA STATUS", "Seconds_Behind_Master"),
)
