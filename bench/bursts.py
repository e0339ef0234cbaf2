"""Clients at once, each a process of its own, and what servers spend on them meanwhile."""

from __future__ import annotations

import multiprocessing
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from multiprocessing.queues import SimpleQueue
from typing import TypeVar

from bench.clients import KINDS, Client
from bench.instruction_rows import Instructions
from bench.servers import Server
from tests.kit.cloud import Cloud

START = 0.5  # seconds for all clients to be there

Way = tuple[str, str]  # the kind of a client, and what it is given
Side = TypeVar("Side")


@dataclass(frozen=True)
class Burst:
    """What clients at once have done in a second, and the cores that were taken meanwhile.

    instructions: of the workers, in a second.
    """

    rate: float
    server: float
    database: float
    instructions: float

    @property
    def cpu(self) -> float:
        """Milliseconds of the workers for a turn."""
        return 1000 * self.server / self.rate

    @property
    def millions(self) -> float:
        """Millions of the workers' instructions for a turn."""
        return self.instructions / self.rate / 1e6


def act(client: Client, start: float, until: float, done: SimpleQueue[int]) -> None:
    """Take turns from one time to another, and tell how many came off."""
    time.sleep(max(0, start - time.time()))
    turns = 0
    while time.time() < until:
        client.turn()
        turns += 1
    client.clean()
    done.put(turns - client.refused)


def burst(servers: Sequence[Server], cloud: Cloud, way: Way, clients: int, seconds: float) -> Burst:
    """Have clients, spread over the servers, act at once for a while."""

    def spent() -> tuple[float, float]:
        # Of a cluster each node is asked.
        now = [server.spent() for server in servers]
        return sum(each.server for each in now), sum(each.database for each in now)

    processes = multiprocessing.get_context("fork")
    done: SimpleQueue[int] = processes.SimpleQueue()
    start = time.time() + START
    kind, what = way
    for number in range(clients):
        client = KINDS[kind](servers[number % len(servers)].port, cloud, what, number)
        processes.Process(target=act, args=(client, start, start + seconds, done)).start()
    time.sleep(max(0, start - time.time()))
    counters = [Instructions(thread) for server in servers for thread in server.threads()]
    before, began = spent(), time.time()
    time.sleep(max(0, start + seconds - time.time()))
    after, took = spent(), time.time() - began
    instructions = sum(counter.so_far() for counter in counters)
    for counter in counters:
        counter.close()
    turns = sum(done.get() for _ in range(clients))
    workers, database = ((now - then) / took for now, then in zip(after, before, strict=True))
    return Burst(turns / took, workers, database, instructions / took)


def in_turns(sides: Mapping[Side, Callable[[], Burst]], rounds: int) -> dict[Side, list[Burst]]:
    """Have every side act so many times, in turns; the first time warms up and does not count."""
    bursts: dict[Side, list[Burst]] = {side: [] for side in sides}
    for number in range(rounds + 1):
        for side, act_once in sides.items():
            result = act_once()
            if number:
                bursts[side].append(result)
    return bursts


def summary(name: str, bursts: Sequence[Burst]) -> Burst:
    """Print the medians of bursts, and return them."""
    median = Burst(
        *(
            statistics.median(each)
            for each in zip(*(astuple(burst) for burst in bursts), strict=True)
        )
    )
    print(
        f"{name:34} {median.rate:7.1f} a second; {median.server:4.2f} cores for workers, "
        f"{median.database:4.2f} for the database; {median.cpu:5.2f} ms of a worker for each, "
        f"{median.millions:5.1f} million instructions",
        flush=True,
    )
    return median
