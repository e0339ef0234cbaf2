"""Conversion of validated bodies, and of names in paths, into domain commands."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from placement.api.json_body import path_of
from placement.api.query import (
    read_alternatives,
    read_candidates,
    read_headroom,
    read_order_request,
)
from placement.api.request_schemas.provider_trees import MAX_NEW_NAMES, MAX_PARTS
from placement.candidates import ClaimRequest
from placement.candidates.simulation import (
    Add,
    Change,
    ClaimOnCopies,
    Drain,
    Remove,
    SimulationRequest,
)
from placement.errors import BadBody, BadPath
from placement.inventory import InventoryRecord
from placement.objects import identifiers
from placement.objects.claim_records import request_text
from placement.objects.claims import Claim, SpreadGroup
from placement.objects.reshape import ProviderInventories, ReshapeCommand
from placement.objects.tree_state import NO_EDIT, Edit, ListedProvider, TreeCommand
from placement.objects.unset import UNSET
from placement.vocabulary import (
    CUSTOM_PREFIX,
    INVENTORY_AMOUNTS,
    UNKNOWN_CONSUMER_TYPE,
    is_custom_name,
)

Body = Mapping[str, Any]
Owner = tuple[str, str]  # project, user


def custom_name(name: str, kind: str) -> str:
    """Return the name of a custom resource class or trait.

    Raises:
        BadPath: it is not a valid custom name.
    """
    if not is_custom_name(name):
        raise BadPath(f"{name!r}: a custom {kind} is named {CUSTOM_PREFIX}[A-Z0-9_]+")
    return name


def record(body: Body) -> InventoryRecord:
    """Return an inventory record. Missing members get their defaults."""
    # 5.0 and 5 are the same number in JSON.
    amounts = {name: int(body[name]) for name in INVENTORY_AMOUNTS if name in body}
    return InventoryRecord(**amounts, allocation_ratio=float(body.get("allocation_ratio", 1.0)))


def records(body: Body) -> dict[str, InventoryRecord]:
    """Return the inventories of a provider, by class."""
    return {name: record(inventory) for name, inventory in body["inventories"].items()}


def claim(
    consumer: str,
    body: Body,
    consumer_owner: Owner | None = None,
    field: str = "allocations",
) -> Claim:
    """Return the claim of a consumer.

    Members that older versions do not have are UNSET.

    Args:
        consumer: its UUID.
        body: states the allocations.
        consumer_owner: project and user if the body states none.
        field: name of the allocations in errors.

    Raises:
        BadBody: a key is not a UUID, or two keys are the same UUID.
    """
    allocations = body["allocations"]
    if isinstance(allocations, list):
        allocations = {item["resource_provider"]["uuid"]: item for item in allocations}
    _check_uuids(allocations, field)
    project, user = consumer_owner or (body["project_id"], body["user_id"])
    generation = body.get("consumer_generation", UNSET)
    if isinstance(generation, float):
        generation = int(generation)
    consumer_type = body.get("consumer_type", UNSET)
    if consumer_type == UNKNOWN_CONSUMER_TYPE:
        consumer_type = UNSET
    return Claim(
        consumer,
        {provider: _amounts(allocation) for provider, allocation in allocations.items()},
        project,
        user,
        generation,
        consumer_type,
    )


def _amounts(allocation: Body) -> Mapping[str, int]:
    return {name: int(amount) for name, amount in allocation["resources"].items()}


def claims(body: Body, field: str = "body") -> list[Claim]:
    """Return the claims of several consumers, in the order of the body.  Raises BadBody."""
    _check_uuids(body, field)
    return [
        claim(consumer, member, field=f"{consumer}.allocations")
        for consumer, member in body.items()
    ]


def reshape(body: Body) -> ReshapeCommand:
    """Return the inventories and claims that are replaced together.  Raises BadBody."""
    _check_uuids(body["inventories"], "inventories")
    inventories = {
        provider: ProviderInventories(int(member["resource_provider_generation"]), records(member))
        for provider, member in body["inventories"].items()
    }
    return ReshapeCommand(inventories, claims(body["allocations"], "allocations"))


def provider_tree(root: str, body: Body) -> TreeCommand:
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


def _listed(body: Body, index: int) -> ListedProvider:
    parent = body["parent_provider_uuid"]
    generation = body.get("generation", UNSET)
    return ListedProvider(
        _uuid(body["uuid"]),
        body["name"],
        None if parent is None else _uuid(parent),
        int(generation) if isinstance(generation, float) else generation,
        records(body) if "inventories" in body else None,
        _edit(body.get("traits"), f"providers[{index}].traits", str),
        _edit(body.get("aggregates"), f"providers[{index}].aggregates", identifiers.key),
    )


def _uuid(text: str) -> str:
    uuid = identifiers.canonical(text)
    assert uuid is not None, "the schema allows UUIDs only"
    return uuid


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


def new_consumer(body: Body) -> Claim:
    """Return the claim of a consumer that must not exist, still without allocations."""
    return Claim(
        body["consumer_uuid"],
        {},
        body["project_id"],
        body["user_id"],
        generation=None,
        consumer_type=body["consumer_type"],
    )


def demand(body: Body, within: tuple[str | int, ...] = ()) -> ClaimRequest:
    """Return the claim request of a new consumer.

    Args:
        body: states the consumer and the request.
        within: path of the body, for errors.

    Raises:
        BadQuery: the request is invalid.
    """
    steps = (*within, "request")
    claim = new_consumer(body)
    stated = body["request"]
    requests = read_alternatives(stated, steps)
    is_choice = "first_available" in stated
    remembered: Sequence[str] = ()
    if body.get("remember"):
        remembered = [request_text(each) for each in stated.get("first_available", [stated])]
    return ClaimRequest(
        requests[0],
        claim,
        path_of(steps),
        requests if is_choice else (),
        _spread_group(body.get("spread_group")),
        None if "expires_in" not in body else int(body["expires_in"]),
        remembered,
    )


def _spread_group(body: Body | None) -> SpreadGroup | None:
    return None if body is None else SpreadGroup(body["name"], int(body["max_per_host"]))


def demands(body: Body) -> list[ClaimRequest]:
    """Return the claim requests of several new consumers.  Raises BadBody, BadQuery."""
    path_by_uuid: dict[str | None, str] = {}
    for position, member in enumerate(body["claims"]):
        path = path_of(("claims", position, "consumer_uuid"))
        uuid = identifiers.canonical(member["consumer_uuid"])
        if uuid in path_by_uuid:
            raise BadBody(f"{path}: {path_by_uuid[uuid]} is the same UUID")
        path_by_uuid[uuid] = path
    return [demand(entry, ("claims", position)) for position, entry in enumerate(body["claims"])]


def simulation(body: Body) -> SimulationRequest:
    """Return the changes to simulate.  Raises BadBody, BadQuery."""
    requests = body.get("requests", {})
    _check_uuids(requests, "requests")
    return SimulationRequest(
        [_change(change, index) for index, change in enumerate(body["changes"])],
        read_candidates,
        {
            _uuid(consumer): read_candidates(request, ("requests", consumer))
            for consumer, request in requests.items()
        },
        read_order_request(body),
        read_headroom(body["headroom"], ("headroom",)) if "headroom" in body else None,
    )


def _change(change: Body, index: int) -> Change:
    if "drain" in change:
        return Drain(change["drain"])
    if "remove" in change:
        return Remove(change["remove"])
    if "add" in change:
        return Add(change["add"]["like"], int(change["add"].get("count", 1)))
    steps = ("changes", index, "claim", "request")
    claim = change["claim"]
    spread = _spread_group(claim.get("spread_group"))
    return ClaimOnCopies(read_candidates(claim["request"], steps), spread)


def _check_uuids(keys: Iterable[str], field: str) -> None:
    """Raise BadBody if a key is not a UUID, or if two keys are the same UUID."""
    key_by_uuid: dict[str, str] = {}
    for key in keys:
        uuid = identifiers.canonical(key)
        if uuid is None:
            raise BadBody(f"{field}: {key!r} is not a 'uuid'")
        if uuid in key_by_uuid:
            raise BadBody(f"{field}: {key_by_uuid[uuid]!r} and {key!r} are the same UUID")
        key_by_uuid[uuid] = key
