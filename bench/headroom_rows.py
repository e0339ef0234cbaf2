"""The measured requests for headroom, and the trees with groups for them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from typing import Any

from bench.clouds import standard_traits, unequal
from tests.kit.cloud import Cloud, Provider, Stock


def _flavor(number: int) -> Mapping[str, Any]:
    resources = {"VCPU": 2 * number, "MEMORY_MB": 2048 * number, "DISK_GB": 20 * number}
    return {"groups": {"": {"resources": resources}}}


def flavors(number: int) -> Mapping[str, Any]:
    return {"requests": {f"m{each}": _flavor(each) for each in range(1, number + 1)}}


GROUPS: Mapping[str, Any] = {
    "groups": {
        "_DISK": {"resources": {"DISK_GB": 10}, "required": ["COMPUTE_VOLUME_MULTI_ATTACH"]},
        "_COMPUTE": {"resources": {"VCPU": 2, "MEMORY_MB": 256}, "required": ["CUSTOM_FOO"]},
        "_F1": {"resources": {"FPGA": 1}, "required": ["CUSTOM_BAR"]},
        "_F2": {"resources": {"FPGA": 1}},
    },
    "isolate": ["_F1"],
    "same_subtree": [{"of": ["_COMPUTE", "_F1", "_F2"]}],
}
FOUR_GROUPS: Mapping[str, Any] = {"requests": {"groups": GROUPS}}


def used_trees(hosts: int) -> Cloud:
    """Trees of 7 with different usage: a host, two NUMA nodes, and two FPGAs below each."""

    def members() -> Iterator[Provider]:
        rng = random.Random(3)
        for tree in range(hosts):
            top = 7 * tree + 1
            disk = {"DISK_GB": Stock(4000, reserved=rng.randrange(2000))}
            yield Provider(disk, ("COMPUTE_VOLUME_MULTI_ATTACH", *standard_traits(10)))
            for node in (top + 1, top + 4):
                stock = {
                    "VCPU": Stock(32, reserved=rng.randrange(30), allocation_ratio=4.0),
                    "MEMORY_MB": Stock(131_072, reserved=rng.randrange(100_000)),
                }
                yield Provider(stock, ("CUSTOM_FOO",), top)
                for traits in (("CUSTOM_BAR",), ()):
                    yield Provider({"FPGA": Stock(8, reserved=rng.randrange(8))}, traits, node)

    return Cloud(f"used_trees_{hosts}", members, 0, hosts)


def headroom_rows(hosts: int) -> list[tuple[str, Cloud, str]]:
    """Return (name, cloud, body) of what is measured at a number of hosts."""
    number = 10 if hosts <= 10_000 else 1
    rows = [
        (
            f"unequal {hosts:,} hosts, headroom of {number} flavors",
            unequal(hosts),
            json.dumps(flavors(number)),
        )
    ]
    if hosts == 1000:
        name = "used 1,000 trees x 7, headroom of 4 groups"
        rows.append((name, used_trees(hosts), json.dumps(FOUR_GROUPS)))
    return rows
