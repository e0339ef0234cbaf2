"""The demonstration cloud with some consumers."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from placement import cli
from tests.kit.processes import REPOSITORY, Process, expect, send, serving

VERSION = "2.0"
CONSUMERS = 60
PROJECTS = ("web", "batch", "ci")


@dataclass(frozen=True)
class Demo:
    """A server with the cloud. consumers: the consumers with allocations."""

    process: Process
    url: str
    consumers: list[str]

    def get(self, path: str) -> Any:
        """Return the response to a GET."""
        return expect(send(self.process.port, "GET", path, None, VERSION), 200).body

    def post(self, path: str, body: Any) -> Any:
        """Return the response to a POST that only reads."""
        return expect(send(self.process.port, "POST", path, body, VERSION), 200).body

    def send(self, method: str, path: str, body: Any = None) -> None:
        """Send a write that must succeed."""
        answer = send(self.process.port, method, path, body, VERSION)
        assert answer.status < 300, answer

    def provider(self, name: str) -> str:
        """Return the UUID of the provider with this name."""
        return str(self.get(f"/resource_providers?name={name}")["resource_providers"][0]["uuid"])


@contextmanager
def demonstration(directory: Path) -> Iterator[Demo]:
    """Serve the demonstration cloud on SQLite until the block ends."""
    database = f"sqlite:///{directory}/placement.db"
    with serving(directory, [database], OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP="true") as servers:
        [server] = servers
        url = f"http://127.0.0.1:{server.port}"
        cloud = str(REPOSITORY / "etc" / "demo-cloud.yaml")
        assert cli.main(["load-cloud", cloud, "--url", url]) == 0
        yield Demo(server, url, fill(server.port))


def fill(port: int) -> list[str]:
    """Create the same consumers in the cloud each time. Return the consumers."""
    chance = random.Random(5)
    consumers = []
    for number in range(CONSUMERS):
        consumer = str(uuid.UUID(int=chance.getrandbits(128), version=4))
        sizes = f"VCPU:{chance.choice([2, 8, 32])},MEMORY_MB:{chance.choice([4096, 65536])}"
        query = f"resources={sizes},DISK_GB:{chance.choice([10, 200])}&limit=40"
        answer = send(port, "GET", f"/allocation_candidates?{query}", None, VERSION).body
        candidates = answer["allocation_requests"]
        # The first consumer is on the first host, which the tests look at.
        candidate = chance.choice(candidates) if number else candidates[0]
        body = {
            "allocations": candidate["allocations"],
            "mappings": candidate["mappings"],
            "project_id": chance.choice(PROJECTS),
            "user_id": "user",
            "consumer_generation": None,
            "consumer_type": "INSTANCE",
        }
        expect(send(port, "PUT", f"/allocations/{consumer}", body, VERSION), 204)
        consumers.append(consumer)
    return consumers
