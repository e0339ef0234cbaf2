"""`/resource_providers/{uuid}/aggregates`."""

from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter

from placement.api import samples, tags
from placement.api.bodies import GENERATION, MAX_ITEMS, UUID_LIKE, Schema, closed, sample
from placement.api.handler import NOW, Call, Reply
from placement.api.history import Feature, Versioned
from placement.api.members import GENERATION_MEMBER, AtGeneration
from placement.api.shapes import Array, Json, Object, Property
from placement.objects import aggregates
from placement.objects.unset import UNSET

NEW_UUIDS = {
    "type": "array",
    "items": sample({**UUID_LIKE, "description": "the UUID of an aggregate"}, samples.AGGREGATE),
    "uniqueItems": True,
    "maxItems": MAX_ITEMS,
}

REPLACE = Versioned(
    {
        "1.1": Schema(NEW_UUIDS),
        "1.19": Schema(
            closed({"aggregates": NEW_UUIDS, "resource_provider_generation": GENERATION})
        ),
    }
)

UUIDS = Array(Json.of("string", samples.AGGREGATE))

AGGREGATES: Object[AtGeneration[Sequence[str]]] = Object(
    "ProviderAggregates",
    Property("aggregates", UUIDS, attrgetter("value")),
    replace(GENERATION_MEMBER, since=Feature.AGGREGATE_GENERATION.value),
)


def list_aggregates(call: Call) -> Reply:
    """List the aggregates that a provider is in."""
    provider, uuids, tag = tags.read_provider(call, aggregates.read)
    content = AtGeneration(provider.generation, uuids)
    return Reply(200, content, changed_at=NOW, tag=tag)


def replace_aggregates(call: Call) -> Reply:
    """Replace the set of aggregates that a provider is in."""
    # In older versions, the body is only the list and contains no generation.
    stated, uuids = UNSET, call.body
    if Feature.AGGREGATE_GENERATION.at(call.version):
        stated, uuids = call.body["resource_provider_generation"], call.body["aggregates"]
    generation, uuids = call.write(
        aggregates.replace, uuid=call.path["uuid"], generation=stated, aggregates=uuids
    )
    return Reply(200, AtGeneration(generation, uuids), changed_at=NOW)
