"""A scheduler: boots, resizes, evacuates and deletes instances, by flavor.

    python -m examples.scheduler boot examples/flavors/small --count 3
    python -m examples.scheduler delete UUID…

The scheduler requests candidates, ranks them, and claims one after the other until a claim
succeeds. If no host fits, it prints the service's explanation.
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
TRIES = 3  # attempts of a request whose connection is lost

# Trait of hosts that get no more instances.
DISABLED = "COMPUTE_STATUS_DISABLED"


class Scheduler:
    """Places the instances of one service."""

    def __init__(
        self, client: ReportClient, limit: int = LIMIT, rng: random.Random | None = None
    ) -> None:
        """Make a scheduler.

        Args:
            client: of the service.
            limit: candidates to choose from.
            rng: a seeded one makes choices repeatable.
        """
        self._client = client
        self._limit = limit
        self._rng = rng or random.Random()

    def request(self, flavor: Flavor) -> JsonRequest:
        """Return the request of a flavor, restricted to hosts that are not disabled.

        Raises:
            RequestError: the flavor is invalid; the text names the key.
        """
        request = request_of_flavor(flavor)
        root = request.get("root", {})
        forbidden = [*root.get("forbidden", ()), DISABLED]
        return {**request, "root": {**root, "forbidden": forbidden}, "limit": self._limit}

    def boot(self, flavor: Flavor, instance: NewConsumer) -> ClaimResult:
        """Claim the resources of a flavor for an instance, on the least loaded host.

        Raises:
            NoCandidates: no host fits; the text is the service's explanation, if it gives one.
        """
        request = self.request(flavor)
        for tries_left in reversed(range(TRIES)):
            try:
                return self._client.claim(request, instance, self._rank)
            except exceptions.ConnectionError:
                if not tries_left:
                    raise
                # The response is lost, but the claim may have succeeded.
                self._client.release(instance.uuid)
        raise AssertionError("unreachable")

    def rebook(self, flavor: Flavor, instance: NewConsumer) -> ClaimResult:
        """Place an instance again: with another flavor, or because its host is disabled.

        A migration consumer holds the present allocations until the instance has new ones, and
        gives them back if no host fits.

        Raises:
            NoCandidates: see `boot`.
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
        """Release all resources of an instance; return whether it had any."""
        return self._client.release(instance)

    def new_uuid(self) -> str:
        """Return a UUID. The sequence of UUIDs depends only on `rng`."""
        return str(uuid.UUID(int=self._rng.getrandbits(128), version=4))

    def _rank(self, answer: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        """Return candidates, with the least loaded hosts first.

        Equally loaded ones are in random order, so that schedulers do not all choose the same host.
        """
        summaries = answer["provider_summaries"]
        # Sorted first, so that the result depends on `rng` alone.
        candidates = sorted(
            answer["allocation_requests"], key=lambda each: sorted(each["allocations"])
        )
        self._rng.shuffle(candidates)
        return sorted(candidates, key=lambda each: round(_load(each, summaries), 1))


def _load(candidate: Mapping[str, Any], summaries: Mapping[str, Any]) -> float:
    """Return the highest usage of any class after a candidate is claimed, from 0 to 1."""
    loads: list[float] = [
        (summaries[provider]["resources"][name]["used"] + amount)
        / summaries[provider]["resources"][name]["capacity"]
        for provider, held in candidate["allocations"].items()
        for name, amount in held["resources"].items()
    ]
    return max(loads)


def boot(scheduler: Scheduler, path: str, count: int) -> int:
    """Boot instances of a flavor.

    Print their hosts, or the reason of a failure. Return the exit code.
    """
    flavor = read_flavor_file(path)
    for _ in range(count):
        instance = NewConsumer(scheduler.new_uuid(), "project", "user")
        try:
            result = scheduler.boot(flavor, instance)
        except NoCandidates as error:
            print(f"no host fits: {error}")
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
        print(f"{instance} {'deleted' if scheduler.delete(instance) else 'had no allocations'}")
    return 0


def main() -> int:
    """Run the command. Return the exit code: 3 if no host fits, 1 for errors."""
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
