"""What it costs to be watched: `python -m bench.watching`.

Metrics, policy and the line in the log, each and together, on GET /resource_providers/{uuid} in
this process: microseconds, and the share of the request without them. The ways take turns, so that
what else the machine does meets all of them. PLACEMENT_ENGINE chooses the database.
"""

from __future__ import annotations

import logging
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from falcon.testing import create_environ

from placement import config, metrics
from placement.api.policy import Policy
from placement.metrics import Metrics
from tests.kit.engines import ENGINE
from tests.kit.service import HEADERS, Service

TURNS = 150
REQUESTS = 40  # in a turn
HOST = "c0ffee00-0000-4000-8000-000000000000"
REQUEST_LOG = logging.getLogger("placement.requestlog")

Part = Callable[[], Any]  # enters what leaves it out


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
        counting = Metrics(replace(service.settings.metrics, directory=directory))
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
    least = times.pop("nothing")
    print(f"{ENGINE}: GET /resource_providers/{{uuid}} with nothing of it: {least:.0f} us")
    for name, each in times.items():
        print(f"{name}: {each - least:+.1f} us, {100 * (each - least) / least:+.1f} %")


def _times(application: Any, ways: dict[str, Sequence[Part]]) -> dict[str, float]:
    """Return the microseconds of a request (median) each way."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(TURNS + 1):
        for name, left_out in ways.items():
            with ExitStack() as stack:
                for part in left_out:
                    stack.enter_context(part())
                times = [_ask(application) for _ in range(REQUESTS)]
            if turn:  # the first one warms up
                taken[name] += times
    return {name: 1e6 * statistics.median(times) for name, times in taken.items()}


def _ask(application: Any) -> float:
    environ = create_environ(f"/resource_providers/{HOST}", headers=HEADERS)
    started = time.perf_counter()
    for _piece in application(environ, lambda *_: None):
        pass
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
