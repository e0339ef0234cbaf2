"""Two servers of PostgreSQL that Patroni manages, with etcd, and HAProxy in front of them.

The settings are those of Patroni's documentation with `synchronous_mode`, and ports of the tests.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.kit.engines import PostgreSQL, is_alive
from tests.kit.missing import need
from tests.kit.ports import free_port
from tests.kit.processes import send
from tests.kit.replication import DATABASE, Pair, await_true, rows

FILES = Path(__file__).with_name("patroni_files")


def write(file: str, directory: Path, **values: object) -> str:
    """Write a file with these values. Return its path."""
    path = directory / file
    path.write_text((FILES / file).read_text().format(directory=directory, **values))
    return str(path)


class PatroniNode(PostgreSQL):
    """A server that its Patroni creates, starts and stops."""

    def __init__(self, name: str, etcd: int) -> None:
        self.name = name
        self.api = free_port()
        self._etcd = etcd
        super().__init__()

    def make(self) -> Sequence[str]:
        programs = Path(self.binary("postgres")).parent
        self.settings = write(
            "patroni.yml", self.directory, programs=programs, port=self.port, api=self.api,
            name=self.name, etcd=self._etcd,
        )  # fmt: skip
        return ("true",)

    def serve(self) -> Sequence[str]:
        return ("patroni", self.settings)

    def stop(self, how: signal.Signals) -> None:
        """Stop Patroni, and kill the server, which Patroni leaves if it is killed."""
        super().stop(how)
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            number = int((self.directory / "data/postmaster.pid").read_text().split()[0])
            os.kill(number, signal.SIGKILL)
            await_true(lambda: not is_alive(number))


class PatroniPair(Pair):
    """A primary with a synchronous standby, and an address that leads to the primary."""

    primary: PatroniNode
    replica: PatroniNode

    def __init__(self) -> None:
        for program in ("etcd", "haproxy", "patroni"):
            need(program, "PLACEMENT_PATRONI")
        self._directory = Path(tempfile.mkdtemp(prefix="placement-patroni-"))
        self._port, etcd = free_port(), free_port()
        settings = write("etcd.yml", self._directory, etcd=etcd, peers=free_port())
        self._processes = [_start("etcd", "--config-file", settings)]
        self.primary, self.replica = PatroniNode("db1", etcd), PatroniNode("db2", etcd)
        settings = write(
            "haproxy.cfg", self._directory, haproxy=self._port,
            server1=self.primary.port, api1=self.primary.api,
            server2=self.replica.port, api2=self.replica.api,
        )  # fmt: skip
        self._processes.append(_start("haproxy", "-db", "-f", settings))
        self._await_standby()  # a failover before would lose what the test creates first

    def _await_standby(self) -> None:
        """Wait until Patroni considers the standby synchronous, and could promote it."""
        await_true(lambda: send(self.replica.api, "GET", "/sync").status == 200)

    def url(self) -> str:
        return f"{PostgreSQL.scheme}@127.0.0.1:{self._port}/{DATABASE}"

    def fail_over(self) -> None:
        self._await_standby()
        super().fail_over()

    def _promote(self) -> None:
        """Wait until Patroni has promoted the standby."""
        await_true(lambda: rows(self.replica, "SELECT WHERE NOT pg_is_in_recovery()"))
        self.primary, self.replica = self.replica, self.primary

    def hand_over(self) -> None:
        """Exchange the roles of the servers."""
        self._await_standby()
        roles = ("--master", self.primary.name, "--candidate", self.replica.name)
        command = ("patronictl", "-c", self.primary.settings, "switchover", "placement", *roles)
        subprocess.run([*command, "--force"], check=True, capture_output=True)
        self._promote()

    def discard(self) -> None:
        super().discard()
        for process in self._processes:
            process.kill()
            process.wait()
        shutil.rmtree(self._directory)


def _start(*command: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
