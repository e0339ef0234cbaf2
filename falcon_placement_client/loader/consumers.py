"""Load the consumers of a cloud file."""

from collections.abc import Collection, Mapping
from typing import Any

from falcon_placement_client.answers import CONFLICT, RefusedError
from falcon_placement_client.command_client import RestClient
from falcon_placement_client.loader.cloud import CloudConsumer, CloudSpreadGroup
from falcon_placement_client.loader.outcomes import LoadOutcome
from falcon_placement_client.rest import Version

RECORDS: Version = (2, 0)  # first version with spread groups and stored requests
# The last version that can write a consumer without a type.
UNTYPED: Version = (1, 37)


def reconcile_consumer(
    client: RestClient, consumer: CloudConsumer, holds: Collection[str]
) -> LoadOutcome:
    """Write the parts of a consumer that differ.

    Args:
        client: the client of the server.
        consumer: the consumer of the file.
        holds: UUIDs of the holds of the server, which a write makes permanent.

    Raises:
        RefusedError: the server refuses one, for example after a concurrent write.
    """
    outcome = _reconcile_allocations(client, consumer, is_held=consumer.uuid in holds)
    has_written = _write_record(client, consumer, is_new=outcome is LoadOutcome.CREATED)
    return LoadOutcome.CHANGED if outcome is LoadOutcome.UNCHANGED and has_written else outcome


def _reconcile_allocations(
    client: RestClient, consumer: CloudConsumer, *, is_held: bool
) -> LoadOutcome:
    path = f"/allocations/{consumer.uuid}"
    on_server = client.get(path)
    if _same(on_server, consumer) and not is_held:
        return LoadOutcome.UNCHANGED
    try:
        client.put(path, *_body(consumer, on_server.get("consumer_generation")))
    except RefusedError as refusal:
        # If a response was lost, the request is repeated and conflicts with its own first attempt.
        if refusal.code != CONFLICT or not _same(client.get(path), consumer):
            raise
    return LoadOutcome.CHANGED if on_server["allocations"] else LoadOutcome.CREATED


def has_record(consumer: CloudConsumer) -> bool:
    """Return whether the file contains a spread group or a request for the consumer."""
    return consumer.spread_group is not None or consumer.request is not None


def _write_record(client: RestClient, consumer: CloudConsumer, *, is_new: bool) -> bool:
    """Write the spread group and the request if the file contains them and they differ.

    Returns:
        Whether any was written.
    """
    if not has_record(consumer):
        return False
    path = f"/consumers/{consumer.uuid}"
    # In a dry run, a new consumer does not exist on the server.
    on_server = {} if is_new else client.get(f"{path}?include=request", RECORDS)
    # Groups belong to a project. In a dry run, the consumer still belongs to the old project.
    is_of_project = on_server.get("project_id") == consumer.project
    group = spread_group(on_server) if is_of_project else None
    has_written = False
    if consumer.spread_group not in (None, group):
        client.put(f"{path}/spread_group", consumer.spread_group._asdict(), RECORDS)
        has_written = True
    if consumer.request not in (None, on_server.get("request")):
        client.put(f"{path}/request", consumer.request, RECORDS)
        has_written = True
    return has_written


def spread_group(consumer: Mapping[str, Any]) -> CloudSpreadGroup | None:
    """Return the spread group of a consumer in a file or in a response."""
    group = consumer.get("spread_group")
    return None if group is None else CloudSpreadGroup(group["name"], int(group["max_per_host"]))


def is_on_server(client: RestClient, consumer: CloudConsumer) -> bool:
    """Return whether the consumer on the server is equal to the consumer in the file."""
    return _same(client.get(f"/allocations/{consumer.uuid}"), consumer)


def _same(on_server: Mapping[str, Any], consumer: CloudConsumer) -> bool:
    """Return whether the consumers are equal.

    If the file contains no type, any type is accepted.
    """
    allocations = {
        uuid: allocation["resources"] for uuid, allocation in on_server["allocations"].items()
    }
    # Without allocations, the consumer does not exist, and the response contains no owner.
    return (
        allocations == consumer.allocations
        and on_server["project_id"] == consumer.project
        and on_server["user_id"] == consumer.user
        and consumer.consumer_type in (None, on_server["consumer_type"])
    )


def _body(consumer: CloudConsumer, generation: int | None) -> tuple[dict[str, Any], Version | None]:
    """Return the body that writes a consumer, and the version if it differs from the default.

    generation: generation on the server, or None if the consumer does not exist.
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
