"""`python -m bench.calls`: what a request enters of the service, in this or another checkout.

Counted are the own modules and functions that a warm request enters, the calls of them, and the
deepest stack of own frames: the whole application in this process, on SQLite. The figures depend
on the code alone. `--beside ../earlier` is a checkout where `make .venv/installed-test` has run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
TREES = 20
CANDIDATES = "/allocation_candidates"
# A comprehension or a generator expression is part of the function around it.
ANONYMOUS: set[str] = set()


class Calls:
    """Counts the calls into the package while it is listening."""

    def __init__(self, package: Path) -> None:
        self._package = f"{package}{os.sep}"
        self.modules: set[str] = set()
        self.functions: set[Any] = set()
        self.calls = 0
        self.deepest = 0
        self._depth = 0

    def listen(self, frame: FrameType, event: str, _argument: object) -> None:
        """Record a call or a return, in the form of `sys.setprofile`."""
        if event not in ("call", "return"):
            return
        code = frame.f_code
        if not code.co_filename.startswith(self._package) or code.co_name in ANONYMOUS:
            return
        if event == "return":
            self._depth -= 1
            return
        self._depth += 1
        self.deepest = max(self.deepest, self._depth)
        self.calls += 1
        self.modules.add(code.co_filename)
        self.functions.add(code)

    def figures(self) -> dict[str, int]:
        return {
            "modules": len(self.modules),
            "functions": len(self.functions),
            "calls": self.calls,
            "deepest": self.deepest,
        }


def measure() -> dict[str, dict[str, int]]:
    """Return request -> figures, for the imported checkout."""
    import placement
    from bench.clouds import nested
    from tests.kit.cloud import load, provider_uuid
    from tests.kit.service import Service, claim

    package = Path(placement.__file__).parent
    candidates = f"{CANDIDATES}?resources=VCPU:1,MEMORY_MB:256,DISK_GB:10"
    unmet = f"{CANDIDATES}?resources=VCPU:1,MEMORY_MB:256,DISK_GB:10000"
    consumers = iter(range(1, 100))

    def put(service: Any) -> Any:
        path = f"/allocations/c0000000-0000-4000-8000-{next(consumers):012}"
        return service.send("PUT", path, claim({provider_uuid(2): {"VCPU": 1}}))

    def post(service: Any) -> Any:
        owners = {"project_id": "p", "user_id": "u", "consumer_type": "T"}
        consumer = f"c0000000-0000-4000-8000-{next(consumers):012}"
        resources = {"VCPU": 1, "MEMORY_MB": 256}
        request = {"groups": {"": {"resources": resources}}}
        body = {"consumer_uuid": consumer, "request": request, **owners}
        return service.send("POST", "/claims", body, "2.0")

    requests: dict[str, Callable[[Any], Any]] = {
        "GET candidates, limit 10": lambda service: service.send("GET", f"{candidates}&limit=10"),
        "empty, explain=providers": lambda service: service.send(
            "GET", f"{unmet}&explain=providers", version="2.0"
        ),
        "empty, 1.39": lambda service: service.send("GET", unmet),
        "PUT allocations": put,
        "POST claims": post,
    }
    figures = {}
    with tempfile.TemporaryDirectory() as directory, Service(Path(directory)) as service:
        load(service.database.writer, nested(TREES))
        for name, send in requests.items():
            for _ in range(3):  # until the caches are filled
                answer = send(service)
                assert answer.status_code < 300, answer.text
            calls = Calls(package)
            sys.setprofile(calls.listen)
            try:
                send(service)
            finally:
                sys.setprofile(None)
            figures[name] = calls.figures()
    return figures


def count(checkout: Path) -> dict[str, dict[str, int]]:
    """Return request -> figures, for a checkout."""
    python = sys.executable if checkout == REPOSITORY else str(checkout / ".venv/bin/python")
    outside = {key: value for key, value in os.environ.items() if not key.startswith("OS_")}
    output = subprocess.run(
        [python, "-P", __file__, "--measure"],
        cwd=checkout,
        env={**outside, "PYTHONPATH": str(checkout), "PYTHONHASHSEED": "0"},
        stdout=subprocess.PIPE,
        check=True,
    ).stdout
    figures: dict[str, dict[str, int]] = json.loads(output.splitlines()[-1])
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.calls", description=__doc__)
    parser.add_argument("--beside", type=Path, help="another checkout")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure()))
        return
    checkouts = [REPOSITORY] if options.beside is None else [options.beside.resolve(), REPOSITORY]
    columns = [count(checkout) for checkout in checkouts]
    for request, figures in columns[-1].items():
        print(request)
        for name in figures:
            print(f"  {name:10}", *(f"{column[request][name]:>6,}" for column in columns))


if __name__ == "__main__":
    main()
