"""A compute agent: reports the host that a YAML file describes, and follows changes of the file.

    python -m examples.agent examples/host.yaml

The agent sets what the file describes: inventories, traits, aggregates, and the devices below the
host. Traits and aggregates that the file does not mention are kept, such as the trait with which an
operator disables a host, and so are providers that another agent has created below the host. When
inventory moves from one provider to another, for example from a host to its cards, allocations move
with it, in one transaction of the service. The agent can be killed at any time; its next run
completes what is unfinished.
"""

import argparse
import logging
import sys
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from keystoneauth1.exceptions import ClientException

from falcon_placement_client import (
    AllocatedResources,
    AllocationRecords,
    ClientError,
    ProviderData,
    ProviderTree,
    ReportClient,
    ReshapeFailed,
    ReshapeNeeded,
)

LOG = logging.getLogger("agent")
KEYS = frozenset(("name", "uuid", "inventory", "traits", "aggregates", "children"))

# A provider as files describe it: a name, and any of the other keys.
Description = Mapping[str, Any]


class HostDriver:
    """Edits a tree until it matches a description: the `ComputeDriver` of one host."""

    def __init__(self, description: Description) -> None:
        """Take the description of the root.

        Raises:
            ValueError: the description is malformed; the text names the provider and the key.
        """
        _check(description, "the file")
        self._description = description
        self.uuid = str(description.get("uuid") or uuid.uuid5(uuid.NAMESPACE_DNS, self.name))

    @property
    def name(self) -> str:
        """The name of the host."""
        return str(self._description["name"])

    def __call__(self, tree: ProviderTree, allocations: AllocationRecords | None) -> None:
        """Edit a tree, and the allocations if there are any.

        Raises:
            ReshapeNeeded: inventory moves, and there are no allocations to move with it.
            ReshapeFailed: the allocations of a consumer fit nowhere.
            ProviderTreeError: the service would refuse the result.
        """
        others = self._providers_of_others(tree)
        # Removed and added again: the client only writes differences.
        if tree.exists(self.uuid):
            tree.remove(self.uuid)
        self._add(tree, self._description, None)
        for provider in others:
            tree.new_child(provider.name, str(provider.parent_uuid), provider.uuid)
            tree.update_inventory(provider.uuid, provider.inventory)
            tree.update_traits(provider.uuid, provider.traits)
            tree.update_aggregates(provider.uuid, provider.aggregates)
        moving = _moving(tree)
        if moving and allocations is None:
            raise ReshapeNeeded(f"{', '.join(sorted(moving))} of {self.name} moves")
        if allocations is not None:
            move_allocations(tree, allocations)

    def _add(self, tree: ProviderTree, provider: Description, parent: str | None) -> None:
        """Add a provider and its descendants."""
        name = provider["name"]
        if parent is None:
            made = tree.new_root(name, self.uuid)
        else:
            made = tree.new_child(name, parent, provider.get("uuid") or self._uuid_of_child(name))
        old = tree.base.find(made)
        tree.update_inventory(name, dict(_records(provider.get("inventory") or {})))
        for part in ("traits", "aggregates"):
            getattr(tree, f"update_{part}")(name, getattr(old, part, ()))
            for each, wanted in _names(provider.get(part)).items():
                getattr(tree, f"{'add' if wanted else 'remove'}_{part}")(name, each)
        for child in provider.get("children") or ():
            self._add(tree, child, name)

    def _uuid_of_child(self, name: str) -> str:
        """Return a stable UUID, so that a later run finds the provider again."""
        return str(uuid.uuid5(uuid.UUID(self.uuid), name))

    def _providers_of_others(self, tree: ProviderTree) -> list[ProviderData]:
        """Return the providers below the host that other agents have created."""
        if not tree.exists(self.uuid):
            return []
        own = {self.uuid, *_stated_uuids(self._description)}
        below = [tree.data(each) for each in tree.get_provider_uuids(self.uuid)]
        return [
            each
            for each in below
            if each.uuid not in own and each.uuid != self._uuid_of_child(each.name)
        ]


def move_allocations(tree: ProviderTree, allocations: AllocationRecords) -> None:
    """Move allocations along with inventory that is now elsewhere in the tree.

    The units that a consumer has of one class on one provider stay together.

    Raises:
        ReshapeFailed: no provider has enough capacity left.
    """
    room = {
        (each.uuid, name): record.capacity
        for each in tree
        for name, record in each.inventory.items()
    }
    moving: list[tuple[int, str, dict[str, AllocatedResources], str]] = []
    for record in allocations.values():
        for provider, held in record["allocations"].items():
            for name, amount in held["resources"].items():
                if (provider, name) in room:
                    room[provider, name] -= amount
                elif tree.base.exists(provider):  # and no provider of another tree
                    moving.append((amount, name, record["allocations"], provider))
    # The largest first, each to the provider with the most capacity left.
    for amount, name, held_of, old in sorted(moving, key=lambda each: each[0], reverse=True):
        places = [place for place in room if place[1] == name]
        place = max(places, key=lambda each: room[each], default=None)
        if place is None or room[place] < amount:
            raise ReshapeFailed(f"{amount} {name} of provider {old} are in use and fit nowhere")
        del held_of[old]["resources"][name]
        resources = held_of.setdefault(place[0], {"resources": {}})["resources"]
        resources[name] = resources.get(name, 0) + amount
        room[place] -= amount


def read_host(path: str) -> HostDriver:
    """Return the driver of the host that a file describes.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is malformed; the text names it and says what was expected.
    """
    try:
        return HostDriver(yaml.safe_load(Path(path).read_text(encoding="utf-8")))
    except (ValueError, yaml.YAMLError) as error:
        raise ValueError(f"{path}: {' '.join(str(error).split())}") from None


def _check(provider: object, where: str) -> None:
    if not isinstance(provider, Mapping) or not isinstance(provider.get("name"), str):
        raise ValueError(f"{where}: expected a provider, with a name")
    name = provider["name"]
    if unknown := sorted(map(str, provider.keys() - KEYS)):
        raise ValueError(f"{name}: no key {unknown[0]}, expected {', '.join(sorted(KEYS))}")
    if not isinstance(provider.get("inventory") or {}, Mapping):
        raise ValueError(f"{name}: the inventory is not a mapping of classes")
    for key in ("traits", "aggregates"):
        stated = provider.get(key) or []
        is_list = isinstance(stated, list | Mapping)
        if not is_list or not all(isinstance(each, str) for each in stated):
            raise ValueError(f"{name}: the {key} are not a list of names")
        if not all(isinstance(wanted, bool) for wanted in _names(stated).values()):
            raise ValueError(f"{name}: the {key} must be true or false")
    if not isinstance(provider.get("children") or [], list):
        raise ValueError(f"{name}: the children are not a list")
    for child in provider.get("children") or ():
        _check(child, f"a child of {name}")


def _stated_uuids(provider: Description) -> Iterator[str]:
    """Yield the UUIDs that a file states for providers."""
    if provider.get("uuid"):
        yield str(uuid.UUID(str(provider["uuid"])))
    for child in provider.get("children") or ():
        yield from _stated_uuids(child)


def _names(stated: Any) -> dict[str, bool]:
    """Return name -> whether the provider is to have it."""
    return dict(stated) if isinstance(stated, Mapping) else dict.fromkeys(stated or (), True)


def _records(inventory: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield inventory records by class; a plain number is a total."""
    for name, record in inventory.items():
        yield name, {"total": record} if isinstance(record, int) else record


def _moving(tree: ProviderTree) -> set[str]:
    """Return the classes that some providers of the tree lose and others get."""
    old = {(each.uuid, name) for each in tree.base for name in each.inventory}
    new = {(each.uuid, name) for each in tree for name in each.inventory}
    return {name for _, name in old - new} & {name for _, name in new - old}


def report(client: ReportClient, path: str) -> bool:
    """Report the host that a file describes; return whether that succeeded, and log errors."""
    try:
        host = read_host(path)
        client.report(host.uuid, host)
    except (OSError, ValueError, ClientError, ClientException) as error:
        LOG.error("not reported: %s", error)
        return False
    return True


def main() -> int:
    """Report until interrupted; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m examples.agent", description=__doc__)
    parser.add_argument("file", help="describes the host; examples/host.yaml is one")
    parser.add_argument("--url", default="http://127.0.0.1:8778", help="of the service")
    parser.add_argument("--token", default="admin", help="sent as X-Auth-Token")
    parser.add_argument(
        "--every", type=float, default=5.0, metavar="SECONDS", help="interval between reports"
    )
    parser.add_argument("--once", action="store_true", help="report once and exit")
    options = parser.parse_args()
    # The client library logs what it changes.
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stdout)
    client = ReportClient.at(options.url, options.token)
    if options.once:
        return 0 if report(client, options.file) else 1
    try:
        while True:
            # An unchanged tree costs two requests; if another program changed it, it is corrected.
            report(client, options.file)
            time.sleep(options.every)
    except KeyboardInterrupt:
        return 0


if __name__ == "__main__":
    sys.exit(main())
