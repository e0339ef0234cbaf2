"""What happens to servers that are booted while placement, or its database, fails."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from tests.cloud.nova import Nova

BOOTS = 40
AFTER = 2.0  # seconds from the first boot to the disturbance
OUTAGE = 5.0  # seconds


def reload(nova: Nova) -> None:
    """SIGHUP to uWSGI"""
    nova.machine.services["placement"].send(signal.SIGHUP)


def restart(nova: Nova) -> None:
    """SIGTERM to uWSGI, and a start at once"""
    nova.machine.services["placement"].stop()
    nova.machine.services["placement"].start()


def lose_worker(nova: Nova) -> None:
    """SIGKILL to a worker of uWSGI"""
    os.kill(nova.machine.services["placement"].workers()[0], signal.SIGKILL)


def stop_database(nova: Nova) -> None:
    """MariaDB is stopped for 5 s"""
    server = nova.machine.servers["placement"]
    server.stop(signal.SIGKILL)
    time.sleep(OUTAGE)
    server.start()


def freeze_database(nova: Nova) -> None:
    """MariaDB is frozen for 5 s"""
    server = nova.machine.servers["placement"]
    os.kill(server.pid, signal.SIGSTOP)
    time.sleep(OUTAGE)
    os.kill(server.pid, signal.SIGCONT)


def nothing(nova: Nova) -> None:
    """Nothing, for comparison"""


DISTURBANCES: tuple[Callable[[Nova], None], ...] = (
    nothing, reload, restart, lose_worker, stop_database, freeze_database,
)  # fmt: skip


def boot_during(nova: Nova, disturbance: Callable[[Nova], None]) -> tuple[Mapping[str, int], float]:
    """Boot servers during a disturbance; returns their statuses, and the seconds."""
    began = time.monotonic()
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(nova.boot_many, BOOTS)
        time.sleep(AFTER)
        disturbance(nova)
        with contextlib.suppress(TimeoutError):  # nova has forgotten a server, which stays in BUILD
            future.result()
    seconds = time.monotonic() - began
    return Counter(each["status"] for each in nova.servers().values()), seconds
