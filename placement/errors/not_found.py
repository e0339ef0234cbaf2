"""Errors of requests whose path names an object that does not exist."""

from urllib.parse import quote
from uuid import UUID

from placement.errors.base import CURSOR_EXPIRED, PlacementError


class NotFound(PlacementError):
    """The object that the path names does not exist."""


class ProviderNotFound(NotFound):
    """The path names a resource provider that does not exist."""

    def __init__(self, uuid: str) -> None:
        super().__init__(f"No resource provider with uuid {uuid} found{_use_name(uuid)}")


class TreeNotFound(NotFound):
    """The path does not name the root of a tree."""

    def __init__(self, uuid: str) -> None:
        super().__init__(
            f"No root resource provider with uuid {uuid} found{_use_name(uuid)}; "
            f"root_provider_uuid of a provider is the root of its tree"
        )


def _use_name(uuid: str) -> str:
    """Return a hint about how to find a provider, by its name if the text is not a UUID."""
    try:
        UUID(uuid)
    except ValueError:
        name = quote(uuid, errors="replace")
        return f"; find a provider by its name with GET /resource_providers?name={name}"
    return "; GET /resource_providers returns the existing ones"


def _existing(uuid: str) -> str:
    return f"; GET /resource_providers/{uuid}/inventories returns the existing ones"


class InventoryNotFound(NotFound):
    """The provider has no inventory of the class that the path names."""

    def __init__(self, resource_class: str, uuid: str) -> None:
        super().__init__(f"No inventory of class {resource_class} for {uuid}{_existing(uuid)}")


class NoInventoryToDelete(NotFound):
    """A DELETE of an inventory that does not exist."""

    def __init__(self, resource_class: str, uuid: str) -> None:
        super().__init__(
            f"No inventory of class {resource_class} found for delete on resource provider {uuid}"
            f"{_existing(uuid)}"
        )


class ResourceClassNotFound(NotFound):
    """The path names a resource class that does not exist."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"No such resource class: {name}; GET /resource_classes returns the existing ones"
        )


class TraitNotFound(NotFound):
    """The path names a trait that does not exist."""

    def __init__(self, name: str) -> None:
        super().__init__(f"No such trait: {name}; GET /traits returns the existing ones")


class AllocationsNotFound(NotFound):
    """A DELETE of the allocations of a consumer that has none."""

    def __init__(self, consumer: str) -> None:
        super().__init__(
            f"No allocations for consumer '{consumer}': they were deleted before, or the UUID is "
            f"wrong"
        )


class ConsumerNotFound(NotFound):
    """The path does not name a consumer with allocations."""

    def __init__(self, uuid: str) -> None:
        super().__init__(
            f"No consumer with uuid {uuid} has allocations; GET /consumers returns those that have"
        )


class Expired(PlacementError):
    """The object that the request names no longer exists."""


class CursorExpired(Expired):
    """A cursor of changes that this database has never issued or no longer knows."""

    code = CURSOR_EXPIRED

    def __init__(self) -> None:
        super().__init__(
            "since: changes after this cursor are not remembered, or it was issued by another "
            "database: take a new one with GET /changes, and list the resource providers"
        )


class HoldNotFound(NotFound):
    """The path does not name a hold.

    Args:
        consumer: UUID in the path.
        exists: whether the consumer exists, and is permanent.
    """

    def __init__(self, consumer: str, *, exists: bool) -> None:
        super().__init__(f"No hold {consumer}: {why_no_hold(exists=exists)}")


def why_no_hold(*, exists: bool) -> str:
    """Return the reason why a consumer is no hold. `exists` is whether the consumer exists."""
    if exists:
        return (
            "the consumer is permanent, because it was claimed without expires_in, confirmed, or "
            "written after the claim; release it with DELETE /allocations"
        )
    return (
        "no consumer has this UUID: a hold with this UUID has expired or was released, or the UUID "
        "is wrong"
    )
