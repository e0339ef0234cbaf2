"""`python -m bench.nodes`: reads a second of one node of a Galera cluster and of two.

A service of one worker stands before each node. Clients, each a process of its own, read from one
of them or from both, in turns. All share the cores of this machine; what it tells of cores and CPU
says whether these, or something that the nodes share, were the limit.
"""

from __future__ import annotations

import argparse
import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import sqlalchemy as sa

from bench.bursts import burst, in_turns, summary
from bench.clouds import light
from bench.scenarios import FLAT, limited
from bench.servers import REPOSITORY, serving
from tests.galera.nodes import start_cluster
from tests.kit.builders import prepare
from tests.kit.cloud import load, provider_uuid

NODES = 2
READS = {
    "GET limit=10": ("get", limited(FLAT, 10)),
    "GET of 3 that match": ("get", f"{FLAT}&required=CUSTOM_RARE"),
    "GET of one provider": ("get", f"/resource_providers/{provider_uuid(77)}"),
}


def main() -> None:
    """Measure what the options ask for."""
    parser = argparse.ArgumentParser(prog="python -m bench.nodes", description=__doc__)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0, help="of a round")
    options = parser.parse_args()
    cloud = light(options.hosts)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="placement-bench-")))
        nodes = start_cluster(NODES)
        for node in nodes:
            stack.callback(node.discard)
        nodes[0].execute("CREATE DATABASE placement")
        prepare(nodes[0].url("placement"))
        load(sa.create_engine(nodes[0].url("placement"), poolclass=sa.NullPool), cloud)
        servers = [
            stack.enter_context(
                serving(
                    "ours", node.url("placement"), scratch / f"node-{number}", node,
                    checkout=REPOSITORY, workers=1,
                )
            )
            for number, node in enumerate(nodes)
        ]  # fmt: skip
        for name, way in READS.items():
            sides = {
                number: partial(
                    burst, servers[:number], cloud, way, options.clients, options.seconds
                )
                for number in (1, NODES)
            }
            bursts = in_turns(sides, options.rounds)
            one, two = (summary(f"{name}, {number} nodes", bursts[number]) for number in bursts)
            print(
                f"{name}: {two.rate / one.rate:.2f} times the reads; by the CPU of a read, with a "
                f"core for each worker: {2 * one.cpu / two.cpu:.2f} times",
                flush=True,
            )


if __name__ == "__main__":
    main()
