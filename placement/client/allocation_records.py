"""Allocations of consumers, as drivers are given them to be moved."""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from placement.client.negotiated import NegotiatedApi
from placement.client.rest import RefusedError


class AllocatedResources(TypedDict):
    """What a consumer holds of one provider; generation: that of the provider."""

    resources: dict[str, int]
    generation: NotRequired[int]


class AllocationRecord(TypedDict):
    """All that a consumer holds, as `GET /allocations/{consumer}` shows it.

    allocations: UUID of a provider -> what of it. consumer_type: `unknown` for none.
    """

    allocations: dict[str, AllocatedResources]
    project_id: str
    user_id: str
    consumer_generation: int
    consumer_type: NotRequired[str]


AllocationRecords = dict[str, AllocationRecord]  # by the UUID of the consumer


def read_record(api: NegotiatedApi, consumer: str) -> AllocationRecord | None:
    """Return what a consumer holds, None if that is nothing."""
    record: AllocationRecord = api.get(f"/allocations/{consumer}")
    return record if record["allocations"] else None


def read_records_of_tree(api: NegotiatedApi, uuid: str) -> AllocationRecords:
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
    read = ((consumer, read_record(api, consumer)) for consumer in consumers)
    return {consumer: record for consumer, record in read if record is not None}


def written(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record as the service takes it where consumers keep their types."""
    return {
        "allocations": {
            uuid: {"resources": dict(held["resources"])}
            for uuid, held in record["allocations"].items()
            # A driver may have moved all that there was of a provider.
            if held["resources"]
        },
        "project_id": record["project_id"],
        "user_id": record["user_id"],
        "consumer_generation": record["consumer_generation"],
    }


def _consumers_of(api: NegotiatedApi, uuid: str) -> list[str]:
    try:
        return list(api.get(f"/resource_providers/{uuid}/allocations")["allocations"])
    except RefusedError as refusal:
        if refusal.status == 404:  # deleted since it was listed
            return []
        raise
