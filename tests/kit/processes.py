"""Server processes of the service, with its configuration of gunicorn, which tests may kill."""

from __future__ import annotations

import contextlib
import http.client
import os
import signal as signals
import subprocess
import sys
import time
import uuid as uuids
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from tests.kit import service
from tests.kit.forked import Forked
from tests.kit.ports import free_port

REPOSITORY = Path(__file__).resolve().parents[2]
START = 180  # seconds for a process to respond
ANSWER = 180  # seconds for a response

HEADERS = {**service.HEADERS, "Content-Type": "application/json"}


class NoAnswerError(Exception):
    """The connection to the server was refused, or ended without a response."""


@dataclass(frozen=True)
class Answer:
    """A response with its decoded body; None if there is no body."""

    status: int
    body: Any

    @property
    def code(self) -> str:
        """The code of an error."""
        return str(self.body["errors"][0].get("code", ""))

    @property
    def detail(self) -> str:
        """The message of an error."""
        return str(self.body["errors"][0]["detail"])


def send(port: int, method: str, path: str, body: object = None, version: str = "") -> Answer:
    """Send one request on a new connection.  Raises NoAnswerError."""
    status, text = exchange(port, method, path, body, version)
    return Answer(status, orjson.loads(text) if text else None)


def exchange(
    port: int, method: str, path: str, body: object = None, version: str = ""
) -> tuple[int, bytes]:
    """Send a request as `send` does; returns the status and the text of the response.

    When it returns, the server has logged and counted the request: it does so after the response,
    and before it ends the connection.
    """
    headers = {**HEADERS, "Connection": "close"}  # a proxy would keep it alive
    if version:
        headers["OpenStack-API-Version"] = f"placement {version}"
    raw = None if body is None else orjson.dumps(body)
    try:
        with connected(port) as connection:
            connection.request(method, path, raw, headers)
            answer = connection.getresponse()
            text = answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise NoAnswerError(f"{method} {path}: {error!r}") from error
    return answer.status, text


@contextmanager
def connected(port: int) -> Iterator[http.client.HTTPConnection]:
    """Connect for one request; at the end of the block wait until the server disconnects."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER)
    with contextlib.closing(connection):
        connection.connect()
        with connection.sock.dup() as sock:  # the library closes its own after a response
            sock.settimeout(ANSWER)
            yield connection
            with contextlib.suppress(ConnectionError):  # killed after its response
                while sock.recv(1 << 16):
                    pass


class Process:
    """One gunicorn with its workers."""

    def __init__(
        self,
        home: Path,
        database: str,
        workers: int = 1,
        application: str = "placement.wsgi.api:application",
        code: str = str(REPOSITORY),
        **environment: str,
    ) -> None:
        """Start the process from a source tree; `await_answer` waits for it.

        Another tree than this one needs an interpreter of its own.
        """
        self.port = free_port()
        self._code = code
        self._home = home
        self._process: Forked | subprocess.Popen[bytes]
        home.mkdir(parents=True, exist_ok=True)
        self.configure("")
        self._environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith("OS_")},
            "WEB_CONCURRENCY": str(workers),
            "OS_PLACEMENT_CONFIG_DIR": str(home),
            "OS_PLACEMENT_DATABASE__CONNECTION": database,
            "OS_PLACEMENT_DATABASE__SQLITE_SYNCHRONOUS": "false",
            # No statement takes this long, except on a busy machine.
            "OS_PLACEMENT_DATABASE__STATEMENT_TIMEOUT": "60",
            "OS_PLACEMENT__REQUEST_DEADLINE": "0",
            "OS_API__AUTH_STRATEGY": "noauth2",
            "OS_DEFAULT__LOG_FILE": str(home / "placement.log"),
            **environment,
        }
        self._arguments = [
            "--config", "etc/gunicorn.conf.py", "--bind", f"127.0.0.1:{self.port}", application
        ]  # fmt: skip
        if "OS_METRICS__BIND_PORT" in environment:
            self._arguments += ["--bind", f"127.0.0.1:{environment['OS_METRICS__BIND_PORT']}"]
        self.start()

    def start(self) -> None:
        """Start the process, the first time or again."""
        log = self._home / "gunicorn.log"
        if self._code == str(REPOSITORY):
            command = ["gunicorn", *self._arguments]
            self._process = Forked(command, self._code, self._environment, log)
            return
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "gunicorn", *self._arguments],
                cwd=self._code,
                env=self._environment,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def await_answer(self, seconds: float = START) -> None:
        """Wait until the process responds.  Raises RuntimeError with its log if it does not."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                send(self.port, "GET", "/")
                return
            except NoAnswerError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"no server: {self.complaint()}") from None
                time.sleep(0.05)

    def configure(self, text: str) -> None:
        """Write placement.conf, which is read at startup and on SIGHUP."""
        (self._home / "placement.conf").write_text(text)

    def signal(self, number: signals.Signals) -> None:
        """Send a signal to the master."""
        self._process.send_signal(number)

    def signal_group(self, number: signals.Signals) -> None:
        """Send a signal to the master and its workers, as a terminal does."""
        os.killpg(self._process.pid, number)

    def ended(self) -> int:
        """Wait for the end of the process; returns its exit code."""
        return self._process.wait(START)

    def complaint(self) -> str:
        """The last message of the process."""
        return (self._home / "gunicorn.log").read_text(errors="replace")[-2000:]

    def log(self) -> str:
        """The log of the service."""
        path = self._home / "placement.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def worker_ids(self) -> list[int]:
        """The process ids of the workers."""
        listed = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text()
        return [int(number) for number in listed.split()]

    def kill_worker(self) -> None:
        """Kill one worker at any point; the arbiter starts another."""
        for number in self.worker_ids()[:1]:
            os.kill(number, signals.SIGKILL)

    def kill(self) -> None:
        """Kill the process with its workers."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signals.SIGKILL)
            self._process.wait()

    def stop(self) -> None:
        """Stop the process as operators do."""
        if self._process.poll() is None:
            self._process.terminate()
            self._process.wait()


@contextmanager
def serving(
    directory: Path, databases: Sequence[str], workers: int = 1, **more: str
) -> Iterator[list[Process]]:
    """Serve during the block, with one process for each database URL."""
    processes = [
        Process(directory / f"server-{number}", url, workers, **more)
        for number, url in enumerate(databases)
    ]
    try:
        for process in processes:
            process.await_answer()
        yield processes
    finally:
        for process in processes:
            process.stop()


def new_host(port: int, parent: str | None = None, **totals: int) -> str:
    """Create a provider with these inventories; returns its uuid."""
    uuid = str(uuids.uuid4())
    body = {"name": uuid, "uuid": uuid, "parent_provider_uuid": parent}
    expect(send(port, "POST", "/resource_providers", body), 200)
    records = {name: {"total": total} for name, total in totals.items()}
    shape = {"resource_provider_generation": 0, "inventories": records}
    expect(send(port, "PUT", f"/resource_providers/{uuid}/inventories", shape), 200)
    return uuid


def expect(answer: Answer, status: int) -> Answer:
    """Fail unless the response has the status."""
    assert answer.status == status, answer
    return answer
