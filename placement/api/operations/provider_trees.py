"""`/provider_trees`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from placement.api import samples
from placement.api.bodies import (
    GENERATION,
    OFF,
    body_since_2,
    by_class,
    canonical_uuid,
    closed,
    sample,
)
from placement.api.handler import NOW, Call, Reply
from placement.api.members import CHANGING, UUID_KEY
from placement.api.operations import aggregates, inventories, providers, traits
from placement.api.operations.inventories import BY_CLASS, read_records
from placement.api.shapes import Array, Fragment, Json, Object, Property, Table, ready
from placement.errors import BadBody, BadPath
from placement.objects import identifiers, provider_trees
from placement.objects.provider_trees import ProviderOutcome, ProviderTree, TreeOutcome
from placement.objects.tree_state import NO_EDIT, Edit, ListedProvider, TreeCommand
from placement.objects.unset import UNSET
from placement.vocabulary import is_custom_name

MAX_PROVIDERS = 1000
# Maximum number of inventories, traits and aggregates of all providers of a tree. A write of so
# many takes at most two seconds of CPU time, for new aggregates.
MAX_PARTS = 20_000
# Maximum number of different custom names in a request that may create them. The creation of so
# many takes about one second of CPU time.
MAX_NEW_NAMES = 10_000


def _edit_schema(names: Fragment) -> Fragment:
    """Return the schema of a complete list of names, or of names to add and names to remove."""
    lists = {"add": names, "remove": names}
    types = ["array", "object"]
    example = {"add": names["items"]["examples"], "remove": []}
    either = {**names, "type": types, "properties": lists, "additionalProperties": False}
    return sample(either, example)


NEW_RECORD = closed(inventories.TOTAL, inventories.OPTIONAL, "TreeInventory")
NEW_PROVIDER = closed(
    {"uuid": providers.NEW_UUID, **providers.NEW, **providers.NESTED},
    {
        "generation": sample({**GENERATION, "type": ["integer", "null"]}, 6),
        "inventories": by_class(NEW_RECORD),
        "traits": _edit_schema(traits.NEW_NAMES),
        "aggregates": _edit_schema(aggregates.NEW_UUIDS),
    },
    "TreeProvider",
)
PUT = body_since_2(
    closed(
        {
            "providers": {
                "type": "array",
                "minItems": 1,
                "maxItems": MAX_PROVIDERS,
                "items": NEW_PROVIDER,
                "description": "All providers together may have "
                f"{MAX_PARTS:,} inventories, traits and aggregates.",
            }
        },
        {
            "prune": OFF,
            "create_names": {
                **OFF,
                "description": "With true, the body may contain "
                f"{MAX_NEW_NAMES:,} different custom names.",
            },
        },
        "NewProviderTree",
    )
)

_UUID = Json.of("string", samples.PROVIDER, format="uuid")
_PARENT = Json.of(["string", "null"], samples.PARENT, format="uuid")
_GENERATION = Json.of("integer", 6)


def _rows(tree: ProviderTree) -> Sequence[Mapping[str, Any]]:
    return [
        {
            "uuid": member.uuid,
            "name": member.name,
            "parent_provider_uuid": member.parent_uuid,
            "generation": member.generation,
            **{part.value: by_provider[member.id] for part, by_provider in tree.parts.items()},
        }
        for member in tree.members
    ]


_PROVIDER: Object[Mapping[str, Any]] = Object(
    "TreeMember",
    Property("uuid", _UUID),
    Property("name", Json.of("string", samples.PROVIDER_NAME)),
    Property("parent_provider_uuid", _PARENT),
    Property("generation", _GENERATION),
    Property("inventories", ready(BY_CLASS)),
    Property("traits", traits.NAMES),
    Property("aggregates", aggregates.UUIDS),
)

TREE: Object[ProviderTree] = Object(
    "ProviderTree",
    Property("providers", ready(Array(_PROVIDER)), _rows),
    Property("changing", CHANGING, lambda tree: tree.changing or None),
    optional=["changing"],
)
_OUTCOME: Object[ProviderOutcome] = Object(
    "TreeChange",
    Property("generation", _GENERATION),
    Property("change", Json.of("string", "updated", enum=["created", "updated", "unchanged"])),
)
WRITTEN: Object[TreeOutcome] = Object(
    "WrittenTree",
    Property("providers", Table(UUID_KEY, _OUTCOME)),
    Property("deleted", Array(_UUID)),
)

# Kind of names -> the policy rule that a caller needs to create them.
CREATION_RULES = {
    "resource_class": "placement:resource_classes:update",
    "trait": "placement:traits:update",
}


def read_tree(root: str, body: Mapping[str, Any]) -> TreeCommand:
    """Return a whole tree of providers.

    Raises BadPath if the root is not a UUID, and BadBody if members contradict each other.
    """
    root_uuid = identifiers.canonical(root)
    if root_uuid is None:
        raise BadPath(f"root={root!r}: expected the UUID of a root resource provider")
    listed = [_listed(member, index) for index, member in enumerate(body["providers"])]
    _check_size(listed, creates=body.get("create_names", False))
    position_by_uuid: dict[str, int] = {}
    for index, provider in enumerate(listed):
        if provider.uuid in position_by_uuid:
            first = position_by_uuid[provider.uuid]
            raise BadBody(f"providers[{index}].uuid: providers[{first}].uuid is the same UUID")
        position_by_uuid[provider.uuid] = index
    if root_uuid not in position_by_uuid:
        raise BadBody(f"providers: the root {root_uuid} must be one of them")
    return TreeCommand(root_uuid, listed, body.get("prune", False), body.get("create_names", False))


def _check_size(providers: Sequence[ListedProvider], *, creates: bool) -> None:
    """Raise BadBody if a tree has more parts or new names than one transaction can write."""
    parts = 0
    names: set[str] = set()
    for provider in providers:
        classes = provider.inventories or {}
        edits = (provider.traits, provider.aggregates)
        parts += len(classes) + sum(len(edit.add) + len(edit.remove) for edit in edits)
        names.update(classes, provider.traits.add)
    if parts > MAX_PARTS:
        raise BadBody(
            f"providers: all together may have {MAX_PARTS} inventories, traits and aggregates, "
            f"not {parts}; send several requests"
        )
    custom = sum(map(is_custom_name, names)) if creates else 0
    if custom > MAX_NEW_NAMES:
        raise BadBody(
            f"create_names: the request may contain {MAX_NEW_NAMES} different custom names, not "
            f"{custom}; send several requests"
        )


def _listed(body: Mapping[str, Any], index: int) -> ListedProvider:
    parent = body["parent_provider_uuid"]
    generation = body.get("generation", UNSET)
    return ListedProvider(
        canonical_uuid(body["uuid"]),
        body["name"],
        None if parent is None else canonical_uuid(parent),
        int(generation) if isinstance(generation, float) else generation,
        read_records(body) if "inventories" in body else None,
        _edit(body.get("traits"), f"providers[{index}].traits", str),
        _edit(body.get("aggregates"), f"providers[{index}].aggregates", identifiers.key),
    )


def _edit(value: Any, path: str, key: Callable[[str], str]) -> Edit:
    """Return the change of a set of names. key: function that normalizes a name."""
    if value is None:
        return NO_EDIT
    if isinstance(value, list):
        return Edit(value, (), replaces=True)
    add, remove = value.get("add", ()), value.get("remove", ())
    both = set(map(key, add)).intersection(map(key, remove))
    if both:
        raise BadBody(f"{path}: {min(both)} is both in add and in remove")
    return Edit(add, remove, replaces=False)


def show_provider_tree(call: Call) -> Reply:
    """Show a tree of resource providers with their inventories, traits and aggregates.

    The response has the form of the request that replaces the tree.
    """
    with call.service.database.read_trees() as conn:
        tree = provider_trees.get(conn, call.path["root"])
    return Reply(200, tree, changed_at=NOW)


def replace_provider_tree(call: Call) -> Reply:
    """Change a tree of resource providers to match the body, in one transaction.

    The body replaces the parts of a provider that it contains, and does not change the other parts.
    Instead of all traits or aggregates, it can contain single ones to add and to remove. With
    `prune`, providers of the tree that are not listed are deleted. With `create_names`, custom
    resource classes and traits that do not exist are created first. Only differences are written.
    """
    command = read_tree(call.path["root"], call.body)
    outcome = call.write(
        provider_trees.put,
        command=command,
        may_create=lambda kind: call.rights.require(CREATION_RULES[kind]),
    )
    return Reply(200, outcome, changed_at=NOW)
