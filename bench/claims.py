"""`python -m bench.claims`: to ask and to claim in one request, beside GET and PUT.

Clients at once do the one and the other in turns, on one server. Then more callers than there are
places claim the last ones: who is told what, and what is used afterwards.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
import uuid as uuids
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from bench.__main__ import Databases
from bench.clients import Client, all_at_once, crowd
from bench.clouds import flat
from bench.scenarios import FLAT, ONE_STEP, limited
from bench.servers import REPOSITORY, Server, serving
from tests.kit.cloud import Cloud, Provider, Stock
from tests.kit.engines import SERVERS
from tests.kit.processes import Answer, send

# nova asks for 1,000 candidates; 10 are about the fewest that callers at once can do with.
KINDS = {
    "GET limit=1000 + PUT": ("schedule", limited(FLAT, 1000)),
    "GET limit=10 + PUT": ("schedule", limited(FLAT, 10)),
    "POST /claims": ("claim", ""),
}
CALLERS_AT_ONCE = 64
PLACES_OF_A_HOST = 2


def burst(clients: list[Client], seconds: float) -> list[float]:
    """Have the clients take turns for a while; the seconds that each turn took."""
    times: list[float] = []
    until = time.monotonic() + seconds

    def act(client: Client) -> None:
        while time.monotonic() < until:
            started = time.monotonic()
            client.turn()
            times.append(time.monotonic() - started)

    all_at_once([partial(act, client) for client in clients])
    return times


def compare(server: Server, cloud: Cloud, clients: int, rounds: int, seconds: float) -> None:
    """Print a line for each way to claim, and how many times more often the last one does."""
    times: dict[str, list[float]] = {name: [] for name in KINDS}
    spent: dict[str, float] = dict.fromkeys(KINDS, 0.0)
    crowds = {
        name: crowd(kind, server.port, cloud, what or json.dumps(ONE_STEP), clients)
        for name, (kind, what) in KINDS.items()
    }
    for number in range(rounds + 1):  # the first one warms up
        for name, each in crowds.items():
            before = server.spent()
            turns = burst(each, seconds)
            more = server.spent() - before
            if number:
                times[name] += turns
                spent[name] += more.server + more.database
            for client in each:
                client.clean()
    rates = {}
    for name, turns in times.items():
        refused = sum(client.refused for client in crowds[name])
        rates[name] = len(turns) / (rounds * seconds)
        print(
            f"{name:20} {rates[name]:7.1f} claims a second, median "
            f"{1000 * statistics.median(turns):5.1f} ms, CPU {1000 * spent[name] / len(turns):5.2f}"
            f" ms, {refused} of {len(turns)} refused"
        )
    *others, (_name, one) = rates.items()
    for name, two in others:
        print(f"{one / two:.2f} times the claims a second of {name}", flush=True)


def last_places(server: Server, callers: int, places: int) -> None:
    """Have all callers claim one place, and print what they are told."""

    def claim(_number: int) -> Answer:
        body = {
            "request": {"groups": {"": {"resources": {"VCPU": 1}}}},
            "consumer_uuid": str(uuids.uuid4()), "project_id": "project", "user_id": "user",
            "consumer_type": "INSTANCE",
        }  # fmt: skip
        return send(server.port, "POST", "/claims", body, "2.0")

    started = time.monotonic()
    with ThreadPoolExecutor(CALLERS_AT_ONCE) as pool:
        answers = list(pool.map(claim, range(callers)))
    seconds = time.monotonic() - started
    told = Counter(
        f"{answer.status} {answer.code}" if answer.status >= 400 else str(answer.status)
        for answer in answers
    )
    used = send(server.port, "GET", "/usages?project_id=project").body["usages"]
    print(f"{callers} callers, {places} places, {seconds:.1f} s: {dict(told)}; used {used}")


def crowded(places: int) -> Cloud:
    """Hosts with so many places in all."""
    hosts = places // PLACES_OF_A_HOST
    stock = {"VCPU": Stock(PLACES_OF_A_HOST)}
    return Cloud(f"crowded_{places}", lambda: [Provider(stock)] * hosts, 0, hosts)


def main() -> None:
    """Measure what the options ask for."""
    parser = argparse.ArgumentParser(prog="python -m bench.claims", description=__doc__)
    parser.add_argument("--engine", choices=("sqlite", *SERVERS), default="mariadb")
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5, help="of each way to claim")
    parser.add_argument("--seconds", type=float, default=3.0, help="of a round")
    parser.add_argument("--callers", type=int, default=1000)
    parser.add_argument("--places", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="placement-bench-") as scratch:
        Path(scratch).chmod(0o755)
        databases = Databases(options.engine, Path(scratch))
        served = partial(serving, "ours", checkout=REPOSITORY)
        cloud = flat(options.hosts, 20)
        url = databases.of("ours", cloud)
        with served(url, Path(scratch) / "ours", databases.server) as server:
            compare(server, cloud, options.clients, options.rounds, options.seconds)
        url = databases.of("ours", crowded(options.places))
        with served(url, Path(scratch) / "crowded", databases.server) as server:
            last_places(server, options.callers, options.places)


if __name__ == "__main__":
    main()
