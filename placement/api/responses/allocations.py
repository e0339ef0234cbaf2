"""Responses about the allocations of a consumer, and on a provider."""

from collections.abc import Mapping
from operator import attrgetter

from placement.api import samples
from placement.api.members import (
    AMOUNTS,
    GENERATION_MEMBER,
    PROVIDER_GENERATION,
    UUID_KEY,
    AtGeneration,
)
from placement.api.shapes import Custom, Json, Object, Property, Renderer, Table, View, itself
from placement.objects.allocations import ConsumerAllocations, Holding, ProviderAllocations
from placement.vocabulary import UNKNOWN_CONSUMER_TYPE

_TYPE = Json({"type": "string", "examples": ["INSTANCE"]})
_PROJECT = Json({"type": "string", "examples": [samples.PROJECT]})
_USER = Json({"type": "string", "examples": [samples.USER]})
_CONSUMER_GENERATION = Json({"type": "integer", "examples": [1]})
_ALLOCATION: Object[ProviderAllocations] = Object(
    "Allocation", Property("generation", PROVIDER_GENERATION), Property("resources", AMOUNTS)
)


BY_PROVIDER = Table(UUID_KEY, _ALLOCATION)
_MEMBERS = (
    Property("allocations", BY_PROVIDER, attrgetter("by_provider")),
    Property("project_id", _PROJECT, attrgetter("project"), since="1.12"),
    Property("user_id", _USER, attrgetter("user"), since="1.12"),
    Property("consumer_generation", _CONSUMER_GENERATION, attrgetter("generation"), since="1.28"),
    Property(
        "consumer_type",
        _TYPE,
        lambda consumer: consumer.consumer_type or UNKNOWN_CONSUMER_TYPE,
        since="1.38",
    ),
)


def _consumer(view: View) -> Renderer:
    """Return a function that renders a consumer; without allocations, it has no other members."""
    render = Object[ConsumerAllocations]("", *_MEMBERS).renderer(view)
    return lambda consumer: render(consumer) if consumer.by_provider else {"allocations": {}}


CONSUMER = Custom(
    Object("ConsumerAllocations", *_MEMBERS, optional=[member.name for member in _MEMBERS[1:]]),
    _consumer,
)
CONSUMERS: Object[Mapping[str, ConsumerAllocations]] = Object(
    "AllocationsOfConsumers",
    Property(
        "allocations",
        Table({"type": "string", "examples": [samples.CONSUMER]}, CONSUMER),
        itself,
    ),
)


_HOLDING: Object[Holding] = Object(
    "AllocationOnProvider",
    Property("resources", AMOUNTS),
    Property("consumer_generation", _CONSUMER_GENERATION, attrgetter("generation"), since="1.28"),
)
BY_CONSUMER = Table({"type": "string", "examples": [samples.CONSUMER]}, _HOLDING)
ON_PROVIDER: Object[AtGeneration[Mapping[str, Holding]]] = Object(
    "ProviderAllocations",
    GENERATION_MEMBER,
    Property("allocations", BY_CONSUMER, attrgetter("value")),
)
