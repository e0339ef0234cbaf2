"""`/resource_providers/{uuid}/aggregates` (contract resources.md section 5)."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from placement.api.handler import NOW, Call, Reply
from placement.api.history import Feature
from placement.api.microversion import Microversion
from placement.api.versioned import growing
from placement.objects import aggregates
from placement.objects.unset import UNSET

MEMBERS = growing(
    {
        "1.1": ("aggregates",),
        Feature.AGGREGATE_GENERATION.value: ("resource_provider_generation",),
    }
)


def _render(uuids: Sequence[str], generation: int, version: Microversion) -> Mapping[str, Any]:
    members = {"aggregates": uuids, "resource_provider_generation": generation}
    return {name: members[name] for name in MEMBERS.at(version)}


def of_provider(call: Call) -> Reply:
    """The aggregates that a provider is in."""
    with call.service.database.read() as conn:
        provider, found = aggregates.of_provider(conn, call.path["uuid"])
    return Reply(200, _render(found, provider.generation, call.version), changed_at=NOW)


def replace(call: Call) -> Reply:
    """The whole set of a provider, which an old body states without a generation."""
    stated, uuids = UNSET, call.body
    if Feature.AGGREGATE_GENERATION.at(call.version):
        stated, uuids = call.body["resource_provider_generation"], call.body["aggregates"]
    generation, found = call.service.database.write(
        partial(
            aggregates.replace,
            uuid=call.path["uuid"],
            generation=stated,
            aggregates=uuids,
        )
    )
    return Reply(200, _render(found, generation, call.version), changed_at=NOW)
