"""The data of providers in a tree, with their validation."""

import math
import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any

from falcon_placement_client.errors import ProviderTreeError
from falcon_placement_client.inventory import FIELDS, InventoryRecord
from falcon_placement_client.vocabulary import MAX_INTEGER

Inventories = Mapping[str, InventoryRecord]  # by class
# Class -> record, or mapping of its fields. Missing fields have the default values of the service.
StatedInventories = Mapping[str, InventoryRecord | Mapping[str, Any]]

MAX_NAME = 200  # maximum length of the name of a provider, in characters
RATIO = "allocation_ratio"
NOTHING: Inventories = MappingProxyType({})

_NAME = re.compile(r"[A-Z0-9_]{1,255}\Z")  # of classes and traits


@dataclass(frozen=True, slots=True)
class ProviderData:
    """A provider in a tree. Comparisons ignore its generation."""

    # UUID of the provider.
    uuid: str
    # Name of the provider.
    name: str
    # UUID of the parent, or None for a root.
    parent_uuid: str | None = None
    # Immutable records by resource class.
    inventory: Inventories = field(default_factory=lambda: NOTHING)
    # Names of the traits.
    traits: frozenset[str] = frozenset()
    # UUIDs of the aggregates.
    aggregates: frozenset[str] = frozenset()
    # Generation in the service, or None if the provider was not read from the service.
    generation: int | None = field(default=None, compare=False)


def check_name(name: object) -> str:
    """Return the name of a provider.  Raises ProviderTreeError if it is invalid."""
    if not isinstance(name, str) or not 1 <= len(name) <= MAX_NAME:
        raise ProviderTreeError(
            f"{name!r} cannot be a provider's name: expected 1 to {MAX_NAME} characters"
        )
    return name


def check_uuid(provider: str, text: object, noun: str = "UUID") -> str:
    """Return a UUID in canonical form.  Raises ProviderTreeError, which names the provider."""
    try:
        return str(uuid.UUID(str(text)))
    except ValueError:
        raise ProviderTreeError(f"{provider}: {noun} {text!r} is not a UUID") from None


def check_aggregates(provider: str, aggregates: Iterable[str]) -> frozenset[str]:
    """Return the UUIDs of aggregates in canonical form. Raises the same errors as `check_uuid`."""
    _refuse_text(provider, aggregates, "aggregates")
    return frozenset(check_uuid(provider, aggregate, "aggregate") for aggregate in aggregates)


def check_traits(provider: str, traits: Iterable[str]) -> frozenset[str]:
    """Return the traits.  Raises ProviderTreeError, which names the provider."""
    _refuse_text(provider, traits, "traits")
    for trait in traits:
        _check_word(provider, "trait", trait)
    return frozenset(traits)


def complete_inventories(provider: str, inventories: StatedInventories) -> Inventories:
    """Return the records of inventories.  Raises ProviderTreeError."""
    if not isinstance(inventories, Mapping):
        raise ProviderTreeError(
            f"{provider}: the inventory is {inventories!r:.80}, expected "
            "{class: {'total': amount, …}, …}"
        )
    return MappingProxyType(
        {name: _complete(provider, name, record) for name, record in inventories.items()}
    )


def _complete(
    provider: str, name: str, stated: InventoryRecord | Mapping[str, Any]
) -> InventoryRecord:
    _check_word(provider, "resource class", name)
    where = f"{provider}: inventory {name}"
    record = asdict(stated) if isinstance(stated, InventoryRecord) else stated
    if not isinstance(record, Mapping):
        raise ProviderTreeError(f"{where} is {record!r:.80}, expected {{'total': amount, …}}")
    for member, value in record.items():
        _check_member(where, member, value)
    if "total" not in record:
        raise ProviderTreeError(f"{where} is {record!r:.80}, expected {{'total': amount, …}}")
    complete = InventoryRecord(**record)
    if complete.capacity < 0:
        raise ProviderTreeError(
            f"{where}: reserved is {complete.reserved}, expected no more than the total, "
            f"{complete.total}"
        )
    return complete


def _check_member(where: str, member: str, value: object) -> None:
    if member not in FIELDS:
        raise ProviderTreeError(f"{where}: no member {member!r}, expected {', '.join(FIELDS)}")
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    if member == RATIO:
        is_number = is_integer or isinstance(value, float)
        if not is_number or not 0 <= value < math.inf:  # type: ignore[operator]
            raise ProviderTreeError(f"{where}: {member} is {value!r}, expected a number")
        return
    least = 0 if member == "reserved" else 1
    if not is_integer or not least <= value <= MAX_INTEGER:  # type: ignore[operator]
        raise ProviderTreeError(
            f"{where}: {member} is {value!r}, expected a whole number from {least} to {MAX_INTEGER}"
        )


def _check_word(provider: str, noun: str, name: object) -> None:
    if not isinstance(name, str) or not _NAME.match(name):
        raise ProviderTreeError(
            f"{provider}: {name!r} cannot be a {noun}: expected capital letters, digits and _"
        )


def _refuse_text(provider: str, value: object, noun: str) -> None:
    # A str is also a collection, but passing a str is almost always a mistake.
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise ProviderTreeError(f"{provider}: the {noun} are {value!r:.80}, expected a set")


def parents_first(providers: list[ProviderData]) -> dict[str, ProviderData]:
    """Return providers by UUID, with parents before their children. Raises ProviderTreeError."""
    by_uuid = {provider.uuid: provider for provider in providers}
    names = {provider.name for provider in providers}
    if min(len(names), len(by_uuid)) < len(providers):
        raise ProviderTreeError("two providers of the tree have the same name or UUID")
    children: dict[str | None, list[ProviderData]] = {}
    for provider in providers:
        parent = provider.parent_uuid
        if parent is not None and parent not in by_uuid:
            raise ProviderTreeError(f"{provider.name}: its parent {parent} is not in the tree")
        children.setdefault(parent, []).append(provider)
    # The list starts with the roots. Children are added during the iteration.
    ordered = children.pop(None, [])
    for provider in ordered:
        ordered += children.pop(provider.uuid, ())
    if children:
        cyclic = next(provider for provider in providers if provider.parent_uuid in children)
        raise ProviderTreeError(f"{cyclic.name}: the provider is its own ancestor")
    return {provider.uuid: provider for provider in ordered}
