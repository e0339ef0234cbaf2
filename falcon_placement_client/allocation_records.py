"""Allocations of consumers, in the form in which drivers read and edit them."""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict
from uuid import UUID

from falcon_placement_client.answers import RefusedError
from falcon_placement_client.errors import ConsumerError
from falcon_placement_client.rest import RestApi


class AllocatedResources(TypedDict):
    """The allocation of a consumer on one provider."""

    # Units by resource class.
    resources: dict[str, int]
    # Generation of the provider.
    generation: NotRequired[int]


class AllocationRecord(TypedDict):
    """All allocations of a consumer, as returned by `GET /allocations/{consumer}`."""

    # Allocations by the UUID of the provider.
    allocations: dict[str, AllocatedResources]
    # Id of the project that owns the consumer.
    project_id: str
    # Id of the user that owns the consumer.
    user_id: str
    # Type of the consumer, or None if the consumer has no allocations yet.
    consumer_generation: int | None
    # Type of the consumer, or `unknown` if it has none.
    consumer_type: NotRequired[str]


OWNED = ("project_id", "user_id", "consumer_generation")
EXPECTED = "expected a record as get_allocations_for_provider_tree returns it"

AllocationRecords = dict[str, AllocationRecord]  # by the UUID of the consumer


def read_record(api: RestApi, consumer: str) -> AllocationRecord | None:
    """Return the allocations of a consumer, or None if it has none."""
    record: AllocationRecord = api.get(f"/allocations/{consumer}")
    return record if record["allocations"] else None


def read_records_of_tree(api: RestApi, uuid: str) -> AllocationRecords:
    """Return all allocations of each consumer that uses a provider's tree.

    The allocations include allocations in other trees, for example on sharing providers. Consumers
    that use only sharing providers are not included.
    """
    if api.supports_v2:
        records: AllocationRecords = api.get(f"/allocations?in_tree={uuid}")["allocations"]
        return records
    consumers: dict[str, None] = {}
    for provider in api.get(f"/resource_providers?in_tree={uuid}")["resource_providers"]:
        consumers.update(dict.fromkeys(_consumers_of(api, provider["uuid"])))
    records_read = ((consumer, read_record(api, consumer)) for consumer in consumers)
    return {consumer: record for consumer, record in records_read if record is not None}


def check_consumer(uuid: object) -> str:
    """Return the UUID of a consumer in its canonical form.  Raises ConsumerError."""
    try:
        return str(UUID(str(uuid)))
    except ValueError:
        raise ConsumerError(f"consumer {uuid!r:.80}: expected a UUID") from None


def record_to_write(consumer: str, record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record in the form that the service accepts if consumers keep their types.

    Raises:
        ConsumerError: the record lacks a member; the text names the consumer.
    """
    for member in (*OWNED, "allocations"):
        if member not in record:
            raise ConsumerError(f"consumer {consumer}: no {member}; {EXPECTED}")
    for uuid, holding in record["allocations"].items():
        if not isinstance(holding, Mapping) or "resources" not in holding:
            raise ConsumerError(
                f"consumer {consumer}: {holding!r:.80} of provider {uuid}; {EXPECTED}"
            )
    return {
        "allocations": {
            uuid: {"resources": dict(holding["resources"])}
            for uuid, holding in record["allocations"].items()
            # A driver may have moved all allocations to other providers.
            if holding["resources"]
        },
        **{member: record[member] for member in OWNED},
    }


def _consumers_of(api: RestApi, uuid: str) -> list[str]:
    try:
        return list(api.get(f"/resource_providers/{uuid}/allocations")["allocations"])
    except RefusedError as refusal:
        if refusal.status == 404:  # the consumer was deleted after the list was read
            return []
        raise
