"""Allocations of consumers, as drivers are given them to be moved."""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict
from uuid import UUID

from falcon_placement_client.answers import RefusedError
from falcon_placement_client.errors import ConsumerError
from falcon_placement_client.rest import RestApi


class AllocatedResources(TypedDict):
    """What a consumer holds of one provider; generation: that of the provider."""

    resources: dict[str, int]
    generation: NotRequired[int]


class AllocationRecord(TypedDict):
    """All that a consumer holds, as `GET /allocations/{consumer}` shows it.

    allocations: UUID of a provider -> what of it. consumer_generation: None for a consumer that
    holds nothing yet. consumer_type: `unknown` for none.
    """

    allocations: dict[str, AllocatedResources]
    project_id: str
    user_id: str
    consumer_generation: int | None
    consumer_type: NotRequired[str]


OWNED = ("project_id", "user_id", "consumer_generation")
EXPECTED = "expected a record as get_allocations_for_provider_tree returns it"

AllocationRecords = dict[str, AllocationRecord]  # by the UUID of the consumer


def read_record(api: RestApi, consumer: str) -> AllocationRecord | None:
    """Return what a consumer holds, None if that is nothing."""
    record: AllocationRecord = api.get(f"/allocations/{consumer}")
    return record if record["allocations"] else None


def read_records_of_tree(api: RestApi, uuid: str) -> AllocationRecords:
    """Return all that each consumer holds who holds anything of a provider's tree.

    It may be of other trees, too: of sharing providers. A consumer whose allocations are all of
    sharing providers is not seen.
    """
    if api.speaks_second_line:
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
    """Return a record as the service takes it where consumers keep their types.

    Raises ConsumerError, which names the consumer, for one that lacks a member.
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
            # A driver may have moved all that there was of a provider.
            if holding["resources"]
        },
        **{member: record[member] for member in OWNED},
    }


def _consumers_of(api: RestApi, uuid: str) -> list[str]:
    try:
        return list(api.get(f"/resource_providers/{uuid}/allocations")["allocations"])
    except RefusedError as refusal:
        if refusal.status == 404:  # deleted since it was listed
            return []
        raise
