"""This service and openstack-placement, each in a separate process with a separate database."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import requests

from tests.kit.peer import peer_environment
from tests.kit.ports import free_port

REPOSITORY = Path(__file__).resolve().parents[2]
SQLITE = "sqlite:///"
START = 60  # seconds

# What an episode leaves behind, dependants first.
EMPTIED = (
    "DELETE FROM allocations",
    "DELETE FROM consumers",
    "DELETE FROM inventories",
    "DELETE FROM resource_provider_traits",
    "DELETE FROM resource_provider_aggregates",
    "DELETE FROM placement_aggregates",
    "UPDATE resource_providers SET parent_provider_id = NULL, root_provider_id = NULL",
    "DELETE FROM resource_providers",
    "DELETE FROM traits WHERE name LIKE 'CUSTOM%'",
    "DELETE FROM resource_classes WHERE name LIKE 'CUSTOM%'",
)


@dataclass
class Server:
    """One server under comparison."""

    name: str
    url: str
    database: str  # its SQLAlchemy URL
    session: requests.Session = field(default_factory=requests.Session)

    def empty(self) -> None:
        """Delete everything except standard classes and traits. Only for SQLite."""
        with sqlite3.connect(self.database.removeprefix(SQLITE), timeout=10) as conn:
            for statement in EMPTIED:
                conn.execute(statement)
        conn.close()


def environment(home: Path, url: str) -> dict[str, str]:
    """Return the environment of a process of either software, for one database."""
    home.mkdir(exist_ok=True)
    (home / "placement.conf").write_text("")
    outside = {key: value for key, value in os.environ.items() if not key.startswith("OS_")}
    # The peer must not see our package, which has the same name.
    outside.pop("PYTHONPATH", None)
    return {
        **outside,
        "OS_PLACEMENT_CONFIG_DIR": str(home),
        "OS_PLACEMENT_DATABASE__CONNECTION": url,
        "OS_API__AUTH_STRATEGY": "noauth2",
    }


@contextmanager
def _serving(
    name: str, gunicorn: list[str], home: Path, package: Path, url: str, *, sync: bool = True
) -> Iterator[Server]:
    port = free_port()
    variables = environment(home, url) | {
        "OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP": str(sync).lower()
    }
    command = [*gunicorn, "--workers=1", f"--bind=127.0.0.1:{port}", "--limit-request-line=0"]
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "placement.wsgi.api:application"],
            cwd=package,
            env=variables,
            stdout=log,
            stderr=log,
        )
    server = Server(name, f"http://127.0.0.1:{port}", url)
    try:
        _wait(server, process, home)
        yield server
    finally:
        process.terminate()
        process.wait()
        server.session.close()


def _wait(server: Server, process: subprocess.Popen[bytes], home: Path) -> None:
    deadline = time.monotonic() + START
    while True:
        try:
            server.session.get(server.url, timeout=5).raise_for_status()
            return
        except requests.RequestException:
            if process.poll() is not None or time.monotonic() > deadline:
                log = (home / "log").read_text(errors="replace")
                raise RuntimeError(f"{server.name} did not start: {log[-2000:]}") from None
            time.sleep(0.1)


@contextmanager
def ours(home: Path, url: str, *, sync: bool = True) -> Iterator[Server]:
    """Serve this service on a database. With `sync`, migrate the database first."""
    gunicorn = [sys.executable, "-m", "gunicorn"]
    with _serving("ours", gunicorn, home, REPOSITORY, url, sync=sync) as server:
        yield server


@contextmanager
def peer(home: Path, url: str) -> Iterator[Server]:
    """Serve the peer on a database. The peer migrates it first."""
    gunicorn = [str(peer_environment() / "bin" / "gunicorn")]
    with _serving("peer", gunicorn, home, home.parent, url) as server:
        yield server


@contextmanager
def pair(directory: Path) -> Iterator[tuple[Server, Server]]:
    """Serve this service and the peer until the block ends, each on a SQLite file."""
    with (
        ours(directory / "ours", f"{SQLITE}{directory}/ours.db") as one,
        peer(directory / "peer", f"{SQLITE}{directory}/peer.db") as other,
    ):
        yield one, other
