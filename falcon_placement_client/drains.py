"""Checks whether hosts can be emptied. For each host, one simulation drains it.

The function implements a command. It returns rows, and the command formats them.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from falcon_placement_client.hosts import find_root
from falcon_placement_client.rest import V2, RestApi
from falcon_placement_client.vocabulary import SHARING_TRAIT

# Providers with this trait and without these classes are storage pools, networks and the like.
COMPUTE_CLASSES = frozenset({"VCPU", "PCPU"})


class NamedHost(NamedTuple):
    """A root provider."""

    # UUID of the root.
    uuid: str
    # Name of the root.
    name: str


class StuckConsumer(NamedTuple):
    """A consumer for which no other host was found."""

    # UUID of the consumer.
    consumer: str
    # Code of the reason, as in simulations.
    code: str
    # The reason why there is no other host.
    text: str


class DrainRow(NamedTuple):
    """Whether a host can be emptied."""

    # UUID of the root.
    uuid: str
    # Name of the root.
    name: str
    # Whether each consumer has another host. None if undecided within the limit on work.
    evacuable: bool | None
    # Number of consumers that have another host.
    moves: int
    # The consumers that have no other host.
    stuck: Sequence[StuckConsumer]
    # UUIDs of consumers that were not evaluated.
    undecided: Sequence[str]


def find_hosts(api: RestApi, names: Sequence[str]) -> list[NamedHost]:
    """Return hosts by UUID or name. Raises RestError if a root does not exist."""
    roots = [find_root(api, name) for name in names]
    return [NamedHost(root["uuid"], root["name"]) for root in roots]


def find_all_hosts(api: RestApi) -> list[NamedHost]:
    """Return all hosts, sorted by name, without storage pools.  Raises RestError."""
    sharing = {
        each["uuid"]
        for each in api.pages(f"limit=1000&required={SHARING_TRAIT}&include=inventories", V2)
        if COMPUTE_CLASSES.isdisjoint(each["inventories"])
    }
    providers = list(api.pages("limit=1000", V2))
    # A tree with any other provider is a host.
    hosts = {each["root_provider_uuid"] for each in providers if each["uuid"] not in sharing}
    roots = [NamedHost(each["uuid"], each["name"]) for each in providers if each["uuid"] in hosts]
    return sorted(roots, key=lambda host: (host.name, host.uuid))


def drain_check(api: RestApi, hosts: Iterable[NamedHost]) -> Iterator[DrainRow]:
    """Simulate the drain of each host separately. Yield each row as soon as it is known.

    Raises:
        RestError: a host no longer exists, or the service refuses a simulation.
    """
    for host in hosts:
        answer = api.send("POST", "/simulations", {"changes": [{"drain": [host.uuid]}]}, V2)
        stuck = [
            StuckConsumer(each["consumer"], each["code"], each["text"])
            for each in answer["unplaceable"]
        ]
        yield DrainRow(
            host.uuid,
            host.name,
            answer["fits"],
            len(answer["moves"]),
            stuck,
            answer["undecided"],
        )
