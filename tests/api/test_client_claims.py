"""Claims of chosen candidates, of several consumers at once, and allocations that are rewritten.

In this process and over HTTP, at each version that the client speaks.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from keystoneauth1.adapter import Adapter
from keystoneauth1.session import Session

from falcon_placement_client import (
    AllocationConflict,
    AllocationRecord,
    Candidate,
    Claim,
    ConsumerError,
    HoldExpired,
    JsonRequest,
    NewConsumer,
    ProviderTree,
    ReportClient,
)
from falcon_placement_client.rest import Version
from placement.direct import PlacementDirect
from tests.kit.builders import database_url, settings
from tests.kit.listener import listening
from tests.kit.recorder import Recorder
from tests.kit.service import HEADERS, Service

HOSTS = [f"00000000-0000-0000-0000-00000000000{number}" for number in (1, 2, 3)]
ONE_VCPU: JsonRequest = {"groups": {"": {"resources": {"VCPU": 1}}}}
TWO_VCPU: JsonRequest = {"groups": {"": {"resources": {"VCPU": 2}}}}
IDENTITY = {name: value for name, value in HEADERS.items() if name.startswith("X-")}


@contextmanager
def adapter_of(kind: str, directory: Path) -> Iterator[Adapter]:
    if kind == "direct":
        with PlacementDirect(settings(database_url(directory))) as adapter:
            yield adapter
        return
    with ExitStack() as exits:
        service = exits.enter_context(Service(directory))
        url = exits.enter_context(listening(service.application))
        session = Session(additional_headers=IDENTITY)
        yield Adapter(session, endpoint_override=url, service_type="placement")


@pytest.fixture(params=["direct", "http"])
def recorder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Recorder]:
    with adapter_of(request.param, tmp_path) as adapter:
        yield Recorder(adapter)


@pytest.fixture(params=[(1, 36), (1, 39), (2, 0)], ids=["1.36", "1.39", "2.0"])
def version(request: pytest.FixtureRequest) -> Version:
    return tuple(request.param)


@pytest.fixture
def client(recorder: Recorder, version: Version) -> ReportClient:
    """A client of three hosts with two VCPU each."""
    client = ReportClient(recorder, version)
    tree = ProviderTree()
    for uuid in HOSTS:
        tree.new_root(f"host {uuid}", uuid)
        tree.update_inventory(uuid, {"VCPU": {"total": 2}})
    client.update_from_provider_tree(tree)
    return client


def consumer(number: int, kind: str = "INSTANCE") -> NewConsumer:
    return NewConsumer(f"cccccccc-0000-0000-0000-{number:012}", "project", "user", kind)


def used(client: ReportClient) -> list[int]:
    """Return the usage of each host."""
    return [client.get_usages_for_provider_tree(uuid)[uuid]["VCPU"] for uuid in HOSTS]


def candidates_at(client: ReportClient, *hosts: str) -> list[Candidate]:
    """Return the candidates for two VCPU on these hosts, in this order."""
    answer = client.allocation_candidates(TWO_VCPU)
    by_host = {next(iter(each["allocations"])): each for each in answer["allocation_requests"]}
    return [by_host[host] for host in hosts]


# -- one that was chosen, and its alternates --------------------------------------------------


def test_the_chosen_candidate_is_claimed(client: ReportClient) -> None:
    got = client.claim_candidate(candidates_at(client, HOSTS[1], HOSTS[0]), consumer(1))
    assert got.allocations[HOSTS[1]]["resources"] == {"VCPU": 2}
    assert (got.mappings, got.consumer_generation) == ({"": [HOSTS[1]]}, 1)
    assert used(client) == [0, 2, 0]


def test_alternates_are_tried_in_their_order_where_others_were_faster(
    client: ReportClient, recorder: Recorder
) -> None:
    candidates = candidates_at(client, *HOSTS)
    client.claim_candidate(candidates[:1], consumer(1))
    recorder.requests.clear()
    assert set(client.claim_candidate(candidates, consumer(2)).allocations) == {HOSTS[1]}
    assert recorder.requests == [f"PUT /allocations/{consumer(2).uuid}"] * 2
    assert used(client) == [2, 2, 0]


def test_a_consumer_that_has_something_is_given_no_alternate(
    client: ReportClient, recorder: Recorder
) -> None:
    candidates = candidates_at(client, *HOSTS)
    client.claim_candidate(candidates, consumer(1))
    recorder.requests.clear()
    with pytest.raises(
        AllocationConflict, match="already: call release, or change them with get_alloc"
    ):
        client.claim_candidate(candidates[1:], consumer(1))
    assert len(recorder.requests) == 1
    assert used(client) == [2, 0, 0]


# -- several at once --------------------------------------------------------------------------


def test_several_consumers_get_what_the_results_say(client: ReportClient) -> None:
    claims = [Claim(ONE_VCPU, consumer(number, "MIGRATION")) for number in range(4)]
    for claim, result in zip(claims, client.claim_together(claims), strict=True):
        record = client.get_allocations_for_consumer(claim.consumer.uuid)
        assert record is not None
        assert record["allocations"].keys() == result.allocations.keys()
        assert record["consumer_generation"] == result.consumer_generation == 1
        assert record.get("consumer_type", "MIGRATION") == "MIGRATION"
    assert sum(used(client)) == 4


def test_claims_that_fill_a_cloud_are_made_together(client: ReportClient) -> None:
    results = client.claim_together([Claim(TWO_VCPU, consumer(number)) for number in range(3)])
    assert sorted(uuid for result in results for uuid in result.allocations) == HOSTS
    assert all(result.mappings == {"": list(result.allocations)} for result in results)
    assert used(client) == [2, 2, 2]


@pytest.mark.parametrize("version", [(1, 36), (1, 39)], indirect=True)
def test_claims_are_searched_for_again_where_others_were_faster(
    client: ReportClient, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("random.shuffle", lambda candidates: candidates.sort(key=str))
    others = ReportClient(Recorder(recorder))
    # The first candidate in that order, which both claims choose.
    first = min(candidates_at(others, *HOSTS), key=str)
    sent: list[str] = []

    def be_faster(request: str) -> None:
        if request.startswith("POST /allocations"):
            sent.append(request)
            if len(sent) == 1:
                others.claim_candidate([first], consumer(9))

    recorder.before = be_faster
    results = client.claim_together([Claim(ONE_VCPU, consumer(number)) for number in range(2)])
    assert len(sent) == 2
    assert all(result.allocations.keys() != first["allocations"].keys() for result in results)
    assert sum(used(client)) == 4


def test_claims_of_one_consumer_are_refused_before_anything_is_sent(
    client: ReportClient, recorder: Recorder
) -> None:
    recorder.requests.clear()
    spellings = (consumer(1), NewConsumer(consumer(1).uuid.upper(), "project", "user"))
    with pytest.raises(ConsumerError, match="in more than one of the claims"):
        client.claim_together([Claim(ONE_VCPU, each) for each in spellings])
    assert client.claim_together([]) == []
    assert recorder.requests == []


# -- allocations that are rewritten -----------------------------------------------------------


def record_of(client: ReportClient, number: int) -> AllocationRecord:
    record = client.get_allocations_for_consumer(consumer(number).uuid)
    assert record is not None
    return record


def test_a_consumer_is_read_and_rewritten(client: ReportClient, version: Version) -> None:
    assert client.get_allocations_for_consumer(consumer(1).uuid) is None
    client.claim_candidate(candidates_at(client, HOSTS[0]), consumer(1, "MIGRATION"))
    record = record_of(client, 1)
    record["allocations"] = {HOSTS[2]: {"resources": {"VCPU": 1}}}
    client.put_allocations(consumer(1).uuid, record)
    assert used(client) == [0, 0, 1]
    written = record_of(client, 1)
    assert written["consumer_generation"] == 2
    assert written.get("consumer_type") == ("MIGRATION" if version >= (1, 38) else None)
    written["allocations"] = {}
    client.put_allocations(consumer(1).uuid.upper(), written)
    assert client.get_allocations_for_consumer(consumer(1).uuid) is None


def test_a_consumer_that_others_wrote_is_not_overwritten(client: ReportClient) -> None:
    client.claim_candidate(candidates_at(client, HOSTS[0]), consumer(1))
    stale = record_of(client, 1)
    client.put_allocations(consumer(1).uuid, record_of(client, 1))
    stale["allocations"] = {}
    with pytest.raises(AllocationConflict, match=consumer(1).uuid) as raised:
        client.put_allocations(consumer(1).uuid, stale)
    assert raised.value.is_conflict
    assert used(client) == [2, 0, 0]


# -- holds ---------------------------------------------------------------------------------------


@pytest.fixture
def holder(recorder: Recorder) -> ReportClient:
    """A client of a service with one host of two VCPU."""
    client = ReportClient(recorder)
    tree = ProviderTree()
    tree.new_root("host", HOSTS[0])
    tree.update_inventory(HOSTS[0], {"VCPU": {"total": 2}})
    client.update_from_provider_tree(tree)
    return client


def consumer_of(number: int) -> NewConsumer:
    return NewConsumer(f"c0000000-0000-4000-8000-00000000000{number}", "p", "u")


def test_a_hold_is_extended_and_confirmed(holder: ReportClient) -> None:
    first = consumer_of(1)
    held = holder.claim(ONE_VCPU, first, expires_in=600, remember=True)
    assert held.expires_at is not None
    later = holder.extend(first.uuid, 86_000)
    assert later is not None
    assert later > held.expires_at
    holder.confirm(first.uuid)
    assert not holder.release_hold(first.uuid), "it is for good"
    assert holder.get_allocations_for_consumer(first.uuid)
    with pytest.raises(HoldExpired):
        holder.confirm(first.uuid)


def test_a_hold_is_converted_once(holder: ReportClient) -> None:
    first, second = consumer_of(1), consumer_of(2)
    holder.claim(TWO_VCPU, first, expires_in=600)
    taken = holder.convert(first.uuid, second)
    assert taken.allocations == {HOSTS[0]: {"resources": {"VCPU": 2}}}
    assert taken.expires_at is None
    assert holder.get_allocations_for_consumer(first.uuid) is None
    with pytest.raises(HoldExpired):
        holder.convert(first.uuid, consumer_of(3))
    with pytest.raises(AllocationConflict):
        holder.convert(first.uuid, second)


def test_an_exception_releases_what_is_held(holder: ReportClient) -> None:
    first = consumer_of(1)
    with pytest.raises(ZeroDivisionError), holder.holding(TWO_VCPU, first, 600):
        raise ZeroDivisionError
    assert holder.get_allocations_for_consumer(first.uuid) is None
    with holder.holding(TWO_VCPU, first, 600):
        holder.confirm(first.uuid)
    assert holder.get_allocations_for_consumer(first.uuid)
