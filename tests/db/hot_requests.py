"""A cloud of every kind, and the requests of its services, with the rows that each may read.

`test_reads` sends them. A new operation is a `Step` here.
"""

import uuid as uuids
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.kit.cloud import (
    SHARING,
    Cloud,
    Provider,
    Stock,
    aggregate_uuid,
    project_name,
    provider_uuid,
)
from tests.kit.engines import ENGINE
from tests.kit.service import NEWEST, Service, claim, inventories

COMMON = ("HW_CPU_X86_AVX2", "HW_CPU_X86_SSE", "HW_CPU_X86_SSE2")
NOBODYS = "HW_CPU_X86_AVX512F"
STOCK: Mapping[str, int | Stock] = {
    "VCPU": Stock(64, allocation_ratio=16.0),
    "MEMORY_MB": 262_144,
    "DISK_GB": 4000,
}
CLAIM = {"VCPU": 2, "MEMORY_MB": 2048}
AGGREGATES = 20
TREE = 5  # providers of a host with NUMA nodes; three hosts precede it


def mixed(hosts: int) -> Cloud:
    """Hosts, every fourth with NUMA nodes and devices; a shared disk; 3 hosts have a rare trait.

    Each host is in one of 20 aggregates, and each project has a few consumers.
    """
    rare = {hosts // 3 // 4 * 4, hosts // 2 // 4 * 4, hosts - 4}

    def members() -> Iterator[Provider]:
        for number in range(hosts):
            aggregates = (aggregate_uuid(number % AGGREGATES),)
            if number % 4 == 3:
                yield Provider({"DISK_GB": 4000}, COMMON, None, aggregates)
                top = provider_id(number)
                for node in (top + 1, top + 3):
                    stock = {"VCPU": 32, "MEMORY_MB": 131_072}
                    yield Provider(stock, ("CUSTOM_NUMA",), top, (), CLAIM)
                    yield Provider({"VGPU": 4}, (), node)
            else:
                traits = (*COMMON, "CUSTOM_RARE") if number in rare else COMMON
                yield Provider(STOCK, traits, None, aggregates, CLAIM)
        yield Provider({"DISK_GB": 10**6}, (SHARING,), None, (aggregate_uuid(1),))

    return Cloud(f"mixed_{hosts}", members, 2, hosts, projects=hosts)


def provider_id(host: int) -> int:
    """Return the id of a host by its number, from 0 on."""
    return host // 4 * (3 + TREE) + host % 4 + 1


@dataclass(frozen=True)
class Step:
    """A request, and the maximum number of rows that it may read; None for no maximum."""

    name: str
    most: int | None
    method: str
    path: str
    body: object = None
    version: str = NEWEST


HOST, NEXT, NESTED = (provider_uuid(provider_id(number)) for number in (400, 402, 403))
PROVIDERS = "/resource_providers"
# Rows that may be read: rows of some tables by key, a small catalogue as a whole, and the trees of
# a window that is not cached. The smallest table that grows has 8,000.
FEW, SOME, SEARCH = 300, 1000, 4500
CANDIDATES = "/allocation_candidates?"
FLAVOR = "resources=VCPU:1,MEMORY_MB:64,DISK_GB:5"
EVERYTHING = "include=inventories,usages,traits,aggregates,allocations"


def searches() -> Iterator[Step]:
    """Yield searches with different results and reasons."""
    for name, query in {
        "the first that fit": f"{FLAVOR}&limit=10",
        "a trait that all have": f"{FLAVOR}&required={COMMON[0]}&limit=10",
        "a trait that most lack": f"{FLAVOR}&required=!CUSTOM_RARE&limit=10",
        "more than any gives": "resources=VCPU:2000",
        "a class that nobody has": "resources=VCPU:1,FPGA:1",
        "an aggregate that is none": f"{FLAVOR}&member_of={uuids.uuid4()}",
        "one tree": f"{FLAVOR}&in_tree={HOST}",
        "a root with a rare trait": f"{FLAVOR}&root_required=CUSTOM_RARE",
        "a rare trait beside a shared disk": f"{FLAVOR}&required=CUSTOM_RARE&limit=10",
        "a trait that nobody has": f"{FLAVOR}&required={NOBODYS}",
        "shared disk": "resources=DISK_GB:100000",
        "more than a shared disk": "resources=DISK_GB:10000000",
        "groups of a tree": "resources_C=VCPU:1&required_C=CUSTOM_NUMA&resources_G=VGPU:1"
        "&group_policy=none&same_subtree=_C,_G&limit=10",
    }.items():
        yield Step(f"search: {name}", SEARCH, "GET", f"{CANDIDATES}{query}")
    subtree = f"resources=VCPU:1&subtree={NESTED}"
    yield Step("search: a subtree", SEARCH, "GET", f"{CANDIDATES}{subtree}", version="2.0")


def claims(project: str) -> Iterator[Step]:
    """Yield the requests that create and change consumers. The first consumer has a new project."""
    path, other = f"/allocations/{uuids.uuid4()}", str(uuids.uuid4())
    small = {"VCPU": 1, "MEMORY_MB": 64}

    def body(uuid: str, generation: int | None, project: str = "project") -> dict[str, object]:
        return claim({uuid: small}, generation, project)

    yield Step("PUT of a new project", FEW, "PUT", path, body(HOST, None, project))
    yield Step("usages of a small project", FEW, "GET", f"/usages?project_id={project}")
    yield Step("PUT of other amounts", FEW, "PUT", path, claim({HOST: {"VCPU": 2}}, 1, project))
    yield Step("PUT to another host", FEW, "PUT", path, body(NEXT, 2, project))
    yield Step("GET of a consumer", FEW, "GET", path)
    pair = {path.rpartition("/")[2]: body(HOST, 3), other: body(HOST, None)}
    yield Step("POST of two consumers", FEW, "POST", "/allocations", pair)
    yield Step("DELETE of a consumer", FEW, "DELETE", path)
    yield Step("DELETE of another", FEW, "DELETE", f"/allocations/{other}")
    query = f"/usages?project_id={project_name(7)}&user_id=user"
    yield Step("usages of a user", FEW, "GET", query)
    query = f"/usages?project_id={project_name(7).upper()}&user_id=USER"
    yield Step("usages of a user in another case", FEW, "GET", query)
    one_step = {
        "request": {"groups": {"": {"resources": small}}},
        "consumer_uuid": other,
        "project_id": "project",
        "user_id": "user",
        "consumer_type": "INSTANCE",
    }
    yield Step("POST /claims", SEARCH, "POST", "/claims", one_step, "2.0")


def consumers() -> Iterator[Step]:
    """Yield the requests on holds, and lists of consumers."""
    # The marker of a page sorts before the consumers of the cloud, so that the page is full.
    held = f"00000000{str(uuids.uuid4())[8:]}"
    taken, group = str(uuids.uuid4()), f"group-{uuids.uuid4()}"
    project = project_name(7)
    owner = {"project_id": project, "user_id": "user", "consumer_type": "INSTANCE"}
    request = {"groups": {"": {"resources": {"VCPU": 1}}}}
    terms = {"expires_in": 600, "remember": True}
    spread = {"spread_group": {"name": group, "max_per_host": 1}}
    member = {**owner, "consumer_uuid": str(uuids.uuid4()), "request": request, **terms, **spread}
    plain = {**owner, "consumer_uuid": str(uuids.uuid4()), "request": request}
    hold = {**owner, "consumer_uuid": held, "request": request, **terms}
    conversion = {**owner, "consumer_uuid": taken, "from_hold": held}
    yield Step("claim for a group", SEARCH, "POST", "/claims", member, "2.0")
    yield Step("claim of a hold", SEARCH, "POST", "/claims", hold, "2.0")
    yield Step("later end of a hold", FEW, "PUT", f"/holds/{held}", {"expires_in": 900}, "2.0")
    for name, query in {
        "of a project": f"project_id={project}",
        "of a user": f"project_id={project}&user_id=user",
        "of a group": f"project_id={project}&spread_group={group}",
        "of a tree": f"in_tree={HOST}",
        "holds": "held=true",
        "first": "limit=10",
        "next": f"limit=10&marker={held}",
    }.items():
        yield Step(f"consumers: {name}", FEW, "GET", f"/consumers?{query}", version="2.0")
    query = f"limit=10&marker={held}&include=allocations,request"
    yield Step("consumers: with all", SOME, "GET", f"/consumers?{query}", version="2.0")
    path = f"/consumers/{held}"
    yield Step("GET of a hold", FEW, "GET", f"{path}?include=allocations,request", version="2.0")
    yield Step("another request of a hold", FEW, "PUT", f"{path}/request", request, "2.0")
    other = {"name": f"{group}-2", "max_per_host": 1}
    yield Step("claim of a permanent consumer", SEARCH, "POST", "/claims", plain, "2.0")
    path = f"/consumers/{plain['consumer_uuid']}"
    yield Step("a group of a consumer", FEW, "PUT", f"{path}/spread_group", other, "2.0")
    yield Step("DELETE of a member", FEW, "DELETE", f"/allocations/{plain['consumer_uuid']}")
    yield Step("claim from a hold", FEW, "POST", "/claims", conversion, "2.0")
    yield Step("DELETE of what was a hold", FEW, "DELETE", f"/allocations/{taken}")
    member_path = f"/holds/{member['consumer_uuid']}"
    yield Step("DELETE of a hold", FEW, "DELETE", member_path, version="2.0")


def one_provider() -> Iterator[Step]:
    """Yield reads of one provider, and lists that return only this provider."""
    path = f"{PROVIDERS}/{HOST}"
    for part in ("", "/inventories", "/inventories/VCPU", "/aggregates", "/usages"):
        yield Step(f"GET of a provider{part}", FEW, "GET", f"{path}{part}")
        yield Step(f"GET of a provider{part} at 2.0", FEW, "GET", f"{path}{part}", version="2.0")
    yield Step("GET of a provider/traits", SOME, "GET", f"{path}/traits")
    yield Step("GET of a provider/allocations", FEW, "GET", f"{path}/allocations")
    yield Step("GET of a provider with all", SOME, "GET", f"{path}?{EVERYTHING}", version="2.0")
    nested = f"{PROVIDERS}/{NESTED}"
    yield Step("GET of a rollup", FEW, "GET", f"{nested}/rollup", version="2.0")
    tree = f"/allocations?in_tree={NESTED}"
    yield Step("allocations of a tree", FEW, "GET", tree, version="2.0")
    for name, query in {
        "a name": "name=provider77",
        "a name that is none": "name=nobody",
        "a name in another case": "name=PROVIDER77",
        "a uuid": f"uuid={HOST}",
        "a tree": f"in_tree={NESTED}",
        "an aggregate that is none": f"member_of={uuids.uuid4()}",
        "a rare trait": "required=CUSTOM_RARE",
        "a rare trait without another": "required=CUSTOM_RARE&required=!CUSTOM_NUMA",
        "a trait of several": f"required=in:CUSTOM_RARE,{NOBODYS}",
        "more than any gives": "resources=VCPU:2000",
        "a class that nobody has": "resources=FPGA:1",
    }.items():
        yield Step(f"list: {name}", SOME, "GET", f"{PROVIDERS}?{query}")
    # SQLite reads all of each: it selects ids of providers before it compares them.
    for name, query in {
        "shared disks of an aggregate": f"member_of={aggregate_uuid(3)}&required={SHARING}",
        "a rare trait and another": f"required=CUSTOM_RARE,{COMMON[0]}",
        "a rare trait and room": "required=CUSTOM_RARE&resources=VCPU:1",
    }.items():
        most = None if ENGINE == "sqlite" else SOME
        yield Step(f"list: {name}", most, "GET", f"{PROVIDERS}?{query}")


def pages() -> Iterator[Step]:
    """Yield pages of the list."""
    for name, query in {
        "first": "limit=10",
        "next": f"limit=10&marker={HOST}",
        "with all": f"limit=10&marker={HOST}&{EVERYTHING}",
        "of a trait that all have": f"limit=10&required={COMMON[0]}",
        "of a subtree": f"limit=10&subtree={NESTED}",
        "of what has room": "limit=10&resources=VCPU:1,MEMORY_MB:64",
        "of a class that few have": "limit=10&resources=VGPU:1",
    }.items():
        yield Step(f"page: {name}", SOME, "GET", f"{PROVIDERS}?{query}", version="2.0")


def life_of_a_host() -> Iterator[Step]:
    """Yield the requests in the life of a host and of a provider below it."""
    host, child = str(uuids.uuid4()), str(uuids.uuid4())
    path, below = f"{PROVIDERS}/{host}", f"{PROVIDERS}/{child}"
    traits = {"traits": list(COMMON), "resource_provider_generation": 2}
    first, new = aggregate_uuid(3), str(uuids.uuid4())
    yield Step("new host", FEW, "POST", PROVIDERS, {"name": host, "uuid": host})
    yield Step("its inventories", FEW, "PUT", f"{path}/inventories", inventories(0, VCPU=8))
    stock = inventories(1, VCPU=9, DISK_GB=64)
    yield Step("other inventories", FEW, "PUT", f"{path}/inventories", stock)
    yield Step("its traits", SOME, "PUT", f"{path}/traits", traits)
    for number, aggregates in enumerate(([first], [first, new])):
        body = {"aggregates": aggregates, "resource_provider_generation": 3 + number}
        yield Step(f"its aggregates, {number} new", FEW, "PUT", f"{path}/aggregates", body)
    record = {"total": 10, "resource_provider_generation": 5}
    yield Step("one inventory", FEW, "PUT", f"{path}/inventories/VCPU", record)
    yield Step("no such inventory", FEW, "DELETE", f"{path}/inventories/DISK_GB")
    parent = {"name": child, "uuid": child, "parent_provider_uuid": host}
    yield Step("new child", FEW, "POST", PROVIDERS, parent)
    for name, parent_uuid in (("a root by itself", None), ("below its parent again", host)):
        body = {"name": f"{child}-moved", "parent_provider_uuid": parent_uuid}
        yield Step(name, FEW, "PUT", below, body)
    listed: list[dict[str, Any]] = [
        {"uuid": uuid, "name": uuid, "parent_provider_uuid": parent, "traits": [COMMON[0]]}
        for uuid, parent in ((host, None), (child, host))
    ]
    tree = f"/provider_trees/{host}"
    yield Step("GET of a tree", SOME, "GET", tree, version="2.0")
    yield Step("PUT of a tree", SOME, "PUT", tree, {"providers": listed}, "2.0")
    yield Step("PUT of the same tree", SOME, "PUT", tree, {"providers": listed}, "2.0")
    yield Step("no child", FEW, "DELETE", below)
    yield Step("another name", FEW, "PUT", path, {"name": f"{host}-renamed"})
    yield Step("no traits", FEW, "DELETE", f"{path}/traits")
    yield Step("no inventories", FEW, "DELETE", f"{path}/inventories")
    yield Step("no host", FEW, "DELETE", path)


def names(turn: int) -> Iterator[Step]:
    """Yield the requests on names."""
    for kind in ("traits", "resource_classes"):
        path = f"/{kind}/CUSTOM_{turn}"
        for method in ("PUT", "GET", "DELETE"):
            # With statistics SQLite looks for the trees of a class among all.
            looks_at_all = (ENGINE, method, kind) == ("sqlite", "DELETE", "resource_classes")
            yield Step(f"{method} of {kind}", None if looks_at_all else FEW, method, path)
    yield Step("all classes", FEW, "GET", "/resource_classes")
    yield Step("all traits", SOME, "GET", "/traits")
    for word in ("true", "false"):
        path = f"/traits?associated={word}"
        yield Step(f"traits that somebody has: {word}", 2 * SOME, "GET", path)


def whole_cloud() -> Iterator[Step]:
    """Yield requests that must examine every host, or all hosts that satisfy one condition."""
    for name, query in {
        "all": FLAVOR,
        # One host in 20 is a rare match, so all of these are selected.
        "a large aggregate": f"{FLAVOR}&member_of={aggregate_uuid(3)}&limit=3",
    }.items():
        yield Step(f"search: {name}", None, "GET", f"{CANDIDATES}{query}")
    for name, query in {
        "all": "",
        "a trait that all have": f"?required={COMMON[0]}",
        "a large aggregate": f"?member_of={aggregate_uuid(3)}",
    }.items():
        yield Step(f"list: {name}", None, "GET", f"{PROVIDERS}{query}")
    # Pages are ordered by UUID, so the providers with a rare trait are far apart.
    query = "limit=10&required=CUSTOM_RARE"
    yield Step("page: a rare trait", None, "GET", f"{PROVIDERS}?{query}", version="2.0")


def changes(service: Service) -> Iterator[Step]:
    """Yield polls, which sum the revisions of all roots."""
    yield Step("changes: the cursor of now", None, "GET", "/changes", version="2.0")
    path = f"/changes?since={service.get('/changes', '2.0')['cursor']}"
    yield Step("changes since a cursor", None, "GET", path, version="2.0")


def reshape(service: Service) -> Step:
    """Return a reshape of one host and one new consumer of it."""
    stock: Any = service.get(f"{PROVIDERS}/{NEXT}/inventories")
    stock["inventories"]["VCPU"]["total"] += 1
    consumers = {str(uuids.uuid4()): claim({NEXT: {"VCPU": 1}})}
    body = {"inventories": {NEXT: stock}, "allocations": consumers}
    return Step("reshape", FEW, "POST", "/reshaper", body)


def story(service: Service, turn: int) -> Iterator[Step]:
    """Yield all requests in an order in which each of them succeeds."""
    yield from claims(f"new project {turn}")
    yield from consumers()
    yield from searches()
    yield from one_provider()
    yield from pages()
    yield from life_of_a_host()
    yield reshape(service)
    yield from names(turn)
    if turn < 2:
        yield from whole_cloud()
        yield from changes(service)
