"""`python -m bench.hostile_requests`: legal requests made to cost as much as they can.

Each is sent once to a new server of one worker, as it ships, on a cloud made for it; its client
reads all of the answer. Seconds that it took, processor seconds of server and database, the most
memory that the worker held, the answer's size.
"""

from __future__ import annotations

import argparse
import http.client
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path

from bench.__main__ import Databases
from bench.clouds import AGGREGATES, flat, wide
from bench.scenarios import FLAT, devices
from bench.servers import REPOSITORY, serving
from placement.objects import catalog
from tests.kit.cloud import Cloud, Provider, Stock, aggregate_uuid
from tests.kit.engines import SERVERS
from tests.kit.service import HEADERS

PATIENCE = 100  # seconds that a client waits
TRAITS = sorted(catalog.STANDARD_TRAITS - {"MISC_SHARES_VIA_AGGREGATE"})[:100]
CLASSES = sorted(catalog.STANDARD_CLASSES)[:20]


def _chain() -> Iterator[Provider]:
    for level in range(1000):
        yield Provider({"VGPU": 100}, (), level or None)


def _many() -> Iterator[Provider]:
    stock = dict.fromkeys(CLASSES, 1000)
    aggregates = [aggregate_uuid(number) for number in range(AGGREGATES)]
    for _ in range(1000):
        yield Provider(stock, TRAITS, None, aggregates)


def _unlike() -> Iterator[Provider]:
    """Hosts of which no two have the same room."""
    for host in range(1000):
        top = 17 * host + 1
        yield Provider({"VCPU": Stock(64, allocation_ratio=4.0)})
        for device in range(16):
            yield Provider({"VGPU": 8 + host % 97 + device}, (), top)


CHAIN = Cloud("chain", _chain)
MANY = Cloud("many_conditions", _many)
UNLIKE = Cloud("unlike", _unlike)


def _joined(groups: int, join: Callable[[list[str]], Iterator[tuple[str, str]]]) -> str:
    names = [f"_{number}" for number in range(groups)]
    asked = [f"resources{name}=VGPU:1" for name in names]
    asked += [f"same_subtree={one},{other}" for one, other in join(names)]
    return "/allocation_candidates?" + "&".join(asked)


def _conditions(sets: int, classes: int) -> str:
    def some(items: list[str], start: int) -> str:
        return ",".join((items + items)[start % len(items) :][:3])

    aggregates = [aggregate_uuid(number) for number in range(AGGREGATES)]
    asked = [f"required=in:{some(TRAITS, number)}" for number in range(sets)]
    asked += [f"member_of=in:{some(aggregates, number)}" for number in range(sets)]
    asked.append("resources=" + ",".join(f"{name}:1" for name in CLASSES[:classes]))
    return "/resource_providers?" + "&".join(asked)


def _unlike_groups() -> str:
    asked = "&".join(f"resources_{number}=VGPU:{number % 8 + 1}" for number in range(60))
    return f"/allocation_candidates?{asked}&group_policy=none"


@dataclass(frozen=True)
class Attack:
    """A request, and the cloud that it is sent to."""

    name: str
    cloud: Cloud
    path: str


POLICIES = ("none", "isolate")
ATTACKS = (
    *(
        Attack(
            f"100 groups joined in pairs, 1,000 levels, {policy}, limit 10", CHAIN,
            f"{_joined(100, pairwise)}&group_policy={policy}&limit=10",
        )
        for policy in POLICIES
    ),
    Attack(
        "50 groups, each joined to each, 1,000 levels", CHAIN,
        f"{_joined(50, lambda names: combinations(names, 2))}&group_policy=none",
    ),
    Attack("60 isolated groups, 1,000 children, no limit", wide(1000, 1), devices(60)),
    Attack("8 isolated groups, 1,000 hosts of 16, no limit", wide(16, 1000), devices(8)),
    Attack("60 groups, 1,000 unlike hosts of 16, no limit", UNLIKE, _unlike_groups()),
    Attack("8 isolated groups, 100 hosts of 100, no limit", wide(100, 100), devices(8)),
    Attack("providers, 10 sets, 10 sets, 10 classes", MANY, _conditions(10, 10)),
    Attack("providers, 15 sets, 15 sets, 20 classes", MANY, _conditions(15, 20)),
    Attack("providers, 20 sets, 20 sets, 20 classes", MANY, _conditions(20, 20)),
    Attack("10,000 flat hosts, no limit (not hostile)", flat(10_000), FLAT),
)  # fmt: skip


@dataclass(frozen=True)
class Cost:
    """What a request took; times in seconds, sizes in MiB."""

    status: int | None
    wall: float
    server: float
    database: float
    memory: float
    before: float
    answer: float


def attack(port: int, path: str) -> tuple[int | None, int]:
    """The answer's status and size in bytes; no status when the client has lost patience."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("GET", path, headers=HEADERS)
        answer = connection.getresponse()
        size = 0
        while piece := answer.read(2**20):
            size += len(piece)
    except (TimeoutError, http.client.HTTPException, ConnectionError):
        return None, 0
    finally:
        connection.close()
    return answer.status, size


def measure(databases: Databases, each: Attack, home: Path) -> Cost:
    """Send one request to a new server."""
    url = databases.of("ours", each.cloud)
    with serving("ours", url, home, databases.server, checkout=REPOSITORY, workers=1) as server:
        attack(server.port, "/resource_providers?name=nobody")
        before, memory, started = server.spent(), server.peak_memory(), time.monotonic()
        status, size = attack(server.port, each.path)
        wall, spent = time.monotonic() - started, server.spent() - before
        return Cost(
            status, wall, spent.server, spent.database, server.peak_memory(), memory, size / 2**20
        )


def main() -> None:
    """Measure the attacks whose names have the word that is asked for."""
    parser = argparse.ArgumentParser(prog="python -m bench.hostile_requests", description=__doc__)
    parser.add_argument("--engine", choices=("sqlite", *SERVERS), default="postgresql")
    parser.add_argument("--only", default="", help="a part of the names")
    options = parser.parse_args()
    print(f"{'':60} status  wall s  server s  database s  MiB held (before)  answer MiB")
    with tempfile.TemporaryDirectory(prefix="placement-hostile-") as directory:
        home = Path(directory)
        home.chmod(0o755)
        databases = Databases(options.engine, home)
        for number, each in enumerate(ATTACKS):
            if options.only not in each.name:
                continue
            cost = measure(databases, each, home / str(number))
            print(
                f"{each.name:60} {cost.status or '-':>6} {cost.wall:7.2f} {cost.server:9.2f} "
                f"{cost.database:11.2f} {cost.memory:9.0f} ({cost.before:.0f}) {cost.answer:14.1f}",
                flush=True,
            )
        if databases.server is not None:
            databases.server.discard()


if __name__ == "__main__":
    main()
