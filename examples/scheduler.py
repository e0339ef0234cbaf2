"""A scheduler: boots, resizes, evacuates and deletes instances, by flavor.

    python -m examples.scheduler boot examples/flavors/small --count 3
    python -m examples.scheduler delete UUID…

Hosts are asked for, ranked, and claimed one after the other until nobody else was faster. Where
nothing fits the service says why.
"""

import argparse
import random
import sys
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from keystoneauth1 import exceptions

from falcon_placement_client import (
    ClaimResult,
    ClientError,
    JsonRequest,
    NewConsumer,
    NoCandidates,
    ReportClient,
    RequestError,
)
from falcon_placement_client.flavors import Flavor, read_flavor_file, request_of_flavor

LIMIT = 1000  # candidates to choose from
TRIES = 3  # of what is asked on connections that break

# A host that gets no more instances has this trait.
DISABLED = "COMPUTE_STATUS_DISABLED"


class Scheduler:
    """Places instances of one service; each of several at a time has one of its own."""

    def __init__(
        self, client: ReportClient, limit: int = LIMIT, rng: random.Random | None = None
    ) -> None:
        """Take a client; limit: of the candidates to choose from; rng: makes choices repeatable."""
        self._client = client
        self._limit = limit
        self._rng = rng or random.Random()

    def request(self, flavor: Flavor) -> JsonRequest:
        """Return what a flavor asks of hosts that are not disabled.

        Raises RequestError, which names the key, for flavors that mean nothing.
        """
        request = request_of_flavor(flavor)
        root = request.get("root", {})
        forbidden = [*root.get("forbidden", ()), DISABLED]
        return {**request, "root": {**root, "forbidden": forbidden}, "limit": self._limit}

    def boot(self, flavor: Flavor, instance: NewConsumer) -> ClaimResult:
        """Give an instance what its flavor asks for, on the least loaded host.

        Raises NoCandidates, whose text is the explanation where the service gives one.
        """
        request = self.request(flavor)
        for tries_left in reversed(range(TRIES)):
            try:
                return self._client.claim(request, instance, self._rank)
            except exceptions.ConnectionError:
                if not tries_left:
                    raise
                # The answer is lost, and the claim perhaps not.
                self._client.release(instance.uuid)
        raise AssertionError("unreachable")

    def rebook(self, flavor: Flavor, instance: NewConsumer) -> ClaimResult:
        """Place an instance anew: by another flavor, or because its host is disabled.

        A migration holds what it has until the instance has something else, and gives it back
        where nothing is found. Raises as `boot` does.
        """
        holder = NewConsumer(self.new_uuid(), instance.project_id, instance.user_id, "MIGRATION")
        self._client.move(instance.uuid, holder)
        try:
            result = self.boot(flavor, instance)
        except Exception:
            self._client.move(holder.uuid, instance)
            raise
        self._client.release(holder.uuid)
        return result

    def delete(self, instance: str) -> bool:
        """Give back all that an instance has; return whether that was anything."""
        return self._client.release(instance)

    def new_uuid(self) -> str:
        """Return a UUID, the same ones in the same order for the same `rng`."""
        return str(uuid.UUID(int=self._rng.getrandbits(128), version=4))

    def _rank(self, answer: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        """Return candidates, those first whose providers would have most left.

        Equal ones are in any order, lest all schedulers meet on the same host.
        """
        summaries = answer["provider_summaries"]
        # In an order that is always the same, so that `rng` alone decides.
        candidates = sorted(
            answer["allocation_requests"], key=lambda each: sorted(each["allocations"])
        )
        self._rng.shuffle(candidates)
        return sorted(candidates, key=lambda each: round(_load(each, summaries), 1))


def _load(candidate: Mapping[str, Any], summaries: Mapping[str, Any]) -> float:
    """Return which part of a class is used at the most, once a candidate is claimed: 0 to 1."""
    loads: list[float] = [
        (summaries[provider]["resources"][name]["used"] + amount)
        / summaries[provider]["resources"][name]["capacity"]
        for provider, held in candidate["allocations"].items()
        for name, amount in held["resources"].items()
    ]
    return max(loads)


def boot(scheduler: Scheduler, path: str, count: int) -> int:
    """Boot instances of the flavor in a file; print where, or why not; return the exit code."""
    flavor = read_flavor_file(path)
    for _ in range(count):
        instance = NewConsumer(scheduler.new_uuid(), "project", "user")
        try:
            result = scheduler.boot(flavor, instance)
        except NoCandidates as error:
            print(f"no place: {error}")
            return 3
        places = ", ".join(
            f"{provider}: {' '.join(f'{name}={held}' for name, held in each['resources'].items())}"
            for provider, each in result.allocations.items()
        )
        print(f"{instance.uuid} on {places}")
    return 0


def delete(scheduler: Scheduler, instances: Sequence[str]) -> int:
    """Delete instances; return the exit code."""
    for instance in instances:
        print(f"{instance} {'deleted' if scheduler.delete(instance) else 'had nothing'}")
    return 0


def main() -> int:
    """Do what the arguments say; return the exit code: 3 where nothing fits, 1 for errors."""
    parser = argparse.ArgumentParser(prog="python -m examples.scheduler", description=__doc__)
    parser.add_argument("--url", default="http://127.0.0.1:8778", help="of the service")
    parser.add_argument("--token", default="admin", help="sent as X-Auth-Token")
    commands = parser.add_subparsers(dest="command", required=True)
    booting = commands.add_parser("boot", help="boot instances")
    booting.add_argument("flavor", help="a file with a key=value on each line")
    booting.add_argument("--count", type=int, default=1)
    deleting = commands.add_parser("delete", help="delete instances")
    deleting.add_argument("instance", nargs="+", help="a UUID")
    options = parser.parse_args()
    scheduler = Scheduler(ReportClient.at(options.url, options.token))
    try:
        if options.command == "boot":
            return boot(scheduler, options.flavor, options.count)
        return delete(scheduler, options.instance)
    except (ClientError, RequestError, exceptions.ClientException) as error:
        print(f"{options.command}: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
