"""Three MariaDB servers on this machine that form a cluster."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

import sqlalchemy as sa

from tests.kit.engines import MariaDB
from tests.kit.ports import free_port

PROVIDER = Path("/usr/lib/galera/libgalera_smm.so")
NODES = 3
JOIN = 300  # seconds that a node may take to be one of the cluster


class Node(MariaDB):
    """One node. It joins the running nodes on the cluster's ports, or starts a cluster."""

    def __init__(self, ports: Sequence[int], number: int) -> None:
        self._ports = ports
        self._number = number
        self._transfer = free_port()
        self._increments = free_port()
        self.begins = number == 0
        super().__init__()

    def serve(self) -> Sequence[str]:
        members = ",".join(f"127.0.0.1:{port}" for port in self._ports)
        options = {
            "gmcast.listen_addr": f"tcp://127.0.0.1:{self._ports[self._number]}",
            "ist.recv_addr": f"127.0.0.1:{self._increments}",
            # A node that is gone is noticed within seconds.
            "evs.keepalive_period": "PT0.5S",
            "evs.suspect_timeout": "PT5S",
            "evs.inactive_timeout": "PT10S",
            "repl.causal_read_timeout": "PT60S",
            "gcache.size": "64M",
        }
        return (
            *super().serve(),
            "--wsrep-on=ON",
            f"--wsrep-provider={PROVIDER}",
            f"--wsrep-cluster-address=gcomm://{members}",
            f"--wsrep-node-name=node{self._number}",
            "--wsrep-node-address=127.0.0.1",
            f"--wsrep-sst-receive-address=127.0.0.1:{self._transfer}",
            "--wsrep-sst-method=rsync",
            f"--wsrep-provider-options={';'.join(f'{k}={v}' for k, v in options.items())}",
            "--binlog-format=ROW",
            "--innodb-autoinc-lock-mode=2",
            *(["--wsrep-new-cluster"] if self.begins else []),
        )

    def status(self, name: str) -> str:
        """Return the value of a status variable. Empty if the node does not respond."""
        engine = sa.create_engine(self.url(self.admin), poolclass=sa.NullPool)
        try:
            with engine.connect() as conn:
                row = conn.exec_driver_sql(f"SHOW STATUS LIKE '{name}'").first()
                return str(row[1]) if row else ""
        except sa.exc.DBAPIError:
            return ""

    def await_joined(self, size: int) -> None:
        """Wait until the node is synchronised in a cluster of this size."""
        deadline = time.monotonic() + JOIN
        while self.status("wsrep_local_state_comment") != "Synced" or self.status(
            "wsrep_cluster_size"
        ) != str(size):
            assert time.monotonic() < deadline, f"node {self._number} does not join"
            time.sleep(0.2)

    def await_minority(self) -> None:
        """Wait until the node is in a part of the cluster without a quorum."""
        deadline = time.monotonic() + JOIN
        while self.status("wsrep_cluster_status") == "Primary":
            assert time.monotonic() < deadline, f"node {self._number} does not notice"
            time.sleep(0.2)


def start_cluster(size: int = NODES) -> list[Node]:
    """Start this number of nodes, one after the other."""
    ports = [free_port() for _ in range(size)]
    os.environ.setdefault("PATH", "/usr/bin:/bin")
    nodes = []
    for number in range(size):
        node = Node(ports, number)
        node.await_joined(number + 1)
        nodes.append(node)
    nodes[0].begins = False
    return nodes
