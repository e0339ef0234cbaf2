"""Clouds of similar hosts, on which a cached result must not be reused for too many hosts."""

import random
from dataclasses import replace

from tests.properties.oracle import SHARING, Provider, World, root
from tests.properties.strategies import AGGREGATES, TRAITS

MAX_HOSTS = 4
MAX_PROVIDERS = 4  # of a host


def similar_hosts(rng: random.Random, world: World) -> World:
    """Copies of one tree, each with one other property at most, and the sharing roots."""
    top = rng.choice([uuid for uuid, provider in world.items() if provider.parent is None])
    tree = [world[uuid] for uuid in world if root(world, uuid) == top][:MAX_PROVIDERS]
    hosts: dict[str, Provider] = {}
    for number in range(1, rng.randint(2, MAX_HOSTS) + 1):
        copies = [_copy(provider, number) for provider in tree]
        index = rng.randrange(len(copies))
        copies[index] = _changed(rng, copies[index], copies[:index])
        hosts |= {provider.uuid: provider for provider in copies}
    pools = {
        uuid: provider
        for uuid, provider in world.items()
        if uuid != top and provider.parent is None and SHARING in provider.traits
    }
    return {**hosts, **pools}


def _copy(provider: Provider, number: int) -> Provider:
    return replace(
        provider,
        uuid=f"{number}{provider.uuid[1:]}",
        name=f"{provider.name}-of-{number}",
        parent=f"{number}{provider.parent[1:]}" if provider.parent else None,
    )


def _changed(rng: random.Random, provider: Provider, earlier: list[Provider]) -> Provider:
    """The provider with one other property, or the same; `earlier` are possible parents."""
    kind = rng.choice(("usage", "usage", "trait", "aggregate", "parent", "nothing"))
    if kind == "usage" and provider.inventories:
        name = rng.choice(sorted(provider.inventories))
        stock = provider.inventories[name]
        changed = replace(stock, used=rng.randint(0, max(0, stock.capacity)))
        return replace(provider, inventories={**provider.inventories, name: changed})
    if kind == "trait":
        return replace(provider, traits=provider.traits ^ {rng.choice(TRAITS)})
    if kind == "aggregate":
        return replace(provider, aggregates=provider.aggregates ^ {rng.choice(AGGREGATES)})
    if kind == "parent" and provider.parent:
        return replace(provider, parent=rng.choice(earlier).uuid)
    return provider
