"""Holds: claims that expire unless they are extended, confirmed or converted.

Functions that implement commands return rows, and the commands format them.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from falcon_placement_client import claims, consumers
from falcon_placement_client.consumers import (
    ClaimResult,
    NewConsumer,
    check_consumer,
    identity_of,
    read_record,
    result_of,
)
from falcon_placement_client.errors import AllocationConflict, HoldExpired, RefusedError, RestError
from falcon_placement_client.json_request import AnyRequest, ClaimTerms
from falcon_placement_client.listing import provider_names
from falcon_placement_client.rest import RestApi

FEATURE = "a claim in one request"
_EXPIRED = "placement.hold_expired"


def _send(
    api: RestApi, method: str, consumer: str, body: Mapping[str, Any] | None = None
) -> str | None:
    """Send a request about a hold. Return its end in UTC, if it has one."""
    api.require_v2("a hold")
    response = api.send(method, f"/holds/{check_consumer(consumer)}", body)
    return response["expires_at"] if response else None


def extend(api: RestApi, consumer: str, expires_in: int | None) -> str | None:
    """Set the end of a hold to a number of seconds from now. None makes the claim permanent.

    Returns the end, in UTC.  Raises HoldExpired, AllocationConflict.
    """
    try:
        return _send(api, "PUT", consumer, {"expires_in": expires_in})
    except RefusedError as refusal:
        if refusal.status == 404:
            raise HoldExpired(refusal.detail) from refusal
        if refusal.status == 409:
            raise AllocationConflict(refusal.detail) from refusal
        raise


def release(api: RestApi, consumer: str) -> bool:
    """Release a hold, but no other consumer. Return whether the consumer was a hold."""
    api.require_v2("a hold")
    return api.delete(f"/holds/{check_consumer(consumer)}")


def convert(api: RestApi, hold: str, consumer: NewConsumer) -> ClaimResult:
    """Transfer the allocations of a hold to a new consumer."""
    api.require_v2("a hold")
    identity = {"consumer_uuid": consumer.uuid, **identity_of(api, consumer)}
    try:
        response = api.post("/claims", {"from_hold": check_consumer(hold), **identity})
    except RefusedError as refusal:
        if refusal.code == _EXPIRED:
            raise HoldExpired(refusal.detail) from refusal
        if refusal.is_conflict:
            raise AllocationConflict(refusal.detail) from refusal
        raise
    return result_of(response)


class ConsumerMethods:
    """The methods of `ReportClient` that move, release, confirm and convert allocations."""

    _api: RestApi

    def move(self, source: str, target: NewConsumer) -> None:
        """Move all allocations of a consumer to another one, in one transaction of the service.

        For example, a migration consumer gets the allocations of an instance before the instance
        claims new ones. Previous allocations of the target are released.

        Raises:
            AllocationConflict: the source has no allocations, or another client wrote first.
        """
        self._api.run(lambda: consumers.move(self._api, source, target))

    def release(self, consumer: str) -> bool:
        """Release all allocations of a consumer. Return whether it had any."""
        return self._api.run(lambda: consumers.release(self._api, consumer))

    def confirm(self, consumer: str) -> None:
        """Turn a hold into a permanent claim.

        Raises:
            HoldExpired: the consumer is no hold any more.
            ServiceTooOld: the service does not support placement 2.0.
        """
        self._api.run(lambda: extend(self._api, consumer, None))

    def extend(self, consumer: str, expires_in: int) -> str | None:
        """Set the end of a hold to a number of seconds from now. Return the end, in UTC.

        Raises:
            HoldExpired: the consumer is no hold any more.
            AllocationConflict: the hold would last longer than the service allows.
            ServiceTooOld: the service does not support placement 2.0.
        """
        return self._api.run(lambda: extend(self._api, consumer, expires_in))

    def release_hold(self, consumer: str) -> bool:
        """Release a hold, but no other consumer. Return whether the consumer was a hold.

        Raises ServiceTooOld if the service does not support placement 2.0.
        """
        return self._api.run(lambda: release(self._api, consumer))

    def convert(self, hold: str, consumer: NewConsumer) -> ClaimResult:
        """Transfer the allocations of a hold to a consumer without allocations. The hold ends.

        Raises:
            HoldExpired: it is no hold any more.
            AllocationConflict: the consumer has allocations already.
            ServiceTooOld: the service does not support placement 2.0.
        """
        return self._api.run(lambda: convert(self._api, hold, consumer))

    @contextmanager
    def holding(
        self, request: AnyRequest, consumer: NewConsumer, expires_in: int
    ) -> Iterator[ClaimResult]:
        """Hold the resources of a request within a `with` block. The block receives the result.

        If the block raises an exception, the hold is released. Otherwise, the hold remains, so
        confirm or convert it in the block. Raises the errors of `claim`.
        """
        terms: ClaimTerms = {"expires_in": expires_in}
        held = self._api.run(lambda: claims.claim(self._api, request, consumer, None, terms))
        try:
            yield held
        except BaseException:
            self.release_hold(consumer.uuid)
            raise


class ClaimRow(NamedTuple):
    """A claim."""

    consumer: str
    # Name of the provider -> class -> amount.
    allocations: Mapping[str, Mapping[str, int]]
    # End of the hold in UTC, or None if the claim is permanent.
    expires_at: str | None


class HoldRow(NamedTuple):
    """A hold that was extended, confirmed or released."""

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
    response = api.post("/claims", body)
    name_of = provider_names(api)
    held = {name_of(uuid): each["resources"] for uuid, each in response["allocations"].items()}
    return ClaimRow(consumer.uuid, held, response.get("expires_at"))


def extend_claim(api: RestApi, consumer: str, seconds: int | None) -> HoldRow:
    """Set the remaining time of a hold.

    Args:
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
    uuid = check_consumer(consumer)
    try:
        return HoldRow(uuid, _send(api, method, consumer, body))
    except RefusedError as refusal:
        if refusal.status != 404:
            raise
        if read_record(api, uuid) is not None:
            raise RestError(f"{uuid}: this claim is permanent now and is not a hold") from None
        raise RestError(f"{uuid}: there is no such hold") from None
