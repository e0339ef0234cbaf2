"""`POST /headroom` at its limits: work, the deadline, and other requests of the process."""

from pathlib import Path
from typing import Any

import pytest

from placement.foresight.headroom import HeadroomQuery
from placement.foresight.headroom.value import Totals
from tests.kit.cloud import SHARING, building
from tests.kit.service import Service

HOSTS = 8
LARGE: dict[str, Any] = {"groups": {"": {"resources": {"VCPU": 2}}}}
JOINED: dict[str, Any] = {
    "groups": {"_A": {"resources": {"VCPU": 1}}, "_B": {"resources": {"VCPU": 2}}},
    "group_policy": "none",
}


def with_hosts(directory: Path, **options: Any) -> Service:
    service = Service(directory, placement=options)
    for number in range(HOSTS):
        uuid = f"00000000-0000-0000-0000-0000000000c{number}"
        service.expect(200, "POST", "/resource_providers", {"name": uuid, "uuid": uuid})
        body = {"inventories": {"VCPU": {"total": 9}}, "resource_provider_generation": 0}
        service.expect(200, "PUT", f"/resource_providers/{uuid}/inventories", body)
    return service


def measure(service: Service, **requests: Any) -> Any:
    answer = service.send("POST", "/headroom", {"requests": requests, "limit": 1000}, "2.0")
    assert answer.status_code == 200, answer.text
    return answer.json["headroom"]


def test_without_a_bound_the_number_is_exact(tmp_path: Path) -> None:
    with with_hosts(tmp_path) as service:
        found = measure(service, large=LARGE, joined=JOINED)
        assert (found["large"]["fits"], found["large"]["exact"]) == (HOSTS * 4, True)
        assert (found["joined"]["fits"], found["joined"]["exact"]) == (HOSTS * 3, True)
        assert found["joined"]["limited_by"] == [
            {
                "code": "capacity",
                "group": "_A",
                "resource_class": "VCPU",
                "meaning": "no provider has that much left",
                "hosts": HOSTS,
            }
        ]


def test_a_sharing_provider_without_the_traits_has_no_room_for_parts(tmp_path: Path) -> None:
    aggregates = ["00000000-0000-0000-0000-0000000000a1"]
    pool = "00000000-0000-0000-0000-0000000000d0"
    with with_hosts(tmp_path) as service:
        service.expect(200, "POST", "/resource_providers", {"name": "pool", "uuid": pool})
        body: dict[str, Any] = {
            "inventories": {"DISK_GB": {"total": 16}, "IPV4_ADDRESS": {"total": 8}},
            "resource_provider_generation": 0,
        }
        service.expect(200, "PUT", f"/resource_providers/{pool}/inventories", body)
        body = {"traits": ["MISC_SHARES_VIA_AGGREGATE"], "resource_provider_generation": 1}
        service.expect(200, "PUT", f"/resource_providers/{pool}/traits", body)
        for uuid, generation in ((pool, 2), ("00000000-0000-0000-0000-0000000000c0", 1)):
            body = {"aggregates": aggregates, "resource_provider_generation": generation}
            service.expect(200, "PUT", f"/resource_providers/{uuid}/aggregates", body)
        disk = {"resources": {"DISK_GB": 7}, "can_split": ["DISK_GB"]}
        on_ssd = {**disk, "required": ["STORAGE_DISK_SSD"]}
        address = {"resources": {"IPV4_ADDRESS": 1}}
        found = measure(
            service,
            any={"groups": {"": disk, "_IP": address}},
            ssd={"groups": {"": on_ssd, "_IP": address}},
        )
        assert (found["any"]["fits"], found["any"]["at_most"]) == (2, 2)
        assert (found["ssd"]["fits"], found["ssd"]["at_most"]) == (0, 0)


def test_hosts_of_different_aggregates_are_measured_apart(tmp_path: Path) -> None:
    rack = "00000000-0000-0000-0000-0000000000a1"
    with with_hosts(tmp_path) as service:
        path = "/resource_providers/00000000-0000-0000-0000-0000000000c0/aggregates"
        body = {"aggregates": [rack], "resource_provider_generation": 1}
        service.expect(200, "PUT", path, body)
        body = {"requests": {"large": LARGE}, "by": [rack]}
        found = service.expect(200, "POST", "/headroom", body, "2.0").json["headroom"]["large"]
        assert (found["fits"], found["by"][rack]["fits"]) == (HOSTS * 4, 4)


def test_hosts_with_different_usages_are_measured_apart(tmp_path: Path) -> None:
    with with_hosts(tmp_path) as service:
        claim = {
            "allocations": {"00000000-0000-0000-0000-0000000000c0": {"resources": {"VCPU": 5}}},
            "project_id": "p",
            "user_id": "u",
            "consumer_type": "INSTANCE",
            "consumer_generation": None,
        }
        path = "/allocations/cccccccc-0000-0000-0000-000000000001"
        service.expect(204, "PUT", path, claim)
        found = measure(service, joined=JOINED)["joined"]
        assert (found["fits"], found["at_most"]) == ((HOSTS - 1) * 3 + 1,) * 2


def test_a_host_takes_what_others_leave_of_a_sharing_provider(tmp_path: Path) -> None:
    with Service(tmp_path) as service:
        with building(service.database.writer) as cloud:
            for number, (rack, processors) in enumerate((("a", 2), ("a", 2), ("b", 1))):
                cloud.add(f"host{number}", {"VCPU": processors}, aggregates=[rack])
            for rack in ("a", "b"):
                cloud.add(f"disk{rack}", {"DISK_GB": 9}, traits=[SHARING], aggregates=[rack])
        groups = {
            "_A": {"resources": {"VCPU": 1}},
            "_B": {"resources": {"VCPU": 1}},
            "_D": {"resources": {"DISK_GB": 9}},
        }
        found = measure(service, pair={"groups": groups})["pair"]
        # The upper bound counts both disks, although the host of the second one is too small.
        assert (found["fits"], found["at_most"]) == (1, 2)


def test_hosts_beyond_the_bound_on_work_count_nothing(tmp_path: Path) -> None:
    with with_hosts(tmp_path, max_search_steps=1) as service:
        found = measure(service, large=LARGE)["large"]
        assert (found["fits"], found["at_most"]) == (0, None)
        assert (found["complete"], found["exact"]) == (False, False)
        assert sum(each["hosts"] for each in found["limited_by"]) == 0


def test_an_unread_host_is_unknown_to_each_of_several_requests(tmp_path: Path) -> None:
    with with_hosts(tmp_path, max_search_steps=1) as service:
        for found in measure(service, large=LARGE, same=LARGE, joined=JOINED).values():
            assert (found["fits"], found["at_most"]) == (0, None)
            assert (found["complete"], found["exact"]) == (False, False)


def test_requests_share_the_bound_in_the_order_of_the_body(tmp_path: Path) -> None:
    with with_hosts(tmp_path, max_search_steps=2000) as service:
        measure(service, warm=LARGE)
        many = {str(number): LARGE for number in range(100)}
        found = list(measure(service, **many).values())
        complete = [each["complete"] for each in found]
        assert complete == sorted(complete, reverse=True)
        assert complete[0]
        assert not complete[-1]


def test_aggregates_share_the_bound_in_the_order_of_the_body() -> None:
    by = {f"00000000-0000-0000-0000-{number:012}": f"key{number}" for number in range(30, 0, -1)}
    totals = Totals(HeadroomQuery({}, keys=by))
    assert list(totals.sums) == [None, *by.values()]


@pytest.mark.parametrize(
    "body",
    [
        {"requests": {str(number): LARGE for number in range(101)}},
        {"requests": {"": LARGE}},
        {"requests": {"a" * 256: LARGE}},
        {"requests": {"a\x85": LARGE}},
        {"requests": {"a": LARGE}, "limit": 1_000_001},
        {"requests": {"a": LARGE}, "by": ["not a uuid"]},
        {
            "requests": {str(number): LARGE for number in range(10)},
            "by": [f"00000000-0000-0000-0000-{number:012}" for number in range(100)],
        },
    ],
)
def test_too_much_is_refused(tmp_path: Path, body: dict[str, Any]) -> None:
    with Service(tmp_path) as service:
        answer = service.send("POST", "/headroom", body, "2.0")
        assert answer.status_code == 400
        assert answer.json["errors"][0]["code"] == "placement.undefined_code"
