"""The requests of each flow of the client, in order, at 2.0 and at 1.39."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from falcon_placement_client import Claim, JsonRequest, NewConsumer, ProviderTree, ReportClient
from falcon_placement_client.rest import MAX_V1, V2, Version
from placement.direct import PlacementDirect
from tests.kit.builders import database_url, settings
from tests.kit.recorder import Recorder

HOST = "aaaaaaaa-0000-4000-8000-000000000001"
CARD = "aaaaaaaa-0000-4000-8000-000000000002"
REQUEST: JsonRequest = {"groups": {"": {"resources": {"VCPU": 1}}}}
OTHER: JsonRequest = {"groups": {"": {"resources": {"VGPU": 1}}}}

Flow = Callable[[ReportClient], Any]


def consumer(number: int) -> NewConsumer:
    return NewConsumer(f"cccccccc-0000-4000-8000-{number:012}", "project", "user")


def edit(change: Callable[[ProviderTree], Any]) -> Flow:
    """Return a flow that updates the tree of the host."""

    def update(client: ReportClient) -> None:
        tree = client.get_provider_tree(HOST)
        change(tree)
        client.update_from_provider_tree(tree)

    return update


def new_host(client: ReportClient) -> None:
    """Report a host and its card."""
    tree = ProviderTree()
    tree.new_root("host", HOST)
    tree.new_child("card", "host", CARD)
    tree.update_inventory("host", {"VCPU": {"total": 8}})
    tree.update_traits("host", ["HW_CPU_X86_AVX2"])
    tree.update_inventory("card", {"VGPU": {"total": 4}})
    client.update_from_provider_tree(tree)


def move_inventory(tree: ProviderTree, allocations: Any) -> None:
    """Move the inventory of the card and its allocations to the host."""
    inventory = tree.data("card").inventory
    tree.update_inventory("card", {})
    tree.update_inventory("host", {**tree.data("host").inventory, **inventory})
    for record in (allocations or {}).values():
        held = record["allocations"].pop(CARD, None)
        if held is not None:
            record["allocations"].setdefault(HOST, {"resources": {}})["resources"] |= held[
                "resources"
            ]


READ = "GET /resource_providers?in_tree={host}&include=inventories,traits,aggregates"
PUT = "PUT /provider_trees/{host}"
LIST = "GET /resource_providers?in_tree={host}"
PARTS = [
    f"GET /resource_providers/{{{provider}}}/{part}"
    for provider in ("host", "card")
    for part in ("inventories", "traits", "aggregates")
]
MOVE = ["GET /allocations/{1}", "GET /allocations/{new}", "POST /allocations"]
FIND = "GET /allocation_candidates?resources=VCPU:1&limit=50"

# Name -> flow, its requests at 2.0, and at 1.39. Except for the first one, the host and the card
# exist, a consumer {1} of the host, and a consumer {2} of the card.
FLOWS: dict[str, tuple[Flow, list[str], list[str]]] = {
    "a new host": (
        new_host,
        [PUT],
        [
            LIST,
            *["POST /resource_providers"] * 2,
            "PUT /resource_providers/{host}/traits",
            "PUT /resource_providers/{host}/inventories",
            "PUT /resource_providers/{card}/inventories",
        ],
    ),
    "a tree": (lambda client: client.get_provider_tree(HOST), [READ], [LIST, *PARTS]),
    "usages": (
        lambda client: client.get_usages_for_provider_tree(HOST),
        ["GET /resource_providers?in_tree={host}&include=usages"],
        [LIST, "GET /resource_providers/{host}/usages", "GET /resource_providers/{card}/usages"],
    ),
    "allocations": (
        lambda client: client.get_allocations_for_provider_tree(HOST),
        ["GET /allocations?in_tree={host}"],
        [
            LIST,
            "GET /resource_providers/{host}/allocations",
            "GET /resource_providers/{card}/allocations",
            "GET /allocations/{1}",
            "GET /allocations/{2}",
        ],
    ),
    "an update without changes": (edit(lambda tree: None), [READ, READ], [LIST, *PARTS, LIST]),
    "an update of an inventory": (
        edit(lambda tree: tree.update_inventory("host", {"VCPU": {"total": 16}})),
        [READ, READ, PUT],
        [LIST, *PARTS, LIST, "PUT /resource_providers/{host}/inventories"],
    ),
    "a report without changes": (
        lambda client: client.report(HOST, lambda tree, allocations: None),
        [READ, READ],
        [LIST, *PARTS, LIST],
    ),
    "a reshape": (
        lambda client: client.report(HOST, move_inventory),
        # Refused, because the inventory of the card is in use; then with allocations.
        [READ, READ, PUT, READ, "GET /allocations?in_tree={host}", READ, "POST /reshaper"],
        [
            *[LIST, *PARTS, LIST, "PUT /resource_providers/{card}/inventories"],
            *[LIST, *PARTS, LIST],
            "GET /resource_providers/{host}/allocations",
            "GET /resource_providers/{card}/allocations",
            *["GET /allocations/{1}", "GET /allocations/{2}"],
            *[LIST, "POST /reshaper"],
        ],
    ),
    "candidates": (
        lambda client: client.allocation_candidates(REQUEST),
        ["POST /allocation_candidates"],
        ["GET /allocation_candidates?resources=VCPU:1"],
    ),
    "a claim": (
        lambda client: client.claim(REQUEST, consumer(3)),
        ["POST /claims"],
        [FIND, "PUT /allocations/{new}"],
    ),
    "a claim of a chosen candidate": (
        lambda client: client.claim(REQUEST, consumer(3), lambda a: a["allocation_requests"]),
        ["POST /allocation_candidates", "PUT /allocations/{new}"],
        [FIND, "PUT /allocations/{new}"],
    ),
    "two claims together": (
        lambda client: client.claim_together(
            [Claim(REQUEST, consumer(3)), Claim(OTHER, consumer(4))]
        ),
        ["POST /claims"],
        [FIND, FIND.replace("VCPU", "VGPU"), "POST /allocations"],
    ),
    "a consumer": (
        lambda client: client.get_allocations_for_consumer(consumer(1).uuid),
        ["GET /allocations/{1}"],
        ["GET /allocations/{1}"],
    ),
    "a move": (lambda client: client.move(consumer(1).uuid, consumer(3)), MOVE, MOVE),
    "a release": (
        lambda client: client.release(consumer(1).uuid),
        ["DELETE /allocations/{1}"],
        ["DELETE /allocations/{1}"],
    ),
}


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[Recorder]:
    with PlacementDirect(settings(database_url(tmp_path))) as adapter:
        yield Recorder(adapter)


def recorded(recorder: Recorder, version: Version, flow: Flow) -> list[str]:
    """Return the requests of a flow, with short names for UUIDs."""
    client = ReportClient(recorder, version)
    flow(client)
    names = {HOST: "{host}", CARD: "{card}", consumer(1).uuid: "{1}", consumer(2).uuid: "{2}"}
    requests = []
    for request in recorder.requests:
        for uuid, name in names.items():
            request = request.replace(uuid, name)
        requests.append(re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "{new}", request))
    return requests


def fill(recorder: Recorder) -> None:
    client = ReportClient(recorder)
    new_host(client)
    client.claim(REQUEST, consumer(1))
    client.claim(OTHER, consumer(2))
    recorder.requests.clear()


@pytest.mark.parametrize("name", FLOWS)
def test_a_flow_sends_these_requests(recorder: Recorder, name: str) -> None:
    flow, at_2_0, _ = FLOWS[name]
    if flow is not new_host:
        fill(recorder)
    assert recorded(recorder, V2, flow) == at_2_0


@pytest.mark.parametrize("name", FLOWS)
def test_a_flow_sends_these_requests_at_1_39(recorder: Recorder, name: str) -> None:
    flow, _, at_1_39 = FLOWS[name]
    if flow is not new_host:
        fill(recorder)
    assert recorded(recorder, MAX_V1, flow) == at_1_39
