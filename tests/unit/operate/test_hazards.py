"""Which values of settings are hazards, without a database."""

from collections.abc import Mapping
from typing import Any

import pytest

from placement.operate.hazards import TABLES, find_hazards, read_hazards
from placement.operate.preflight import POOLS, Workers
from tests.kit.builders import settings

SERVICE: Mapping[str, Any] = {
    "moves": False,
    "lost": "",
    "servers": 1,
    "connections": 60,
    "processes": 2,
    "threads": 32,
    "prepared_statements": 1920,
    "mariadb_prepared_statements": True,
    "postgresql_prepared_statements": True,
    "charsets": "",
}
# Values of servers without hazards.
SAFE: Mapping[str, Mapping[str, Any]] = {
    "sqlite": {"synchronous": 2, "journal_mode": "wal"},
    "mariadb": {
        **SERVICE,
        "read_only": "OFF",
        "tx_isolation": "READ-COMMITTED",
        "innodb_flush_log_at_trx_commit": "1",
        "innodb_doublewrite": "ON",
        "log_bin": "OFF",
        "rpl_semi_sync_master_enabled": "OFF",
        "sync_binlog": "0",
        "Slaves_connected": "0",
        "Rpl_semi_sync_master_status": "OFF",
        "max_connections": "151",
        "max_user_connections": "0",
        "max_prepared_stmt_count": "16382",
        "wsrep_on": "OFF",
        "wsrep_sync_wait": "0",
    },
    "postgresql": {
        **SERVICE,
        "fsync": "on",
        "full_page_writes": "on",
        "synchronous_commit": "on",
        "wal_writer_delay": "200",
        "synchronous_standby_names": "",
        "default_transaction_read_only": "off",
        "is_standby": "false",
        "standbys": "0",
        "synchronous_standbys": "0",
        "max_connections_without_reserved": "97",
        "server_encoding": "UTF8",
    },
}
SEMI_SYNC = {
    "rpl_semi_sync_master_enabled": "ON",
    "rpl_semi_sync_master_timeout": "4000000000",
    "rpl_semi_sync_master_wait_point": "AFTER_SYNC",
    "Rpl_semi_sync_master_status": "ON",
    "Rpl_semi_sync_master_clients": "1",
    "Slaves_connected": "1",
}
CLUSTER = {"wsrep_on": "ON", "wsrep_cluster_size": "3"}
MYSQL = {"transaction_isolation": "READ-COMMITTED"}

SYNCHRONOUS = {"standbys": "1", "synchronous_standbys": "1", "synchronous_standby_names": "*"}
ALONE = {**SYNCHRONOUS, "synchronous_standbys": "0"}

# Engine, values that differ, and the names of the dangers and notes.
CASES: list[tuple[str, Mapping[str, Any], list[str], list[str]]] = [
    ("sqlite", {}, [], []),
    ("sqlite", {"synchronous": 0}, ["synchronous"], []),
    ("sqlite", {"journal_mode": "delete"}, ["journal"], []),
    ("mariadb", {}, [], []),
    ("mariadb", {"innodb_flush_log_at_trx_commit": "0"}, ["flush"], []),
    ("mariadb", {"innodb_flush_log_at_trx_commit": "2"}, ["flush"], []),
    ("mariadb", {"innodb_doublewrite": "OFF"}, ["doublewrite"], []),
    ("mariadb", {"log_bin": "ON"}, ["binary-log"], []),
    ("mariadb", {"log_bin": "ON", "sync_binlog": "1"}, [], []),
    ("mariadb", {"Slaves_connected": "2"}, ["replicas"], []),
    ("mariadb", SEMI_SYNC, [], []),
    ("mariadb", {**SEMI_SYNC, "Rpl_semi_sync_master_status": "OFF"}, ["replicas"], []),
    ("mariadb", {**SEMI_SYNC, "Rpl_semi_sync_master_clients": "0"}, ["replicas"], []),
    ("mariadb", {**SEMI_SYNC, "rpl_semi_sync_master_timeout": "10000"}, [], ["replicas"]),
    ("mariadb", {**SEMI_SYNC, "rpl_semi_sync_master_wait_point": "AFTER_COMMIT"}, [], ["replicas"]),
    ("mariadb", {**SEMI_SYNC, "Slaves_connected": "0", "read_only": "ON"}, ["read-only"], []),
    ("mariadb", {"read_only": "NO_LOCK_NO_ADMIN"}, ["read-only"], []),
    ("mariadb", {"innodb_read_only": "ON"}, ["read-only"], []),
    ("mariadb", {"tx_isolation": "REPEATABLE-READ"}, ["isolation"], []),
    ("mariadb", {"transaction_isolation": "REPEATABLE-READ"}, ["isolation"], []),
    ("mariadb", {**MYSQL, "tx_isolation": "REPEATABLE-READ"}, [], []),
    ("mariadb", {"lost": "autocommit"}, ["session"], []),
    ("mariadb", {"moves": True, "mariadb_prepared_statements": False}, [], []),
    ("mariadb", {"connections": 152}, ["connections"], []),
    ("mariadb", {"max_user_connections": "59"}, ["connections"], []),
    ("mariadb", {"charsets": "users.external_id (latin1)"}, [], ["characters"]),
    ("mariadb", CLUSTER, [], ["stale-reads", "cluster"]),
    ("mariadb", {**CLUSTER, "wsrep_sync_wait": "7"}, [], ["cluster"]),
    ("mariadb", {**CLUSTER, "wsrep_cluster_size": "1"}, [], []),
    ("mariadb", {**CLUSTER, "servers": 3}, ["stale-reads"], ["writers", "cluster"]),
    ("mariadb", {**CLUSTER, "servers": 3, "wsrep_sync_wait": "1"}, [], ["writers", "cluster"]),
    ("mariadb", {"Innodb_redo_log_enabled": "OFF"}, ["redo-log"], []),
    ("mariadb", {"replica": "failed"}, ["replication"], []),
    ("mariadb", {"lag": 7}, [], ["lag"]),
    ("mariadb", {"lag": 0}, [], ["stale-reads"]),
    ("mariadb", {"lag_error": "a privilege is missing"}, [], ["lag"]),
    ("postgresql", {}, [], []),
    ("postgresql", {"fsync": "off"}, ["fsync"], []),
    ("postgresql", {"full_page_writes": "off"}, ["full-page-writes"], []),
    ("postgresql", {"synchronous_commit": "off"}, ["flush"], []),
    ("postgresql", {"standbys": "1"}, ["standbys"], []),
    ("postgresql", SYNCHRONOUS, [], []),
    ("postgresql", ALONE, ["standbys"], []),
    ("postgresql", {"is_standby": "true"}, ["read-only"], []),
    ("postgresql", {**ALONE, "is_standby": "true"}, ["read-only"], []),
    ("postgresql", {"default_transaction_read_only": "on"}, ["read-only"], []),
    ("postgresql", {**SYNCHRONOUS, "synchronous_commit": "local"}, ["standbys"], []),
    ("postgresql", {"moves": True}, ["proxy"], []),
    ("postgresql", {"moves": True, "postgresql_prepared_statements": False}, [], []),
    ("postgresql", {"lost": "lock_timeout"}, [], ["session"]),
    ("postgresql", {"connections": 97}, [], []),
    ("postgresql", {"connections": 98}, ["connections"], []),
    ("postgresql", {"lag": "3"}, [], ["lag"]),
    ("postgresql", {"lag": "0"}, [], ["stale-reads"]),
    ("postgresql", {**SYNCHRONOUS, "lag": "0"}, [], ["stale-reads"]),
    ("postgresql", {**SYNCHRONOUS, "lag": "0", "synchronous_commit": "remote_apply"}, [], []),
    ("postgresql", {"server_encoding": "LATIN1"}, [], ["characters"]),
]


def with_names_of_mysql(values: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        name.replace("_master_", "_source_").replace("Slaves_connected", "dump_threads"): value
        for name, value in values.items()
    }


CASES += [
    ("mysql", with_names_of_mysql(case[1]), *case[2:]) for case in CASES if case[0] == "mariadb"
]
GROUP = {"group_replication_group_name": "g", "group_replication_consistency": "AFTER"}
SHARED = {"moves": True, "max_prepared_stmt_count": "1919"}
CASES += [
    ("mariadb", SHARED, [], ["proxy", "prepared-statements"]),
    ("mysql", SHARED, [], []),
    ("mysql", GROUP, [], ["stale-reads"]),
    ("mysql", {**GROUP, "servers": 3}, ["writers"], []),
]
SAFE = {**SAFE, "mysql": with_names_of_mysql(SAFE["mariadb"])}


@pytest.mark.parametrize(("engine", "changes", "dangers", "notes"), CASES)
def test_values_are_judged(
    engine: str, changes: Mapping[str, Any], dangers: list[str], notes: list[str]
) -> None:
    found = find_hazards(TABLES[engine], {**SAFE[engine], **changes})
    assert [hazard.name for hazard in found if hazard.wrong] == dangers
    assert [hazard.name for hazard in found if not hazard.wrong] == notes
    for hazard in found:
        assert "{" not in hazard.line
        assert "  " not in hazard.line


def test_the_first_comparison_is_the_default_state() -> None:
    values = {**SAFE["mariadb"], "innodb_doublewrite": "OFF"}
    (hazard,) = find_hazards(TABLES["mariadb"], values)
    assert hazard.line.startswith("doublewrite: innodb_doublewrite is OFF: a power failure can ")
    assert hazard.line.endswith("; set [mysqld] innodb_doublewrite = ON")


def test_every_hazard_has_a_case_and_dangers_come_before_notes() -> None:
    covered = {name for case in CASES for name in (*case[2], *case[3])}
    for table in TABLES.values():
        order = [hazard.wrong for hazard in read_hazards(table)]
        assert order == sorted(order, reverse=True)
        assert {hazard.name for hazard in read_hazards(table)} <= covered


@pytest.mark.parametrize(
    ("options", "workers", "of_pool"),
    [
        ({}, Workers(2, 32), 15),
        ({}, Workers(2, 4), 5),
        ({"max_pool_size": 1, "max_overflow": 1000}, Workers(5, 1), 2),
        ({"max_overflow": -1}, Workers(1, 32), 33),
    ],
)
def test_the_smaller_of_pool_and_threads_limits_connections(
    options: Mapping[str, object], workers: Workers, of_pool: int
) -> None:
    made = settings("sqlite://", placement_database=options).database
    assert workers.connections(made) == workers.processes * POOLS * of_pool
