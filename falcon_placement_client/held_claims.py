"""Claims for operators: permanent claims, and holds, which can be extended, confirmed and released.

Each function implements one command. It returns rows, and the command formats them.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from falcon_placement_client.allocation_records import check_consumer, read_record
from falcon_placement_client.answers import RefusedError
from falcon_placement_client.consumers import NewConsumer, identity_of
from falcon_placement_client.errors import RestError
from falcon_placement_client.json_request import AnyRequest
from falcon_placement_client.names import ProviderNames
from falcon_placement_client.rest import RestApi

FEATURE = "a claim in one request"


class ClaimRow(NamedTuple):
    """A claim."""

    # UUID of the consumer.
    consumer: str
    # Name of the provider -> class -> amount.
    allocations: Mapping[str, Mapping[str, int]]
    # End of the hold in UTC, or None if the claim is permanent.
    expires_at: str | None


class HoldRow(NamedTuple):
    """A hold that was extended, confirmed or released."""

    # UUID of the consumer.
    consumer: str
    # End of the hold in UTC, or None if the claim is now permanent or released.
    expires_at: str | None


def create_claim(
    api: RestApi,
    request: AnyRequest,
    consumer: NewConsumer,
    options: Mapping[str, Any] | None = None,
) -> ClaimRow:
    """Claim a candidate of a request for a consumer.

    Args:
        api: a service with placement 2.0.
        request: as `ReportClient.claim` takes it.
        consumer: has no allocations yet.
        options: other members of `POST /claims`: `expires_in`, `remember`, `spread_group`.

    Raises:
        ServiceTooOld: the service does not support placement 2.0.
        RefusedError: the service refuses the claim; the code `placement.no_candidates` means that
            no host fits.
    """
    api.require_v2(FEATURE)
    body = {
        **(options or {}),
        **identity_of(api, consumer),
        "request": request,
        "consumer_uuid": consumer.uuid,
    }
    answer = api.post("/claims", body)
    name_of = ProviderNames(api)
    held = {name_of(uuid): each["resources"] for uuid, each in answer["allocations"].items()}
    return ClaimRow(consumer.uuid, held, answer.get("expires_at"))


def extend_claim(api: RestApi, consumer: str, seconds: int | None) -> HoldRow:
    """Set the remaining time of a hold.

    Args:
        api: a service with placement 2.0.
        consumer: UUID of the consumer.
        seconds: from now on; None makes the claim permanent.

    Raises:
        ServiceTooOld: the service does not support placement 2.0.
        RestError: the consumer is no hold, or the service refuses the time.
    """
    return _of_hold(api, "PUT", consumer, {"expires_in": seconds})


def release_claim(api: RestApi, consumer: str) -> HoldRow:
    """Release a hold. Raises the same errors as `extend_claim`."""
    return _of_hold(api, "DELETE", consumer, None)


def _of_hold(api: RestApi, method: str, consumer: str, body: Mapping[str, Any] | None) -> HoldRow:
    api.require_v2("a hold")
    uuid = check_consumer(consumer)
    try:
        answer = api.send(method, f"/holds/{uuid}", body)
    except RefusedError as refusal:
        if refusal.status != 404:
            raise
        if read_record(api, uuid) is not None:
            raise RestError(f"{uuid}: this claim is permanent now and is not a hold") from None
        raise RestError(f"{uuid}: there is no such hold") from None
    return HoldRow(uuid, answer["expires_at"] if answer else None)
