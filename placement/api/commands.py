"""Checked bodies, and names in paths, become domain commands."""

from collections.abc import Iterable, Mapping
from typing import Any

from placement.api.json_body import Schema
from placement.api.request_schemas.common import CUSTOM_NAME
from placement.errors import BadBody, BadPath
from placement.objects import identifiers
from placement.objects.claims import Claim
from placement.objects.inventory_rows import Record
from placement.objects.reshape import ProviderInventories, Reshape
from placement.objects.unset import UNSET
from placement.vocabulary import CUSTOM_PREFIX, INVENTORY_AMOUNTS

Body = Mapping[str, Any]
Owner = tuple[str, str]  # project, user

_CUSTOM = Schema(CUSTOM_NAME)


def custom_name(name: str, kind: str) -> str:
    """The name of a custom resource class or trait.  Raises BadPath for any other."""
    try:
        _CUSTOM.check(name)
    except BadBody:
        raise BadPath(f"{name!r}: a custom {kind} is named {CUSTOM_PREFIX}[A-Z0-9_]+") from None
    return name


def record(body: Body) -> Record:
    """One inventory; what is left out has its default."""
    # JSON may say 5.0 for 5.
    amounts = {name: int(body[name]) for name in INVENTORY_AMOUNTS if name in body}
    return Record(**amounts, allocation_ratio=float(body.get("allocation_ratio", 1.0)))


def records(body: Body) -> dict[str, Record]:
    """The inventories of a provider, by class."""
    return {name: record(stated) for name, stated in body["inventories"].items()}


def claim(
    consumer: str,
    body: Body,
    consumer_owner: Owner | None = None,
    field: str = "allocations",
) -> Claim:
    """The allocations that a consumer shall have; `field` is where the body stands.

    What a body of an old version cannot say is UNSET; its owner is `consumer_owner`.
    """
    stated = body["allocations"]
    if isinstance(stated, list):
        stated = {item["resource_provider"]["uuid"]: item for item in stated}
    _check_uuids(stated, field)
    generation = body.get("consumer_generation", UNSET)
    project, user = consumer_owner or (body["project_id"], body["user_id"])
    return Claim(
        consumer,
        {
            provider: {name: int(amount) for name, amount in of_provider["resources"].items()}
            for provider, of_provider in stated.items()
        },
        project,
        user,
        int(generation) if isinstance(generation, int | float) else generation,
        body.get("consumer_type", UNSET),
    )


def claims(body: Body, field: str = "body") -> list[Claim]:
    """The allocations of several consumers, in the order of the body."""
    _check_uuids(body, field)
    return [
        claim(consumer, stated, field=f"{consumer}.allocations")
        for consumer, stated in body.items()
    ]


def reshape(body: Body) -> Reshape:
    """Inventories of providers and allocations of consumers, to be replaced together."""
    _check_uuids(body["inventories"], "inventories")
    return Reshape(
        {
            provider: ProviderInventories(
                int(stated["resource_provider_generation"]), records(stated)
            )
            for provider, stated in body["inventories"].items()
        },
        claims(body["allocations"], "allocations"),
    )


def _check_uuids(keys: Iterable[str], field: str) -> None:
    """Raise BadBody for a key that is no UUID and for two that mean the same one."""
    seen: dict[str, str] = {}
    for key in keys:
        uuid = identifiers.canonical(key)
        if uuid is None:
            raise BadBody(f"{field}: {key!r} is not a UUID")
        if uuid in seen:
            raise BadBody(f"{field}: {seen[uuid]!r} and {key!r} are the same UUID")
        seen[uuid] = key
