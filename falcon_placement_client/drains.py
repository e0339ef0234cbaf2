"""Whether hosts can be emptied: one simulation of a drain for each host.

The function of the command returns rows, which the command only formats.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from falcon_placement_client.hosts import find_root
from falcon_placement_client.rest import V2, RestApi


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
    # A code of simulations.
    code: str
    # Why there is no other host.
    text: str


class DrainRow(NamedTuple):
    """Whether one host can be emptied."""

    # UUID of the root.
    uuid: str
    # Name of the root.
    name: str
    # Whether each consumer has another host; None: not decided within the bound on work.
    evacuable: bool | None
    # Number of consumers with another host.
    moves: int
    # The consumers without one.
    stuck: Sequence[StuckConsumer]
    # UUIDs of consumers that were not looked at.
    undecided: Sequence[str]


def find_hosts(api: RestApi, names: Sequence[str]) -> list[NamedHost]:
    """Return hosts by UUIDs or names.  Raises RestError if there is no such root."""
    roots = [find_root(api, name) for name in names]
    return [NamedHost(root["uuid"], root["name"]) for root in roots]


def find_all_hosts(api: RestApi) -> list[NamedHost]:
    """Return all hosts, sorted by name.  Raises RestError."""
    providers = api.pages("limit=1000", V2)
    hosts = [
        NamedHost(each["uuid"], each["name"])
        for each in providers
        if each["uuid"] == each["root_provider_uuid"]
    ]
    return sorted(hosts, key=lambda host: (host.name, host.uuid))


def drain_check(api: RestApi, hosts: Iterable[NamedHost]) -> Iterator[DrainRow]:
    """Simulate the drain of each host alone; yield its row as soon as it is known.

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
