"""Responses about one consumer, and about lists of consumers."""

from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

from placement.api import samples
from placement.api.members import UTC_TIME, next_links
from placement.api.operations.allocations import BY_PROVIDER
from placement.api.shapes import Array, Json, Object, Property
from placement.objects.claims import SpreadGroup
from placement.objects.consumer_list import ListedConsumer
from placement.vocabulary import UNKNOWN_CONSUMER_TYPE

_TEXT = {"type": "string"}
_GROUP: Object[SpreadGroup] = Object(
    "SpreadGroup",
    Property("name", Json({**_TEXT, "examples": ["web"]})),
    Property("max_per_host", Json({"type": "integer", "examples": [1]})),
)
_REQUEST = Json(
    {
        "type": "object",
        "additionalProperties": True,
        "examples": [{"groups": {"": {"resources": samples.AMOUNTS}}}],
    }
)


CONSUMER: Object[ListedConsumer] = Object(
    "Consumer",
    Property("uuid", Json({**_TEXT, "examples": [samples.CONSUMER]})),
    Property("project_id", Json({**_TEXT, "examples": [samples.PROJECT]}), attrgetter("project")),
    Property("user_id", Json({**_TEXT, "examples": [samples.USER]}), attrgetter("user")),
    Property(
        "consumer_type",
        Json({**_TEXT, "examples": ["INSTANCE"]}),
        lambda consumer: consumer.consumer_type or UNKNOWN_CONSUMER_TYPE,
    ),
    Property("generation", Json({"type": "integer", "examples": [1]})),
    Property("spread_group", _GROUP),
    Property("expires_at", UTC_TIME),
    Property("allocations", BY_PROVIDER),
    Property("request", _REQUEST),
    optional=("spread_group", "expires_at", "allocations", "request"),
)


class ListedConsumers(NamedTuple):
    """A page of consumers."""

    # The consumers of the page.
    consumers: Sequence[ListedConsumer]
    # Query string of the next page; None on the last page.
    more: str | None = None


CONSUMERS: Object[ListedConsumers] = Object(
    "Consumers",
    Property("consumers", Array(CONSUMER)),
    Property("consumers_links", next_links("/consumers"), attrgetter("more")),
    optional=["consumers_links"],
)
