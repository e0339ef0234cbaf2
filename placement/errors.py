"""Domain errors: what went wrong, as facts. What HTTP makes of them is `placement.api.problems`.

Four families say who has to act: `NotFound` (the thing a request is about does not exist),
`Invalid` (the request cannot be right), `Conflict` (the request and the present state do not
agree) and `Unavailable` (try again later). `code` is the stable machine-readable name that
clients read (contract README section 8); the text is for people, except for the phrases that
section 8.1 lists.
"""

from collections.abc import Iterable, Sequence

UNDEFINED = "placement.undefined_code"
CONCURRENT_UPDATE = "placement.concurrent_update"
INVENTORY_IN_USE = "placement.inventory.inuse"
DUPLICATE_NAME = "placement.duplicate_name"
PROVIDER_IN_USE = "placement.resource_provider.inuse"
CANNOT_DELETE_PARENT = "placement.resource_provider.cannot_delete_parent"
PROVIDER_NOT_FOUND = "placement.resource_provider.not_found"
QUERY_DUPLICATE_KEY = "placement.query.duplicate_key"
QUERY_BAD_VALUE = "placement.query.bad_value"
QUERY_MISSING_VALUE = "placement.query.missing_value"


class PlacementError(Exception):
    """Base of every error that a client may see."""

    code = UNDEFINED


class ConfigurationError(Exception):
    """The service cannot run as configured; the text is one line for the operator."""


# -- the thing that the request is about does not exist -------------------------------------


class NotFound(PlacementError):
    """The object that the path names does not exist."""


class ProviderNotFound(NotFound):
    def __init__(self, uuid: str) -> None:
        super().__init__(f"No resource provider with uuid {uuid} found")


class InventoryNotFound(NotFound):
    def __init__(self, resource_class: str, uuid: str) -> None:
        super().__init__(f"No inventory of class {resource_class} for {uuid}")


class NoInventoryToDelete(NotFound):
    def __init__(self, resource_class: str, uuid: str) -> None:
        super().__init__(
            f"No inventory of class {resource_class} found for delete on resource provider {uuid}"
        )


class ResourceClassNotFound(NotFound):
    def __init__(self, name: str) -> None:
        super().__init__(f"No such resource class: {name}")


class TraitNotFound(NotFound):
    def __init__(self, name: str) -> None:
        super().__init__(f"No such trait: {name}")


class AllocationsNotFound(NotFound):
    def __init__(self, consumer: str) -> None:
        super().__init__(f"No allocations for consumer '{consumer}'")


# -- the request cannot be right ------------------------------------------------------------


class Invalid(PlacementError):
    """The request names something unknown or contradicts itself."""


class BadQuery(Invalid):
    """A query parameter is malformed; the text names the parameter."""

    def __init__(self, detail: str, code: str = UNDEFINED) -> None:
        super().__init__(detail)
        self.code = code


class BadBody(Invalid):
    """The body is not JSON or not of the operation's schema; the text names the field."""


class BadPath(Invalid):
    """A segment of the path is malformed."""


class Unstorable(Invalid):
    """The database's character set lacks a character of a text."""

    def __init__(self, text: str) -> None:
        super().__init__(f"{text}: the database cannot hold all of these characters; use others")
        self.text = text


class UnknownProviders(Invalid):
    """Allocations name providers that do not exist."""

    def __init__(self, uuids: Iterable[str]) -> None:
        super().__init__(f"No such resource provider: {', '.join(sorted(uuids))}")


class UnknownReshapedProvider(Invalid):
    code = PROVIDER_NOT_FOUND

    def __init__(self, uuid: str) -> None:
        super().__init__(f"inventories: No resource provider with uuid {uuid} found")


class UnknownNames(Invalid):
    """Names of a catalogue that do not exist.

    field: the parameter or member that names them, where there are several. meant: existing
    names that are like them.
    """

    noun: str

    def __init__(
        self, names: Iterable[str], field: str | None = None, meant: Sequence[str] = ()
    ) -> None:
        hint = f"; did you mean {', '.join(meant)}?" if meant else ""
        super().__init__(f"{_in(field)}No such {self.noun}: {', '.join(sorted(names))}{hint}")


class UnknownResourceClasses(UnknownNames):
    noun = "resource class"


class UnknownTraits(UnknownNames):
    noun = "trait"


class UnknownInventoryClasses(UnknownResourceClasses):
    """The whole inventory of a provider names classes that do not exist."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__(names, "Unknown resource class in inventories")


def _in(field: str | None) -> str:
    return "" if field is None else f"{field}: "


class BadParent(Invalid):
    """The parent does not exist, is the provider itself, or is one of its descendants."""


class BadCapacity(Invalid):
    def __init__(
        self, resource_class: str, total: int, reserved: int, capacity: int, least: int
    ) -> None:
        super().__init__(
            f"Inventory of {resource_class}: total {total} less reserved {reserved}, times "
            f"allocation_ratio, makes a capacity of {capacity}; it must be at least {least}"
        )


class InventoryMissing(Invalid):
    """An update of an inventory that the provider does not have (contract wart W22)."""

    def __init__(self, resource_class: str, uuid: str) -> None:
        super().__init__(f"No inventory of class {resource_class} for {uuid}: create it first")


class NotCustom(Invalid):
    """A change of a standard resource class or trait; `verb`: delete or update."""

    def __init__(self, verb: str, kind: str, name: str) -> None:
        super().__init__(f"Cannot {verb} standard {kind} {name}; only CUSTOM_ ones can be changed")


# -- the request and the present state do not agree -----------------------------------------


class Conflict(PlacementError):
    """Base of the errors that another state of the database would avoid."""


class ProviderUuidTaken(Conflict):
    code = DUPLICATE_NAME

    def __init__(self, uuid: str) -> None:
        super().__init__(f"Conflicting resource provider uuid: {uuid} already exists")


class ProviderNameTaken(Conflict):
    code = DUPLICATE_NAME

    def __init__(self, name: str) -> None:
        super().__init__(f"Conflicting resource provider name: {name} already exists")


class ProviderGenerationConflict(Conflict):
    """The client stated a generation of a provider that no longer holds."""

    code = CONCURRENT_UPDATE

    def __init__(self, uuid: str, stated: int, present: int) -> None:
        super().__init__(
            f"resource provider generation conflict: provider {uuid} is at generation "
            f"{present}, not {stated}. Please update the generation and try again."
        )


class ConsumerGenerationConflict(Conflict):
    """The client stated a generation of a consumer that no longer holds."""

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
    code = CONCURRENT_UPDATE  # contract wart W17

    def __init__(self, resource_class: str, uuid: str) -> None:
        super().__init__(
            f"Inventory of class {resource_class} already exists on resource provider {uuid}; "
            f"change it with PUT"
        )


class InventoryInUse(Conflict):
    """A change of the inventory of a provider would remove classes (in the order of their ids)."""

    code = INVENTORY_IN_USE

    def __init__(self, resource_classes: Iterable[str], uuid: str) -> None:
        # nova passes the text on to its users as it is, white space and all.
        names = ", ".join(resource_classes)
        super().__init__(
            "There was a conflict when trying to complete your request.\n\n"
            f" update conflict: Inventory for '{names}' on resource provider '{uuid}' in use.  "
        )


class SingleInventoryInUse(Conflict):
    """A DELETE of one inventory; its code is not that of a whole set (wart W22)."""

    code = CONCURRENT_UPDATE

    def __init__(self, resource_class: str, uuid: str) -> None:
        super().__init__(f"Inventory for '{resource_class}' on resource provider '{uuid}' in use")


class ProviderInUse(Conflict):
    code = PROVIDER_IN_USE

    def __init__(self, uuid: str) -> None:
        super().__init__(f"Resource provider {uuid} has allocations; delete them first")


class ProviderHasChildren(Conflict):
    code = CANNOT_DELETE_PARENT

    def __init__(self, uuid: str) -> None:
        super().__init__(f"Resource provider {uuid} has child providers; delete them first")


class ResourceClassExists(Conflict):
    def __init__(self, name: str) -> None:
        super().__init__(f"Resource class {name} already exists")


class ResourceClassInUse(Conflict):
    def __init__(self, name: str) -> None:
        super().__init__(f"Resource class {name} is used by inventories; delete them first")


class TraitInUse(Conflict):
    def __init__(self, name: str) -> None:
        super().__init__(f"Trait {name} is in use by resource providers; remove it from them first")


class NoInventory(Conflict):
    def __init__(self, resource_class: str, uuid: str) -> None:
        super().__init__(
            f"Inventory for '{resource_class}' on resource provider '{uuid}' invalid: "
            f"the provider has no such inventory"
        )


class UnitsViolated(Conflict):
    def __init__(
        self, resource_class: str, uuid: str, amount: int, least: int, most: int, step: int
    ) -> None:
        super().__init__(
            f"Unable to allocate {amount} of '{resource_class}' on resource provider '{uuid}': "
            f"it would violate inventory constraints "
            f"(min_unit {least}, max_unit {most}, step_size {step})"
        )


class CapacityExceeded(Conflict):
    def __init__(
        self, resource_class: str, uuid: str, amount: int, used: int, capacity: int
    ) -> None:
        super().__init__(
            f"Unable to allocate {amount} of '{resource_class}' on resource provider '{uuid}': "
            f"it would exceed the capacity ({used} used by others of {capacity})"
        )


# -- try again later ------------------------------------------------------------------------


class Unavailable(PlacementError):
    """The service cannot answer now; the same request may succeed later."""

    retry_after: int | None = 1  # seconds; None: later is no better


class DatabaseUnavailable(Unavailable):
    def __init__(self) -> None:
        super().__init__("The database is unavailable or overloaded; retry later")


class DatabaseUnusable(Unavailable):
    """The database lets the service not do its work, until an operator acts.

    reason: what is wrong, for anybody. complaint: what the database says to which command, and
    what to do; for operators.
    """

    retry_after = None

    def __init__(self, reason: str, complaint: str) -> None:
        super().__init__(f"The database cannot be used: {reason}; the server's log says which")
        self.reason = reason
        self.complaint = f"the database cannot be used: {reason}: {complaint}"
        self.arguments = (reason, complaint)


class OutcomeUnknown(Unavailable):
    def __init__(self) -> None:
        super().__init__(
            "The database failed while it committed, and whether the change was made could not be "
            "found out; read before you send it again"
        )


class StatementTooLong(Unavailable):
    """The database was told to give up a statement; it would be again."""

    retry_after = None

    def __init__(self) -> None:
        super().__init__(
            "The database needs too long for this request; ask for less (limit, fewer conditions, "
            "in_tree, member_of), or raise [placement_database]statement_timeout"
        )


class SearchExhausted(Unavailable):
    """The budget of the search was spent before a first candidate was found."""

    def __init__(self, steps: int) -> None:
        super().__init__(
            f"No candidate was found within {steps} steps of work and some were left to try; "
            f"narrow the request (in_tree, member_of, required, fewer groups) or raise "
            f"[placement]max_search_steps"
        )
