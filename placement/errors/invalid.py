"""Errors of requests that name unknown objects or contradict themselves."""

from collections.abc import Iterable

from placement.errors.base import PROVIDER_NOT_FOUND, UNDEFINED, PlacementError


class Invalid(PlacementError):
    """The request names unknown objects or contradicts itself."""


class BadQuery(Invalid):
    """A query parameter is malformed. The text names the parameter."""

    def __init__(self, detail: str, code: str = UNDEFINED) -> None:
        super().__init__(detail)
        self.code = code


class BadBody(Invalid):
    """The body is not valid JSON or violates the schema of the operation.

    The text names the field.
    """


class BadPath(Invalid):
    """A segment of the path is malformed."""


class Unstorable(Invalid):
    """The database cannot represent the characters of a text."""

    def __init__(self, text: str) -> None:
        super().__init__(f"{text}: the database cannot hold all of these characters; use others")
        self.text = text


class UnknownProviders(Invalid):
    """Allocations name providers that do not exist."""

    def __init__(self, uuids: Iterable[str]) -> None:
        super().__init__(
            f"No such resource provider: {', '.join(sorted(uuids))}; "
            f"GET /resource_providers returns the existing ones"
        )


class UnknownReshapedProvider(Invalid):
    """The inventories of a reshape name a provider that does not exist."""

    code = PROVIDER_NOT_FOUND

    def __init__(self, uuid: str) -> None:
        super().__init__(
            f"inventories: No resource provider with uuid {uuid} found; create it first"
        )


class UnknownNames(Invalid):
    """The request contains names that do not exist in a catalogue.

    Args:
        names: the unknown names.
        field: the parameter or member that contains them, if the request has several.
        hint: what the client can do, from `catalog.hint`.
        code: code of the error, if it is not the code of the class.
    """

    # Noun in the text for the members of the catalogue.
    noun: str

    def __init__(
        self,
        names: Iterable[str],
        field: str | None = None,
        hint: str = "",
        code: str | None = None,
    ) -> None:
        if code is not None:
            self.code = code
        unknown = ", ".join(sorted(names))
        super().__init__(f"{_in(field)}No such {self.noun}: {unknown}{hint}")


class UnknownResourceClasses(UnknownNames):
    """The request contains names of resource classes that do not exist."""

    noun = "resource class"


class UnknownTraits(UnknownNames):
    """The request contains names of traits that do not exist."""

    noun = "trait"


class UnknownInventoryClasses(UnknownResourceClasses):
    """A PUT of all inventories of a provider contains names of classes that do not exist."""

    def __init__(self, names: Iterable[str], hint: str) -> None:
        super().__init__(names, "Unknown resource class in inventories", hint)


def _in(field: str | None) -> str:
    return "" if field is None else f"{field}: "


class BadParent(Invalid):
    """The parent does not exist, is the provider itself, or is one of its descendants."""


class NotARoot(Invalid):
    """The path names a provider that is not a root."""

    def __init__(self, uuid: str, root_uuid: str) -> None:
        super().__init__(
            f"resource provider {uuid} is not a root: use that of its tree, {root_uuid}"
        )


class BadCapacity(Invalid):
    """The capacity of an inventory would be less than the minimum."""

    def __init__(
        self, resource_class: str, total: int, reserved: int, capacity: int, least: int
    ) -> None:
        super().__init__(
            f"Inventory of {resource_class}: total {total} less reserved {reserved}, times "
            f"allocation_ratio, makes a capacity of {capacity}; it must be at least {least}; "
            f"reserve less"
        )


class InventoryMissing(Invalid):
    """An update of an inventory that does not exist."""

    def __init__(self, resource_class: str, uuid: str) -> None:
        super().__init__(f"No inventory of class {resource_class} for {uuid}: create it first")


class NotCustom(Invalid):
    """An attempt to change a standard resource class or trait.

    Args:
        verb: "delete" or "update".
        kind: "resource class" or "trait".
        name: name of the class or trait.
    """

    def __init__(self, verb: str, kind: str, name: str) -> None:
        super().__init__(f"Cannot {verb} standard {kind} {name}; only CUSTOM_ ones can be changed")


class HoldHasGroup(Invalid):
    """A claim from a hold that is in a spread group."""

    def __init__(self, consumer: str, group: str) -> None:
        super().__init__(
            f"from_hold: the hold {consumer} is in the spread group {group!r}, and its membership "
            f"cannot move to another consumer"
        )
