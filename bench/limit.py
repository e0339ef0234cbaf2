"""`python -m bench.limit` compares the service with a minimal program with the same statements.

The program is a Falcon application of a few lines. It takes its statements from a record of the
service, sends them with the same values and in the same order on a database with the same rows, and
does nothing else with them. It responds to a read with the recorded response. One client sends the
same requests to both in turns. Both run in uWSGI (`pip install uWSGI`) with one worker, which does
not keep connections. The columns are the processor time of server and database for a request
(medians, in microseconds), and the median ratio, which is at most `AIM` if the service costs little
more than HTTP and its statements.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any
from unittest import mock

import falcon
import orjson
import pymysql
import sqlalchemy as sa
from pymysql.cursors import Cursor

from bench.__main__ import Databases
from bench.deployed import COMPUTES, REQUEST
from bench.servers import ENTRY, REPOSITORY, Server, serving, uwsgi
from bench.tables import Table, figure
from placement.db.engine import Database
from tests.kit.builders import settings
from tests.kit.cloud import consumer_uuid, provider_uuid
from tests.kit.service import HEADERS, Service, claim

REQUESTS = 50  # requests of a kind in a turn
RECORD = "statements.json"
COMMIT = "COMMIT"
AIM = 2.2
PROGRAM = "bench.limit:program()"
# In the order of a turn.
KINDS = (
    "GET /",
    "one provider",
    "one consumer",
    "nova-compute's read",
    "nova's request",
    "PUT of allocations",
    "DELETE of allocations",
)

# A statement with its values, or COMMIT without values.
Statement = tuple[str, Any]
# Method, path and query -> the last response, and the statements of each of these requests.
Record = dict[str, tuple[str, list[list[Statement]]]]


# -- the program ------------------------------------------------------------------------------


class Resource:
    """Sends the recorded statements of a request."""

    def __init__(self, record: Record) -> None:
        self._record = record
        url = os.environ["OS_PLACEMENT_DATABASE__CONNECTION"]
        self._database = Database(settings(url).database)
        # The connection for reads (True) and the one for writes, which the worker opens.
        self._connections: dict[bool, Any] = {}

    def _send(self, req: falcon.Request) -> str:
        """Return the recorded response."""
        reads = req.method == "GET"
        connection = self._connections.get(reads)
        if connection is None:
            pool = self._database.reader if reads else self._database.writer
            connection = self._connections[reads] = pool.raw_connection()
        cursor = connection.cursor()
        response, statements = self._record[f"{req.method} {req.relative_uri}"]
        # The start of a server also requests `/`.
        for sql, values in statements.pop(0) if req.path != "/" else ():
            if sql == COMMIT:
                connection.commit()
                continue
            cursor.execute(sql, values)
            if cursor.description is not None:
                cursor.fetchall()
        return response

    def on_get(self, req: falcon.Request, resp: falcon.Response, **_path: str) -> None:
        resp.data = self._send(req).encode()

    def on_put(self, req: falcon.Request, resp: falcon.Response, **_path: str) -> None:
        orjson.loads(req.bounded_stream.read())
        self._send(req)
        resp.status = 204

    def on_delete(self, req: falcon.Request, resp: falcon.Response, **_path: str) -> None:
        self._send(req)
        resp.status = 204


def program() -> falcon.App[Any, Any]:
    """Return the minimal program, for a server."""
    path = Path(os.environ["OS_PLACEMENT_CONFIG_DIR"], RECORD)
    resource = Resource(json.loads(path.read_text(), object_hook=_time))
    app: falcon.App[Any, Any] = falcon.App()
    for route in (
        "/",
        "/resource_providers/{uuid}",
        "/resource_providers/{uuid}/allocations",
        "/allocations/{uuid}",
        "/allocation_candidates",
    ):
        app.add_route(route, resource)
    return app


def _time(members: dict[str, Any]) -> Any:
    return datetime.fromisoformat(members["time"]) if members.keys() == {"time"} else members


# -- the record -------------------------------------------------------------------------------


def requests(number: int) -> Iterator[list[tuple[str, str, Any]]]:
    """Yield the requests of each kind for a turn: method, path and body."""
    for turn in range(number):
        consumers = [f"d0000000-0000-4000-8000-{turn * REQUESTS + n:012}" for n in range(REQUESTS)]
        hosts = [provider_uuid(1 + n * 7) for n in range(REQUESTS)]
        yield [("GET", "/", None)] * REQUESTS
        yield [("GET", f"/resource_providers/{host}", None) for host in hosts]
        yield [("GET", f"/allocations/{consumer_uuid(n + 1)}", None) for n in range(REQUESTS)]
        yield [("GET", f"/resource_providers/{host}/allocations", None) for host in hosts]
        yield [("GET", REQUEST, None)] * REQUESTS
        paths = [f"/allocations/{consumer}" for consumer in consumers]
        yield [
            ("PUT", path, claim({host: {"VCPU": 1, "MEMORY_MB": 512}}))
            for path, host in zip(paths, hosts, strict=True)
        ]
        yield [("DELETE", path, None) for path in paths]


def record(url: str, turns: int) -> Record:
    """Send all requests to the service in this process, and return their statements."""
    statements: Record = {}
    with Service(Path(), url=url) as service, _recorded() as sent:
        for method, path, body in (each for turn in requests(turns) for each in turn):
            sent.clear()
            answer = service.send(method, path, body)
            assert answer.status_code < 300, answer.text
            _response, of_request = statements.get(f"{method} {path}", ("", []))
            of_request.append(list(sent))
            statements[f"{method} {path}"] = answer.text, of_request
    return statements


@contextmanager
def _recorded() -> Iterator[list[Statement]]:
    sent: list[Statement] = []
    execute, commit = Cursor.execute, pymysql.Connection.commit

    def execute_and_note(self: Cursor, query: str, args: Any = None) -> int:
        sent.append((query, args))
        rows: int = execute(self, query, args)
        return rows

    def commit_and_note(self: Any) -> None:
        sent.append((COMMIT, None))
        commit(self)

    with (
        mock.patch.object(Cursor, "execute", execute_and_note),
        mock.patch.object(pymysql.Connection, "commit", commit_and_note),
    ):
        yield sent


# -- the comparison ---------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.limit", description=__doc__)
    parser.add_argument("--turns", type=int, default=40)
    turns = parser.parse_args().turns
    with tempfile.TemporaryDirectory(prefix="placement-bench-") as scratch, ExitStack() as stack:
        Path(scratch).chmod(0o755)
        databases = Databases("mariadb", Path(scratch))
        urls = {name: databases.of(name, COMPUTES) for name in ("recorded", "ours", "minimal")}
        assert databases.server is not None
        # Loading a cloud draws the revisions, and the statements depend on them.
        databases.server.execute(
            f"UPDATE minimal_{COMPUTES.name}.resource_providers mine "
            f"JOIN recorded_{COMPUTES.name}.resource_providers theirs USING (id) "
            "SET mine.revision = theirs.revision"
        )
        statements = record(urls["recorded"], turns + 1)
        home = Path(scratch) / "minimal"
        home.mkdir()
        text = json.dumps(statements, default=lambda time: {"time": time.isoformat()})
        (home / RECORD).write_text(text)
        servers = []
        for name, entry in (("ours", ENTRY), ("minimal", PROGRAM)):
            served = serving(
                name,
                urls[name],
                Path(scratch) / name,
                databases.server,
                checkout=REPOSITORY,
                workers=1,
                command=uwsgi(entry),
            )
            servers.append(stack.enter_context(served))
        table = measure(servers, turns)
        if _writes(urls["minimal"]) != _writes(urls["recorded"]):
            raise RuntimeError("the statements of the minimal program did not match its rows")
    table.keep("limit")


def measure(servers: Sequence[Server], turns: int) -> Table:
    """Send the requests to each server in turns. The first turn is not measured."""
    times: dict[tuple[str, str], list[float]] = {}
    for place, batch in enumerate(requests(turns + 1)):
        for server in servers:
            spent = _spend(server, batch)
            if place >= len(KINDS):
                times.setdefault((KINDS[place % len(KINDS)], server.name), []).append(spent)
    rows = {}
    for kind in KINDS:
        ours, minimal = (times[kind, server.name] for server in servers)
        ratio = statistics.median(map(float.__truediv__, ours, minimal))
        medians = [figure(statistics.median(each)) for each in (ours, minimal)]
        rows[kind] = [*medians, figure(ratio), "yes" if ratio <= AIM else "no"]
    columns = ["service, µs", "minimal program, µs", "times", f"<= {AIM}"]
    return Table.of_run("mariadb", "request", columns, rows)


def _writes(url: str) -> Any:
    """Return the sum of the generations of providers, which each write increments."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as conn:
        return conn.exec_driver_sql("SELECT SUM(generation) FROM resource_providers").scalar_one()


def _spend(server: Server, batch: Sequence[tuple[str, str, Any]]) -> float:
    """Return the processor time of a request, in server and database, in microseconds."""
    before = sum(server.processor_times())
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    for method, path, body in batch:
        text, headers = None, {**HEADERS, "Connection": "close"}
        if body is not None:
            text, headers["Content-Type"] = json.dumps(body), "application/json"
        connection.request(method, path, text, headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        assert answer.status < 300, (path, content)
    return 1e6 * (sum(server.processor_times()) - before) / len(batch)


if __name__ == "__main__":
    main()
