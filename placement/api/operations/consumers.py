"""`/consumers`."""

from collections.abc import Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import NamedTuple

from placement.api import samples
from placement.api.bodies import body_since_2
from placement.api.candidate_requests.json_form import read_candidates
from placement.api.candidate_requests.schema import REQUEST
from placement.api.handler import NOW, Call, Reply
from placement.api.history import Microversion
from placement.api.members import PROJECT, USER, UTC_TIME, next_links
from placement.api.operations.allocations import BY_PROVIDER
from placement.api.operations.claims import SPREAD_GROUP, read_spread_group
from placement.api.parameters import (
    Pairs,
    Parameter,
    after,
    include_parameter,
    last_values,
    marker_parameter,
    matching,
    owner,
    pairs,
    parse_include,
    parse_show,
    parse_uuid,
    positive,
    provider_uuid,
)
from placement.api.shapes import Array, Json, Object, Property
from placement.db.statements.consumer_list import ConsumerFilter
from placement.errors import BadQuery
from placement.objects import claim_records, consumer_list, identifiers
from placement.objects.claims import SpreadGroup
from placement.objects.consumer_list import ConsumerPart, ListedConsumer
from placement.objects.paging import ListPage
from placement.vocabulary import UNKNOWN_CONSUMER_TYPE

REMEMBER = body_since_2(REQUEST)
JOIN = body_since_2(SPREAD_GROUP)

MAX_CONSUMERS = 1_000  # in one response

_INCLUDE = include_parameter("consumer", ConsumerPart)
SHOW_PARAMETERS: Mapping[str, Parameter] = {"include": _INCLUDE}
PARAMETERS: Mapping[str, Parameter] = {
    "project_id": owner("2.0", "A project; only its consumers are listed."),
    "user_id": owner("2.0", "A user of the project; only its consumers are listed."),
    "consumer_type": Parameter(
        "2.0",
        "A type of consumers, or `unknown` for consumers without a type.",
        matching("([A-Z0-9_]{1,255}|unknown)"),
        error="expected a type, or unknown",
    ),
    "in_tree": provider_uuid(
        "2.0", "UUID of a provider; only consumers that use its tree are listed."
    ),
    "spread_group": Parameter(
        "2.0", "The name of a spread group of the project; only its members are listed."
    ),
    "held": Parameter("2.0", "`true` lists only holds.", matching("true"), error="expected true"),
    "limit": Parameter(
        "2.0",
        "Maximum number of consumers, in the order of their UUIDs; "
        f"{MAX_CONSUMERS:,} is the default. `consumers_links` has a link to the next page.",
        {"type": "integer", "minimum": 1, "maximum": MAX_CONSUMERS, "default": MAX_CONSUMERS},
    ),
    "marker": marker_parameter("consumers"),
    "include": _INCLUDE,
}


def parse_consumer_query(query: Pairs, version: Microversion) -> tuple[ConsumerFilter, ListPage]:
    """Return the conditions on consumers, and the requested page.  Raises BadQuery."""
    values = last_values(query, PARAMETERS, version)
    for key in ("user_id", "spread_group"):
        if key in values and "project_id" not in values:
            raise BadQuery(f"{key}: this parameter needs project_id")
    provider = parse_uuid("in_tree", values["in_tree"]) if "in_tree" in values else None
    conditions = ConsumerFilter(
        values.get("project_id"),
        values.get("user_id"),
        values.get("consumer_type"),
        identifiers.stored_forms(provider) if provider is not None else None,
        values.get("spread_group"),
        held="held" in values,
    )
    if "marker" in values:
        parse_uuid("marker", values["marker"], "expected the UUID of a consumer")
    # The value is not converted to canonical form, because links contain the form in which an
    # adopted database stores it.
    limit = positive("limit", values.get("limit", str(MAX_CONSUMERS)), MAX_CONSUMERS)
    return conditions, ListPage(limit, values.get("marker"))


_GROUP: Object[SpreadGroup] = Object(
    "SpreadGroup",
    Property("name", Json.of("string", "web")),
    Property("max_per_host", Json.of("integer", 1)),
)
_REQUEST = Json.of(
    "object", {"groups": {"": {"resources": samples.AMOUNTS}}}, additionalProperties=True
)

CONSUMER: Object[ListedConsumer] = Object(
    "ListedConsumer",
    Property("uuid", Json.of("string", samples.CONSUMER)),
    Property("project_id", PROJECT, attrgetter("project")),
    Property("user_id", USER, attrgetter("user")),
    Property(
        "consumer_type",
        Json.of("string", "INSTANCE"),
        lambda consumer: consumer.consumer_type or UNKNOWN_CONSUMER_TYPE,
    ),
    Property("generation", Json.of("integer", 1)),
    Property("spread_group", _GROUP),
    Property("expires_at", UTC_TIME),
    Property("allocations", BY_PROVIDER),
    Property("request", _REQUEST),
    optional=("spread_group", "expires_at", "allocations", "request"),
)


class ListedConsumers(NamedTuple):
    """A page of consumers."""

    consumers: Sequence[ListedConsumer]
    # Query string of the next page; None on the last page.
    more: str | None = None


CONSUMERS: Object[ListedConsumers] = Object(
    "Consumers",
    Property("consumers", Array(CONSUMER)),
    Property("consumers_links", next_links("/consumers"), attrgetter("more")),
    optional=["consumers_links"],
)


def list_consumers(call: Call) -> Reply:
    """List the consumers that satisfy all filters.

    Consumers without allocations are not listed.
    """
    stated = pairs(call.query_string)
    conditions, page = parse_consumer_query(stated, call.version)
    parts = parse_include(stated, ConsumerPart)
    with call.service.database.read() as conn:
        listed = consumer_list.find(conn, conditions, page, parts)
    more = after(stated, listed.consumers[-1].uuid) if listed.are_more else None
    return Reply(200, ListedConsumers(listed.consumers, more), changed_at=NOW)


def show_consumer(call: Call) -> Reply:
    """Show a consumer that has allocations."""
    parts = parse_show(call.query_string, call.version, ConsumerPart)
    show = partial(consumer_list.get, uuid=call.path["consumer"], parts=parts)
    with call.service.database.read() as conn:
        return Reply(200, show(conn), changed_at=NOW)


def join_spread_group(call: Call) -> Reply:
    """Make a consumer a member of a spread group of its project.

    The members on its host are not counted, unlike at a claim. Later claims count the consumer.
    """
    group = read_spread_group(call.body)
    call.write(claim_records.join_group, uuid=call.path["consumer"], group=group)
    return Reply(204)


def remember_request(call: Call) -> Reply:
    """Remember the request of a consumer, which moves and simulations of it can use.

    It is shown while its amounts equal the allocated amounts of the consumer, by class.
    """
    read_candidates(call.body)
    call.write(claim_records.remember, uuid=call.path["consumer"], request=call.body)
    return Reply(204)
