"""What an offline reshape costs: `python -m bench.offline_reshape --hosts 10000 --consumers 20`.

Virtual GPUs move from every host to two children, with what consumers hold of them. Printed are
hosts per second and the memory of the process, at each fifth of the way: of the survey, which
reads and works out, and of the run, which does it again and writes. The database is that of the
tests (`PLACEMENT_ENGINE`: sqlite, mariadb or postgresql), and needs no server to run.
"""

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from placement.db.engine import Database
from placement.direct import PlacementDirect
from placement.progress import Item, Progress
from placement.reshape.reshapefile import load_transformation
from placement.reshape.run import Reshape
from tests.kit import cloud
from tests.kit.builders import database_url, settings
from tests.kit.cloud import Cloud, Provider, Stock

FILE = Path(__file__).parents[1] / "etc" / "reshape" / "vgpu-to-children.yaml"
FIFTHS = 5
EACH = 2  # virtual GPUs and CPUs of a consumer


def main() -> None:
    """Build the hosts, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=10_000)
    parser.add_argument("--consumers", type=int, default=20, help="on each host")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        made = settings(database_url(Path(directory)))
        database = Database(made.database)
        cloud.load(database.writer, _hosts(options.hosts, options.consumers))
        database.dispose()
        with PlacementDirect(made) as adapter:
            reshape = Reshape(adapter, load_transformation(FILE))
            engine = os.environ.get("PLACEMENT_ENGINE", "sqlite")
            print(f"{engine}: {options.hosts} hosts, {options.consumers} consumers on each")
            survey = reshape.survey(measured("survey"))
            assert not survey.complaints, survey.complaints
            assert reshape.run(measured("run")) == options.hosts
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"peak: {peak / 1024:.0f} MiB")


def _hosts(hosts: int, consumers: int) -> Cloud:
    stock = {
        "VCPU": Stock(EACH * consumers),
        "VGPU": Stock(EACH * (consumers + consumers % 2)),
    }
    claims = {"VCPU": EACH, "VGPU": EACH}

    def members() -> Iterator[Provider]:
        for _ in range(hosts):
            yield Provider(stock, claims=claims)

    return Cloud("hosts", members, consumers, hosts)


def measured(verb: str) -> Progress:
    """Return a progress that prints speed and memory at each fifth."""

    def progress(
        items: Iterable[Item], noun: str, total: int | None = None
    ) -> AbstractContextManager[Iterable[Item]]:
        return _printing(items, verb, noun, total or 0)

    return progress


@contextmanager
def _printing(items: Iterable[Item], verb: str, noun: str, total: int) -> Iterator[Iterable[Item]]:
    def told() -> Iterator[Item]:
        began, done_before = time.perf_counter(), 0
        for done, item in enumerate(items, 1):
            yield item
            if done % max(1, total // FIFTHS) == 0:
                seconds = time.perf_counter() - began
                print(
                    f"{verb}: {done} {noun}, {(done - done_before) / seconds:.0f} a second, "
                    f"{_resident():.0f} MiB",
                    flush=True,
                )
                began, done_before = time.perf_counter(), done

    yield told()


def _resident() -> float:
    """Return the memory that this process has now, in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


if __name__ == "__main__":
    main()
