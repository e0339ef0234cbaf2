"""`/resource_providers/{uuid}/aggregates` (contract resources.md section 5)."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from placement.api.exchange import NOW, Call, Reply
from placement.objects import aggregates


def _render(uuids: Sequence[str], generation: int) -> Mapping[str, Any]:
    return {"aggregates": uuids, "resource_provider_generation": generation}


def of_provider(call: Call) -> Reply:
    """The aggregates that a provider is in."""
    with call.service.database.read() as conn:
        provider, found = aggregates.of_provider(conn, call.path["uuid"])
    return Reply(200, _render(found, provider.generation), changed_at=NOW)


def replace(call: Call) -> Reply:
    """The whole set of a provider."""
    generation, found = call.service.database.write(
        partial(
            aggregates.replace,
            uuid=call.path["uuid"],
            generation=call.body["resource_provider_generation"],
            wanted=call.body["aggregates"],
        )
    )
    return Reply(200, _render(found, generation), changed_at=NOW)
