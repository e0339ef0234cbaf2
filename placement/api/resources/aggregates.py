"""`/resource_providers/{uuid}/aggregates`."""

from functools import partial

from placement.api import tags
from placement.api.handler import NOW, Call, Reply
from placement.api.history import Feature
from placement.api.members import AtGeneration
from placement.objects import aggregates
from placement.objects.unset import UNSET


def list_aggregates(call: Call) -> Reply:
    """List the aggregates that a provider is in."""
    tag_of = partial(tags.get_for_provider, call)
    with call.service.database.read_trees() as conn:
        provider, uuids = aggregates.get_for_provider(conn, call.path["uuid"], tag_of)
    answer = AtGeneration(provider.generation, uuids)
    return Reply(200, answer, changed_at=NOW, tag=tag_of(provider))


def replace_aggregates(call: Call) -> Reply:
    """Replace the set of aggregates that a provider is in."""
    # In older versions, the body is only the list and contains no generation.
    stated, uuids = UNSET, call.body
    if Feature.AGGREGATE_GENERATION.at(call.version):
        stated, uuids = call.body["resource_provider_generation"], call.body["aggregates"]
    generation, uuids = call.service.database.write(
        partial(
            aggregates.replace,
            uuid=call.path["uuid"],
            generation=stated,
            aggregates=uuids,
        )
    )
    return Reply(200, AtGeneration(generation, uuids), changed_at=NOW)
