"""A simulated cloud with thousands of boots, resizes, evacuations and deletes, to find leaks.

    python -m examples.simulation
    python -m examples.simulation --url http://127.0.0.1:8778 --hosts 200 --operations 10000

Agents (`examples.agent`) report the hosts, and schedulers (`examples.scheduler`) concurrently place
the instances of their users. In each round a host fails and is evacuated, and some hosts move GPUs
that are in use to child providers. At the end, the usages and allocations of every host must be
equal to what the simulation has recorded, and nothing may remain after all instances are deleted.
With one scheduler, equal seeds give equal clouds.
"""

import argparse
import hashlib
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from keystoneauth1.exceptions import ClientException
from tqdm import tqdm

from examples.agent import HostDriver
from examples.scheduler import DISABLED, LIMIT, Scheduler
from examples.users import AGGREGATE, Instance, LeakError, User, amounts
from falcon_placement_client import ClientError, ReportClient
from placement.direct import PlacementDirect

ROUNDS = 10
GPU_EVERY = 4  # hosts


@dataclass
class Result:
    """What happened in a run."""

    # Operation -> how often it was done.
    counts: Counter[str] = field(default_factory=Counter)
    # Duration of the rounds, in seconds.
    seconds: float = 0.0
    # Hash of the final cloud.
    digest: str = ""
    # Explanation for the last instance that could not be placed, or empty if all were placed.
    refusal: str = ""

    def __str__(self) -> str:
        counts = ", ".join(f"{count:,} {name}" for name, count in sorted(self.counts.items()))
        rate = self.counts["boots"] / self.seconds if self.seconds else 0
        return f"{counts} in {self.seconds:.1f} s: {rate:.0f} boots a second; cloud {self.digest}"


class Simulation:
    """A cloud on one service, with one user for each scheduler."""

    def __init__(
        self, client: ReportClient, hosts: int, schedulers: int, seed: int, limit: int = LIMIT
    ) -> None:
        self._client = client
        self._rng = random.Random(seed)
        self._descriptions = [describe(f"simulated-{seed}-{number}") for number in range(hosts)]
        for description in self._descriptions[::GPU_EVERY]:
            description["inventory"]["VGPU"] = 8
            description["traits"] = ["CUSTOM_GPU_T4"]
        self._hosts = [HostDriver(each).uuid for each in self._descriptions]
        randoms = [random.Random(f"{seed}/{number}") for number in range(schedulers)]
        self._users = [User(Scheduler(client, limit, rng), self._hosts, rng) for rng in randoms]

    def run(self, operations: int) -> Result:
        """Build the cloud, run the operations, check the result and tear down.

        Raises:
            LeakError: the service differs from the records of the simulation.
            ClientError: a request failed.
        """
        result = Result()
        with ThreadPoolExecutor(len(self._users)) as pool:
            for host in self._hosts:
                for consumer in self._client.get_allocations_for_provider_tree(host):
                    self._client.release(consumer)  # left over from an interrupted run
            list(pool.map(self._report, self._descriptions))
            began = time.monotonic()
            with tqdm(total=operations, unit=" operations", disable=None) as bar:
                for number in range(ROUNDS):
                    self._round(pool, share(operations, ROUNDS, number), number, bar)
            result.seconds = time.monotonic() - began
            self.check()
            result.digest = self._digest()
            for user in self._users:
                result.counts += user.counts
                result.refusal = user.refusal or result.refusal
                for instance in list(user.instances.values()):
                    user.delete(instance)
            self.check()
            list(pool.map(self._remove, self._hosts))
        return result

    def check(self) -> None:
        """Compare the service with the records of the simulation.

        Raises:
            LeakError: they differ.
        """
        instances_of: dict[str, list[Instance]] = {host: [] for host in self._hosts}
        for user in self._users:
            for each in user.instances.values():
                instances_of[each.host].append(each)
        for host, instances in instances_of.items():
            usages: Counter[str] = Counter()
            for used in self._client.get_usages_for_provider_tree(host).values():
                usages.update(used)
            recorded: Counter[str] = Counter()
            for instance in instances:
                recorded.update(amounts(instance.flavor))
            consumers = self._client.get_allocations_for_provider_tree(host).keys()
            if +usages != recorded or consumers != {each.consumer.uuid for each in instances}:
                raise LeakError(
                    f"host {host}: {dict(+usages)} used by {len(consumers)} consumers; "
                    f"expected {dict(recorded)} by {len(instances)}"
                )

    def _round(self, pool: ThreadPoolExecutor, operations: int, number: int, bar: Any) -> None:
        """Let a host fail and users act, while some hosts reshape."""
        failed = self._rng.choice(self._descriptions)
        host = HostDriver(failed).uuid
        self._disable(host, True)
        self._report(failed)  # the agent must not enable it
        gpu_hosts = [each for each in self._descriptions[::GPU_EVERY] if each is not failed]

        def act(number_of_user: int, user: User) -> None:
            user.evacuate(host)
            if number_of_user == 0:
                for description in gpu_hosts[number::ROUNDS]:
                    if split_gpus(description):
                        self._report(description)
                        user.counts["hosts reshaped"] += 1
            for _ in range(share(operations, len(self._users), number_of_user)):
                user.act()
                bar.update()

        list(pool.map(act, range(len(self._users)), self._users))
        self._disable(host, False)

    def _report(self, description: dict[str, Any]) -> str:
        """Let an agent report a host; return its UUID."""
        host = HostDriver(description)
        self._client.report(host.uuid, host)
        return host.uuid

    def _disable(self, host: str, disabled: bool) -> None:
        """Add or remove the trait of disabled hosts."""
        tree = self._client.get_provider_tree(host)
        change = tree.add_traits if disabled else tree.remove_traits
        change(host, DISABLED)
        self._client.update_from_provider_tree(tree)

    def _remove(self, host: str) -> None:
        """Delete a host; the service refuses that while any of its inventory is in use."""
        tree = self._client.get_provider_tree(host)
        tree.remove(host)
        self._client.update_from_provider_tree(tree)

    def _digest(self) -> str:
        """Return a hash of the cloud."""
        lines = sorted(
            f"{each.consumer.uuid} {each.flavor} {each.host}"
            for user in self._users
            for each in user.instances.values()
        )
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]


def describe(name: str) -> dict[str, Any]:
    """Return the description of a host, as in a file."""
    vcpu = {"total": 64, "allocation_ratio": 4.0}
    inventory = {"VCPU": vcpu, "MEMORY_MB": 262144, "DISK_GB": 4000}
    return {"name": name, "inventory": inventory, "aggregates": [AGGREGATE]}


def split_gpus(description: dict[str, Any]) -> bool:
    """Move the GPUs of a host to two child providers. Return whether this was a change."""
    if "VGPU" not in description["inventory"]:
        return False
    del description["inventory"]["VGPU"]
    card = {"inventory": {"VGPU": 4}, "traits": description["traits"]}
    description["traits"] = dict.fromkeys(description["traits"], False)
    names = [f"{description['name']}-gpu{number}" for number in (1, 2)]
    description["children"] = [{"name": name, **card} for name in names]
    return True


def share(whole: int, parts: int, number: int) -> int:
    """Return the size of one of `parts` nearly equal parts; the first ones may be larger by one."""
    return whole // parts + (number < whole % parts)


@contextmanager
def connected(url: str | None, token: str) -> Iterator[ReportClient]:
    """Yield a client of a server, or of a service in this process with a database of its own."""
    if url:
        yield ReportClient.at(url, token)
        return
    with (
        tempfile.TemporaryDirectory() as directory,
        PlacementDirect.on_database(f"sqlite:///{directory}/placement.db") as adapter,
    ):
        yield ReportClient(adapter)


def main() -> int:
    """Run the simulation. Return the exit code: 1 for a leak or a failure."""
    parser = argparse.ArgumentParser(prog="python -m examples.simulation", description=__doc__)
    parser.add_argument("--url", help="of a server; default: PlacementDirect, on SQLite")
    parser.add_argument("--token", default="admin", help="sent as X-Auth-Token")
    parser.add_argument("--hosts", type=int, default=100)
    parser.add_argument("--schedulers", type=int, default=4)
    parser.add_argument("--operations", type=int, default=3000)
    parser.add_argument("--limit", type=int, default=LIMIT, help="candidates to choose from")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    try:
        with connected(options.url, options.token) as client:
            simulation = Simulation(
                client, options.hosts, options.schedulers, options.seed, options.limit
            )
            result = simulation.run(options.operations)
    except (LeakError, ClientError, ClientException) as error:
        print(f"simulation: {error}", file=sys.stderr)
        return 1
    print(result)
    if result.refusal:
        print(f"the last instance that could not be placed: {result.refusal}")
    print("nothing leaked: every host had the expected usages, and none at the end")
    return 0


if __name__ == "__main__":
    sys.exit(main())
