"""Boots a second of a simulated cloud, beside openstack-placement: `python -m bench.simulation`.

Schedulers (`examples.scheduler`), a process each, boot, resize and delete instances on 1,000 hosts
of 50 traits and 20 consumers each, every fourth with two GPUs below it. Both servers take turns,
and get the same requests for the same number of candidates. Ranked: the scheduler chooses, and
claims. Not ranked: the service may choose, which takes ours one request. What was booted is deleted
between the turns.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from prettytable import PrettyTable

from bench.__main__ import Databases
from bench.clouds import CLAIM, HOST, TRAITS, standard_traits
from bench.servers import REPOSITORY, Server, serving
from examples.scheduler import DISABLED, Scheduler
from examples.users import User
from placement.client import ClaimResult, NewConsumer, ReportClient
from placement.client.flavors import Flavor
from tests.kit.cloud import Cloud, Provider, provider_uuid
from tests.kit.engines import SERVERS

GPU_EVERY = 4  # hosts
CARDS = 2
CONSUMERS = 20  # of a host
GOAL = 40  # times as many boots


class Trusting(Scheduler):
    """Leaves the choice to the service."""

    def boot(self, flavor: Flavor, instance: NewConsumer) -> ClaimResult:
        return self._client.claim(self.request(flavor), instance)


@dataclass(frozen=True)
class Way:
    """How schedulers find places; limit: of candidates."""

    scheduler: type[Scheduler]
    limit: int

    def __str__(self) -> str:
        return f"{'' if self.scheduler is Scheduler else 'not '}ranked, limit {self.limit}"


WAYS = [Way(scheduler, limit) for limit in (1000, 10) for scheduler in (Scheduler, Trusting)]


@dataclass
class Turn:
    """What schedulers did in one turn; counts: how often, by what."""

    counts: Counter[str] = field(default_factory=Counter)
    boots_a_second: float = 0.0
    cpu: float = 0.0  # seconds of server and database
    instances: list[str] = field(default_factory=list)

    def add(self, other: Turn) -> None:
        """Add what another scheduler did at the same time."""
        self.counts += other.counts
        self.boots_a_second += other.boots_a_second
        self.instances += other.instances


def hosts(number: int) -> Cloud:
    """The hosts of the simulation."""
    # Those of the other clouds, but for the one that would keep instances away.
    traits = [trait for trait in standard_traits(TRAITS + 1) if trait != DISABLED]

    def members() -> Iterator[Provider]:
        top = 1
        for host in range(number):
            yield Provider(HOST, traits, claims=CLAIM)
            cards = 0 if host % GPU_EVERY else CARDS
            for _ in range(cards):
                yield Provider({"VGPU": 4}, ("CUSTOM_GPU_T4",), top)
            top += 1 + cards

    return Cloud(f"simulated_{number}", members, CONSUMERS, number)


def act(url: str, roots: list[str], way: Way, seconds: float, seed: str) -> Turn:
    """Be a scheduler and its user for a while; in a process of its own."""
    rng = random.Random(seed)
    user = User(way.scheduler(ReportClient.at(url, "admin"), way.limit, rng), roots, rng)
    began = time.monotonic()
    while time.monotonic() < began + seconds:
        user.act()
    rate = user.counts["boots"] / (time.monotonic() - began)
    return Turn(user.counts, rate, instances=list(user.instances))


def take_turn(
    pool: ProcessPoolExecutor, server: Server, work: partial[Turn], schedulers: int
) -> Turn:
    """Have all schedulers act at once; delete what they have booted."""
    url = f"http://127.0.0.1:{server.port}"
    before = server.spent()
    turns = [pool.submit(work, url, seed=str(random.random())) for _ in range(schedulers)]
    turn = Turn()
    for each in turns:
        turn.add(each.result())
    spent = server.spent() - before
    turn.cpu = spent.server + spent.database
    client = ReportClient.at(url, "admin")
    for instance in turn.instances:
        client.release(instance)
    return turn


def compare(servers: list[Server], roots: list[str], options: argparse.Namespace) -> None:
    """Take turns in each way, and print a table."""
    table = PrettyTable(["", *(f"{each.name} boots/s" for each in servers)])
    table.field_names += [f"{each.name} CPU ms" for each in servers]
    table.field_names += ["without a place", "times the boots"]
    load: list[float] = []
    with ProcessPoolExecutor(options.schedulers, get_context("spawn")) as pool:
        for way in WAYS:
            turns: dict[str, list[Turn]] = {each.name: [] for each in servers}
            for number in range(options.rounds + 1):  # the first one warms up
                for server in servers:
                    load.append(os.getloadavg()[0])
                    seconds = options.seconds if number else min(options.seconds, 2.0)
                    work = partial(act, roots=roots, way=way, seconds=seconds)
                    turn = take_turn(pool, server, work, options.schedulers)
                    if number:
                        turns[server.name].append(turn)
            table.add_row([str(way), *_figures(turns)])
            print(table.get_string(start=len(table.rows) - 1), flush=True)
    print(table)
    print(f"goal: {GOAL} times; load of the machine {min(load):.1f} to {max(load):.1f}")


def _figures(turns: Mapping[str, list[Turn]]) -> list[str]:
    rates = [statistics.median(each.boots_a_second for each in made) for made in turns.values()]
    cpu, refused = [], 0
    for made in turns.values():
        counts = sum((each.counts for each in made), Counter[str]())
        cpu.append(1000 * sum(each.cpu for each in made) / max(1, counts["boots"]))
        refused += sum(count for name, count in counts.items() if "without" in name)
    times = f"{rates[0] / rates[1]:.1f}" if len(rates) > 1 and rates[1] else "-"
    return [
        *(f"{each:.1f}" for each in rates),
        *(f"{each:.1f}" for each in cpu),
        str(refused),
        times,
    ]


def main() -> None:
    """Measure what the options ask for."""
    parser = argparse.ArgumentParser(prog="python -m bench.simulation", description=__doc__)
    parser.add_argument("--engine", choices=("sqlite", *SERVERS), default="mariadb")
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--schedulers", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3, help="turns of each server, in each way")
    parser.add_argument("--seconds", type=float, default=10.0, help="of a turn")
    parser.add_argument("--alone", action="store_true", help="measure ours only")
    parser.add_argument(
        "--beside",
        type=Path,
        metavar="CHECKOUT",
        help="instead of openstack-placement, another checkout of this service, made by `make`",
    )
    options = parser.parse_args()
    if not options.alone and options.beside is None:
        os.environ.setdefault("PLACEMENT_PEER", ".tox/openstack-placement")
    cloud = hosts(options.hosts)
    roots = [
        provider_uuid(number)
        for number, provider in enumerate(cloud.members(), 1)
        if provider.parent is None
    ]
    with tempfile.TemporaryDirectory(prefix="placement-bench-") as scratch, ExitStack() as stack:
        Path(scratch).chmod(0o755)
        databases = Databases(options.engine, Path(scratch))
        sides: list[tuple[str, str, Path | None]] = [("ours", "ours", REPOSITORY)]
        if options.beside is not None:
            sides.append(("peer", "beside", options.beside.resolve()))
        elif not options.alone:
            sides.append(("peer", "peer", None))
        servers = []
        for name, owner, checkout in sides:
            url, home = databases.of(owner, cloud), Path(scratch) / name
            served = serving(name, url, home, databases.server, checkout=checkout)
            servers.append(stack.enter_context(served))
        compare(servers, roots, options)


if __name__ == "__main__":
    main()
