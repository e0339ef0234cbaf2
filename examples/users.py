"""The users of the simulated cloud: their operations, and a record of their instances."""

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from examples.scheduler import Scheduler
from falcon_placement_client import AllocationConflict, NewConsumer, NoCandidates
from falcon_placement_client.flavors import read_flavor_file, request_of_flavor

# The hosts of the simulation. A server may have others, which the flavors exclude.
AGGREGATE = "5ca1ab1e-0000-4000-8000-0000000000a9"
FLAVORS = {
    path.name: {**read_flavor_file(str(path)), "member_of": AGGREGATE}
    for path in sorted((Path(__file__).parent / "flavors").iterdir())
}
FLAVOR_WEIGHTS = {"small": 60, "large": 25, "gpu": 15}  # how often users choose them
OPERATION_WEIGHTS = {"boot": 60, "resize": 15, "delete": 25}


class LeakError(Exception):
    """The service and the records of the simulation differ."""


@dataclass
class Instance:
    """An instance as the simulation has recorded it."""

    # Its UUID and owner.
    consumer: NewConsumer
    # Name of its flavor.
    flavor: str
    # UUID of the root of its tree; empty before it is placed.
    host: str


class User:
    """Boots, resizes and deletes instances through a scheduler, one at a time."""

    def __init__(self, scheduler: Scheduler, hosts: Iterable[str], rng: random.Random) -> None:
        """Make a user without instances.

        Args:
            scheduler: places the instances.
            hosts: UUIDs of the roots of all trees.
            rng: decides what the user does.
        """
        self._scheduler = scheduler
        self._hosts = frozenset(hosts)
        self._rng = rng
        self.instances: dict[str, Instance] = {}
        self.counts: Counter[str] = Counter()
        self.refusal = ""

    def act(self) -> None:
        """Do one random operation."""
        (act,) = self._rng.choices(list(OPERATION_WEIGHTS), list(OPERATION_WEIGHTS.values()))
        (flavor,) = self._rng.choices(list(FLAVOR_WEIGHTS), list(FLAVOR_WEIGHTS.values()))
        if act == "boot" or not self.instances:
            consumer = NewConsumer(self._scheduler.new_uuid(), "simulation", "user")
            self._place(Instance(consumer, flavor, ""), "boots")
            return
        instance = self._rng.choice(list(self.instances.values()))
        if act == "resize":
            self._place(Instance(instance.consumer, flavor, instance.host), "resizes")
        else:
            self.delete(instance)

    def evacuate(self, host: str) -> None:
        """Place each instance of a host elsewhere, or delete it if no other host fits."""
        for instance in [each for each in self.instances.values() if each.host == host]:
            if not self._place(instance, "evacuations"):
                self.delete(instance)

    def delete(self, instance: Instance) -> None:
        """Delete an instance.

        Raises:
            LeakError: it had no allocations.
        """
        if not self._scheduler.delete(instance.consumer.uuid):
            raise LeakError(f"instance {instance.consumer.uuid} had no allocations")
        del self.instances[instance.consumer.uuid]
        self.counts["deletes"] += 1

    def _place(self, instance: Instance, what: str) -> bool:
        """Place an instance, again if it has a host; return whether a host was found.

        Raises:
            LeakError: its allocations are not as recorded.
        """
        place = self._scheduler.rebook if instance.host else self._scheduler.boot
        try:
            result = place(FLAVORS[instance.flavor], instance.consumer)
        except NoCandidates as error:
            self.refusal = str(error)
            self.counts[f"{what} without a host"] += 1
            return False
        except AllocationConflict as error:
            # No other program writes the allocations of the instance.
            raise LeakError(str(error)) from error
        # Its other resources may be on child providers, but its processors are on the root.
        (host,) = self._hosts & result.allocations.keys()
        moved = Instance(instance.consumer, instance.flavor, host)
        self.instances[instance.consumer.uuid] = moved
        self.counts[what] += 1
        return True


def amounts(flavor: str) -> Counter[str]:
    """Return what an instance of a flavor uses, as class -> units."""
    total: Counter[str] = Counter()
    for group in request_of_flavor(FLAVORS[flavor])["groups"].values():
        total.update(group["resources"])
    return total
