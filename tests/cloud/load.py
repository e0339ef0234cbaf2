"""What happens to servers that are booted while placement, or its database, fails."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.cloud.nova import CLIENTS, Nova

BOOTS = 40
AFTER = 2.0  # seconds from the first boot to the disturbance
OUTAGE = 5.0  # seconds
RANDOM_FLAVORS = ("small", "small", "small", "medium", "gpu", "pci", "pinned", "whole")
MOST = 4  # servers of a client


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


def boot_at_random(nova: Nova, minutes: float) -> str:
    """Boot and delete servers by several clients; returns counts, and the memory of placement."""
    until = time.monotonic() + 60 * minutes
    counts: Counter[str] = Counter()

    def work(number: int) -> None:
        choose = random.Random(number)
        servers: list[str] = []
        while time.monotonic() < until:
            if len(servers) < choose.randint(1, MOST):
                servers.append(nova.boot(choose.choice(RANDOM_FLAVORS)))
                counts["boots"] += 1
            else:
                server = servers.pop(choose.randrange(len(servers)))
                counts[nova.servers()[server]["status"]] += 1
                nova.delete([server])

    sizes: list[float] = []
    with ThreadPoolExecutor(CLIENTS) as pool:
        futures = [pool.submit(work, number) for number in range(CLIENTS)]
        while not all(each.done() for each in futures):
            time.sleep(10)
            sizes.append(_memory_mb(nova))
    for each in futures:
        each.result()
    nova.settle()
    most = max(sizes[: len(sizes) // 2])
    return (
        f"{counts.pop('boots')} boots, deleted {dict(counts)}; memory at most {most:.0f} MB in the "
        f"first half, {max(sizes[len(sizes) // 2 :]):.0f} MB in the second"
    )


def _memory_mb(nova: Nova) -> float:
    workers = nova.machine.services["placement"].workers()
    pages = [int(Path(f"/proc/{each}/statm").read_text().split()[1]) for each in workers]
    return sum(pages) * os.sysconf("SC_PAGE_SIZE") / 1e6
