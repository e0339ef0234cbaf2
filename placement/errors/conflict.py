"""Errors of requests that do not agree with the present state of the database."""

from collections.abc import Iterable

from placement.errors.base import (
    CANNOT_DELETE_PARENT,
    CONCURRENT_UPDATE,
    DUPLICATE_NAME,
    INVENTORY_IN_USE,
    NO_CANDIDATES,
    PROVIDER_IN_USE,
    PlacementError,
)


class Conflict(PlacementError):
    """The request and the present state of the database do not agree."""


class ProviderUuidTaken(Conflict):
    """A new provider has the UUID of another."""

    code = DUPLICATE_NAME

    def __init__(self, uuid: str) -> None:
        super().__init__(f"Conflicting resource provider uuid: {uuid} already exists")


class ProviderNameTaken(Conflict):
    """A provider would get the name of another.

    existing: the other's name, which is not the same where the database ignores differences.
    """

    code = DUPLICATE_NAME

    def __init__(self, name: str, existing: str) -> None:
        alike = ""
        if name != existing:
            alike = (
                f" as {existing!r}: the database does not distinguish these names; choose one that "
                f"differs in more than case, accents and trailing spaces"
            )
        super().__init__(f"Conflicting resource provider name: {name} already exists{alike}")


class NameNotDistinct(Conflict):
    """A new name is one that the database's collation does not distinguish from another's.

    It has the code of no particular error: a client that sends the request again gets it again.
    kind: of the name, as in `db.tables.NAMES`. existing: the other name.
    """

    def __init__(self, kind: str, name: str, existing: str) -> None:
        noun = kind.replace("_", " ")
        super().__init__(
            f"The {noun} {name!r} cannot be created: the database does not distinguish it from the "
            f"{noun} {existing!r}. Use that name, or one that differs in more than case, accents "
            f"and trailing spaces"
        )


class ProviderGenerationConflict(Conflict):
    """The client stated an outdated generation of a provider."""

    code = CONCURRENT_UPDATE

    def __init__(self, uuid: str, stated: int, present: int) -> None:
        super().__init__(
            f"resource provider generation conflict: provider {uuid} is at generation "
            f"{present}, not {stated}. Please update the generation and try again."
        )


class ConsumerGenerationConflict(Conflict):
    """The client stated an outdated generation of a consumer."""

    code = CONCURRENT_UPDATE

    def __init__(self, consumer: str, stated: int | None, present: int | None) -> None:
        super().__init__(
            f"consumer generation conflict: consumer {consumer} is at generation "
            f"{_generation(present)}, not {_generation(stated)}; read it again and retry"
        )


def _generation(value: int | None) -> str:
    return "null (no such consumer)" if value is None else str(value)


class LostRace(Conflict):
    """Other writers kept changing what this request depends on until its retries were spent."""

    code = CONCURRENT_UPDATE

    def __init__(self) -> None:
        super().__init__(
            "the resource providers or consumers were concurrently updated; retry the request"
        )


class InventoryExists(Conflict):
    """A POST of an inventory that the provider already has; clients know this code for it."""

    code = CONCURRENT_UPDATE

    def __init__(self, resource_class: str, uuid: str) -> None:
        super().__init__(
            f"Inventory of class {resource_class} already exists on resource provider {uuid}; "
            f"change it with PUT"
        )


class InventoryInUse(Conflict):
    """A change of all inventories would remove classes that have allocations.

    resource_classes: their names, in the order of their ids.
    """

    code = INVENTORY_IN_USE

    def __init__(self, resource_classes: Iterable[str], uuid: str) -> None:
        # nova passes the text on to its users as it is, white space and all.
        names = ", ".join(resource_classes)
        super().__init__(
            "There was a conflict when trying to complete your request.\n\n"
            f" update conflict: Inventory for '{names}' on resource provider '{uuid}' in use.  "
        )


class SingleInventoryInUse(Conflict):
    """A DELETE of one inventory that has allocations; clients know another code for it."""

    code = CONCURRENT_UPDATE

    def __init__(self, resource_class: str, uuid: str) -> None:
        super().__init__(f"Inventory for '{resource_class}' on resource provider '{uuid}' in use")


class ProviderInUse(Conflict):
    """A DELETE of a provider that has allocations."""

    code = PROVIDER_IN_USE

    def __init__(self, uuid: str) -> None:
        super().__init__(f"Resource provider {uuid} has allocations; delete them first")


class ProviderHasChildren(Conflict):
    """A DELETE of a provider that has child providers."""

    code = CANNOT_DELETE_PARENT

    def __init__(self, uuid: str) -> None:
        super().__init__(f"Resource provider {uuid} has child providers; delete them first")


class ResourceClassExists(Conflict):
    """A new resource class has the name of another."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Resource class {name} already exists")


class ResourceClassInUse(Conflict):
    """A DELETE of a resource class that inventories have."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Resource class {name} is used by inventories; delete them first")


class TraitInUse(Conflict):
    """A DELETE of a trait that providers have."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Trait {name} is in use by resource providers; remove it from them first")


class NoInventory(Conflict):
    """An allocation against an inventory that the provider does not have."""

    def __init__(self, resource_class: str, uuid: str) -> None:
        super().__init__(
            f"Inventory for '{resource_class}' on resource provider '{uuid}' invalid: "
            f"the provider has no such inventory"
        )


class UnitsViolated(Conflict):
    """An allocation whose amount does not fit min_unit, max_unit or step_size."""

    def __init__(
        self, resource_class: str, uuid: str, amount: int, least: int, most: int, step: int
    ) -> None:
        super().__init__(
            f"Unable to allocate {amount} of '{resource_class}' on resource provider '{uuid}': "
            f"it would violate inventory constraints "
            f"(min_unit {least}, max_unit {most}, step_size {step})"
        )


class CapacityExceeded(Conflict):
    """An allocation of more than the inventory has left."""

    def __init__(
        self, resource_class: str, uuid: str, amount: int, used: int, capacity: int
    ) -> None:
        super().__init__(
            f"Unable to allocate {amount} of '{resource_class}' on resource provider '{uuid}': "
            f"it would exceed the capacity ({used} used by others of {capacity})"
        )


class NoCandidatesFound(Conflict):
    """Nothing meets a request that was to be claimed.

    place: where the body has the request. why: what the search says of it; empty where the caller
    may not know.
    """

    code = NO_CANDIDATES

    def __init__(self, place: str, why: str = "") -> None:
        reason = f". {why}" if why else ""
        super().__init__(f"{place}: nothing can meet this request now{reason}")
