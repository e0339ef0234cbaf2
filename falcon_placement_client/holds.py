"""Holds: claims that expire unless they are extended, confirmed or converted."""

from collections.abc import Iterator
from contextlib import contextmanager

from falcon_placement_client import claims, consumers
from falcon_placement_client.allocation_records import check_consumer
from falcon_placement_client.answers import RefusedError
from falcon_placement_client.claim_results import ClaimResult, result_of
from falcon_placement_client.consumers import NewConsumer, identity_of
from falcon_placement_client.errors import AllocationConflict, HoldExpired
from falcon_placement_client.json_request import AnyRequest, ClaimTerms
from falcon_placement_client.rest import RestApi

_EXPIRED = "placement.hold_expired"


def extend(api: RestApi, consumer: str, expires_in: int | None) -> str | None:
    """Set the end of a hold to a number of seconds from now. None makes the claim permanent.

    Returns the end, in UTC.  Raises HoldExpired, AllocationConflict.
    """
    api.require_v2("a hold")
    uuid = check_consumer(consumer)
    try:
        end: str | None = api.put(f"/holds/{uuid}", {"expires_in": expires_in})["expires_at"]
    except RefusedError as refusal:
        if refusal.status == 404:
            raise HoldExpired(refusal.detail) from refusal
        if refusal.status == 409:
            raise AllocationConflict(refusal.detail) from refusal
        raise
    return end


def release(api: RestApi, consumer: str) -> bool:
    """Release a hold, but no other consumer. Return whether the consumer was a hold."""
    api.require_v2("a hold")
    try:
        api.delete(f"/holds/{check_consumer(consumer)}")
    except RefusedError as refusal:
        if refusal.status == 404:
            return False
        raise
    return True


def convert(api: RestApi, hold: str, consumer: NewConsumer) -> ClaimResult:
    """Transfer the allocations of a hold to a new consumer."""
    api.require_v2("a hold")
    identity = {"consumer_uuid": consumer.uuid, **identity_of(api, consumer)}
    try:
        answer = api.post("/claims", {"from_hold": check_consumer(hold), **identity})
    except RefusedError as refusal:
        if refusal.code == _EXPIRED:
            raise HoldExpired(refusal.detail) from refusal
        if refusal.is_conflict:
            raise AllocationConflict(refusal.detail) from refusal
        raise
    return result_of(answer)


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
