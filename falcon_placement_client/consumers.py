"""Consumers and their allocations, in the form in which drivers read and edit them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict
from uuid import UUID

from falcon_placement_client.errors import AllocationConflict, ConsumerError, RefusedError
from falcon_placement_client.rest import TYPES_UNSTATED, RestApi, Version, retry
from falcon_placement_client.vocabulary import UNKNOWN_CONSUMER_TYPE

MOVE_PAUSES = (0,) * 4  # seconds before retries, if other clients write to the same consumers

_WITH_TYPES: Version = (1, 38)


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


@dataclass(frozen=True, slots=True)
class NewConsumer:
    """A consumer without allocations. It can receive a claim.

    Raises:
        ConsumerError: its UUID is malformed.
    """

    # UUID of the consumer.
    uuid: str
    # Id of the project that owns the consumer.
    project_id: str
    # Id of the user that owns the consumer.
    user_id: str
    # Type of the consumer: capital letters, digits and _, such as INSTANCE or MIGRATION.
    type: str = "INSTANCE"

    def __post_init__(self) -> None:
        object.__setattr__(self, "uuid", check_consumer(self.uuid))


def write(api: RestApi, consumer: str, record: AllocationRecord) -> None:
    """Replace all allocations of a consumer. Raises AllocationConflict if the response is 409."""
    consumer = check_consumer(consumer)
    body = record_to_write(consumer, record)
    consumer_type = record.get("consumer_type", UNKNOWN_CONSUMER_TYPE)
    version = api.version
    if version < _WITH_TYPES or consumer_type == UNKNOWN_CONSUMER_TYPE:
        version = TYPES_UNSTATED
    else:
        body["consumer_type"] = consumer_type
    try:
        api.put(f"/allocations/{consumer}", body, version)
    except RefusedError as refusal:
        if refusal.status != 409:
            raise
        text = f"the allocations of consumer {consumer} were not written: {refusal.detail}"
        raise conflict(text, refusal) from refusal


def move(api: RestApi, source: str, target: NewConsumer) -> None:
    """Replace the allocations of the target with all allocations of another consumer."""
    source = check_consumer(source)
    if source == target.uuid:
        raise AllocationConflict(f"consumer {source} cannot be moved to itself")
    retry(lambda: _move(api, source, target), MOVE_PAUSES)


def _move(api: RestApi, source: str, target: NewConsumer) -> None:
    """Read both consumers and write them. Raises AllocationConflict like `move`."""
    record = read_record(api, source)
    if record is None:
        raise AllocationConflict(f"consumer {source} has no allocations to move")
    replaced = read_record(api, target.uuid)
    generation = None if replaced is None else replaced["consumer_generation"]
    body = {
        # This write deletes the source, so the type of the source does not matter.
        source: {
            **identity_of(api, _owner(source, record, target)),
            "allocations": {},
            "consumer_generation": record["consumer_generation"],
        },
        target.uuid: {
            **identity_of(api, target),
            "allocations": {
                uuid: {"resources": holding["resources"]}
                for uuid, holding in record["allocations"].items()
            },
            "consumer_generation": generation,
        },
    }
    try:
        api.post("/allocations", body)
    except RefusedError as refusal:
        if refusal.status != 409:
            raise
        text = f"consumer {source} cannot be moved to {target.uuid}: {refusal.detail}"
        raise conflict(text, refusal) from refusal


def release(api: RestApi, consumer: str) -> bool:
    """Release all allocations of a consumer. Return whether it had any."""
    return api.delete(f"/allocations/{check_consumer(consumer)}")


def conflict(text: str, refusal: RefusedError) -> AllocationConflict:
    """Return the error of a refused write. `is_conflict` shows whether a retry may succeed."""
    error = AllocationConflict(text)
    error.is_conflict = refusal.is_conflict
    return error


def identity_of(api: RestApi, consumer: NewConsumer) -> dict[str, str]:
    """Return the members of a body that identify a consumer, for the version in use."""
    owner = {"project_id": consumer.project_id, "user_id": consumer.user_id}
    return owner | ({"consumer_type": consumer.type} if api.version >= _WITH_TYPES else {})


def _owner(uuid: str, record: AllocationRecord, target: NewConsumer) -> NewConsumer:
    """Return a consumer with its current owner and type, or else with the target's type."""
    consumer_type = record.get("consumer_type", UNKNOWN_CONSUMER_TYPE)
    if consumer_type == UNKNOWN_CONSUMER_TYPE:
        consumer_type = target.type
    return NewConsumer(uuid, record["project_id"], record["user_id"], consumer_type)


@dataclass(frozen=True, slots=True)
class ClaimResult:
    """The resources of a successful claim."""

    #: UUID of a provider -> `{"resources": {class: amount}}`.
    allocations: Mapping[str, Mapping[str, Mapping[str, int]]]
    #: Suffix of a request group -> UUIDs of the providers that serve it.
    mappings: Mapping[str, list[str]]
    #: Generation that the next write of the allocations must contain.
    consumer_generation: int
    #: End of the hold in UTC, or None if the claim is permanent.
    expires_at: str | None = None


def result_of(response: Mapping[str, Any]) -> ClaimResult:
    """Return the result of a claim in a response of the service."""
    return ClaimResult(
        response["allocations"],
        response["mappings"],
        response["consumer_generation"],
        response.get("expires_at"),
    )


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
        # If the provider was deleted after the list was read, there is no response.
        response = api.find(f"/resource_providers/{provider['uuid']}/allocations")
        consumers.update(dict.fromkeys(response["allocations"] if response else ()))
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
