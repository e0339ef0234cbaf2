"""The users of the simulated cloud: what they do, and what they think they have."""

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from examples.scheduler import Scheduler
from falcon_placement_client import AllocationConflict, NewConsumer, NoCandidates
from falcon_placement_client.flavors import read_flavor_file, request_of_flavor

FLAVORS = {
    path.name: read_flavor_file(str(path))
    for path in sorted((Path(__file__).parent / "flavors").iterdir())
}
WISHES = {"small": 60, "large": 25, "gpu": 15}  # how often users want them
ACTS = {"boot": 60, "resize": 15, "delete": 25}


class LeakError(Exception):
    """The service does not say what the simulation thinks."""


@dataclass
class Instance:
    """What the simulation thinks of an instance; host: the UUID of the root of its tree."""

    consumer: NewConsumer
    flavor: str
    host: str


class User:
    """Boots, resizes and deletes instances through a scheduler, one after the other."""

    def __init__(self, scheduler: Scheduler, hosts: Iterable[str], rng: random.Random) -> None:
        """Take a scheduler; hosts: the UUIDs of the roots of all trees."""
        self._scheduler = scheduler
        self._hosts = frozenset(hosts)
        self._rng = rng
        self.instances: dict[str, Instance] = {}
        self.counts: Counter[str] = Counter()
        self.refusal = ""

    def act(self) -> None:
        """Do one thing of those that users do."""
        (act,) = self._rng.choices(list(ACTS), list(ACTS.values()))
        (flavor,) = self._rng.choices(list(WISHES), list(WISHES.values()))
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
        """Have each instance of a host placed elsewhere, or deleted where there is no place."""
        for instance in [each for each in self.instances.values() if each.host == host]:
            if not self._place(instance, "evacuations"):
                self.delete(instance)

    def delete(self, instance: Instance) -> None:
        """Delete an instance.  Raises LeakError if it had nothing."""
        if not self._scheduler.delete(instance.consumer.uuid):
            raise LeakError(f"instance {instance.consumer.uuid} had nothing any more")
        del self.instances[instance.consumer.uuid]
        self.counts["deletes"] += 1

    def _place(self, instance: Instance, what: str) -> bool:
        """Place an instance, anew if it has a host; return whether there was a place.

        Raises LeakError if it has not what is thought.
        """
        place = self._scheduler.rebook if instance.host else self._scheduler.boot
        try:
            result = place(FLAVORS[instance.flavor], instance.consumer)
        except NoCandidates as error:
            self.refusal = str(error)
            self.counts[f"{what} without a place"] += 1
            return False
        except AllocationConflict as error:
            # Nobody else writes what the instance has.
            raise LeakError(str(error)) from error
        # Whatever else it has of the tree, its processors are the root's.
        (host,) = self._hosts & result.allocations.keys()
        moved = Instance(instance.consumer, instance.flavor, host)
        self.instances[instance.consumer.uuid] = moved
        self.counts[what] += 1
        return True


def amounts(flavor: str) -> Counter[str]:
    """Return what an instance of a flavor uses, by class."""
    total: Counter[str] = Counter()
    for group in request_of_flavor(FLAVORS[flavor])["groups"].values():
        total.update(group["resources"])
    return total
