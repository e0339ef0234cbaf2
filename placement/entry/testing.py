"""The service for tests of programs that use it, either in process or as a server.

The fixtures are in `falcon_placement_client`, which finds this module through its entry point.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from tempfile import TemporaryDirectory

import requests

from placement.entry.direct import PlacementDirect

PRIVATE = "sqlite://"  # a new database, which is deleted at the end
START_SECONDS = 120  # seconds that a server may take to respond on a busy machine
POLL_SECONDS = 0.05
MAX_LOG = 2000  # maximum length of a server's log in an error, in characters


def direct() -> PlacementDirect:
    """Return the service in this process, on a new SQLite database; the context starts it."""
    return PlacementDirect.on_database(PRIVATE)


@contextmanager
def serving() -> Iterator[str]:
    """Run a server on a new SQLite database in the same way as operators, and yield its URL.

    SIGTERM interrupts the block like Ctrl-C, unless the program handles it, so the server ends too.

    Raises:
        RuntimeError: the server does not start. The text ends with its log.
    """
    with (
        TemporaryDirectory(prefix="placement-") as home,
        as_file(files("placement.samples") / "gunicorn.conf.py") as settings,
        socket.create_server(("127.0.0.1", 0)) as listener,
        _interrupted_by_sigterm(),
    ):
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        Path(home, "placement.conf").touch()  # and files of this machine are not read
        log = Path(home, "log")
        with log.open("wb") as output:
            server = subprocess.Popen(  # noqa: S603 - the command is constant
                [
                    *(sys.executable, "-m", "gunicorn", "--config", str(settings)),
                    *("--bind", f"fd://{listener.fileno()}"),
                ],
                cwd=home,
                env=_environment(home),
                stdout=output,
                stderr=output,
                pass_fds=[listener.fileno()],
            )
        try:
            # Without this copy, connections would be refused when the server ends.
            listener.close()
            _await_response(url, server, log)
            yield url
        finally:
            server.terminate()
            server.wait()


@contextmanager
def _interrupted_by_sigterm() -> Iterator[None]:
    """Raise KeyboardInterrupt on SIGTERM, instead of ending this process at once."""
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _environment(home: str) -> dict[str, str]:
    """Return the environment of a server: one worker, noauth2, and no options of the caller."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("OS_")}
    return inherited | {
        "WEB_CONCURRENCY": "1",
        "OS_PLACEMENT_CONFIG_DIR": home,
        "OS_PLACEMENT_DATABASE__CONNECTION": f"sqlite:///{home}/placement.db",
        "OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP": "true",
        "OS_PLACEMENT_DATABASE__SQLITE_SYNCHRONOUS": "false",
        "OS_API__AUTH_STRATEGY": "noauth2",
    }


def _await_response(url: str, server: "subprocess.Popen[bytes]", log: Path) -> None:
    """Wait until a server responds. Raises RuntimeError if the server does not respond."""
    deadline = time.monotonic() + START_SECONDS
    with requests.Session() as session:
        session.trust_env = False  # proxies cannot reach this machine
        while True:
            left = deadline - time.monotonic()
            try:
                session.get(url, timeout=max(left, POLL_SECONDS))
                return
            except requests.RequestException:
                if server.poll() is not None or left <= 0:
                    text = log.read_text(errors="replace")[-MAX_LOG:]
                    raise RuntimeError(f"the server did not start: {text}") from None
            time.sleep(POLL_SECONDS)
