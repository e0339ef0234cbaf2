"""Valid requests that are as expensive as possible, and the clouds to which they are sent."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

from bench.clouds import AGGREGATES, cards, flat, wide
from bench.headroom_rows import flavors
from bench.scenarios import FLAT, devices
from placement.objects import catalog
from tests.kit.cloud import Cloud, Provider, Stock, aggregate_uuid, provider_uuid

TRAITS = sorted(catalog.STANDARD_TRAITS - {"MISC_SHARES_VIA_AGGREGATE"})[:100]
CLASSES = sorted(catalog.STANDARD_CLASSES)[:20]


def _chain() -> Iterator[Provider]:
    for level in range(1000):
        yield Provider({"VGPU": 100}, (), level or None)


def _many() -> Iterator[Provider]:
    stock = dict.fromkeys(CLASSES, 1000)
    aggregates = [aggregate_uuid(number) for number in range(AGGREGATES)]
    for _ in range(1000):
        yield Provider(stock, TRAITS, None, aggregates)


def _unlike() -> Iterator[Provider]:
    """Hosts with different free capacities."""
    for host in range(1000):
        top = 17 * host + 1
        yield Provider({"VCPU": Stock(64, allocation_ratio=4.0)})
        for device in range(16):
            yield Provider({"VGPU": 8 + host % 97 + device}, (), top)


def _varied() -> Iterator[Provider]:
    """10,000 hosts with different sets of traits and aggregates."""
    rng = random.Random(1)
    vcpus = Stock(64, allocation_ratio=4.0)
    stock: Mapping[str, int | Stock] = {"VCPU": vcpus, "MEMORY_MB": 262_144, "DISK_GB": 4_000}
    for _host in range(10_000):
        aggregates = [aggregate_uuid(number) for number in rng.sample(range(40), 12)]
        yield Provider(stock, rng.sample(TRAITS, 15), None, aggregates)


def _full() -> Iterator[Provider]:
    """10,000 hosts. All hosts except the last 1,000 are full."""
    for host in range(10_000):
        reserved = 64 if host < 9_000 else 0
        vcpus = Stock(64, reserved=reserved)
        yield Provider(
            {"VCPU": vcpus, "MEMORY_MB": 262_144},
            TRAITS[:20],
            None,
            (aggregate_uuid(host % AGGREGATES),),
        )


def _unlike_trees() -> Iterator[Provider]:
    """1,000 trees of 64 providers, whose devices differ in free capacity and in traits."""
    rng = random.Random(2)
    for tree in range(1000):
        top = 64 * tree + 1
        yield Provider({"VCPU": 64, "MEMORY_MB": 262_144}, TRAITS[:10])
        for node in range(9):
            yield Provider({}, ("HW_NUMA_ROOT",), top)
            for _device in range(6):
                stock = {"VGPU": rng.randint(1, 40), "PCI_DEVICE": 1}
                yield Provider(stock, rng.sample(TRAITS[10:50], 5), top + 1 + 7 * node)


VARIED = Cloud("varied", _varied)
FULL = Cloud("full", _full)
TREES = cards(1000)
UNLIKE_TREES = Cloud("unlike_trees", _unlike_trees)
CHAIN = Cloud("chain", _chain)
MANY = Cloud("many_conditions", _many)
UNLIKE = Cloud("unlike", _unlike)

TREE_PATH = f"/provider_trees/{provider_uuid(1)}"


def _joined(groups: int, join: Callable[[list[str]], Iterator[tuple[str, str]]]) -> str:
    names = [f"_{number}" for number in range(groups)]
    asked = [f"resources{name}=VGPU:1" for name in names]
    asked += [f"same_subtree={one},{other}" for one, other in join(names)]
    return "/allocation_candidates?" + "&".join(asked)


def _conditions(sets: int, classes: int) -> str:
    def some(items: list[str], start: int) -> str:
        return ",".join((items + items)[start % len(items) :][:3])

    aggregates = [aggregate_uuid(number) for number in range(AGGREGATES)]
    asked = [f"required=in:{some(TRAITS, number)}" for number in range(sets)]
    asked += [f"member_of=in:{some(aggregates, number)}" for number in range(sets)]
    asked.append("resources=" + ",".join(f"{name}:1" for name in CLASSES[:classes]))
    return "/resource_providers?" + "&".join(asked)


def _unlike_groups() -> str:
    asked = "&".join(f"resources_{number}=VGPU:{number % 8 + 1}" for number in range(60))
    return f"/allocation_candidates?{asked}&group_policy=none"


def _any_of(sets: int, lists: int) -> str:
    rng = random.Random(5)
    terms = [f"required=in:{','.join(rng.sample(TRAITS, 3))}" for _set in range(sets)]
    for _list in range(lists):
        uuids = ",".join(aggregate_uuid(number) for number in rng.sample(range(40), 3))
        terms.append(f"member_of=in:{uuids}")
    return "/allocation_candidates?resources=VCPU:1,MEMORY_MB:1&explain=summary&" + "&".join(terms)


def _isolated(groups: int, impossible: int | None = None) -> str:
    asked = [
        f"resources_{number}=VGPU:{1000 if number == impossible else 1}" for number in range(groups)
    ]
    return f"/allocation_candidates?{'&'.join(asked)}&group_policy=isolate&explain=summary"


def _suffixed(amounts: Sequence[int]) -> dict[str, Any]:
    return {f"_{number}": {"resources": {"VGPU": each}} for number, each in enumerate(amounts)}


def _split(amount: int) -> dict[str, Any]:
    return {"": {"resources": {"VGPU": amount}, "can_split": ["VGPU"]}}


def _vcpus(amount: int) -> dict[str, Any]:
    return {"": {"resources": {"VCPU": amount}}}


def _claims(requests: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    owner = {"project_id": "project", "user_id": "user", "consumer_type": "INSTANCE"}
    return {
        "claims": [
            {"request": {"groups": groups}, "consumer_uuid": str(uuid.uuid4()), **owner}
            for groups in requests
        ]
    }


def _copies() -> dict[str, Any]:
    add = {"add": {"like": provider_uuid(1), "count": 10_000}}
    return {"changes": [add, {"claim": {"request": {"groups": _suffixed([101])}}}]}


def _tree(part: str, value: Callable[[int], object]) -> dict[str, Any]:
    """Return the tree of CHAIN as a flat one, with a different part and different names."""
    providers = [
        {
            "uuid": provider_uuid(number + 1),
            "name": f"renamed{number}",
            "parent_provider_uuid": provider_uuid(1) if number else None,
            part: value(number),
        }
        for number in range(1000)
    ]
    return {"providers": providers}


@dataclass(frozen=True)
class Attack:
    name: str
    cloud: Cloud
    path: str
    # Body, or None for a GET.
    body: Mapping[str, Any] | None = None

    @property
    def method(self) -> str:
        """The HTTP method."""
        if self.body is None:
            return "GET"
        return "PUT" if self.path.startswith("/provider_trees/") else "POST"


def _candidates(name: str, cloud: Cloud, groups: Mapping[str, Any], **more: object) -> Attack:
    return Attack(name, cloud, "/allocation_candidates", {"groups": groups, **more})


RULES = [
    {"of": [f"_{one}"], "not": [f"_{other}"]}
    for one in range(20)
    for other in range(20)
    if one != other
][:200]
CONTENDED = {
    f"_{number}": {"resources": {"VCPU": 2 ** (number % 6) + number, "MEMORY_MB": 1000 + number}}
    for number in range(24)
}
POLICIES = ("none", "isolate")
ATTACKS = (
    *(
        Attack(
            f"100 groups joined in pairs, 1,000 levels, {policy}, limit 10", CHAIN,
            f"{_joined(100, pairwise)}&group_policy={policy}&limit=10",
        )
        for policy in POLICIES
    ),
    Attack(
        "50 groups, each joined to each, 1,000 levels", CHAIN,
        f"{_joined(50, lambda names: combinations(names, 2))}&group_policy=none",
    ),
    Attack("60 isolated groups, 1,000 children, no limit", wide(1000, 1), devices(60)),
    Attack("8 isolated groups, 1,000 hosts of 16, no limit", wide(16, 1000), devices(8)),
    Attack("60 groups, 1,000 unlike hosts of 16, no limit", UNLIKE, _unlike_groups()),
    Attack("8 isolated groups, 100 hosts of 100, no limit", wide(100, 100), devices(8)),
    Attack("providers, 10 sets, 10 sets, 10 classes", MANY, _conditions(10, 10)),
    Attack("providers, 15 sets, 15 sets, 20 classes", MANY, _conditions(15, 20)),
    Attack("providers, 20 sets, 20 sets, 20 classes", MANY, _conditions(20, 20)),
    Attack("explain, 20 any-of, 2 classes, 10,000 hosts", VARIED, _any_of(20, 0)),
    Attack("explain, 20 any-of, 10 lists of aggregates", VARIED, _any_of(20, 10)),
    Attack("explain, 60 isolated groups, one impossible, 1,000 trees", TREES, _isolated(60, 30)),
    Attack("explain, the same, unlike trees", UNLIKE_TREES, _isolated(60, 30)),
    Attack("explain, 55 isolated groups, unlike trees", UNLIKE_TREES, _isolated(55)),
    _candidates(
        "explain, 30 isolated amounts, unlike trees", UNLIKE_TREES, _suffixed(range(8, 38)),
        group_policy="isolate", explain="summary",
    ),
    _candidates("explain, 24 contended amounts", VARIED, CONTENDED, explain="summary"),
    _candidates(
        "explain, 200 rules of subtrees, unlike trees", UNLIKE_TREES, _suffixed(range(1, 21)),
        same_subtree=RULES, explain="summary",
    ),
    _candidates("an exact split of 1,000, unlike trees", UNLIKE_TREES, _split(1000)),
    _candidates(
        "explain, an exact split of 1,153, unlike trees", UNLIKE_TREES, _split(1153),
        explain="summary",
    ),
    Attack(
        "headroom, 100 flavors of 10,000 hosts", VARIED, "/headroom", flavors(100)
    ),
    Attack(
        "headroom, 6 contended amounts of 16 unlike devices, 1,000 trees", UNLIKE, "/headroom",
        {"requests": {"a": {"groups": _suffixed(range(1, 7)), "group_policy": "none"}}},
    ),
    Attack(
        "headroom, 100 requests of a contended class, 10,000 hosts", VARIED, "/headroom",
        {"requests": {
            str(number): {
                "groups": {**_vcpus(number), "_A": {"resources": {"VCPU": number}}},
                "group_policy": "none",
            }
            for number in range(1, 101)
        }},
    ),
    Attack(
        "1,000 claims of a VCPU, 9,000 full hosts first", FULL, "/claims",
        _claims([_vcpus(1)] * 1000),
    ),
    Attack(
        "the same, the last one impossible", FULL, "/claims",
        _claims([*[_vcpus(1)] * 999, _vcpus(1000)]),
    ),
    Attack(
        "1,000 different claims, 9,000 full hosts first", FULL, "/claims",
        _claims([
            {"": {"resources": {"VCPU": 1 + number % 50, "MEMORY_MB": number + 1}}}
            for number in range(1000)
        ]),
    ),
    Attack(
        "100 claims of splits, unlike trees", UNLIKE_TREES, "/claims",
        _claims([_split(300 + number) for number in range(100)]),
    ),
    Attack(
        "1,000 claims of a VCPU, 10,000 flat hosts (not hostile)", flat(10_000), "/claims",
        _claims([_vcpus(1)] * 1000),
    ),
    Attack("10,000 copies of a tree of 1,000", CHAIN, "/simulations", _copies()),
    Attack("1,000 different claims on copies, 9,000 full hosts first", FULL, "/simulations", {
        "changes": [
            {"claim": {"request": {"groups": {
                "": {"resources": {"VCPU": 1 + number % 50, "MEMORY_MB": number + 1}}
            }}}}
            for number in range(1000)
        ],
    }),
    Attack("100 claims of 24 amounts on copies of unlike trees", UNLIKE_TREES, "/simulations", {
        "changes": [{"claim": {"request": {"groups": _suffixed(range(1, 25))}}}] * 100,
    }),
    Attack("a tree of 20,000 other inventories", CHAIN, TREE_PATH, _tree(
        "inventories", lambda number: {name: {"total": number + 1} for name in CLASSES},
    )),
    Attack("a tree of 20,000 new traits", CHAIN, TREE_PATH, _tree(
        "traits", lambda number: TRAITS[number % 80 : number % 80 + 20],
    )),
    Attack("a tree of 20,000 new aggregates", CHAIN, TREE_PATH, _tree(
        "aggregates", lambda number: [aggregate_uuid(20 * number + each) for each in range(20)],
    )),
    Attack("10,000 flat hosts, no limit (not hostile)", flat(10_000), FLAT),
)  # fmt: skip
