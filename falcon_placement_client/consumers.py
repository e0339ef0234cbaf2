"""Identities of consumers, and operations on the allocations of consumers."""

from dataclasses import dataclass

from falcon_placement_client.allocation_records import (
    AllocationRecord,
    check_consumer,
    read_record,
    record_to_write,
)
from falcon_placement_client.answers import RefusedError
from falcon_placement_client.errors import AllocationConflict
from falcon_placement_client.rest import TYPES_UNSTATED, RestApi, Version, retry
from falcon_placement_client.vocabulary import UNKNOWN_CONSUMER_TYPE

MOVE_PAUSES = (0,) * 4  # seconds before retries, if other clients write to the same consumers

_WITH_TYPES: Version = (1, 38)


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
    try:
        api.delete(f"/allocations/{check_consumer(consumer)}")
    except RefusedError as refusal:
        if refusal.status == 404:
            return False
        raise
    return True


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
