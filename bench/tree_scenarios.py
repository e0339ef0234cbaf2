"""Scenarios for whole trees, `/provider_trees`."""

from __future__ import annotations

from bench.clouds import cards, flat, nested
from bench.scenario import Scenario
from tests.kit.cloud import provider_uuid


def trees(hosts: int) -> list[Scenario]:
    """Return a new host, compared with the four writes, and unchanged trees, compared with their
    GET.
    """
    cloud, title = flat(hosts), f"flat {hosts:,} hosts"
    rows = [
        Scenario(f"{title}, a new host", cloud, "provision at once"),
        Scenario(f"{title}, a new host, 8 clients", cloud, "provision at once", at_once=8),
        Scenario(f"{title}, a new tree of 64", cloud, "put new tree", "64", peer=False),
    ]
    for of_size, size in ((flat(hosts), 1), (nested(hosts), 7), (cards(), 64)):
        uuid = provider_uuid(7 * size + 1)
        name = f"{of_size.name}, a tree of {size}"
        rows += [
            Scenario(f"{name}, GET", of_size, "get at 2.0", f"/provider_trees/{uuid}", peer=False),
            Scenario(f"{name}, unchanged PUT", of_size, "put unchanged tree", uuid, peer=False),
        ]
    return rows
