"""A client continues after the service is rolled back to a release without placement 2.0."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from falcon_placement_client import (
    Claim,
    JsonRequest,
    NewConsumer,
    NoCandidates,
    ProviderTree,
    RefusedError,
    ReportClient,
)
from tests.kit.listener import listening
from tests.kit.service import Service

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

HOST = "00000000-0000-0000-0000-000000000001"
CONSUMERS = [f"cccccccc-0000-0000-0000-00000000000{number}" for number in range(3)]
REQUEST: JsonRequest = {"groups": {"": {"resources": {"VCPU": 1}}}}
VERSION = "HTTP_OPENSTACK_API_VERSION"
V2 = "placement 2.0"


class Rolling:
    """The service, or an earlier release that supports at most 1.39."""

    def __init__(self, service: Service) -> None:
        self._application = service.application
        # The number of the request before which the service is rolled back; None: never.
        self.rolled_back_at: int | None = None
        # Whether its document of versions goes on to list 2.0.
        self.is_lying = False
        # Whether it answers as a release of 2.0 without /provider_trees.
        self.lacks_trees = False
        self.seen: list[str] = []

    def __call__(self, environ: WSGIEnvironment, respond: StartResponse) -> Iterable[bytes]:
        path, version = environ["PATH_INFO"], environ.get(VERSION, "")
        self.seen.append(f"{environ['REQUEST_METHOD']} {path} {version.rpartition(' ')[2]}")
        is_old = self.rolled_back_at is not None and len(self.seen) > self.rolled_back_at
        if self.lacks_trees:
            environ["PATH_INFO"] = path.replace("/provider_trees/", "/no_such_path/")
        if is_old and version == V2 and not (self.is_lying and path == "/"):
            environ[VERSION] = "placement 1.99"  # which no release speaks
        return self._application(environ, respond)

    def roll_back(self, after: int = 0) -> None:
        """Roll the service back after this number of further requests."""
        self.seen.clear()
        self.rolled_back_at = after

    def negotiations(self) -> int:
        return self.seen.count("GET / 2.0")


@pytest.fixture
def rolling(tmp_path: Path) -> Iterator[Rolling]:
    with Service(tmp_path) as service:
        yield Rolling(service)


@pytest.fixture
def client(rolling: Rolling) -> Iterator[ReportClient]:
    """A client that uses 2.0, and a consumer with allocations."""
    with listening(rolling) as url:
        client = ReportClient.at(url, "admin")
        client.report(HOST, lambda tree, _: describe(tree, 8))
        client.claim(REQUEST, consumer(0))
        assert rolling.seen[-1] == "POST /claims 2.0"
        yield client


def describe(tree: ProviderTree, total: int) -> None:
    if not tree.exists(HOST):
        tree.new_root("host", HOST)
    tree.update_inventory(HOST, {"VCPU": {"total": total}})
    tree.update_traits(HOST, ["CUSTOM_RACK"])


def consumer(number: int) -> NewConsumer:
    return NewConsumer(CONSUMERS[number], "project", "user")


def rank(answer: Any) -> Any:
    return answer["allocation_requests"]


@pytest.mark.parametrize(
    ("operation", "result"),
    [
        (lambda client: len(client.get_provider_tree(HOST)), 1),
        (lambda client: client.get_usages_for_provider_tree(HOST), {HOST: {"VCPU": 1}}),
        (lambda client: list(client.get_allocations_for_provider_tree(HOST)), CONSUMERS[:1]),
        (lambda client: len(client.allocation_candidates(REQUEST)["allocation_requests"]), 1),
        (lambda client: client.explain(REQUEST), ""),
        (lambda client: client.claim(REQUEST, consumer(1)).consumer_generation, 1),
        (lambda client: client.claim(REQUEST, consumer(1), rank).consumer_generation, 1),
        (lambda client: len(client.claim_together([Claim(REQUEST, consumer(1))])), 1),
        (lambda client: client.get_allocations_for_consumer(CONSUMERS[1]), None),
        (lambda client: client.move(CONSUMERS[0], consumer(1)), None),
        (lambda client: client.release(CONSUMERS[0]), True),
        (lambda client: len(client.report(HOST, lambda tree, _: describe(tree, 9))), 1),
    ],
    ids=lambda value: str(value) if not callable(value) else "",
)
def test_each_operation_succeeds_at_the_version_that_is_left(
    client: ReportClient, rolling: Rolling, operation: Callable[[ReportClient], Any], result: object
) -> None:
    rolling.roll_back()
    assert operation(client) == result
    assert rolling.negotiations() == 1
    assert rolling.seen[0].endswith(" 2.0")
    assert [request for request in rolling.seen[1:] if request.endswith(" 2.0")] == ["GET / 2.0"]


@pytest.mark.parametrize(("lacks_trees", "after"), [(False, 1), (True, 1), (True, 2), (True, 3)])
def test_an_update_goes_on_from_where_the_service_was_rolled_back(
    client: ReportClient, rolling: Rolling, lacks_trees: bool, after: int
) -> None:
    rolling.lacks_trees = lacks_trees
    client.report(HOST, lambda tree, _: describe(tree, 9))  # finds that out
    tree = client.get_provider_tree(HOST)
    tree.update_inventory(HOST, {"VCPU": {"total": 16}})
    tree.update_traits(HOST, ["CUSTOM_OTHER"])
    rolling.roll_back(after)  # after reading the tree, after creating the trait, after giving it
    written = client.update_from_provider_tree(tree)
    assert rolling.negotiations() == 1
    assert written == tree == client.get_provider_tree(HOST)
    assert written.data(HOST).traits == {"CUSTOM_OTHER"}


def test_a_claim_that_was_refused_is_made_once(client: ReportClient, rolling: Rolling) -> None:
    rolling.roll_back()
    client.claim({"groups": {"": {"resources": {"VCPU": 7}}}}, consumer(1))
    with pytest.raises(NoCandidates):
        client.claim(REQUEST, consumer(2))
    assert client.get_usages_for_provider_tree(HOST) == {HOST: {"VCPU": 8}}


def test_a_service_that_lists_a_version_and_refuses_it_is_asked_once(
    client: ReportClient, rolling: Rolling
) -> None:
    rolling.is_lying = True
    rolling.roll_back()
    with pytest.raises(RefusedError, match="406"):
        client.get_usages_for_provider_tree(HOST)
    assert [request.split()[1] for request in rolling.seen] == ["/resource_providers", "/"]
