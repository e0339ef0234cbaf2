"""Hosts in maintenance, and checks whether hosts can be emptied.

The root of a host in maintenance has a trait that is a taint of the service. A check drains a host
in a simulation. The functions implement commands. They return rows, and the commands format them.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from falcon_placement_client.errors import RefusedError, RestError
from falcon_placement_client.listing import find_provider
from falcon_placement_client.rest import V2, RestApi, Version, retry
from falcon_placement_client.vocabulary import CUSTOM_PREFIX, HOST_CLASSES, SHARING_TRAIT

DEFAULT_TRAIT = "CUSTOM_MAINTENANCE"
PAUSES = (0,) * 4  # seconds before retries of a write that conflicts with other clients

# A tree with inventory of these classes is a host.
_TRAITS_OF_LISTS: Version = (1, 39)
_EXPLAINED: Version = (2, 0)


class HostRow(NamedTuple):
    """A host and its taints."""

    uuid: str
    name: str
    # Taints of the root that the service reports, and the trait of the command if the root has it,
    # sorted.
    taints: Sequence[str]
    # Whether searches exclude hosts with the trait of the command. None if this is unknown.
    is_taint: bool | None = None


def taint_host(api: RestApi, host: str, trait: str = DEFAULT_TRAIT) -> HostRow:
    """Add a trait to the root of a host. Check whether the service treats it as a taint.

    Args:
        host: the UUID or the name of a root.
        trait: created if it is a custom trait and does not exist.

    Raises:
        RestError: there is no such root, or the service refuses the change.
    """
    if trait.startswith(CUSTOM_PREFIX):
        api.put(f"/traits/{quote(trait, safe='')}", None)
    provider, traits = _change_traits(api, host, lambda traits: traits | {trait})
    return _read_taints(api).row(provider, traits, trait)


def untaint_host(api: RestApi, host: str, trait: str = DEFAULT_TRAIT) -> HostRow:
    """Remove a trait from the root of a host.  Raises the same errors as `taint_host`."""
    provider, traits = _change_traits(api, host, lambda traits: traits - {trait})
    return _read_taints(api).row(provider, traits, trait)


def tainted_hosts(api: RestApi, trait: str = DEFAULT_TRAIT) -> list[HostRow]:
    """Return the hosts whose root has a trait, sorted by name.  Raises RestError."""
    path = f"/resource_providers?required={quote(trait, safe='')}"
    try:
        found = api.send("GET", path, version=_TRAITS_OF_LISTS)["resource_providers"]
    except RefusedError as refusal:
        if refusal.status == 400 and trait == DEFAULT_TRAIT:
            return []  # the trait does not exist yet
        raise
    roots = [each for each in found if each["uuid"] == each["root_provider_uuid"]]
    taints = _read_taints(api)
    rows = (taints.row(each, _traits(api, each["uuid"])[0], trait) for each in roots)
    return sorted(rows, key=lambda row: row.name)


def _change_traits(
    api: RestApi, host: str, change: Callable[[frozenset[str]], frozenset[str]]
) -> tuple[Mapping[str, Any], Sequence[str]]:
    """Apply a function to the traits of a root. Return the provider and its new traits."""
    provider = find_root(api, host)
    uuid = provider["uuid"]

    def write() -> Sequence[str]:
        traits, generation = _traits(api, uuid)
        wanted = sorted(change(frozenset(traits)))
        if wanted != traits:
            body = {"traits": wanted, "resource_provider_generation": generation}
            api.put(f"/resource_providers/{uuid}/traits", body, _TRAITS_OF_LISTS)
        return wanted

    return provider, retry(write, PAUSES)


def find_root(api: RestApi, host: str) -> dict[str, Any]:
    """Return the provider of a root by its UUID or name.  Raises RestError."""
    provider = find_provider(api, host, "host")
    if provider["uuid"] != provider["root_provider_uuid"]:
        root = provider["root_provider_uuid"]
        raise RestError(f"{host}: this provider belongs to the host {root}; name that")
    return provider


def _traits(api: RestApi, uuid: str) -> tuple[list[str], int]:
    path = f"/resource_providers/{uuid}/traits"
    response = api.send("GET", path, version=_TRAITS_OF_LISTS)
    return sorted(response["traits"]), response["resource_provider_generation"]


class _Taints(NamedTuple):
    """The traits for which searches exclude hosts of the cloud."""

    names: frozenset[str]
    # Whether there are no other taints of hosts.
    is_complete: bool

    def row(self, provider: Mapping[str, Any], traits: Sequence[str], trait: str) -> HostRow:
        """Return the row of a root. traits: all of its traits. trait: that of the command."""
        is_taint = trait in self.names or (False if self.is_complete else None)
        shown = [each for each in traits if each == trait or each in self.names]
        return HostRow(
            provider["uuid"], provider["name"], shown, is_taint if trait in traits else None
        )


def _read_taints(api: RestApi) -> _Taints:
    """Return the taints that an explained search names as reasons."""
    body = {"groups": {"": {"resources": {"VCPU": 1}}}, "limit": 1, "explain": "summary"}
    try:
        response = api.send("POST", "/allocation_candidates", body, version=_EXPLAINED)
    except RestError:
        # The service is older, or the caller may not use `explain`.
        return _Taints(frozenset(), is_complete=False)
    explanation = response["explanation"]
    details = [each["detail"] for each in explanation["blocked"] if each["code"] == "tainted"]
    names = frozenset(re.findall(r"\b[A-Z0-9_]+\b", " ".join(details)))
    # If there are very many causes, the details may not contain all of them.
    is_complete = explanation["hosts"]["complete"] and not any("more" in each for each in details)
    return _Taints(names, is_complete)


class NamedHost(NamedTuple):
    """A root provider."""

    uuid: str
    name: str


class StuckConsumer(NamedTuple):
    """A consumer for which no other host was found."""

    consumer: str
    # Code of the reason, as in simulations.
    code: str
    # The reason why there is no other host.
    text: str

    def __str__(self) -> str:
        return f"{self.consumer}: {self.text}"


class DrainRow(NamedTuple):
    """Whether a host can be emptied."""

    uuid: str
    name: str
    # Whether each consumer has another host. None if undecided within the limit on work.
    evacuable: bool | None
    # Number of consumers that have another host.
    moves: int
    # The consumers that have no other host.
    stuck: Sequence[StuckConsumer]
    # UUIDs of consumers that were not evaluated.
    undecided: Sequence[str]


def find_hosts(api: RestApi, names: Sequence[str] | None) -> list[NamedHost]:
    """Return hosts by UUID or name, or all hosts, sorted by name, without storage pools.

    Raises:
        RestError: a root does not exist.
    """
    if names is not None:
        named_roots = [find_root(api, name) for name in names]
        return [NamedHost(root["uuid"], root["name"]) for root in named_roots]
    roots: list[NamedHost] = []
    # Roots of trees that have a sharing provider, and of those that have an inventory of a host.
    with_sharing, hosts = set(), set()
    for each in api.pages("limit=1000&include=inventories,traits", V2):
        root, inventories = each["root_provider_uuid"], each["inventories"]
        if each["uuid"] == root:
            roots.append(NamedHost(root, each["name"]))
        shares = SHARING_TRAIT in each["traits"]
        if shares:
            with_sharing.add(root)
        if inventories and not (shares and HOST_CLASSES.isdisjoint(inventories)):
            hosts.add(root)
    named = [root for root in roots if root.uuid in hosts or root.uuid not in with_sharing]
    return sorted(named, key=lambda host: (host.name, host.uuid))


def drain_check(api: RestApi, hosts: Iterable[NamedHost]) -> Iterator[DrainRow]:
    """Simulate the drain of each host separately. Yield each row as soon as it is known.

    Raises:
        RestError: a host no longer exists, or the service refuses a simulation.
    """
    for host in hosts:
        response = api.send("POST", "/simulations", {"changes": [{"drain": [host.uuid]}]}, V2)
        stuck = [
            StuckConsumer(each["consumer"], each["code"], each["text"])
            for each in response["unplaceable"]
        ]
        yield DrainRow(
            host.uuid,
            host.name,
            response["fits"],
            len(response["moves"]),
            stuck,
            response["undecided"],
        )
