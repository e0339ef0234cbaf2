"""Trees of providers for operators: show a tree, compare it with a file, and replace it.

Each function implements one command. It returns rows, and the command formats them. Documents are
bodies of `PUT /provider_trees/{root}`. Only the list of providers is also accepted.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from falcon_placement_client import tree_reader
from falcon_placement_client.errors import ProviderTreeError
from falcon_placement_client.listing import find_provider
from falcon_placement_client.provider_data import (
    ProviderData,
    check_aggregates,
    check_name,
    check_traits,
    check_uuid,
    complete_inventories,
)
from falcon_placement_client.provider_tree import TreeSnapshot
from falcon_placement_client.rest import RestApi

# A provider in a document.
Entry = Mapping[str, Any]

_PARENT = "parent_provider_uuid"
# Members of an entry. Documents may contain the last one, but it is not written.
MEMBERS = (
    "uuid", "name", _PARENT, "generation", "inventories", "traits", "aggregates", "used",
)  # fmt: skip


class ProviderRow(NamedTuple):
    """A provider in a tree. Except for `used`, the row is an entry of a document."""

    uuid: str
    name: str
    # UUID of the parent, or None for the root.
    parent_provider_uuid: str | None
    generation: int | None
    # Records by resource class.
    inventories: Mapping[str, Mapping[str, int | float]]
    # Allocated units by class, for the classes in the inventory.
    used: Mapping[str, int]
    # Sorted names of the traits.
    traits: Sequence[str]
    # Sorted UUIDs of the aggregates.
    aggregates: Sequence[str]


class ChangeRow(NamedTuple):
    """A change that would make a tree match a document."""

    provider: str
    uuid: str
    change: str


class AppliedRow(NamedTuple):
    """The result of applying a document to a provider."""

    # Name of the provider. Empty if the provider is deleted.
    name: str
    uuid: str
    # `created`, `updated`, `unchanged` or `deleted`.
    change: str
    # Generation after the write, or None if the provider is deleted.
    generation: int | None


def show_tree(api: RestApi, provider: str) -> list[ProviderRow]:
    """Return the tree of a provider. Parents come before their children.

    Args:
        provider: the UUID or the name of any provider of the tree.

    Raises:
        RestError: there is no such provider.
    """
    uuid = find_provider(api, provider)["uuid"]
    usages = tree_reader.read_usages(api, uuid)
    return [
        _row(each, usages.get(each.uuid, {}))
        for each in TreeSnapshot(tree_reader.read_tree(api, uuid))
    ]


def diff_tree(api: RestApi, document: Any, *, prune: bool = False) -> list[ChangeRow]:
    """Return the changes that applying a document would make.

    Args:
        document: a body of `PUT /provider_trees/{root}`, or its providers.
        prune: whether providers that are not listed are deleted; also if the document says so.

    Raises:
        ProviderTreeError: the document is malformed.
    """
    entries, options = _read(document)
    current = TreeSnapshot(tree_reader.read_tree(api, _root(entries)))
    providers = {each.uuid: each for each in current}
    if prune or options.get("prune"):
        providers.clear()
    providers |= {each.uuid: each for each in (_provider(current, entry) for entry in entries)}
    target = TreeSnapshot(providers.values())
    names = {each.uuid: each.name for each in [*current, *target]}
    return [ChangeRow(names[each.uuid], each.uuid, str(each)) for each in target - current]


def apply_tree(
    api: RestApi,
    document: Any,
    *,
    prune: bool = False,
    create_names: bool = False,
    check_generations: bool = True,
    dry_run: bool = False,
) -> list[AppliedRow]:
    """Replace a tree with the content of a document, in one transaction.

    Args:
        create_names: whether missing custom classes and traits are created; also if the document
            says so.
        check_generations: whether the generations in the document must equal the generations in the
            service.
        dry_run: whether nothing is changed in the end.

    Raises:
        ServiceTooOld: the service does not support placement 2.0.
        ProviderTreeError: the document is malformed.
        RefusedError: the service refuses the tree.
    """
    api.require_v2("applying a tree")
    entries, options = _read(document)
    left_out = {"used"} if check_generations else {"used", "generation"}
    providers = [
        {member: value for member, value in entry.items() if member not in left_out}
        for entry in entries
    ]
    body = {"providers": providers, "prune": prune, "create_names": create_names}
    body |= {name: value for name, value in options.items() if value}
    path = f"/provider_trees/{_root(entries)}{'?dry_run=true' if dry_run else ''}"
    response = api.put(path, body)
    names = {check_uuid("the document", entry["uuid"]): entry["name"] for entry in entries}
    rows = [
        AppliedRow(names.get(uuid, ""), uuid, each["change"], each["generation"])
        for uuid, each in response["providers"].items()
    ]
    return rows + [AppliedRow("", uuid, "deleted", None) for uuid in response["deleted"]]


def _row(provider: ProviderData, usages: Mapping[str, int]) -> ProviderRow:
    return ProviderRow(
        provider.uuid,
        provider.name,
        provider.parent_uuid,
        provider.generation,
        {name: asdict(record) for name, record in sorted(provider.inventory.items())},
        {name: usages.get(name, 0) for name in sorted(provider.inventory)},
        sorted(provider.traits),
        sorted(provider.aggregates),
    )


def _read(document: Any) -> tuple[Sequence[Entry], Mapping[str, Any]]:
    """Return the entries in a document, and its other members.  Raises ProviderTreeError."""
    options = dict(document) if isinstance(document, Mapping) else {}
    entries = options.pop("providers", None) if options else document
    if not isinstance(entries, list) or not entries:
        raise ProviderTreeError("expected a list of providers, or a mapping with `providers`")
    if unknown := sorted(options.keys() - {"prune", "create_names"}):
        raise ProviderTreeError(f"there is no member {unknown[0]}")
    for index, entry in enumerate(entries):
        where = f"providers[{index}]"
        if not isinstance(entry, Mapping) or not {"uuid", "name"} <= entry.keys():
            raise ProviderTreeError(f"{where}: expected a provider, with uuid and name")
        if unknown := sorted(map(str, entry.keys() - set(MEMBERS))):
            raise ProviderTreeError(
                f"{where}: there is no member {unknown[0]}, expected {', '.join(MEMBERS)}"
            )
    return entries, options


def _root(entries: Sequence[Entry]) -> str:
    """Return the UUID of the only provider without a parent."""
    roots = [entry for entry in entries if entry.get(_PARENT) is None]
    if len(roots) != 1:
        raise ProviderTreeError(f"expected one provider without {_PARENT}, found {len(roots)}")
    return check_uuid("the root", roots[0]["uuid"])


def _provider(current: TreeSnapshot, entry: Entry) -> ProviderData:
    name = check_name(entry["name"])
    uuid = check_uuid(name, entry["uuid"])
    parent = entry.get(_PARENT)
    old = current.find(uuid) or ProviderData(uuid, name)
    inventory = old.inventory
    if "inventories" in entry:
        inventory = complete_inventories(name, entry["inventories"])
    return ProviderData(
        uuid,
        name,
        None if parent is None else check_uuid(name, parent, "parent"),
        inventory,
        _names(entry, "traits", old.traits, check_traits),
        _names(entry, "aggregates", old.aggregates, check_aggregates),
    )


def _names(
    entry: Entry,
    part: str,
    old: frozenset[str],
    check: Callable[[str, Iterable[str]], frozenset[str]],
) -> frozenset[str]:
    """Return a part of a provider after applying its entry."""
    name, value = entry["name"], entry.get(part, sorted(old))
    if isinstance(value, list):
        return check(name, value)
    if isinstance(value, Mapping) and value.keys() <= {"add", "remove"}:
        return (old - check(name, value.get("remove", []))) | check(name, value.get("add", []))
    raise ProviderTreeError(f"{name}: the {part} are not a list, nor `add` and `remove`")
