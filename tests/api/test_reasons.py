"""The reason of a full or unsuitable storage pool, wherever it is stated."""

import logging
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.kit.cloud import building
from tests.kit.service import Service

RACK = "aaaaaaaa-0000-0000-0000-0000000000a1"
HOSTS = [f"00000000-0000-0000-0000-0000000000c{number}" for number in (1, 2, 3)]
POOLS = [f"00000000-0000-0000-0000-00000000005{number}" for number in (1, 2)]
CONSUMER = "cccccccc-0000-0000-0000-000000000001"
SHARES = "MISC_SHARES_VIA_AGGREGATE"
CANDIDATES = "/allocation_candidates"


def add(
    service: Service, uuid: str, inventories: Mapping[str, Mapping[str, int]], *traits: str
) -> None:
    """Add a host or a pool to the rack."""
    path = f"/resource_providers/{uuid}"
    service.expect(200, "POST", "/resource_providers", {"name": f"name-{uuid[-2:]}", "uuid": uuid})
    for generation, (part, value) in enumerate(
        [("inventories", inventories), ("aggregates", [RACK]), ("traits", list(traits))]
    ):
        body = {part: value, "resource_provider_generation": generation}
        service.expect(200, "PUT", f"{path}/{part}", body)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """Three hosts, and two equal pools of 100 GB with 10 GB free, in steps of 2 and up to 40."""
    with Service(tmp_path) as service:
        for host in HOSTS:
            add(service, host, {"VCPU": {"total": 8}})
        for pool in POOLS:
            disk = {"total": 100, "reserved": 90, "min_unit": 2, "max_unit": 40, "step_size": 2}
            add(service, pool, {"DISK_GB": disk}, SHARES)
        yield service


def request(disk: int, **members: Any) -> dict[str, Any]:
    group = {"resources": {"DISK_GB": disk}, **members}
    return {"groups": {"": {"resources": {"VCPU": 1}}, "_disk": group}}


REASONS: Mapping[str, tuple[dict[str, Any], str]] = {
    "full": (request(20), "capacity"),
    "too large": (request(60), "max_unit"),
    "too small": (request(1), "min_unit"),
    "odd": (request(5), "step_size"),
    "trait": (request(4, required=["STORAGE_DISK_SSD"]), "trait_missing"),
    "aggregate": (request(4, not_member_of=[RACK]), "in_forbidden_aggregate"),
}


@pytest.mark.parametrize("name", REASONS)
def test_headroom_and_simulations_state_the_code_of_the_explanation(
    service: Service, name: str
) -> None:
    body, code = REASONS[name]
    asked = {**body, "explain": "summary"}
    explanation = service.expect(200, "POST", CANDIDATES, asked, "2.0").json["explanation"]
    blocked = {(each["code"], each["group"], each["hosts"]) for each in explanation["blocked"]}
    assert (code, "_disk", len(HOSTS)) in blocked

    found = service.expect(200, "POST", "/headroom", {"requests": {"a": body}}, "2.0")
    limits = found.json["headroom"]["a"]["limited_by"]
    assert {(each["code"], each["group"], each["hosts"]) for each in limits} == blocked

    changes = {"changes": [{"claim": {"request": body}}]}
    (claim,) = service.expect(200, "POST", "/simulations", changes, "2.0").json["claims"]
    assert claim["code"] == code
    # The text is that of the explanation, without the changes that would help.
    assert explanation["text"].startswith(claim["text"])


@pytest.mark.parametrize("version", ["1.39", "2.0"])
def test_the_log_line_of_an_empty_response_names_the_full_pool(
    service: Service, caplog: pytest.LogCaptureFixture, version: str
) -> None:
    query = "resources=VCPU:1&resources_disk=DISK_GB:20&group_policy=none"
    with caplog.at_level(logging.INFO, "placement.api.operations.candidates"):
        service.get(f"{CANDIDATES}?{query}", version)
    (line,) = [each for each in caplog.messages if "no candidates" in each]
    assert "(the most is 10 on the sharing provider " in line
    assert "for group _disk" in line
    assert "no inventory of DISK_GB" not in line


def test_a_drain_names_the_full_pool(service: Service) -> None:
    """A consumer with a disk of its own can move only to a host with a disk, or to a pool."""
    add(service, POOLS[0][:-2] + "c9", {"VCPU": {"total": 8}, "DISK_GB": {"total": 50}})
    host = POOLS[0][:-2] + "c9"
    body = {
        "allocations": {host: {"resources": {"VCPU": 1, "DISK_GB": 20}}},
        "project_id": "p",
        "user_id": "u",
        "consumer_type": "INSTANCE",
        "consumer_generation": None,
    }
    service.expect(204, "PUT", f"/allocations/{CONSUMER}", body)
    changes = {"changes": [{"drain": [host]}], "requests": {CONSUMER: request(20)}}
    found = service.expect(200, "POST", "/simulations", changes, "2.0").json
    (unplaceable,) = found["unplaceable"]
    assert unplaceable["code"] == "capacity"
    assert "(the most is 10 on the sharing provider " in unplaceable["text"]


@pytest.mark.parametrize(
    ("members", "code"),
    [({"member_of": [HOSTS[0]]}, "not_in_aggregate"), ({"in_tree": CONSUMER}, "in_tree")],
)
def test_a_claim_on_copies_that_names_nothing_existing_has_the_code_of_the_explanation(
    service: Service, members: dict[str, Any], code: str
) -> None:
    changes = {"changes": [{"claim": {"request": request(4, **members)}}]}
    (claim,) = service.expect(200, "POST", "/simulations", changes, "2.0").json["claims"]
    assert claim["code"] == code
    assert re.search(r"There is no (aggregate|provider)", claim["text"])


def test_explained_hosts_do_not_depend_on_the_order_of_classes(service: Service) -> None:
    """The hosts are short of processors, and the pools of disk."""
    body = {"groups": {"": {"resources": {"DISK_GB": 20, "VCPU": 9}}}, "explain": "providers"}
    posted = service.expect(200, "POST", CANDIDATES, body, "2.0").json["explanation"]
    query = "resources=VCPU:9,DISK_GB:20&explain=providers"
    assert (
        service.get(f"{CANDIDATES}?{query}", "2.0")["explanation"]["providers"]
        == (posted["providers"])
    )
    named = {(each["provider"], each["resource_class"]) for each in posted["providers"][:3]}
    assert named == {(POOLS[0], "DISK_GB")}


@pytest.mark.parametrize("path", ["same_subtree[0]", "groups._cpu.required[0]", "isolate[0]"])
def test_one_of_two_equal_conditions_helps_only_if_they_are_rules(
    service: Service, path: str
) -> None:
    groups: dict[str, Any] = {"_cpu": {"resources": {"VCPU": 1}}, "_disk": {}, "_other": {}}
    groups["_disk"]["resources"] = groups["_other"]["resources"] = {"DISK_GB": 4}
    body: dict[str, Any] = {"groups": groups, "explain": "summary"}
    value: Any
    if path.startswith("same_subtree"):
        owner, name, value = body, "same_subtree", {"of": ["_cpu", "_disk"]}
    elif path.startswith("isolate"):
        owner, name, value = body, "isolate", "_disk"
        # The pools have room for two amounts together, but on a single provider.
        service.expect(204, "DELETE", f"/resource_providers/{POOLS[1]}")
    else:
        owner, name, value = groups["_cpu"], "required", "HW_CPU_X86_AVX2"

    def dropped() -> list[str]:
        explanation = service.expect(200, "POST", CANDIDATES, body, "2.0").json["explanation"]
        return [each["drop"] for each in explanation["relaxations"] if "drop" in each]

    owner[name] = [value]
    assert dropped() == [path]
    owner[name] = [value, value]
    assert dropped() == [path] * (name == "same_subtree")  # whose equal rules are one


@pytest.mark.parametrize("members", [{}, {"root": {"member_of": [RACK]}}])
def test_hosts_are_counted_where_sharing_providers_alone_serve(
    service: Service, members: dict[str, Any]
) -> None:
    body = {"groups": {"": {"resources": {"DISK_GB": 2}}}, **members}
    asked = {**body, "explain": "summary"}
    explanation = service.expect(200, "POST", CANDIDATES, asked, "2.0").json["explanation"]
    query = {"requests": {"a": body}, "by": [RACK]}
    found = service.expect(200, "POST", "/headroom", query, "2.0").json["headroom"]["a"]
    # Each host reaches both pools, which serve 5 consumers each. The pools are no hosts.
    assert explanation["hosts"]["all"] == explanation["hosts"]["served"] == len(HOSTS)
    assert found["hosts"] == found["by"][RACK]["hosts"] == len(HOSTS)
    assert found["largest"] == found["fits"] == 10
    assert [(each["code"], each["hosts"]) for each in found["limited_by"]] == [("capacity", 3)]


def test_a_group_is_rejected_at_the_first_code_of_its_classes(tmp_path: Path) -> None:
    with Service(tmp_path) as service:
        with building(service.database.writer) as cloud:
            cloud.add("host", {"VCPU": 8})
        path = "/allocation_candidates?resources=VCPU:100,VGPU:1&explain=summary"
        explanation = service.expect(200, "GET", path, version="2.0").json["explanation"]
    assert [each["code"] for each in explanation["blocked"]] == ["no_inventory"]
