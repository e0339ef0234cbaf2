"""`python -m bench.workers`: claims a second of one worker and of four.

Clients, each a process of its own, claim with PUT on hosts that they draw at random, or with POST
/claims. Servers take turns. Where clients, database and workers share the cores, these
are spent before four workers are busy. So it also tells how many cores each of them took: without
a lock between them, the claims that workers could make of a core each follow from the CPU that a
worker spends on one. Beside others a core is slower; the instructions of a claim stay the same.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from bench.__main__ import DRIVER, Databases
from bench.bursts import burst, in_turns, summary
from bench.clouds import flat
from bench.scenarios import ONE_STEP
from bench.servers import REPOSITORY, serving
from tests.kit.engines import SERVERS

WAYS = {
    "PUT": ("put", ""),
    "POST /claims": ("claim", json.dumps(ONE_STEP)),
}
CLAIM_WAY = "POST /claims"  # which the peer does not know
WORKERS = (1, 4)


def main() -> None:
    """Measure what the options ask for."""
    parser = argparse.ArgumentParser(prog="python -m bench.workers", description=__doc__)
    parser.add_argument("--engine", choices=tuple(SERVERS), default="mariadb")
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0, help="of a round")
    parser.add_argument("--alone", action="store_true", help="leave openstack-placement out")
    parser.add_argument("--mysqlclient", action="store_true", help="ours with this driver, too")
    parser.add_argument("--data", type=Path, help="keep the loaded clouds here for the next run")
    options = parser.parse_args()
    if not options.alone:
        os.environ.setdefault("PLACEMENT_PEER", ".tox/openstack-placement")
    cloud = flat(options.hosts, 20)
    sides: dict[str, Path | None] = {"ours": REPOSITORY}
    if options.mysqlclient:
        sides[DRIVER] = REPOSITORY
    if not options.alone:
        sides["peer"] = None
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="placement-bench-")))
        scratch.chmod(0o755)
        databases = Databases(options.engine, options.data or scratch)
        servers = {
            (side, workers): stack.enter_context(
                serving(
                    side, databases.of(side, cloud), scratch / f"{side}-{workers}",
                    databases.server, checkout=checkout, workers=workers,
                )
            )
            for side, checkout in sides.items()
            for workers in WORKERS
        }  # fmt: skip
        for way in WAYS:
            sides_acting = {
                key: partial(burst, [server], cloud, WAYS[way], options.clients, options.seconds)
                for key, server in servers.items()
                if key[0] != "peer" or way != CLAIM_WAY
            }
            bursts = in_turns(sides_acting, options.rounds)
            for side in dict.fromkeys(side for side, _workers in bursts):
                one, four = (
                    summary(f"{side}, {way}, {workers} workers", bursts[side, workers])
                    for workers in WORKERS
                )
                print(
                    f"{side}, {way}: {four.rate / one.rate:.2f} times the claims; with a core for "
                    f"each worker {4 * one.cpu / four.cpu:.2f} times by the CPU of a claim, "
                    f"{4 * one.millions / four.millions:.2f} times by its instructions",
                    flush=True,
                )


if __name__ == "__main__":
    main()
