"""Claims that search: permissions, and the state after a refusal."""

import random
import uuid as uuids
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest
import sqlalchemy as sa

from placement.candidates.claims import claiming
from placement.db.retries import Pauses
from placement.db.statement import Restart
from placement.errors import LostRace
from placement.objects import allocations, search_snapshot
from placement.runtime import events
from placement.runtime.budget import COST_PER_STEP, Budget
from placement.runtime.events import Details, Event
from tests.kit import service as kit
from tests.kit.cloud import SHARING, Stock, aggregate_uuid, building, provider_uuid
from tests.kit.statements import counted

VERSION = "2.0"
HOSTS = 3
CONSUMER = str(uuids.UUID(int=7))
ONE_VCPU = {"groups": {"": {"resources": {"VCPU": 1}}}}


class Service(kit.Service):
    """A service with three hosts of four VCPUs, which share a disk."""

    def __init__(self, directory: Path, **overrides: Any) -> None:
        super().__init__(directory, **overrides)
        with building(self.database.writer) as cloud:
            for number in range(HOSTS):
                cloud.add(f"host{number}", {"VCPU": 4}, aggregates=[aggregate_uuid(1)])
            traits, aggregates = [SHARING], [aggregate_uuid(1)]
            cloud.add("disk", {"DISK_GB": 100}, traits=traits, aggregates=aggregates)

    def claim(self, status: int, body: object) -> Any:
        """Send a claim. Return the body of the response, or its only error."""
        answer = self.expect(status, "POST", "/claims", body, VERSION).json
        return answer["errors"][0] if status >= 400 else answer

    def take(self, host: int, amount: int) -> str:
        """Claim resources on this host for a new consumer. Return the consumer."""
        body = kit.claim({provider_uuid(host): {"VCPU": amount}})
        consumer = str(uuids.uuid4())
        self.expect(204, "PUT", f"/allocations/{consumer}", body)
        return consumer

    def used(self) -> int:
        """Return the number of VCPUs in use on all hosts."""
        paths = [f"/resource_providers/{provider_uuid(host + 1)}/usages" for host in range(HOSTS)]
        return sum(self.get(path)["usages"]["VCPU"] for path in paths)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with Service(tmp_path) as service:
        yield service
        service.check_used()


def body(request: Any = ONE_VCPU, consumer: str = "", owner: str = "p") -> dict[str, object]:
    return {
        "request": request,
        "consumer_uuid": consumer or str(uuids.uuid4()),
        "project_id": owner,
        "user_id": owner,
        "consumer_type": "INSTANCE",
    }


def nothing() -> None:
    """Do nothing."""


def vcpus(amount: int, **more: object) -> dict[str, object]:
    return {"groups": {"": {"resources": {"VCPU": amount}}}, **more}


Tries = list[Details]


@pytest.fixture
def reported_claims() -> Iterator[Tries]:
    told: Tries = []

    def note(event: Event, details: Details) -> None:
        if event is Event.CLAIM:
            told.append(details)

    stop = events.listen(note)
    yield told
    stop()


def before_writes(monkeypatch: pytest.MonkeyPatch, *acts: Callable[[], object]) -> None:
    """Call functions before the writes of the first claims, when the candidate has been chosen."""
    waiting = list(acts)

    class Database:
        """The service's database, with a function that is called before a write."""

        rolls_back = False

        def __init__(self, database: Any) -> None:
            self.tears_views, self.read_trees = database.tears_views, database.read_trees
            self.read, self._database = database.read, database
            self.primary = database.primary

        def write(self, work: Any) -> Any:
            if waiting:
                waiting.pop(0)()
            return self._database.write(work)

    claim = claiming.claim
    monkeypatch.setattr(
        "placement.api.operations.claims.claim",
        lambda database, *rest, **how: claim(cast("Any", Database(database)), *rest, **how),
    )


def test_a_group_with_more_members_than_a_search_reads_hosts_is_spread(tmp_path: Path) -> None:
    members = 150
    with kit.Service(tmp_path) as service:
        with building(service.database.writer) as cloud:
            for number in range(members):
                cloud.add(f"host{number}", {"VCPU": 4, "MEMORY_MB": 4, "DISK_GB": 4})
        group = {"name": "wide", "max_per_host": 1}
        flavor = {"groups": {"": {"resources": {"VCPU": 1, "MEMORY_MB": 1, "DISK_GB": 1}}}}
        claims = [{**body(flavor), "spread_group": group} for _ in range(members)]
        answer = service.expect(201, "POST", "/claims", {"claims": claims}, VERSION)
    claimed = answer.json["claims"]
    hosts = {host for each in claimed for host in each["allocations"]}
    assert len(hosts) == len(claimed) == members


def test_what_moves_while_several_views_are_searched_refuses_no_claim(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the first search, each host appears full, as if an allocation moved during the search."""

    class Database:
        """The service's database, as if each statement that reads trees had a separate view."""

        tears_views = True
        rolls_back = False

        def __init__(self, database: Any) -> None:
            self.read, self.write = database.read, database.write
            self._database = database

        @contextmanager
        def read_trees(self) -> Iterator[Any]:
            consumers = [service.take(host + 1, 4) for host in range(HOSTS)]
            try:
                with self._database.read_trees() as conn:
                    yield conn
            finally:
                for consumer in consumers:
                    service.expect(204, "DELETE", f"/allocations/{consumer}")

    claim = claiming.claim
    monkeypatch.setattr(
        "placement.api.operations.claims.claim",
        lambda database, *rest, **how: claim(cast("Any", Database(database)), *rest, **how),
    )
    service.claim(201, body())
    assert service.used() == 1


# -- one -----------------------------------------------------------------------------------------


def test_a_claim_is_what_the_consumer_has_afterwards(service: Service) -> None:
    request = {"groups": {"": {"resources": {"DISK_GB": 5}}, "_C": {"resources": {"VCPU": 2}}}}
    answer = service.expect(201, "POST", "/claims", body(request, CONSUMER), VERSION)
    assert answer.headers["location"].endswith(f"/allocations/{CONSUMER}")
    (host,) = answer.json["mappings"]["_C"]
    disk = provider_uuid(HOSTS + 1)
    assert answer.json == {
        "allocations": {disk: {"resources": {"DISK_GB": 5}}, host: {"resources": {"VCPU": 2}}},
        "mappings": {"": [disk], "_C": [host]},
        "consumer_generation": 1,
    }
    consumer = service.get(f"/allocations/{CONSUMER}")
    assert {
        uuid: {"resources": each["resources"]} for uuid, each in consumer["allocations"].items()
    } == answer.json["allocations"]
    assert consumer["consumer_generation"] == 1
    assert (consumer["project_id"], consumer["consumer_type"]) == ("p", "INSTANCE")


def test_claims_spread_over_the_first_candidates_as_many_as_the_limit_says(
    service: Service,
) -> None:
    """Sixty claims would miss a randomly chosen host only once in 10**9 runs."""
    for limit, hosts in ((1, 1), (2, 2), (None, 3)):
        request = ONE_VCPU if limit is None else {**ONE_VCPU, "limit": limit}
        chosen = set()
        for _ in range(60):
            chosen.update(service.claim(201, body(request, CONSUMER))["allocations"])
            service.expect(204, "DELETE", f"/allocations/{CONSUMER}")
        assert len(chosen) == hosts


def test_an_impossible_claim_is_refused_and_writes_nothing(service: Service) -> None:
    before = service.dump()
    error = service.claim(409, body(vcpus(5), owner="nobody"))
    assert error["code"] == "placement.no_candidates"
    assert error["detail"].startswith("request: no candidate satisfies this request now")
    assert service.dump() == before


def test_callers_with_permission_get_the_reasons_of_an_empty_result(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        '"placement:claims:create": "@"\n"placement:allocation_candidates:explain": "role:admin"\n'
    )
    with Service(tmp_path, oslo_policy={"policy_file": str(policy)}) as service:
        told = []
        for role in ("admin", "member"):
            headers = {"X-Auth-Token": "user:project", "X-Roles": role}
            answer = service.send("POST", "/claims", body(vcpus(5)), VERSION, headers)
            assert answer.status_code == 409
            told.append(answer.json["errors"][0]["detail"])
        refusal = "request: no candidate satisfies this request now"
        assert told[1] == refusal
        why = service.send(
            "POST", "/allocation_candidates", {**vcpus(5), "explain": "summary"}, VERSION
        )
        assert told[0] == f"{refusal}. {why.json['explanation']['text']}"


def test_what_earlier_claims_take_is_explained_as_taken(service: Service) -> None:
    error = service.claim(409, several(vcpus(4), vcpus(4), vcpus(4), vcpus(1)))
    assert error["detail"].startswith(
        "claims[3].request: no candidate satisfies this request now. "
    )
    explanation = service.expect(
        200, "POST", "/allocation_candidates", {**vcpus(1), "explain": "summary"}, VERSION
    ).json["explanation"]
    assert explanation["hosts"]["served"] == HOSTS
    assert explanation["text"] not in error["detail"]
    assert "VCPU" in error["detail"]


def test_a_consumer_that_exists_is_a_conflict_also_where_no_room_is_left(service: Service) -> None:
    first = service.claim(201, body(vcpus(4), CONSUMER))
    before = service.dump(but="revision")
    for amount in (1, 5):
        error = service.claim(409, body(vcpus(amount), CONSUMER.replace("-", "")))
        assert error["code"] == "placement.concurrent_update"
        assert "consumer generation conflict" in error["detail"]
    assert service.dump(but="revision") == before
    assert service.get(f"/allocations/{CONSUMER}")["allocations"].keys() == (
        first["allocations"].keys()
    )


# -- others are faster ---------------------------------------------------------------------------


def test_another_candidate_is_claimed_when_others_took_the_first(
    service: Service, monkeypatch: pytest.MonkeyPatch, reported_claims: Tries
) -> None:
    """The claim tries all candidates that were found before the search is repeated."""

    def take_all_but_one_host() -> None:
        for host in (1, 2):
            service.take(host, 4)

    before_writes(monkeypatch, take_all_but_one_host)
    assert service.claim(201, body())["allocations"].keys() == {provider_uuid(3)}
    (told,) = reported_claims
    assert told["consumers"] == 1
    assert told["tries"] in {1, 2, 3}


def test_the_search_begins_again_when_all_that_it_found_is_gone(
    service: Service, monkeypatch: pytest.MonkeyPatch, reported_claims: Tries
) -> None:
    """With a limit of 1, there is one candidate, and two more after two further searches."""

    def lose(host: int) -> Callable[[], object]:
        return lambda: service.take(host, 4)

    # What has changed is claimed after all else: the first host is met a second time.
    before_writes(monkeypatch, lose(1), nothing, lose(2))
    claimed = service.claim(201, body({**ONE_VCPU, "limit": 1}))
    assert claimed["allocations"].keys() == {provider_uuid(3)}
    assert reported_claims == [{"consumers": 1, "tries": 3}]


def test_a_taint_that_is_written_after_the_search_refuses_no_claim(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taint = "CUSTOM_MAINTENANCE"
    with Service(tmp_path, placement={"taints": [taint]}) as service:
        service.expect(201, "PUT", f"/traits/{taint}")
        for host in (1, 2):
            service.take(host, 4)

        def write_the_taint() -> None:
            path = f"/resource_providers/{provider_uuid(3)}/traits"
            generation = service.get(path)["resource_provider_generation"]
            traits = {"traits": [taint], "resource_provider_generation": generation}
            service.expect(200, "PUT", path, traits)

        before_writes(monkeypatch, write_the_taint)
        assert service.claim(201, body())["allocations"].keys() == {provider_uuid(3)}
        # The next search sees it, although the host has room.
        other = {**body(), "consumer_uuid": str(uuids.uuid4())}
        assert service.claim(409, other)["code"] == "placement.no_candidates"


def test_a_claim_ends_when_others_took_everything(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def take_all() -> None:
        for host in range(HOSTS):
            service.take(host + 1, 4)

    before_writes(monkeypatch, take_all)
    assert service.claim(409, body())["code"] == "placement.no_candidates"
    assert service.used() == 4 * HOSTS


GENERATION = {"resource_provider_generation": 0}
PATH = f"/resource_providers/{provider_uuid(1)}"
CHANGES: dict[str, list[tuple[int, str, str, object]]] = {
    "the provider is gone": [(204, "DELETE", PATH, None)],
    "the inventory is gone": [(204, "DELETE", f"{PATH}/inventories", None)],
    "the inventory is too small": [
        (200, "PUT", f"{PATH}/inventories", kit.inventories(0, VCPU=1)),
    ],
    "the units are others": [
        (200, "PUT", f"{PATH}/inventories/VCPU", {**GENERATION, "total": 4, "step_size": 3}),
    ],
    "the class is another one": [
        (200, "PUT", f"{PATH}/inventories", kit.inventories(0, PCPU=4)),
    ],
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_provider_that_changed_since_the_search_is_left_for_another(
    service: Service, monkeypatch: pytest.MonkeyPatch, reported_claims: Tries, change: str
) -> None:
    def happen() -> None:
        for request in CHANGES[change]:
            service.expect(*request)

    before_writes(monkeypatch, happen)
    claimed = service.claim(201, body(vcpus(2, limit=1)))
    assert claimed["allocations"].keys() == {provider_uuid(2)}
    assert reported_claims[0]["tries"] == 2


def test_a_host_that_others_use_as_well_is_claimed_as_long_as_it_has_room(
    service: Service, monkeypatch: pytest.MonkeyPatch, reported_claims: Tries
) -> None:
    before_writes(monkeypatch, lambda: service.take(1, 2))
    assert service.claim(201, body(vcpus(2, limit=1)))["allocations"].keys() == {provider_uuid(1)}
    assert reported_claims == [{"consumers": 1, "tries": 1}]


def test_a_host_that_others_change_is_left_for_one_that_they_do_not(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The change affects the host with which the claim begins, whichever host this is."""
    hosts = [provider_uuid(1), provider_uuid(2)]
    monkeypatch.setattr(random, "sample", lambda candidates, _number: list(candidates))
    before_writes(monkeypatch, lambda: service.take(1, 1))
    claimed = service.claim(201, body(vcpus(2, limit=2)))
    assert list(claimed["allocations"]) == hosts[1:]
    assert service.used() == 3


def test_a_host_that_others_change_is_claimed_before_a_split(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with kit.Service(tmp_path) as service:
        with building(service.database.writer) as cloud:
            whole = cloud.add("whole", {"VCPU": 4})
            parts = cloud.add("parts")
            for name in ("one", "other"):
                cloud.add(name, {"VCPU": 1}, parent=parts)

        def change() -> None:
            taken = kit.claim({provider_uuid(whole): {"VCPU": 1}})
            service.expect(204, "PUT", f"/allocations/{uuids.uuid4()}", taken)

        before_writes(monkeypatch, change)
        request = {"groups": {"": {"resources": {"VCPU": 2}, "can_split": ["VCPU"]}}}
        claimed = service.expect(201, "POST", "/claims", body(request), VERSION).json
        assert list(claimed["allocations"]) == [provider_uuid(whole)]


def test_a_change_of_one_of_several_trees_leaves_nothing_of_the_claim_in_the_others(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The trees are the host and the shared disk. Nothing is written before both are verified."""
    disk = provider_uuid(HOSTS + 1)
    before = [
        service.get(f"/resource_providers/{uuid}")["generation"] for uuid in (PATH[-36:], disk)
    ]
    before_writes(monkeypatch, lambda: service.take(1, 1))
    request = {"groups": {"": {"resources": {"DISK_GB": 5, "VCPU": 1}}}, "limit": 1}
    claimed = service.claim(201, body(request))
    assert claimed["allocations"].keys() == {provider_uuid(1), disk}
    after = [
        service.get(f"/resource_providers/{uuid}")["generation"] for uuid in (PATH[-36:], disk)
    ]
    assert [new - old for old, new in zip(before, after, strict=True)] == [2, 1]
    service.check_used()


DISK = provider_uuid(HOSTS + 1)
DISK_PATH = f"/resource_providers/{DISK}"
ON_DISK = {"groups": {"": {"resources": {"VCPU": 1, "DISK_GB": 40}}}}


def fail(*_what: Any) -> None:
    """Fail, instead of a function that is not to be called."""
    raise AssertionError


def test_a_shared_disk_that_others_use_as_well_is_claimed_without_being_read_again(
    service: Service, monkeypatch: pytest.MonkeyPatch, reported_claims: Tries
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(random, "sample", lambda candidates, _number: list(candidates))
        taken = kit.claim({DISK: {"DISK_GB": 30}})
        path = f"/allocations/{uuids.uuid4()}"
        before_writes(patch, lambda: service.expect(204, "PUT", path, taken))
        claimed = search_snapshot.claim
        patch.setattr(
            search_snapshot,
            "claim",
            lambda *what: (patch.setattr(allocations, "replace", fail), claimed(*what))[1],
        )
        assert DISK in service.claim(201, body(ON_DISK))["allocations"]
    assert reported_claims == [{"consumers": 1, "tries": 1}]
    # The cache does not contain the disk as the search has read it.
    candidates = service.get("/allocation_candidates?resources=VCPU:1,DISK_GB:10")
    disk = candidates["provider_summaries"][DISK]["resources"]["DISK_GB"]
    assert disk == {"capacity": 100, "used": 70}


def stock_disk(service: Service, **fields: int) -> None:
    service.expect(200, "PUT", f"{DISK_PATH}/inventories/DISK_GB", {**GENERATION, **fields})


def another_provider(service: Service) -> None:
    """Create a disk that is not shared, with the id of the deleted one, as SQLite may do."""
    service.expect(204, "DELETE", DISK_PATH)
    uuid = str(uuids.uuid4())
    insert = (
        "INSERT INTO resource_providers (id, root_provider_id, uuid, name, generation, revision)"
        " VALUES (:id, :id, :uuid, 'another', 0, 7)"
    )
    with service.database.writer.begin() as conn:
        conn.execute(sa.text(insert), {"id": HOSTS + 1, "uuid": uuid})
    path = f"/resource_providers/{uuid}/inventories"
    service.expect(200, "PUT", path, kit.inventories(0, DISK_GB=100))


CHANGES_OF_DISK: dict[str, Callable[[Service], object]] = {
    "its capacity is too small": lambda it: stock_disk(it, total=30),
    "its minimum is larger": lambda it: stock_disk(it, total=100, min_unit=50),
    "its maximum is smaller": lambda it: stock_disk(it, total=100, max_unit=30),
    "its steps are others": lambda it: stock_disk(it, total=100, step_size=7),
    "its inventory is gone": lambda it: it.expect(204, "DELETE", f"{DISK_PATH}/inventories"),
    "another provider has its id": another_provider,
}


@pytest.mark.parametrize("change", CHANGES_OF_DISK)
def test_a_shared_disk_that_does_not_allow_the_amount_any_more_is_not_claimed(
    service: Service, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    before_writes(monkeypatch, lambda: CHANGES_OF_DISK[change](service))
    error = service.claim(409, body(ON_DISK))
    assert error["code"] == "placement.no_candidates"
    assert service.used() == 0


def test_the_units_of_a_shared_disk_apply_to_each_of_several_claims(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_writes(monkeypatch, lambda: stock_disk(service, total=100, max_unit=50))
    service.claim(201, several(ON_DISK, ON_DISK))
    assert service.get(f"{DISK_PATH}/usages")["usages"] == {"DISK_GB": 80}


def test_a_shared_disk_that_moved_to_another_tree_is_claimed_there(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = provider_uuid(2)
    query = f"/allocation_candidates?resources=DISK_GB:40&in_tree={root}"

    def move() -> None:
        moved = {"name": "disk", "parent_provider_uuid": root}
        service.expect(200, "PUT", DISK_PATH, moved)
        assert service.get(query)["allocation_requests"]

    before_writes(monkeypatch, move)
    service.claim(201, body(ON_DISK))
    service.claim(201, body(ON_DISK))
    assert not service.get(query)["allocation_requests"], "the tree has another revision"


def test_a_shared_card_that_others_use_in_another_way_is_not_claimed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with kit.Service(tmp_path, placement={"exclusive": ["CUSTOM_CARD"]}) as service:
        service.expect(201, "PUT", "/traits/CUSTOM_CARD")
        with building(service.database.writer) as cloud:
            cloud.add("host", {"VCPU": 4}, aggregates=[aggregate_uuid(1)])
            traits, aggregates = [SHARING, "CUSTOM_CARD"], [aggregate_uuid(1)]
            stock = {"VGPU": 4, "PGPU": 1}
            card = provider_uuid(cloud.add("card", stock, traits=traits, aggregates=aggregates))
        taken = kit.claim({card: {"PGPU": 1}})
        path = f"/allocations/{uuids.uuid4()}"
        before_writes(monkeypatch, lambda: service.expect(204, "PUT", path, taken))
        request = {"groups": {"": {"resources": {"VCPU": 1, "VGPU": 1}}}}
        error = service.expect(409, "POST", "/claims", body(request), VERSION).json["errors"][0]
        assert error["code"] == "placement.no_candidates"


def test_a_custom_class_of_a_shared_provider_is_the_one_that_was_searched_for(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other class gets the id of the deleted one."""

    def restock(name: str) -> None:
        generation = service.get(DISK_PATH)["generation"]
        stock = kit.inventories(generation, **{name: 10})
        service.expect(200, "PUT", f"{DISK_PATH}/inventories", stock)

    def rename() -> None:
        restock("DISK_GB")
        service.expect(204, "DELETE", "/resource_classes/CUSTOM_OLD")
        service.expect(201, "PUT", "/resource_classes/CUSTOM_NEW")
        restock("CUSTOM_NEW")

    service.expect(201, "PUT", "/resource_classes/CUSTOM_OLD")
    restock("CUSTOM_OLD")
    before_writes(monkeypatch, rename)
    request = {"groups": {"": {"resources": {"VCPU": 1, "CUSTOM_OLD": 1}}}}
    service.claim(400, body(request))
    assert service.get(f"{DISK_PATH}/usages")["usages"] == {"CUSTOM_NEW": 0}


def test_a_consumer_that_came_to_be_since_the_search_is_a_conflict(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = kit.claim({provider_uuid(2): {"VCPU": 1}})
    before_writes(
        monkeypatch, lambda: service.expect(204, "PUT", f"/allocations/{CONSUMER}", taken)
    )
    error = service.claim(409, body(vcpus(1, limit=1), CONSUMER))
    assert error["code"] == "placement.concurrent_update"
    assert service.used() == 1


def test_a_provider_that_moved_to_another_tree_is_claimed_where_it_is(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def move() -> None:
        moved = {"name": "moved", "parent_provider_uuid": provider_uuid(2)}
        service.expect(200, "PUT", PATH, moved)

    before_writes(monkeypatch, move)
    claimed = service.claim(201, body(vcpus(2, limit=1)))
    assert claimed["allocations"].keys() == {provider_uuid(1)}


def test_a_concurrently_deleted_class_is_unknown(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.expect(201, "PUT", "/resource_classes/CUSTOM_A")
    inventory = {**GENERATION, "resource_class": "CUSTOM_A", "total": 1}
    service.expect(201, "POST", f"{PATH}/inventories", inventory)

    def delete() -> None:
        service.expect(204, "DELETE", f"{PATH}/inventories/CUSTOM_A")
        service.expect(204, "DELETE", "/resource_classes/CUSTOM_A")

    before_writes(monkeypatch, delete)
    error = service.claim(400, body({"groups": {"": {"resources": {"CUSTOM_A": 1}}}}))
    assert 'request.groups[""].resources.CUSTOM_A: No such resource class' in error["detail"]


def test_a_claim_that_keeps_losing_gets_503_and_not_no_candidates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Service(tmp_path, placement_database={"write_timeout": 0.2}) as service:

        def restart(*_what: Any) -> None:
            raise Restart

        monkeypatch.setattr(search_snapshot, "claim", restart)
        monkeypatch.setattr(allocations, "replace", restart)
        answer = service.send("POST", "/claims", body(), VERSION)
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "1"
        assert "Concurrent writers took" in answer.text
        monkeypatch.undo()
        assert service.used() == 0


# -- several -------------------------------------------------------------------------------------


def several(*requests: Any) -> dict[str, object]:
    return {"claims": [body(request) for request in requests]}


def test_all_of_several_claims_are_refused_with_one_of_them(service: Service) -> None:
    before = service.dump()
    error = service.claim(409, several(*[vcpus(3)] * (HOSTS + 1)))
    assert error["code"] == "placement.no_candidates"
    assert error["detail"].startswith(f"claims[{HOSTS}].request: no candidate satisfies")
    assert service.dump() == before
    # What it thought of was its own alone.
    assert len(service.get("/allocation_candidates?resources=VCPU:4")["allocation_requests"]) == 3


def test_the_work_of_several_searches_is_bounded_as_that_of_one(tmp_path: Path) -> None:
    """One search takes some 10 steps here, and 45 more if the trees are not cached."""
    with Service(tmp_path, placement={"max_search_steps": 75}) as service:
        assert service.claim(201, body())
        before = service.dump()
        error = service.claim(503, several(*[ONE_VCPU] * 16))
        assert "max_search_steps" in error["detail"]
        assert service.dump() == before


def test_as_many_claims_as_may_be_are_made_by_as_many_writes_as_one(
    service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    service.claim(201, body())  # from here on project, user and type are known
    statements = []
    for number in (1, 10):
        with counted(service.database) as seen:
            service.claim(201, several(*[ONE_VCPU] * number))
        statements.append(len([each for each in seen if not each.startswith("SELECT")]))
    with capsys.disabled():
        print(f"\nclaims: {statements} writing statements for 1 and 10")
    assert statements[0] == statements[1]


# -- bounds ---------------------------------------------------------------------------------------


class LargeCloud(kit.Service):
    """Hosts with one VCPU. The first ones are full."""

    def __init__(self, directory: Path, full: int, free: int, **overrides: Any) -> None:
        super().__init__(directory, **overrides)
        with building(self.database.writer) as cloud:
            for number in range(full + free):
                vcpu = Stock(1, reserved=int(number < full))
                cloud.add(f"host{number}", {"VCPU": vcpu, "MEMORY_MB": 4096})

    def claim(self, status: int, demands: int, **more: int) -> list[int]:
        """Make this number of claims, and then more. Return the number of trees in each search."""
        requests = [ONE_VCPU] * demands + [vcpus(amount) for amount in more.values()]
        told: list[int] = []

        def note(event: Event, details: Details) -> None:
            if event is Event.SEARCH:
                told.append(cast("int", details["trees_searched"]))

        stop = events.listen(note)
        claims = {"claims": [body(request) for request in requests]}
        self.expect(status, "POST", "/claims", claims, VERSION)
        stop()
        return told


def test_all_searches_of_a_claim_and_its_explanation_have_one_bound(tmp_path: Path) -> None:
    budgets: list[Budget] = []
    begin = Budget.__init__

    def note(budget: Budget, max_steps: int) -> None:
        begin(budget, max_steps)
        budgets.append(budget)

    steps = 100_000
    with LargeCloud(tmp_path, 300, 20, placement={"max_search_steps": steps}) as cloud:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Budget, "__init__", note)
            cloud.claim(409, 5, impossible=2)
        searches, explanation = [each for each in budgets if type(each) is Budget]
        assert explanation.cost > 0
        explanation.cost = 0
        assert searches.cost // COST_PER_STEP + explanation.steps_left in range(
            steps - 2, steps + 1
        )
        # Each of many requests searches alone, but not as long as one could.
        requests = [{**ONE_VCPU, "limit": limit} for limit in range(1, 50)]
        claims = {"claims": [body(request) for request in requests]}
        cloud.expect(503, "POST", "/claims", claims, VERSION)


def test_searches_that_others_outpace_end_at_the_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This happens long before the write timeout of a claim."""

    def lose(*_arguments: object) -> None:
        raise LostRace

    monkeypatch.setattr(claiming, "_write", lose)
    monkeypatch.setattr(Pauses, "wait", lambda _pauses: None)
    database = {"write_timeout": 3600.0}
    bounds = {"max_search_steps": 2000}
    with LargeCloud(tmp_path, 0, 3, placement=bounds, placement_database=database) as cloud:
        answer = cloud.expect(503, "POST", "/claims", body(), VERSION)
        assert "2000 steps" in answer.json["errors"][0]["detail"]


def test_each_of_16_candidates_is_tried_before_the_next_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: set[str] = set()
    write = claiming._write

    def lose(database: Any, claims: Any, *others: Any) -> Any:
        (uuid,) = claims[0].allocations
        tried.add(uuid)
        if len(tried) < 16:
            raise LostRace
        return write(database, claims, *others)

    monkeypatch.setattr(claiming, "_write", lose)
    with LargeCloud(tmp_path, full=0, free=30) as cloud:
        # Hosts in memory are enough to choose among, and none is.
        assert len(cloud.claim(201, 1)) == 1
        assert len(tried) == 16
