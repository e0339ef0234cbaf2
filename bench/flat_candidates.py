"""How long `GET /allocation_candidates` takes on flat hosts: SQLite, one process, no network.

    python -m bench.flat_candidates [--hosts 1000] [--traits 20] [--repeat 20]

Prints milliseconds for each limit: the first request with nothing in the cache, and the median
of the following ones. Hosts have three classes, some traits, one aggregate in ten.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import falcon.testing
import sqlalchemy as sa

from placement import app
from placement.db import tables as t
from placement.objects import recount
from tests.builders import make_database

HEADERS = {"X-Auth-Token": "admin", "OpenStack-API-Version": "placement 1.39"}
STOCK = {"VCPU": (64, 16.0), "MEMORY_MB": (262144, 1.0), "DISK_GB": (4000, 1.0)}


def fill(conn: sa.Connection, hosts: int, traits: int) -> None:
    """Put flat hosts straight into the tables."""
    ids = range(1, hosts + 1)
    classes = dict(
        conn.execute(sa.select(t.resource_classes.c.name, t.resource_classes.c.id)).all()
    )
    given = conn.execute(sa.select(t.traits.c.id).order_by(t.traits.c.id).limit(traits)).scalars()
    chosen = list(given)
    aggregates = [f"a0000000-0000-4000-8000-{number:012d}" for number in range(10)]
    conn.execute(sa.insert(t.placement_aggregates), [{"uuid": uuid} for uuid in aggregates])
    conn.execute(
        sa.insert(t.resource_providers),
        [
            {
                "id": host,
                "uuid": f"00000000-0000-4000-8000-{host:012d}",
                "name": f"host{host}",
                "generation": 0,
                "root_provider_id": host,
            }
            for host in ids
        ],
    )
    conn.execute(
        sa.insert(t.inventories),
        [
            {
                "resource_provider_id": host,
                "resource_class_id": classes[name],
                "total": total,
                "reserved": 0,
                "min_unit": 1,
                "max_unit": total,
                "step_size": 1,
                "allocation_ratio": ratio,
            }
            for host in ids
            for name, (total, ratio) in STOCK.items()
        ],
    )
    conn.execute(
        sa.insert(t.resource_provider_traits),
        [{"resource_provider_id": host, "trait_id": trait} for host in ids for trait in chosen],
    )
    conn.execute(
        sa.insert(t.resource_provider_aggregates),
        [{"resource_provider_id": host, "aggregate_id": host % 10 + 1} for host in ids],
    )
    recount.recount(conn)


def main() -> None:
    """Fill a cloud and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--traits", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        settings, database = make_database(f"sqlite:///{Path(directory) / 'placement.db'}")
        with database.writer.begin() as conn:
            fill(conn, options.hosts, options.traits)
        print(f"{options.hosts} flat hosts, {options.traits} traits each; milliseconds")
        print(f"{'limit':>8} {'cold':>8} {'median':>8} {'found':>7} {'kB':>7}")
        for limit in ("1", "10", "100", "1000", "none"):
            client = falcon.testing.TestClient(app.create_app(settings, database))
            query = "resources=VCPU:2,MEMORY_MB:4096,DISK_GB:20"
            query += "" if limit == "none" else f"&limit={limit}"
            times = []
            for _ in range(options.repeat + 1):
                start = time.perf_counter()
                answer = client.simulate_get(
                    "/allocation_candidates", query_string=query, headers=HEADERS
                )
                times.append(1000 * (time.perf_counter() - start))
            found = len(answer.json["allocation_requests"])
            print(
                f"{limit:>8} {times[0]:8.1f} {statistics.median(times[1:]):8.1f} "
                f"{found:7} {len(answer.content) // 1000:7}"
            )
        database.dispose()


if __name__ == "__main__":
    main()
