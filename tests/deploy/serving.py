"""The configuration of the servers in these tests, and functions that wait for them."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from tests.kit.processes import START, NoAnswerError, send

CONFIGURATION = """
[api]
auth_strategy = noauth2
[placement_database]
connection = sqlite:////var/lib/placement/placement.db
[oslo_middleware]
enable_proxy_headers_parsing = true
[explorer]
enabled = true
"""


def await_answer(port: int, process: subprocess.Popen[bytes], log: Path, path: str = "/") -> None:
    """Wait until a server responds. Raise RuntimeError with its log if it does not respond."""
    deadline = time.monotonic() + START
    while True:
        try:
            if send(port, "GET", path).status == 200:
                return
        except (NoAnswerError, ValueError):
            pass
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"no server: {log.read_text(errors='replace')[-3000:]}")
        time.sleep(0.05)
