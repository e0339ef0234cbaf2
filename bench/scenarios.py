"""The measured scenarios, as data for `measure.py`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from urllib.parse import quote

from bench.aims import AIMS
from bench.bodies import DRAIN, ONE_STEP, SORTED, UNSORTED
from bench.clouds import (
    OF_DISK,
    cards,
    computes,
    flat,
    light,
    nested,
    sharing,
    to_drain,
    unequal,
    wide,
)
from bench.headroom_rows import headroom_rows
from bench.scenario import Scenario
from bench.tree_scenarios import trees
from tests.kit.cloud import Cloud, aggregate_uuid, provider_uuid

FLAT = "/allocation_candidates?resources=VCPU:2,MEMORY_MB:4096,DISK_GB:20"
# The request of nova 34 for a flavor and an availability zone, at 1.36.
OF_NOVA = (
    "/allocation_candidates?resources=VCPU:1,MEMORY_MB:512,DISK_GB:10"
    "&root_required=OWNER_NOVA,%21COMPUTE_STATUS_DISABLED"
    f"&member_of={aggregate_uuid(1)}&limit=1000"
)
# Three flat hosts satisfy the first request, and no host satisfies the second one.
FEW = f"{FLAT}&required=CUSTOM_RARE"
NONE = FLAT.replace("VCPU:2", "VCPU:2000")
# No host with a shared disk satisfies these: it is in one aggregate, not the one of the disk.
IN_BOTH = f"{FLAT}&member_of={aggregate_uuid(1)}&member_of={aggregate_uuid(2)}"
OF_DISK_ALONE = f"{FLAT}&member_of={OF_DISK}"
NESTED = (
    "/allocation_candidates?resources=DISK_GB:10&required=COMPUTE_VOLUME_MULTI_ATTACH"
    "&resources_COMPUTE=VCPU:1,MEMORY_MB:256&required_COMPUTE=CUSTOM_FOO"
    "&resources_FPGA=FPGA:1&group_policy=none&same_subtree=_COMPUTE,_FPGA"
)


CLAIM = json.dumps({"request": ONE_STEP})
# A claim that stores a record.
HOLD = {"request": ONE_STEP, "expires_in": 600}
RECORDED = {**HOLD, "remember": True, "spread_group": {"name": "web", "max_per_host": 10**6}}

# Explained requests without candidates: one is too large, one requires a trait of no host.
WHY = "explain=summary"
NOBODY = f"{NONE}&{WHY}"
UNMET = f"{FLAT}&required=STORAGE_DISK_SSD,COMPUTE_NODE&{WHY}"
_FOUR = (
    "/allocation_candidates?resources_DISK=DISK_GB:10&required_DISK=COMPUTE_VOLUME_MULTI_ATTACH"
    "&resources_COMPUTE={},MEMORY_MB:256&required_COMPUTE=CUSTOM_FOO"
    f"&resources_F1=FPGA:1&required_F1=CUSTOM_BAR&resources_F2=FPGA:1&{WHY}"
)
FOUR_GROUPS = f"{_FOUR.format('VCPU:1000')}&group_policy=none"
APART = f"{_FOUR.format('VCPU:1')}&required_F2=CUSTOM_BAR&isolate=_F1&same_subtree=_COMPUTE,_F1,_F2"


# Both services complete as many in time.
CLAIMS_PER_SECOND = 16


def devices(groups: int) -> str:
    """Return a request for one device for each of this number of different groups."""
    asked = "&".join(f"resources{number}=VGPU:1" for number in range(1, groups + 1))
    return f"/allocation_candidates?{asked}&group_policy=isolate"


def limited(query: str, limit: int | None) -> str:
    return query if limit is None else f"{query}&limit={limit}"


def _limits(
    name: str, cloud: Cloud, query: str, limits: Sequence[int | None], *, peer: bool
) -> list[Scenario]:
    return [
        Scenario(f"{name}, limit {limit or 'none'}", cloud, "get", limited(query, limit), peer=peer)
        for limit in limits
    ]


def _flat_reads(hosts: int) -> list[Scenario]:
    full = flat(hosts, 20)
    title = f"flat {hosts:,} hosts x 20 consumers"
    peer = hosts <= 10_000
    found = _limits(title, full, FLAT, (1, 10, 1000, None), peer=peer)
    found += [
        Scenario(f"{title}, GET /", full, "get", "/", peer=peer),
        Scenario(f"{title}, one provider", full, "get", f"/resource_providers/{provider_uuid(77)}",
                 peer=peer),
        Scenario(f"{title}, 3 match", full, "get", FEW, peer=peer),
        Scenario(f"{title}, 3 match, limit 1000", full, "get",
                 limited(FEW, 1000), peer=peer),
        Scenario(f"{title}, none match", full, "get", NONE, peer=peer),
        Scenario(f"{title}, 8 clients, limit 10", full, "get", limited(FLAT, 10), at_once=8,
                 peer=peer),
        Scenario(f"{title}, providers, all", full, "get", "/resource_providers", peer=peer),
        Scenario(f"{title}, providers, in_tree", full, "get",
                 "/resource_providers?in_tree=00000000-0000-4000-8000-000000000077", peer=peer),
        Scenario(f"{title}, providers, resources", full, "get",
                 f"/resource_providers?resources={quote('VCPU:2,MEMORY_MB:4096')}", peer=peer),
        *(
            Scenario(f"{title}, providers, {query.partition('=')[0]}", full, "get",
                     f"/resource_providers?{query}", peer=peer)
            for query in ("name=provider77", f"uuid={provider_uuid(77)}",
                          f"member_of={aggregate_uuid(1)}", "required=CUSTOM_RARE")
        ),
    ]  # fmt: skip
    return found


def _flat_writes(hosts: int) -> list[Scenario]:
    cloud = flat(hosts, 20)
    title = f"flat {hosts:,} hosts x 20 consumers"
    peer = hosts <= 10_000
    return [
        Scenario(f"{title}, PUT allocations", cloud, "put", peer=peer),
        Scenario(f"{title}, DELETE allocations", cloud, "delete", peer=peer),
        Scenario(f"{title}, POST /claims, 8 clients", cloud, "claim", CLAIM,
                 at_once=8, peer=False),
        Scenario(f"{title}, claims on one host, 8 clients", cloud, "contend", at_once=8,
                 peer=peer),
        Scenario(f"{title}, reshape of 100 consumers", cloud, "reshape", peer=peer),
        Scenario(f"{title}, provisioning a host", cloud, "provision", peer=peer),
        Scenario(f"{title}, provisioning a host, 8 clients", cloud, "provision", at_once=8,
                 peer=peer),
    ]  # fmt: skip


def _of_nova(hosts: int) -> list[Scenario]:
    """Return the requests of a scheduler of nova 34, also if half of the hosts lack OWNER_NOVA."""
    cloud, title, peer = computes(hosts, 20), f"computes {hosts:,} hosts", hosts <= 10_000
    half = computes(hosts, 20, upgraded=2)
    return [
        Scenario(f"{title}, nova's request", cloud, "get at 1.36", OF_NOVA, peer=peer),
        Scenario(f"{title}, nova's request, 8 clients", cloud, "get at 1.36", OF_NOVA,
                 at_once=8, peer=peer),
        Scenario(f"{title}, scheduler loop, 8 clients", cloud, "schedule", OF_NOVA, at_once=8,
                 peer=peer),
        Scenario(f"{title}, half without OWNER_NOVA, nova's request", half, "get at 1.36",
                 OF_NOVA, peer=peer),
    ]  # fmt: skip


def _nested(hosts: int) -> list[Scenario]:
    title = f"nested {hosts:,} trees x 7"
    return _limits(title, nested(hosts), NESTED, (10, 1000, None), peer=hosts <= 1000)


def _wide(most: int) -> list[Scenario]:
    found = []
    for number, groups in ((8, 1), (8, 4), (8, 6), (16, 1), (16, 3), (16, 4), (16, 8)):
        if number <= most:
            found.append(
                Scenario(
                    f"wide {number} devices, {groups} groups, limit 1000", wide(number), "get",
                    limited(devices(groups), 1000), peer=(number, groups) in {(8, 1), (16, 1)},
                )
            )  # fmt: skip
    return found


def _sharing(hosts: int) -> list[Scenario]:
    cloud, title, peer = sharing(hosts), f"sharing {hosts:,} hosts", hosts <= 1000
    found = _limits(title, cloud, FLAT, (10, 1000, None), peer=peer)
    return [
        *found,
        Scenario(f"{title}, member_of leaves nobody", cloud, "get", IN_BOTH, peer=peer),
        Scenario(f"{title}, member_of leaves a disk", cloud, "get", OF_DISK_ALONE, peer=peer),
    ]


def _shared_claims(hosts: int) -> list[Scenario]:
    """Claims of 8 clients that all need the same shared disk, next to claims on flat hosts."""
    cloud, title, small = sharing(hosts, 1), f"one shared disk, {hosts:,} hosts", hosts <= 1000
    crowd = partial(Scenario, at_once=8)
    rate = f"{CLAIMS_PER_SECOND} claims/s, 8 clients"
    flat_title = f"flat {hosts:,} hosts"
    return [
        crowd(f"{title}, claims, 8 clients", cloud, "share"),
        crowd(f"{title}, {rate}", cloud, "share", per_second=CLAIMS_PER_SECOND),
        crowd(f"{title}, scheduler loop, 8 clients", cloud, "schedule", limited(FLAT, 10),
              peer=small),
        crowd(f"{title}, POST /claims, 8 clients", cloud, "claim", CLAIM, peer=False),
        crowd(f"{flat_title}, {rate}", flat(hosts), "put", per_second=CLAIMS_PER_SECOND),
    ]  # fmt: skip


def _explained(hosts: int) -> list[Scenario]:
    rows = [
        Scenario(f"flat {hosts:,} hosts, why {why}", cloud(hosts), "explain", query, peer=False)
        for why, cloud, query in (
            ("too large", flat, NOBODY),
            ("too large, unequal hosts", unequal, NOBODY),
            ("a trait, unequal hosts", unequal, f"{UNMET}&member_of={aggregate_uuid(1)}"),
        )
    ]
    if hosts == 1000:
        title = f"nested {hosts:,} trees x 7, 4 groups, why"
        rows += [
            Scenario(f"{title} {why}", nested(hosts), "explain", query, peer=False)
            for why, query in (("too large", FOUR_GROUPS), ("not together", APART))
        ]
    return rows


PARTS = "inventories,usages,traits,aggregates"
WITH_PARTS = f"/resource_providers?limit=1000&include={PARTS}"


def _lists(hosts: int) -> list[Scenario]:
    """Lists at 2.0, each after the corresponding list of 1.39."""
    cloud, title = flat(hosts), f"flat {hosts:,} hosts, list"
    rows = [
        ("at 1.39", "get", "/resource_providers"),
        ("at 2.0", "get at 2.0", "/resource_providers"),
        ("first 1000", "get at 2.0", "/resource_providers?limit=1000"),
        ("first 1000 with parts", "get at 2.0", WITH_PARTS),
        ("first 1000 with parts, 100 changed", "get changed", f"100 {WITH_PARTS}"),
        ("first 1000 with parts, all changed", "get changed", f"1000 {WITH_PARTS}"),
        ("unchanged", "poll", "/resource_providers"),
        ("unchanged, first 1000 with parts", "poll", f"/resource_providers?include={PARTS}"),
        ("scrape in pages", "pages", "inventories,usages,traits"),
    ]
    if hosts <= 1000:
        rows.append(("scrape one by one", "scrape", "inventories,usages,traits"))
    return [Scenario(f"{title} {name}", cloud, does, what, peer=False) for name, does, what in rows]


def _groups(number: int) -> dict[str, object]:
    group = {"resources": {"VCPU": 1, "MEMORY_MB": 64}, "forbidden": ["CUSTOM_RARE"]}
    groups = {str(suffix): group for suffix in range(1, number + 1)}
    return {"groups": groups, "group_policy": "none", "limit": 10}


def _language() -> list[Scenario]:
    """Requests of 2.0, each after the most similar request of 1.39."""
    group = "resources{0}=VCPU:1,MEMORY_MB:64&required{0}=!CUSTOM_RARE"
    many = "&".join(group.format(suffix) for suffix in range(1, 101))
    ports = "resources_A=VGPU:1&resources_B=VGPU:1&required_CARD=CUSTOM_CARD&group_policy=none"
    compute = "resources_C=VCPU:1,MEMORY_MB:256&group_policy=none"
    nine = devices(9).replace("&group_policy=isolate", "").partition("?")[2]
    pairs: list[tuple[Cloud, str, str, str]] = [
        (wide(16), "isolate, 9 groups on 16 devices",
         f"{nine}&group_policy=isolate", f"{nine}&isolate=1,2,3,4,5,6,7,8"),
        (cards(), "same_subtree, trees of 64",
         f"{ports}&same_subtree=_A,_CARD", f"{ports}&same_subtree=_A,_CARD,!_B"),
        (nested(1000), "subtree",
         f"{compute}&in_tree_C={provider_uuid(701)}", f"{compute}&subtree_C={provider_uuid(702)}"),
        (flat(1000), "root_member_of",
         f"{FLAT.partition('?')[2]}&member_of={aggregate_uuid(1)}",
         f"{FLAT.partition('?')[2]}&root_member_of={aggregate_uuid(1)}"),
        (wide(64, units=8), "can_split, 64 providers",
         "resources=VGPU:8", "resources=VGPU:250&can_split=VGPU"),
    ]  # fmt: skip
    found = []
    for cloud, title, before, since in pairs:
        for kind, query, version in (("get", before, "1.39"), ("get at 2.0", since, "2.0")):
            path = f"/allocation_candidates?{query}&limit=1000"
            name = f"{title}, limit 1000, {version}"
            found.append(Scenario(name, cloud, kind, path, peer=False))
    path = f"/allocation_candidates?{many}&group_policy=none&limit=10"
    found += [
        Scenario("100 groups, limit 10, GET 1.39", flat(1000), "get", path, peer=False),
        Scenario("100 groups, limit 10, GET 2.0", flat(1000), "get at 2.0", path, peer=False),
        Scenario("100 groups, limit 10, POST 2.0", flat(1000), "find", json.dumps(_groups(100)),
                 peer=False),
    ]  # fmt: skip
    return found


def _recorded(hosts: int) -> list[Scenario]:
    """Claims that store a record, after the plain claim. Polls for changes, after a read."""
    cloud, title = flat(hosts), f"flat {hosts:,} hosts"
    rows = [
        ("claim", "claim", CLAIM, 1),
        ("claim of a hold", "claim", json.dumps(HOLD), 1),
        ("claim of a hold with group and request", "claim", json.dumps(RECORDED), 1),
        ("one provider", "get", f"/resource_providers/{provider_uuid(77)}", 1),
        ("changes, none", "follow", "", 1),
        ("changes, none, 20 followers", "follow", "", 20),
        ("changes, 1,000 numbered", "follow changed", "", 1),
    ]
    return [
        Scenario(f"{title}, {name}", cloud, does, what, at_once=at_once, peer=False)
        for name, does, what, at_once in rows
    ]


def _growth(hosts: int) -> list[Scenario]:
    """Return requests whose duration should be the same on a million hosts as on a thousand."""
    cloud, title = light(hosts), f"light {hosts:,} hosts x 2 consumers"
    page = "/resource_providers?limit=1000"
    rows = [
        ("limit 10", "get", limited(FLAT, 10)),
        ("limit 1000", "get", limited(FLAT, 1000)),
        ("3 match, limit 10", "get", limited(f"{FLAT}&required=CUSTOM_RARE", 10)),
        ("none match", "get", FLAT.replace("VCPU:2", "VCPU:2000")),
        ("PUT allocations", "put", ""),
        ("DELETE allocations", "delete", ""),
        ("POST /claims", "claim", CLAIM),
        ("first page of providers", "get at 2.0", page),
        ("last page of providers", "get at 2.0", f"{page}&marker={provider_uuid(hosts - 1000)}"),
        ("first page with parts", "get at 2.0", f"{page}&include={PARTS}"),
        ("provisioning a host", "provision", ""),
    ]
    at_peer = {"limit 10", "limit 1000", "3 match, limit 10", "PUT allocations"}
    return [
        # With 100,000 hosts, the peer takes more than a minute.
        Scenario(f"{title}, {name}", cloud, does, what, peer=name in at_peer and hosts <= 10_000)
        for name, does, what in rows
    ]


def _plans(hosts: int) -> list[Scenario]:
    """Return searches that sort hosts, next to all candidates, and drains."""
    cloud, title = to_drain(hosts), f"flat {hosts:,} hosts"
    rows = [
        Scenario(f"{title}, {name}", cloud, does, json.dumps(body), peer=False)
        for name, does, body in (
            ("sorted, limit 10", "find", SORTED),
            ("all candidates", "find", UNSORTED),
            ("drain of a host of 40 consumers", "simulate", DRAIN),
        )
    ]
    if hosts <= 1000:
        full = flat(hosts, 20)
        title = f"{title} x 20 consumers"
        one = f"/resource_providers/{provider_uuid(77)}"
        rows += [
            Scenario(f"{title}, drain-check --all", full, "drain-check", peer=False),
            # The only worker processes both.
            Scenario(f"{title}, one provider, 1 worker", full, "get", one, peer=False, workers=1),
            Scenario(f"{title}, one provider beside drains, 1 worker", full, "get", one,
                     peer=False, beside="drain some host", workers=1),
        ]  # fmt: skip
    return rows


def _aims() -> list[Scenario]:
    """Return the requests that have an aim, in the order of the aims."""
    sizes = (1000, 10_000)
    families = ("flat", "writes", "nova", "nested", "sharing")
    scenarios = {each.name: each for name in families for each in FAMILIES[name](sizes)}
    return [scenarios[name] for name in AIMS]


# Families that `--only` chooses among, each made for the sizes asked for.
FAMILIES: dict[str, Callable[[Sequence[int]], list[Scenario]]] = {
    "flat": lambda sizes: [each for size in sizes for each in _flat_reads(size)],
    "empty": lambda sizes: [
        each
        for size in sizes
        for each in _limits(
            f"flat {size:,} hosts, empty", flat(size), FLAT, (10, 1000), peer=size <= 1000
        )
    ],
    "writes": lambda sizes: [each for size in sizes for each in _flat_writes(size)],
    "nova": lambda sizes: [each for size in sizes for each in _of_nova(size)],
    "nested": lambda sizes: [each for size in sizes if size <= 10_000 for each in _nested(size)],
    "plans": lambda sizes: [each for size in sizes for each in _plans(size)],
    "headroom": lambda sizes: [
        Scenario(name, cloud, "headroom", body, peer=False)
        for size in sizes
        for name, cloud, body in headroom_rows(size)
    ],
    "claims": lambda sizes: [each for size in sizes for each in _shared_claims(size)],
    "records": lambda sizes: [each for size in sizes for each in _recorded(size)],
    "explain": lambda sizes: [each for size in sizes for each in _explained(size)],
    "lists": lambda sizes: [each for size in sizes for each in _lists(size)],
    "growth": lambda sizes: [each for size in sizes for each in _growth(size)],
    "wide": lambda _sizes: _wide(16),
    "language": lambda _sizes: _language(),
    "trees": lambda sizes: [each for size in sizes if size <= 1000 for each in trees(size)],
    "aims": lambda _sizes: _aims(),
    "sharing": lambda sizes: [each for size in sizes if size <= 1000 for each in _sharing(size)],
}
SEPARATE = ("aims", "growth", "trees")  # measured only on request
