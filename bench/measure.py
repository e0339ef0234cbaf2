"""The measurement of a scenario on all servers in turn."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from bench.clients import Client, FaultError, Turn, all_at_once, crowd, working
from bench.scenario import Scenario
from bench.servers import Server, Spent
from tests.kit.processes import NoAnswerError

MOST = 300
IN_A_ROW_SECONDS = 0.5
AT_ONCE_SECONDS = 1.0  # duration of a burst of a crowd
BURSTS = 4  # minimum number of bursts


@dataclass(frozen=True)
class Figures:
    """The cost of one turn of a scenario on one server."""

    # Number of concurrent clients.
    at_once: int
    turns: int
    # Median duration, in milliseconds.
    median: float
    # 95th percentile of the duration, in milliseconds.
    p95: float
    # 99th percentile of the duration, in milliseconds.
    p99: float
    # Longest duration, in milliseconds.
    longest: float
    # CPU time of the server, in milliseconds.
    cpu: float
    # CPU time of the database, in milliseconds.
    cpu_database: float
    statements: float
    # Number of rows that the database has read.
    rows: float
    # Turns per second of all clients together.
    rate: float
    # Number of refused turns.
    refused: int


class Meter:
    """The turns of one scenario on one server."""

    def __init__(self, server: Server, scenario: Scenario) -> None:
        self._server = server
        self._scenario = scenario
        self._clients = crowd(
            scenario.does, server.port, scenario.cloud, scenario.what, scenario.at_once
        )
        self._beside: list[Client] = []
        if scenario.beside:
            self._beside = crowd(scenario.beside, server.port, scenario.cloud, "", 1)
        self._times: list[float] = []
        self._spent = Spent(0, 0, 0, 0)
        self.seconds = 0.0

    def warm_up(self) -> None:
        """Do turns on every worker. These turns are not measured."""
        for client in (self._clients[0], *self._beside):
            for worker in self._server.workers():
                with self._server.only(worker):
                    client.warm_up()

    def take_turns(self) -> None:
        """Do several turns, or one burst of a crowd."""
        began = time.monotonic()
        with working(self._beside):
            if self._scenario.at_once > 1:
                self._burst()
            else:
                self._row(self._clients[0])
        self.seconds += time.monotonic() - began

    def _row(self, client: Client) -> None:
        """Do turns for a while, because an idle machine takes some time to reach its full speed."""
        for _ in range(client.IN_A_ROW):
            client.prepare()
        before = self._server.spent()
        until = time.monotonic() + IN_A_ROW_SECONDS
        for _ in range(client.IN_A_ROW):
            started = time.perf_counter()
            client.turn()
            self._times.append(time.perf_counter() - started)
            if time.monotonic() > until:
                break
        self._add(self._server.spent() - before)
        client.clean()

    def _burst(self) -> None:
        before = self._server.spent()
        began = time.monotonic()

        def act(client: Client, place: int) -> None:
            for started in self._starts(began, place):
                client.turn()
                self._times.append(time.monotonic() - started)

        all_at_once([partial(act, client, place) for place, client in enumerate(self._clients)])
        self._add(self._server.spent() - before)
        for client in self._clients:
            client.clean()

    def _starts(self, began: float, place: int) -> Iterator[float]:
        """Yield the start of each turn of a client of a burst, or when it was due if it is late."""
        per_second = self._scenario.per_second
        if per_second is None:
            yield began
            while (now := time.monotonic()) < began + AT_ONCE_SECONDS:
                yield now
            return
        for number in range(place, round(per_second * AT_ONCE_SECONDS), len(self._clients)):
            due = began + number / per_second
            time.sleep(max(0.0, due - time.monotonic()))
            yield due

    def _add(self, more: Spent) -> None:
        spent = self._spent
        self._spent = Spent(
            spent.server + more.server,
            spent.database + more.database,
            spent.statements + more.statements,
            spent.rows + more.rows,
        )

    @property
    def enough(self) -> bool:
        """Return whether further turns are unnecessary. Rare long waits use up the time.

        A crowd takes all of its bursts, because the speed of a machine changes within seconds.
        """
        return len(self._times) >= MOST and not self._beside and self._scenario.at_once == 1

    @property
    def least(self) -> int:
        return BURSTS if self._scenario.at_once > 1 else self._clients[0].LEAST

    def figures(self) -> Figures:
        turns, spent = len(self._times), self._spent
        ordered = sorted(self._times)
        clients = len(self._clients)
        return Figures(
            at_once=clients,
            turns=turns,
            median=1000 * statistics.median(ordered),
            p95=1000 * ordered[min(turns - 1, int(turns * 0.95))],
            p99=1000 * ordered[min(turns - 1, int(turns * 0.99))],
            longest=1000 * ordered[-1],
            cpu=1000 * (spent.server + spent.database) / turns,
            cpu_database=1000 * spent.database / turns,
            statements=spent.statements / turns,
            rows=spent.rows / turns,
            rate=clients / statistics.fmean(ordered),
            refused=sum(client.refused for client in self._clients),
        )


def measure(scenario: Scenario, servers: list[Server], seconds: float) -> dict[str, Figures]:
    """Measure on every server in turns; each gets `seconds`, and at least some rounds.

    Other servers than ours are omitted if they do not respond in time, or with a 5xx status.
    """
    meters: dict[str, Meter] = {}
    for server in servers:
        meter = Meter(server, scenario)
        if _comes_off(meter.warm_up, server.name, scenario):
            meters[server.name] = meter
    waiting = dict(meters)
    rounds = 0
    while waiting:
        for name, meter in tuple(waiting.items()):
            if not _comes_off(meter.take_turns, name, scenario):
                del waiting[name], meters[name]
        rounds += 1
        waiting = {
            name: meter
            for name, meter in waiting.items()
            if not meter.enough and (meter.seconds < seconds or rounds < meter.least)
        }
    return {name: meter.figures() for name, meter in meters.items()}


def _comes_off(turns: Turn, side: str, scenario: Scenario) -> bool:
    """Return whether a server supports the scenario. This service must support it."""
    try:
        turns()
    except (NoAnswerError, FaultError) as error:
        if side == "ours":
            raise
        print(f"{scenario.name}: {side} is left out: {error}", flush=True)
        return False
    return True
