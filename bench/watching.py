"""What it costs to be watched: `python -m bench.watching`.

Metrics, policy and the line in the log, on GET /resource_providers/{uuid}. First each and together
in this process: microseconds until there is an answer, and until the line is written, which comes
after it. Then together as gunicorn serves it, with one worker: how long the worker has a processor
and what one client waits, and how many requests a second it answers where clients ask all the time.
The ways take turns, so that what else the machine does meets all of them. PLACEMENT_ENGINE chooses
the database.
"""

from __future__ import annotations

import logging
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from multiprocessing.pool import Pool
from pathlib import Path
from typing import Any, TypeVar

from falcon.testing import create_environ

from placement import config, metrics
from placement.api.policy import Policy
from placement.metrics import Metrics
from tests.kit.builders import database_url
from tests.kit.engines import ENGINE
from tests.kit.processes import Process, new_host, send, serving
from tests.kit.service import HEADERS, Service

TURNS = 150
REQUESTS = 40  # in a turn
SERVED_TURNS = 12
SERVED = 500  # requests in a turn over HTTP
CLIENTS = 4  # processes that ask at once
ROUNDS = 9  # of them
SECONDS = 1.0  # of a round
HOST = "c0ffee00-0000-4000-8000-000000000000"
REQUEST_LOG = logging.getLogger("placement.requestlog")

Part = Callable[[], Any]  # enters what leaves it out
Measured = TypeVar("Measured")


@contextmanager
def _without_log() -> Iterator[None]:
    REQUEST_LOG.setLevel(logging.WARNING)
    yield
    REQUEST_LOG.setLevel(logging.INFO)


@contextmanager
def _without_policy() -> Iterator[None]:
    allows = Policy.allows
    Policy.allows = lambda *_: True  # type: ignore[method-assign]
    yield
    Policy.allows = allows  # type: ignore[method-assign]


@contextmanager
def _without_metrics(counting: Metrics) -> Iterator[None]:
    metrics.stop_listening()
    yield
    counting.listen()


def main() -> None:
    """Measure and print."""
    with (
        tempfile.TemporaryDirectory() as directory,
        Service(Path(directory)) as service,
    ):
        service.settings.conf.set_override("log_file", f"{directory}/log")
        config.setup_logging(service.settings.conf)
        counting = Metrics(replace(service.settings.metrics, directory=f"{directory}/metrics"))
        counting.listen()
        service.expect(200, "POST", "/resource_providers", {"name": "host", "uuid": HOST})
        parts: dict[str, Part] = {
            "metrics": lambda: _without_metrics(counting),
            "policy": _without_policy,
            "log": _without_log,
        }
        ways: dict[str, Sequence[Part]] = {
            "nothing": list(parts.values()),
            **{name: [each for each in parts.values() if each is not part]
               for name, part in parts.items()},
            "all": [],
        }  # fmt: skip
        times = _times(service.application, ways)
        metrics.stop_listening()
    print(f"{ENGINE}: GET /resource_providers/{{uuid}}")
    for place, moment in enumerate(("until the answer", "until the line is written")):
        least = times["nothing"][place]
        print(f"in process, {moment}: {least:.0f} us with nothing of it")
        for name in (*parts, "all"):
            print(f"  {name}: {_more(times[name][place], least)}")
    _print_served()


def _more(some: float, least: float, unit: str = "us") -> str:
    return f"{some - least:+.1f} {unit}, {100 * (some - least) / least:+.1f} %"


def _print_served() -> None:
    """Measure a request as it is served, without and with all, and print that."""
    unwatched = {
        "application": "bench.unwatched:application",
        "OS_METRICS__ENABLED": "false",
        "OS_DEFAULT__DEFAULT_LOG_LEVELS": "placement.requestlog=WARN",
    }
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        url = database_url(directory)
        with (
            serving(directory / "off", [url], 1, **unwatched) as [off],
            serving(directory / "on", [url], 1) as [on],
        ):
            new_host(on.port, VCPU=8)
            body = {"name": "served", "uuid": HOST}
            send(on.port, "POST", "/resource_providers", body)
            taken = _in_turns([off, on], SERVED_TURNS, _serve)
            with multiprocessing.get_context("spawn").Pool(CLIENTS) as pool:
                answered = _in_turns([off, on], ROUNDS, partial(_saturate, pool))
    for place, name in enumerate(("the worker's time", "what a client waits")):
        without, with_all = (_median(times, place) for times in taken)
        print(f"served, {name}: {without:.0f} us with nothing of it")
        print(f"  all: {_more(with_all, without)}")
    without, with_all = map(statistics.median, answered)
    print(f"served to {CLIENTS} clients: {without:.0f} requests a second with nothing of it")
    print(f"  all: {_more(with_all, without, 'requests')}")


def _in_turns(
    processes: Sequence[Process], number: int, measure: Callable[[Process], Measured]
) -> list[list[Measured]]:
    """Measure all processes in turns; return for each what was measured, but for the first."""
    turns = [[measure(process) for process in processes] for _ in range(number + 1)]
    return [list(of_one) for of_one in zip(*turns[1:], strict=True)]


def _saturate(pool: Pool, process: Process) -> float:
    """Return how many requests a second are answered to clients that ask all the time."""
    until = time.monotonic() + SECONDS
    return sum(pool.starmap(_ask_until, [(process.port, until)] * CLIENTS)) / SECONDS


def _ask_until(port: int, until: float) -> int:
    """Ask until a moment; return how many requests were answered."""
    number = 0
    while time.monotonic() < until:
        send(port, "GET", f"/resource_providers/{HOST}")
        number += 1
    return number


def _serve(process: Process) -> tuple[float, float]:
    """Ask many times; the worker's seconds for a request, and a client's (median)."""
    (worker,) = process.worker_ids()
    before, waits = _processor_time(worker), []
    for _ in range(SERVED):
        started = time.perf_counter()
        send(process.port, "GET", f"/resource_providers/{HOST}")
        waits.append(time.perf_counter() - started)
    used = _processor_time(worker) - before
    return used / SERVED, statistics.median(waits)


def _processor_time(process: int) -> float:
    """Seconds that a process has had a processor."""
    # In nanoseconds, of each thread.
    tasks = Path(f"/proc/{process}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def _times(application: Any, ways: dict[str, Sequence[Part]]) -> dict[str, tuple[float, float]]:
    """Return the microseconds of a request (median) each way: to its answer, and in all."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for turn in range(TURNS + 1):
        for name, left_out in ways.items():
            with ExitStack() as stack:
                for part in left_out:
                    stack.enter_context(part())
                times = [_ask(application) for _ in range(REQUESTS)]
            if turn:  # the first one warms up
                taken[name] += times
    return {name: (_median(times, 0), _median(times, 1)) for name, times in taken.items()}


def _median(times: Sequence[tuple[float, float]], place: int) -> float:
    return 1e6 * statistics.median(each[place] for each in times)


def _ask(application: Any) -> tuple[float, float]:
    environ = create_environ(f"/resource_providers/{HOST}", headers=HEADERS)
    started = time.perf_counter()
    body = application(environ, lambda *_: None)
    b"".join(body)
    answered = time.perf_counter()
    body.close()
    return answered - started, time.perf_counter() - started


if __name__ == "__main__":
    main()
