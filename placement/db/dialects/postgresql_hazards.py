"""Hazardous settings of PostgreSQL."""

from placement.db.dialects.hazards import (
    CONNECTIONS,
    LAG,
    LATER_READS,
    READ_ONLY,
    REPLICATION,
    Hazard,
    HazardTable,
    Values,
    number,
)

_PROMOTION = "a standby that becomes the primary may lack acknowledged writes"


def _is_read_only(values: Values) -> bool:
    return bool(values["is_standby"] == "true" or values["default_transaction_read_only"] == "on")


def _waits_in_vain(values: Values) -> bool:
    """Return whether a COMMIT waits for a standby, and no standby is connected."""
    return (
        bool(values["synchronous_standby_names"])
        and values["synchronous_commit"] not in {"off", "local"}
        and not number(values["synchronous_standbys"])
        and not _is_read_only(values)
    )


HAZARDS = (
    Hazard(
        READ_ONLY,
        _is_read_only,
        "the server is a standby, or default_transaction_read_only is on",
        "writes fail with 503",
        "use the address of the primary, or list all servers in the URL with "
        "target_session_attrs=read-write",
    ),
    Hazard(
        "standbys",
        _waits_in_vain,
        "no standby of synchronous_standby_names ({synchronous_standby_names}) is connected",
        "each COMMIT waits, and writes fail with 503",
        "start a standby, or remove it from synchronous_standby_names",
    ),
    Hazard(
        "fsync",
        lambda values: values["fsync"] == "off",
        "fsync is off",
        "a power failure can destroy the database",
        "set fsync = on",
    ),
    Hazard(
        "full-page-writes",
        lambda values: values["full_page_writes"] == "off",
        "full_page_writes is off",
        "a power failure can destroy pages, unless the file system writes them atomically",
        "set full_page_writes = on",
    ),
    Hazard(
        "flush",
        lambda values: values["synchronous_commit"] == "off",
        "synchronous_commit is off",
        "a crash of the server loses the acknowledged writes of the last {wal_writer_delay} ms or "
        "more",
        "set synchronous_commit = on",
    ),
    Hazard(
        "standbys",
        lambda values: number(values["standbys"]) > 0 and not values["synchronous_standby_names"],
        "asynchronous standbys are connected ({standbys})",
        _PROMOTION,
        "set synchronous_standby_names, with Patroni synchronous_mode",
    ),
    Hazard(
        "standbys",
        lambda values: (
            values["synchronous_commit"] == "local" and bool(values["synchronous_standby_names"])
        ),
        "synchronous_commit is local, so a COMMIT does not wait for {synchronous_standby_names}",
        _PROMOTION,
        "set synchronous_commit = on",
    ),
    Hazard(
        "proxy",
        lambda values: values["moves"] and values["postgresql_prepared_statements"],
        "a proxy distributes the transactions of one connection",
        "reads fail with 503, unless the proxy manages prepared statements",
        "set [placement_database] postgresql_prepared_statements = false",
    ),
    CONNECTIONS,
    REPLICATION,
    LAG,
    LATER_READS,
    Hazard(
        "session",
        lambda values: bool(values["lost"]),
        "a proxy does not preserve variables between the transactions of a connection: {lost}",
        "some statements may wait longer or shorter than write_timeout and statement_timeout",
        "set lock_timeout and statement_timeout of the user of the service (ALTER ROLE … SET), and "
        "[placement_database] statement_timeout = 0",
        wrong=False,
    ),
    Hazard(
        "characters",
        lambda values: values["server_encoding"] != "UTF8",
        "the encoding of the database is {server_encoding}",
        "writes of names with other characters fail with 400",
        "restore a dump into a database with the encoding UTF8",
        wrong=False,
    ),
)

TABLE = HazardTable(
    hazards=HAZARDS,
    variables=(
        "SELECT name, setting FROM pg_settings",
        "SELECT 'is_standby', CAST(pg_is_in_recovery() AS TEXT)",
        "SELECT 'standbys', CAST(count(*) AS TEXT) FROM pg_stat_replication",
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
