"""The consumers of a cloud file, brought to the state that it describes."""

from collections.abc import Mapping
from typing import Any

from falcon_placement_client.answers import CONFLICT, RefusedError
from falcon_placement_client.command_client import RestClient
from falcon_placement_client.rest import Version
from placement.loader.cloud import CloudConsumer
from placement.loader.outcomes import LoadOutcome

# The last version that can write a consumer without saying its type.
UNTYPED: Version = (1, 37)


def bring_about_consumer(client: RestClient, consumer: CloudConsumer) -> LoadOutcome:
    """Make the allocations of a consumer what the file says.

    Raises RefusedError, among others when somebody else writes the same consumer meanwhile.
    """
    path = f"/allocations/{consumer.uuid}"
    on_server = client.get(path)
    if _same(on_server, consumer):
        return LoadOutcome.UNCHANGED
    try:
        client.put(path, *_body(consumer, on_server.get("consumer_generation")))
    except RefusedError as refusal:
        # A request whose answer was lost is sent again, and then meets what it has written itself.
        if refusal.code != CONFLICT or not _same(client.get(path), consumer):
            raise
    return LoadOutcome.CHANGED if on_server["allocations"] else LoadOutcome.CREATED


def is_on_server(client: RestClient, consumer: CloudConsumer) -> bool:
    """Whether the server has the consumer as the file says."""
    return _same(client.get(f"/allocations/{consumer.uuid}"), consumer)


def _same(on_server: Mapping[str, Any], consumer: CloudConsumer) -> bool:
    """Whether a consumer is as the file says.  A type that the file leaves out may be any."""
    allocations = {
        uuid: allocation["resources"] for uuid, allocation in on_server["allocations"].items()
    }
    # What has no allocations is no consumer and tells nothing else.
    return (
        allocations == consumer.allocations
        and on_server["project_id"] == consumer.project
        and on_server["user_id"] == consumer.user
        and consumer.consumer_type in (None, on_server["consumer_type"])
    )


def _body(consumer: CloudConsumer, generation: int | None) -> tuple[dict[str, Any], Version | None]:
    """Return the body that writes a consumer, and the version at which it does, if not the usual.

    generation: on the server; None: there is no such consumer.
    """
    allocations = {
        uuid: {"resources": dict(amounts)} for uuid, amounts in consumer.allocations.items()
    }
    body = {
        "allocations": allocations,
        "project_id": consumer.project,
        "user_id": consumer.user,
        "consumer_generation": generation,
    }
    if consumer.consumer_type is None:
        return body, UNTYPED
    return {**body, "consumer_type": consumer.consumer_type}, None
