"""Errors of requests that conflict with the present state of the database."""

from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from urllib.parse import quote

from placement.errors.base import (
    CANNOT_DELETE_PARENT,
    CONCURRENT_UPDATE,
    DUPLICATE_NAME,
    HOLD_EXPIRED,
    HOLD_LIMIT,
    INVENTORY_IN_USE,
    NO_CANDIDATES,
    PROVIDER_IN_USE,
    PlacementError,
)
from placement.errors.not_found import why_no_hold


class Conflict(PlacementError):
    """The request conflicts with the present state of the database."""


class ProviderUuidTaken(Conflict):
    """A new provider has the UUID of an existing provider."""

    code = DUPLICATE_NAME

    def __init__(self, uuid: str) -> None:
        super().__init__(
            f"Conflicting resource provider uuid: {uuid} already exists; change it with PUT"
        )


class ProviderOfAnotherTree(Conflict):
    """The request lists a provider that belongs to a different tree."""

    def __init__(self, uuid: str, root_uuid: str) -> None:
        super().__init__(
            f"resource provider {uuid} is in the tree of {root_uuid}; move it first with "
            f"PUT /resource_providers/{uuid}"
        )


class ProviderNameTaken(Conflict):
    """A provider would get the name of another provider.

    Args:
        name: the requested name.
        existing: the other provider's name, which differs from `name` if the database ignores
            the difference.
    """

    code = DUPLICATE_NAME

    def __init__(self, name: str, existing: str) -> None:
        hint = f"; GET /resource_providers?name={quote(name)} returns the provider"
        if name != existing:
            hint = (
                f" as {existing!r}: the database does not distinguish these names; choose one that "
                f"differs in more than case, accents and trailing spaces"
            )
        super().__init__(f"Conflicting resource provider name: {name} already exists{hint}")


class NameNotDistinct(Conflict):
    """The database's collation does not distinguish a new name from an existing name.

    The error has no separate code, because a retry would fail in the same way.

    Args:
        kind: kind of the named object, as in `db.tables.NAMES`.
        existing: the existing name.
    """

    def __init__(self, kind: str, name: str, existing: str) -> None:
        noun = kind.replace("_", " ")
        super().__init__(
            f"The {noun} {name!r} cannot be created: the database does not distinguish it from the "
            f"{noun} {existing!r}. Use that name, or one that differs in more than case, accents "
            f"and trailing spaces"
        )


class ProviderGenerationConflict(Conflict):
    """The request contains an outdated generation of a provider."""

    code = CONCURRENT_UPDATE

    def __init__(self, uuid: str, stated: int | None, present: int | None) -> None:
        super().__init__(
            f"resource provider generation conflict: provider {uuid} is at generation "
            f"{_generation(present)}, not {_generation(stated)}. Please update the generation "
            f"and try again."
        )


class ConsumerGenerationConflict(Conflict):
    """The request contains an outdated generation of a consumer."""

    code = CONCURRENT_UPDATE

    def __init__(self, consumer: str, stated: int | None, present: int | None) -> None:
        advice = "send null for a new consumer" if present is None else "read it again and retry"
        if stated is None:
            advice = (
                "it exists already: use another UUID, or change it with "
                f"PUT /allocations/{consumer} and its generation"
            )
        super().__init__(
            f"consumer generation conflict: consumer {consumer} is at generation "
            f"{_generation(present)}, not {_generation(stated)}; {advice}"
        )


def _generation(value: int | None) -> str:
    return "null (does not exist)" if value is None else str(value)


class LostRace(Conflict):
    """Concurrent writers kept changing the data of the request until no retries were left."""

    code = CONCURRENT_UPDATE

    def __init__(self) -> None:
        super().__init__(
            "the resource providers or consumers were concurrently updated; retry the request"
        )


class InventoryExists(Conflict):
    """A POST of an inventory that already exists. Clients expect this code."""

    code = CONCURRENT_UPDATE

    def __init__(self, resource_class: str, uuid: str) -> None:
        super().__init__(
            f"Inventory of class {resource_class} already exists on resource provider {uuid}; "
            f"change it with PUT"
        )


class InventoryInUse(Conflict):
    """A change of all inventories would remove classes that have allocations.

    Args:
        resource_classes: their names, in the order of their ids.
        uuid: UUID of the provider.
        member: path of the body member without these classes, or empty for a DELETE.
    """

    code = INVENTORY_IN_USE

    def __init__(self, resource_classes: Iterable[str], uuid: str, member: str) -> None:
        # nova displays this text to its users without changes, including the white space.
        names = ", ".join(resource_classes)
        hint = f"{member} leaves them out: keep them, or free them first. " * bool(member)
        super().__init__(
            "There was a conflict when trying to complete your request.\n\n"
            f" update conflict: Inventory for '{names}' on resource provider '{uuid}' in use.  "
            f"{hint}{_consumers(uuid)}"
        )


class SingleInventoryInUse(Conflict):
    """A DELETE of an inventory with allocations. Clients expect a different code than above."""

    code = CONCURRENT_UPDATE

    def __init__(self, resource_class: str, uuid: str) -> None:
        super().__init__(
            f"Inventory for '{resource_class}' on resource provider '{uuid}' in use. "
            f"{_consumers(uuid)}"
        )


def _consumers(uuid: str) -> str:
    return f"GET /resource_providers/{uuid}/allocations returns its consumers; move or delete them"


class ProviderInUse(Conflict):
    """A DELETE of a provider with allocations."""

    code = PROVIDER_IN_USE

    def __init__(self, uuid: str) -> None:
        super().__init__(
            f"Resource provider {uuid} has allocations; delete them first: GET "
            f"/resource_providers/{uuid}/allocations returns their consumers"
        )


class ProviderHasChildren(Conflict):
    """A DELETE of a provider with child providers.

    Args:
        uuid: UUID of the provider.
        consumers: UUID of each provider below it with allocations -> number of its consumers.
    """

    code = CANNOT_DELETE_PARENT

    def __init__(self, uuid: str, consumers: Mapping[str, int]) -> None:
        text = (
            f"Resource provider {uuid} has child providers; delete them first: GET "
            f"/resource_providers?in_tree={uuid} (since 1.14) returns its tree"
        )
        for child, number in islice(consumers.items(), 1):
            noun = "1 consumer" if number == 1 else f"{number} consumers"
            text += (
                f". Resource provider {child} below it has allocations of {noun}: move or delete "
                f"the allocations of GET /resource_providers/{child}/allocations"
            )
        if len(consumers) > 1:
            text += f"; {len(consumers)} providers below it have allocations"
        super().__init__(text)


class ResourceClassExists(Conflict):
    """A new resource class would get the name of an existing one."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Resource class {name} already exists; it can be used")


class ResourceClassInUse(Conflict):
    """A DELETE of a resource class that is used by inventories."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Resource class {name} is used by inventories; delete them first")


class TraitInUse(Conflict):
    """A DELETE of a trait that is used by providers."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"Trait {name} is in use by resource providers; remove it from them first: GET "
            f"/resource_providers?required={name} (since 1.18) returns them"
        )


class NoInventory(Conflict):
    """An allocation from an inventory that does not exist."""

    def __init__(self, resource_class: str, uuid: str) -> None:
        super().__init__(
            f"Unable to allocate inventory: Inventory for '{resource_class}' "  # for nova
            f"on resource provider '{uuid}' invalid: the provider has no such inventory; "
            f"GET /resource_providers/{uuid}/inventories returns those that it has"
        )


class UnitsViolated(Conflict):
    """An allocation whose amount violates min_unit, max_unit or step_size."""

    def __init__(
        self, resource_class: str, uuid: str, amount: int, least: int, most: int, step: int
    ) -> None:
        remedy = (
            f"use {f'a multiple of {step}' if step > 1 else 'an amount'} from {least} to {most}"
        )
        if -(-least // step) * step > most:
            remedy = "they allow no amount, so change the inventory first"
        super().__init__(
            f"Unable to allocate {amount} of '{resource_class}' on resource provider '{uuid}': "
            f"it would violate inventory constraints "
            f"(min_unit {least}, max_unit {most}, step_size {step}); {remedy}"
        )


class CapacityExceeded(Conflict):
    """An allocation that exceeds the free capacity of the inventory."""

    def __init__(
        self, resource_class: str, uuid: str, amount: int, used: int, capacity: int
    ) -> None:
        super().__init__(
            f"Unable to allocate {amount} of '{resource_class}' on resource provider '{uuid}': "
            f"it would exceed the capacity ({used} used by others of {capacity}); "
            f"GET /allocation_candidates returns providers that are free"
        )


class DeviceInUse(Conflict):
    """An allocation from a device that already serves in another way.

    Args:
        resource_class: the class of the refused amount.
        uuid: the provider of the amount.
        device: the card, which is this provider or one above it.
        classes: the classes that the device serves in the other way.
    """

    def __init__(
        self, resource_class: str, uuid: str, device: str, classes: Collection[str]
    ) -> None:
        super().__init__(
            f"Unable to allocate '{resource_class}' on resource provider '{uuid}': the device "
            f"'{device}' already serves {', '.join(classes)}, and it serves in one way at a time; "
            f"use another device, or move the consumers of this one first"
        )


class NoCandidatesFound(Conflict):
    """A claim for which no candidate exists.

    Args:
        error_path: path of the request in the body.
        reason: the explanation of the search, or empty if the caller may not see it.
    """

    code = NO_CANDIDATES

    def __init__(self, error_path: str, reason: str = "") -> None:
        explanation = f". {reason}" if reason else ""
        super().__init__(f"{error_path}: no candidate satisfies this request now{explanation}")


class HostFull(Conflict):
    """The host of a claim already has the maximum number of members of the spread group."""

    def __init__(self, group: str, max_per_host: int) -> None:
        super().__init__(
            f"the host has {max_per_host} or more members of the spread group {group!r}; "
            f"claim on another host"
        )


class TooManyHolds(Conflict):
    """The project already has as many holds as `[placement] max_holds_per_project` allows."""

    code = HOLD_LIMIT

    def __init__(self, project: str, maximum: int) -> None:
        super().__init__(
            f"project {project!r} has {maximum} holds, and no more are allowed: confirm or release "
            f"some, or raise [placement] max_holds_per_project"
        )


class HoldTooLong(Conflict):
    """A hold would last longer than `[placement] max_hold_age` allows."""

    code = HOLD_LIMIT

    def __init__(self, consumer: str, maximum: int) -> None:
        super().__init__(
            f"the hold {consumer} would last longer than {maximum} seconds after its claim; "
            f"confirm it, or raise [placement] max_hold_age"
        )


class HoldGone(Conflict):
    """A claim from a hold that was released after its end, or that has never existed.

    Args:
        consumer: UUID in the request.
        exists: whether the consumer exists, and is permanent.
    """

    code = HOLD_EXPIRED

    def __init__(self, consumer: str, *, exists: bool) -> None:
        super().__init__(f"there is no hold {consumer}: {why_no_hold(exists=exists)}")
