"""Steps with what only this service has."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

from tests.cloud.nova import Nova
from tests.cloud.state import View
from tests.cloud.steps import Step

OWN_STEPS: list[Step] = []
METRIC = re.compile(
    r'^openstack_placement_resource_usage{hostname="(?P<name>[^"]+)",resourcetype="(?P<kind>\w+)"'
    r".*} (?P<value>[0-9.e+]+)$", re.MULTILINE,
)  # fmt: skip


def own(function: Step) -> Step:
    """Add a step."""
    OWN_STEPS.append(function)
    return function


@contextmanager
def configured(nova: Nova, scheduler: str, **options: str) -> Iterator[None]:
    """Restart placement and the scheduler of nova with options, and without them at the end."""
    files = [nova.machine.home / name for name in ("placement/placement.conf", "nova.conf")]
    before = [path.read_text() for path in files]
    lines = [f"{name} = {value}" for name, value in options.items()]
    section = f"[scheduler]\n{scheduler}\n"
    try:
        _restart(nova, files, ["\n".join([before[0], "[placement]", *lines, ""]),
                               before[1].replace("[scheduler]\n", section)])  # fmt: skip
        yield
    finally:
        _restart(nova, files, before)


def _restart(nova: Nova, files: Sequence[Path], texts: Sequence[str]) -> None:
    for path, text in zip(files, texts, strict=True):
        path.write_text(text)
    for name in ("placement", "nova-scheduler"):
        nova.machine.services[name].stop()
        nova.machine.services[name].start()
        nova.machine.services[name].await_response()


@own
def order(nova: Nova, size: int) -> str:
    """`[placement] order`, while nova requests one candidate"""
    hosts = nova.machine.computes
    for first, best in (("least", min), ("most", max)):
        value = json.dumps([{"by": "free", "resource_class": "MEMORY_MB", "first": first}])
        with configured(nova, "max_placement_results = 1", order=value):
            for _ in range(2 * len(hosts)):
                used = View(nova.placement).used
                free = {name: used[name, "MEMORY_MB"] for name in hosts}
                [server] = nova.boot_many(1)
                left = {name: capacity - amount for name, (amount, capacity) in free.items()}
                [host] = nova.hosts([server])
                assert left[host] == best(left.values()), (first, host, left)
    return "least free memory first, most free memory first"


@own
def exclusive(nova: Nova, size: int) -> str:
    """`[placement] exclusive`: a card as a whole, or its virtual GPUs"""
    hosts = nova.machine.computes
    with configured(nova, "", exclusive="CUSTOM_PARTITIONED"):
        ids = nova.boot_many(2, "card") + nova.boot_many(2 * len(hosts), "gpu")
        servers = nova.servers(ids).values()
        counts = Counter(
            each["flavor"]["original_name"] for each in servers if each["status"] == "ACTIVE"
        )
        used = View(nova.placement).used
        both = [
            each for each in hosts
            if used[f"{each}_card", "CUSTOM_CARD"][0] and used[f"{each}_gpu", "VGPU"][0]
        ]  # fmt: skip
        nova.delete(ids)
    assert not both, both
    assert counts == {"card": 2, "gpu": 2 * (len(hosts) - 2)}, counts
    return f"{counts['card']} cards, {counts['gpu']} virtual GPUs"


@own
def why(nova: Nova, size: int) -> None:
    """`placement-manage why` of a server without a valid host"""
    [server] = nova.boot_many(1, "huge")
    nova.expect([server], "ERROR")
    [action] = nova.compute.get(f"/servers/{server}/os-instance-actions").json()["instanceActions"]
    log = str(nova.machine.services["placement"].log)
    text = nova.machine.tool("placement-manage", "why", action["request_id"], log, code=3)
    nova.delete([server])
    assert "VCPU" in text, text


@own
def headroom(nova: Nova, size: int) -> str:
    """`placement-manage headroom --flavor`: nova boots this number, and no more"""
    flavor = ["resources:VCPU=2", "resources:MEMORY_MB=1024", "resources:DISK_GB=1"]
    words = ("headroom", "--json", "--flavor", *flavor)
    [row] = json.loads(nova.machine.tool("placement-manage", *words))
    ids = nova.boot_many(row["fits"] + 2, "medium")
    statuses = Counter(each["status"] for each in nova.servers(ids).values())
    [full] = json.loads(nova.machine.tool("placement-manage", *words, code=3))
    nova.delete(ids)
    assert statuses == {"ACTIVE": row["fits"], "ERROR": 2}, (row, statuses)
    assert full["fits"] == 0, full
    return f"{row['fits']}"


@own
def drain_check(nova: Nova, size: int) -> str:
    """`placement-manage drain-check`, and live migration of all servers of the host"""
    host = nova.machine.computes[0]
    [row] = json.loads(nova.machine.tool("placement-manage", "drain-check", "--json", host))
    ids = nova.on(host)
    assert row["evacuable"], row
    assert nova.set_service(host, status="disabled")
    nova.act(ids, "os-migrateLive", "ACTIVE", {"host": None, "block_migration": "auto"})
    assert nova.set_service(host, status="enabled")
    assert not nova.on(host)
    return f"{len(ids)} servers"


@own
def compare(nova: Nova, size: int) -> str:
    """`placement-manage compare`, behind nginx and directly"""
    other = nova.machine.expand("http://127.0.0.1:$placement")
    text = nova.machine.tool("placement-manage", "compare", "--requests", "200", other)
    return text.strip().splitlines()[-1]


@own
def exporter(nova: Nova, size: int) -> str:
    """`GET /metrics`: the usage of each provider"""
    text = nova.placement.get("/metrics").text
    exported = {(m["name"], m["kind"]): float(m["value"]) for m in METRIC.finditer(text)}
    used = {key: float(amount) for key, (amount, _) in View(nova.placement).used.items()}
    assert exported == used, exported.items() ^ used.items()
    return f"{len(used)} series"


@own
def explorer(nova: Nova, size: int) -> None:
    """The explorer's page, without a token, and a request that it sends, with one"""
    connection = HTTPConnection("127.0.0.1", nova.machine.values["nginx"])
    for path, headers, status in (
        ("explorer/", {}, 200),
        ("resource_providers", {}, 401),
        ("resource_providers", {"X-Auth-Token": nova.placement.get_token() or ""}, 200),
    ):
        connection.request("GET", f"/placement/{path}", headers=headers)
        response = connection.getresponse()
        response.read()
        assert response.status == status, (path, response.status)


@own
def openstack(nova: Nova, size: int) -> str:
    """`openstack placement …`, by password and by application credential"""
    identity = nova.machine.adapter("identity")
    path = f"/users/{identity.get_user_id()}/application_credentials"
    body = {"application_credential": {"name": "cloud", "secret": "secret"}}
    created = identity.post(path, json=body).json()["application_credential"]
    credential = {
        "OS_AUTH_TYPE": "v3applicationcredential",
        "OS_APPLICATION_CREDENTIAL_ID": created["id"],
        "OS_APPLICATION_CREDENTIAL_SECRET": "secret",
    }
    consumers = set(View(nova.placement).allocations)
    words = ("placement", "consumer", "list", "-f", "json")
    for environment in ({}, credential):
        listed = json.loads(nova.machine.tool("openstack", *words, **environment))
        assert {entry["uuid"] for entry in listed} == consumers, listed
    identity.delete(f"{path}/{created['id']}")
    return f"{len(consumers)} consumers"
