"""A primary with a replica that confirms each commit, and their failovers, as operators do them.

Writes are acknowledged only after the replica has stored them, without a limit in time. The service
reaches the primary by a URL that does not change:

* PostgreSQL: the URL lists both servers, with `target_session_attrs=read-write`.
* MariaDB: an address leads to the primary, like a virtual IP address or a proxy.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
import uuid as uuids
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import ClassVar

import sqlalchemy as sa

from tests.kit.builders import prepare
from tests.kit.engines import ENGINE, MYSQL_DRIVER, SERVERS, MySQL, PostgreSQL, Server
from tests.kit.ports import free_port
from tests.kit.proxy import Proxy

WAIT = 180  # seconds for replication
DATABASE = "placement"
USER = "placement"  # without the privilege to write to a server that is read-only


class Pair:
    """Two servers, of which one is the primary. Subclasses define the commands of the engine."""

    primary: Server
    replica: Server
    # Methods that make another server the primary.
    events: ClassVar[Sequence[str]] = ("fail_over", "hand_over")

    def url(self) -> str:
        """Return the URL by which the service reaches the primary."""
        raise NotImplementedError

    def replica_url(self) -> str:
        """Return the URL of the replica."""
        raise NotImplementedError

    def fail_over(self) -> None:
        """Kill the primary. The replica becomes the primary."""
        self.primary.kill()
        self._promote()

    def hand_over(self) -> None:
        """Exchange the roles of the servers."""
        raise NotImplementedError

    def _promote(self) -> None:
        raise NotImplementedError

    def waiting_commits(self) -> Sequence[int]:
        """Return the connections whose COMMIT waits for the replica."""
        raise NotImplementedError

    def disconnect(self, connection: int) -> None:
        """Close a connection to the primary. Its COMMIT then no longer waits for the replica."""
        raise NotImplementedError

    def stop_replication(self) -> None:
        """Keep the replica from receiving anything."""
        raise NotImplementedError

    def resume_replication(self) -> None:
        """Let the replica receive everything again."""
        raise NotImplementedError

    def acknowledge_early(self) -> None:
        """Let commits no longer wait for the replica."""
        raise NotImplementedError

    def discard(self) -> None:
        """Stop both servers and delete their data."""
        self.primary.discard()
        self.replica.discard()


class PostgreSqlPair(Pair):
    """A primary with `synchronous_standby_names`, and a standby that streams."""

    class Standby(PostgreSQL):
        """A server that begins as a copy of the primary."""

        def __init__(self, primary: Server) -> None:
            self._primary = primary
            super().__init__()

        def make(self) -> Sequence[str]:
            return (
                self.binary("pg_basebackup"),
                "--host=127.0.0.1",
                f"--port={self._primary.port}",
                "--username=postgres",
                f"--pgdata={self.directory}/data",
                "--checkpoint=fast",
                "--no-sync",
                "--write-recovery-conf",
            )

    def __init__(self) -> None:
        self.primary = PostgreSQL()
        self.replica = self.Standby(self.primary)
        self._await_standby()

    def _await_standby(self) -> None:
        """Let commits wait for the standby, as soon as it streams."""
        await_true(lambda: rows(self.primary, "SELECT FROM pg_stat_replication"))
        self.primary.execute(
            "ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"
        )
        is_synchronous = "SELECT FROM pg_stat_replication WHERE sync_state = 'sync'"
        await_true(lambda: rows(self.primary, is_synchronous))

    def url(self) -> str:
        hosts = [f"host=127.0.0.1:{server.port}" for server in (self.primary, self.replica)]
        parameters = [
            *hosts,
            "target_session_attrs=read-write",
            "connect_timeout=2",
            "tcp_user_timeout=5000",
            "keepalives_idle=5",
            "keepalives_interval=2",
            "keepalives_count=3",
        ]
        return f"{PostgreSQL.scheme}@/{DATABASE}?{'&'.join(parameters)}"

    def replica_url(self) -> str:
        return self.replica.url(DATABASE)

    def _promote(self) -> None:
        self.replica.execute("SELECT pg_promote()")
        self.primary, self.replica = self.replica, self.primary

    def hand_over(self) -> None:
        """Stop the primary, promote the standby, and restart the first one as its standby."""
        self.primary.stop(signal.SIGINT)
        self._promote()
        data = self.replica.directory / "data"
        (data / "standby.signal").touch()
        with (data / "postgresql.auto.conf").open("a") as settings:
            settings.write(f"primary_conninfo = '{self._address()}'\n")
        self.replica.start()
        self._await_standby()

    def waiting_commits(self) -> Sequence[int]:
        waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        return [row["pid"] for row in rows(self.primary, waiting)]

    def disconnect(self, connection: int) -> None:
        self.primary.execute(f"SELECT pg_terminate_backend({connection})")

    def stop_replication(self) -> None:
        self._receive_from("")

    def resume_replication(self) -> None:
        self._receive_from(self._address())

    def _address(self) -> str:
        return f"host=127.0.0.1 port={self.primary.port} user=postgres"

    def _receive_from(self, address: str) -> None:
        self.replica.execute(
            f"ALTER SYSTEM SET primary_conninfo = '{address}'", "SELECT pg_reload_conf()"
        )
        is_connected = "SELECT FROM pg_stat_replication"
        await_true(lambda: bool(rows(self.primary, is_connected)) == bool(address))

    def acknowledge_early(self) -> None:
        self.primary.execute(
            "ALTER SYSTEM SET synchronous_standby_names = ''", "SELECT pg_reload_conf()"
        )


class MariaDbPair(Pair):
    """A primary with a semi-synchronous replica, and an address that leads to the primary."""

    options: Sequence[str] = (
        *("--log-bin", "--log-slave-updates", "--gtid-strict-mode=ON"),
        "--rpl-semi-sync-master-timeout=4000000000",  # milliseconds
        *("--rpl-semi-sync-master-wait-point=AFTER_SYNC", "--rpl-semi-sync-slave-enabled=ON"),
    )
    # Statements and columns, which MySQL names otherwise.
    semi_sync = "rpl_semi_sync_master"
    follow = """CHANGE MASTER TO master_host = '127.0.0.1', master_port = {}, master_user = 'root',
        master_use_gtid = slave_pos, master_demote_to_slave = 1, master_connect_retry = 1"""
    word = "SLAVE"
    received, executed = "Gtid_IO_Pos", "gtid_binlog_pos"
    await_applied = "SELECT MASTER_GTID_WAIT('{}')"
    waits = "INSTR(state, 'semi-sync ACK')"

    def __init__(self) -> None:
        self._start()
        self._proxy = Proxy(self.primary.port)
        self._follow()
        self.primary.execute(
            f"CREATE USER {USER}@'127.0.0.1'", f"GRANT ALL ON {DATABASE}.* TO {USER}@'127.0.0.1'"
        )

    def _start(self) -> None:
        kind = SERVERS[ENGINE]
        self.primary = kind(options=(*self.options, "--server-id=1"))
        self.replica = kind(options=(*self.options, "--server-id=2", "--read-only=ON"))

    def _follow(self) -> None:
        """Let the replica follow the primary, and confirm its commits."""
        self.replica.execute(
            "SET GLOBAL read_only = ON",
            f"SET GLOBAL {self.semi_sync}_enabled = OFF",
            self.follow.format(self.primary.port),
        )
        self.primary.execute(f"SET GLOBAL {self.semi_sync}_enabled = ON")
        self.replica.execute(f"START {self.word}")
        clients = f"SHOW STATUS WHERE Variable_name = '{self.semi_sync}_clients' AND Value = '1'"
        await_true(lambda: rows(self.primary, clients))

    def url(self) -> str:
        return f"mysql+{MYSQL_DRIVER}://{USER}@127.0.0.1:{self._proxy.port}/{DATABASE}"

    def replica_url(self) -> str:
        return f"mysql+{MYSQL_DRIVER}://{USER}@127.0.0.1:{self.replica.port}/{DATABASE}"

    def _promote(self) -> None:
        """Apply what the replica has received, and let the address lead to it."""
        self.replica.execute(f"STOP {self.word} IO_THREAD")
        (status,) = rows(self.replica, f"SHOW {self.word} STATUS")
        self.replica.execute(
            self.await_applied.format(status[self.received]),
            f"STOP {self.word}",
            f"RESET {self.word} ALL",
            "SET GLOBAL read_only = OFF",
        )
        self.primary, self.replica = self.replica, self.primary
        self._proxy.redirect(self.primary.port)

    def hand_over(self) -> None:
        """Close the connections of the primary, make it read-only, and promote the replica.

        In the other order, a COMMIT waits for the option, which waits for a transaction that waits
        for the locks of the first one, until the timeout for locks.
        """
        self._proxy.redirect()
        self._close_connections()
        self.primary.execute("SET GLOBAL read_only = ON")
        self._close_connections()
        self._exchange()

    def _close_connections(self) -> None:
        query = f"SELECT id FROM information_schema.processlist WHERE user = '{USER}'"
        for row in rows(self.primary, query):
            with contextlib.suppress(sa.exc.OperationalError):  # it has ended
                self.primary.execute(f"KILL {row['id']}")

    def hand_over_with_connections(self) -> None:
        """Do the same, but leave the connections to the first server open."""
        self.primary.execute("SET GLOBAL read_only = ON")
        self._exchange()

    def _exchange(self) -> None:
        (status,) = rows(self.primary, f"SELECT @@GLOBAL.{self.executed} AS position")
        self.replica.execute(self.await_applied.format(status["position"]))
        self._promote()
        self._follow()

    def waiting_commits(self) -> Sequence[int]:
        query = f"SELECT id FROM information_schema.processlist WHERE {self.waits}"
        return [row["id"] for row in rows(self.primary, query)]

    def disconnect(self, connection: int) -> None:
        self.primary.execute(f"KILL {connection}")

    def stop_replication(self) -> None:
        self.replica.execute(f"STOP {self.word} IO_THREAD")

    def resume_replication(self) -> None:
        self.replica.execute(f"START {self.word} IO_THREAD")

    def acknowledge_early(self) -> None:
        self.primary.execute(f"SET GLOBAL {self.semi_sync}_enabled = OFF")

    def discard(self) -> None:
        self._proxy.close()
        super().discard()


_GTID = ("--log-bin", "--gtid-mode=ON", "--enforce-gtid-consistency=ON")


class MySqlPair(MariaDbPair):
    """The same with MySQL."""

    options = (
        *_GTID,
        "--plugin-load-add=semisync_source.so;semisync_replica.so",
        *("--rpl-semi-sync-source-timeout=4000000000", "--rpl-semi-sync-replica-enabled=ON"),
    )
    semi_sync = "rpl_semi_sync_source"
    follow = """CHANGE REPLICATION SOURCE TO source_host = '127.0.0.1', source_port = {},
        source_user = 'root', source_auto_position = 1, source_connect_retry = 1"""
    word = "REPLICA"
    received, executed = "Retrieved_Gtid_Set", "gtid_executed"
    await_applied = "SELECT WAIT_FOR_EXECUTED_GTID_SET('{}')"
    # A COMMIT goes on waiting without its connection, and others wait for its locks.
    waits = "INSTR(state, 'semi-sync ACK') OR (INSTR(info, 'FOR UPDATE') AND time > 0)"


class MySqlGroup(MySqlPair):
    """A replication group of three servers, of which one is the primary."""

    events = ("fail_over", "hand_over", "interrupt")

    def _start(self) -> None:
        ports = [free_port() for _ in range(3)]
        options = (
            *_GTID,
            "--plugin-load-add=group_replication.so",
            f"--group-replication-group-name={uuids.uuid4()}",
            f"--group-replication-group-seeds={','.join(f'127.0.0.1:{port}' for port in ports)}",
            *("--group-replication-start-on-boot=OFF", "--report-host=127.0.0.1"),
        )
        self.nodes: list[MySQL] = []
        for number, port in enumerate(ports, 1):
            own = (f"--group-replication-local-address=127.0.0.1:{port}", f"--server-id={number}")
            self.nodes.append(MySQL(options=(*options, *own)))
            self.nodes[-1].execute(
                f"SET GLOBAL group_replication_bootstrap_group = {int(number == 1)}",
                "SET GLOBAL group_replication_recovery_get_public_key = ON",
                "START GROUP_REPLICATION USER = 'root'",
                "SET GLOBAL group_replication_bootstrap_group = OFF",
            )
            self.await_members(number)
        self.primary, self.replica, _third = self.nodes

    def _follow(self) -> None:
        """Do nothing, because the members of a group follow each other."""

    def await_members(self, number: int) -> None:
        """Wait until this number of members is in the group, as the last one sees it."""
        members = "FROM performance_schema.replication_group_members WHERE member_state = 'ONLINE'"
        await_true(lambda: len(rows(self.nodes[-1], f"SELECT 1 {members}")) == number)

    def _promote(self) -> None:
        """Let the address lead to the primary that the group elects."""
        first, self.replica = self.primary, self.nodes[-1]
        elected = f"""SELECT member_port FROM performance_schema.replication_group_members
            WHERE member_role = 'PRIMARY' AND member_port != {first.port}"""
        await_true(lambda: rows(self.replica, elected))
        (member,) = rows(self.replica, elected)
        (self.primary,) = (node for node in self.nodes if node.port == member["member_port"])
        self._proxy.redirect(self.primary.port)
        self._proxy.sever()

    def _exchange(self) -> None:
        self.replica.execute("SELECT group_replication_set_as_primary(@@server_uuid)")
        self._promote()

    def interrupt(self) -> None:
        """Stop the process of the primary until the group has elected another one."""
        first = self.primary
        os.kill(first.pid, signal.SIGSTOP)
        self._promote()
        os.kill(first.pid, signal.SIGCONT)
        self.await_members(len(self.nodes))

    def discard(self) -> None:
        for node in self.nodes:
            node.discard()
        super().discard()


def rows(server: Server, query: str) -> list[sa.RowMapping]:
    """Return the rows of a query."""
    engine = sa.create_engine(server.url(server.admin), poolclass=sa.NullPool)
    with engine.connect() as conn:
        return list(conn.exec_driver_sql(query).mappings())


def await_true(condition: Callable[[], object]) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < deadline, "replication is stuck"
        time.sleep(0.02)


PAIRS: Mapping[str, type[Pair]] = {
    "mariadb": MariaDbPair,
    "mysql": MySqlPair,
    "postgresql": PostgreSqlPair,
}


@contextmanager
def replicated(servers: type[Pair] | None = None) -> Iterator[Pair]:
    """Start servers, or a pair of the selected engine, with the database of the service."""
    pair = (servers or PAIRS[ENGINE])()
    try:
        pair.primary.execute(f"CREATE DATABASE {DATABASE}")
        prepare(pair.primary.url(DATABASE))
        yield pair
    finally:
        pair.discard()
