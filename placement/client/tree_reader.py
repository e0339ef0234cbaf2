"""What the service knows of a tree of providers."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from placement.client.errors import UpdateFailed
from placement.client.negotiated import NegotiatedApi
from placement.client.provider_data import ProviderData, check_aggregates, complete_inventories
from placement.client.provider_tree import SHARING, TreeSnapshot

PARTS = ("inventories", "traits", "aggregates")
READS = 10  # of the parts of a provider that others keep changing

_LIST = "/resource_providers"
_GENERATION = "resource_provider_generation"


def read_tree(
    api: NegotiatedApi, uuid: str, known: TreeSnapshot | None = None
) -> list[ProviderData]:
    """Return the providers of the tree that a provider is in, none if it does not exist.

    known: what was read before; where one provider costs three requests, those whose generation is
    still the same are not read again.
    """
    return _read(api, f"{_LIST}?in_tree={uuid}", known)


def read_sharing(api: NegotiatedApi, providers: Iterable[ProviderData]) -> list[ProviderData]:
    """Return the providers that share with these by an aggregate, whole trees of them."""
    own = {each.uuid for each in providers}
    aggregates = sorted(frozenset[str]().union(*(each.aggregates for each in providers)))
    if not aggregates:
        return []
    query = f"{_LIST}?member_of=in:{','.join(aggregates)}&required={SHARING}"
    sharing = [each for each in _read(api, query, None) if each.uuid not in own]
    listed = {each.uuid: each for each in sharing}
    for each in sharing:
        if each.parent_uuid is not None:
            # The tree above it is needed to say where it stands.
            listed |= {member.uuid: member for member in read_tree(api, each.uuid)}
    return list(listed.values())


def _read(api: NegotiatedApi, path: str, known: TreeSnapshot | None) -> list[ProviderData]:
    if api.speaks_second_line:
        return list(_read_pages(api, f"{path}&include={','.join(PARTS)}"))
    return [_complete(api, each, known) for each in api.get(path)["resource_providers"]]


def _read_pages(api: NegotiatedApi, path: str) -> Iterator[ProviderData]:
    """Yield the providers of a list with parts, of which an answer has a limited number."""
    answer = api.get(path)
    while True:
        providers = answer["resource_providers"]
        for each in providers:
            yield _provider(each, each)
        if not answer.get("resource_providers_links"):
            return
        answer = api.get(f"{path}&marker={providers[-1]['uuid']}")


def _complete(
    api: NegotiatedApi, listed: Mapping[str, Any], known: TreeSnapshot | None
) -> ProviderData:
    """Return a provider of a list with its parts, those that are known if none was written."""
    before = None if known is None else known.find(listed["uuid"])
    if before is not None and before.generation == listed["generation"]:
        # Whoever writes a part moves the generation. Names and parents are in the list.
        return replace(before, name=listed["name"], parent_uuid=listed["parent_provider_uuid"])
    for _ in range(READS):
        answers = {part: api.get(f"{_LIST}/{listed['uuid']}/{part}") for part in PARTS}
        generations = {answer[_GENERATION] for answer in answers.values()}
        if len(generations) == 1:
            parts = {part: answer[part] for part, answer in answers.items()}
            return _provider({**listed, "generation": generations.pop()}, parts)
    raise UpdateFailed(
        f"{listed['name']}: others keep changing it, so it cannot be read: try again"
    )


def _provider(listed: Mapping[str, Any], parts: Mapping[str, Any]) -> ProviderData:
    return ProviderData(
        listed["uuid"],
        listed["name"],
        listed["parent_provider_uuid"],
        complete_inventories(listed["name"], parts["inventories"]),
        frozenset(parts["traits"]),
        check_aggregates(listed["name"], parts["aggregates"]),
        listed["generation"],
    )
