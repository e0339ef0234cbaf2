"""`python -m bench.hostile_requests` measures valid requests that are as expensive as possible.

Each is sent once to a new server of one worker, as it ships, on a cloud made for it; its client
reads all of the response. Seconds that it took, processor seconds of server and database, the most
memory that the worker held, the response's size.
"""

from __future__ import annotations

import argparse
import http.client
import json
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.__main__ import Databases
from bench.attacks import ATTACKS, Attack
from bench.servers import REPOSITORY, serving
from bench.tables import Cell, Table, figure, shown
from tests.kit.engines import SERVERS
from tests.kit.service import NEWEST, headers_at

PATIENCE = 100  # maximum time that a client waits, in seconds


# Times are in seconds, and sizes in MiB. The memory of the worker is its peak.
COLUMNS = ("status", "s", "CPU s", "CPU s of the database", "worker MiB", "response MiB")


def attack(
    port: int, path: str, body: Mapping[str, Any] | None = None, method: str = "GET"
) -> tuple[int | None, int]:
    """Return the status and the size of the response. The status is None after a timeout."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        headers = headers_at("2.0" if body or "explain=" in path else NEWEST)
        if body is None:
            connection.request(method, path, headers=headers)
        else:
            headers["Content-Type"] = "application/json"
            connection.request(method, path, json.dumps(body), headers)
        answer = connection.getresponse()
        size = 0
        while piece := answer.read(2**20):
            size += len(piece)
    except (TimeoutError, http.client.HTTPException, ConnectionError):
        return None, 0
    finally:
        connection.close()
    return answer.status, size


def measure(databases: Databases, each: Attack, home: Path) -> list[Cell]:
    """Send one request to a new server. Return the cells of its row."""
    url = databases.of("ours", each.cloud)
    with serving("ours", url, home, databases.server, checkout=REPOSITORY, workers=1) as server:
        attack(server.port, "/resource_providers?name=nobody")
        before, started = server.spent(), time.monotonic()
        status, size = attack(server.port, each.path, each.body, each.method)
        wall, spent = time.monotonic() - started, server.spent() - before
        times = [round(seconds, 2) for seconds in (wall, spent.server, spent.database)]
        return [status, *times, round(server.peak_memory()), figure(size / 2**20)]


def main() -> None:
    """Measure the attacks whose names contain the given word."""
    parser = argparse.ArgumentParser(prog="python -m bench.hostile_requests", description=__doc__)
    parser.add_argument("--engine", choices=("sqlite", *SERVERS), default="postgresql")
    parser.add_argument("--only", default="", help="a part of the names")
    options = parser.parse_args()
    rows: dict[str, list[Cell]] = {}
    with tempfile.TemporaryDirectory(prefix="placement-hostile-") as directory:
        home = Path(directory)
        home.chmod(0o755)
        databases = Databases(options.engine, home)
        for number, each in enumerate(ATTACKS):
            if options.only not in each.name:
                continue
            rows[each.name] = measure(databases, each, home / str(number))
            print(each.name, *map(shown, rows[each.name]), sep="  ", flush=True)
        if databases.server is not None:
            databases.server.discard()
    Table.of_run(options.engine, "request", COLUMNS, rows).keep("hostile-requests")


if __name__ == "__main__":
    main()
