"""Consumers for operators, with the names of the providers that they use.

Each function implements one command. It returns rows, and the command formats them.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode

from falcon_placement_client.allocation_records import check_consumer
from falcon_placement_client.answers import RefusedError
from falcon_placement_client.errors import RestError
from falcon_placement_client.names import ProviderNames, find_provider
from falcon_placement_client.rest import RestApi, Version

PAGE = 1000  # consumers in one request


class ConsumerRow(NamedTuple):
    """A consumer with all of its allocations."""

    # UUID of the consumer.
    uuid: str
    # Id of the project that owns the consumer.
    project_id: str
    # Id of the user that owns the consumer.
    user_id: str
    # Type of the consumer, or `unknown` if it has none.
    consumer_type: str
    # Generation of the consumer.
    generation: int
    # Name of its spread group, or None if it is in no group.
    spread_group: str | None
    # End of the hold in UTC, or None if the claim is permanent.
    expires_at: str | None
    # Name of the provider -> class -> amount.
    allocations: Mapping[str, Mapping[str, int]]


def list_consumers(
    api: RestApi, filters: Mapping[str, str], limit: int | None = None
) -> list[ConsumerRow]:
    """Return consumers, sorted by UUID.

    Args:
        api: a service with placement 2.0.
        filters: parameters of `GET /consumers`; `in_tree` may be a name.
        limit: most consumers to return; None: all.

    Raises:
        ServiceTooOld: the service does not support placement 2.0.
        RestError: there is no such provider, or the service refuses a filter.
    """
    api.require_v2("a list of consumers")
    filters = dict(filters)
    if "in_tree" in filters:
        filters["in_tree"] = find_provider(api, filters["in_tree"])["uuid"]
    name_of = ProviderNames(api)
    filters["include"] = "allocations"
    return [_row(each, name_of) for each in consumer_pages(api, filters, limit)]


def show_consumer(api: RestApi, consumer: str) -> ConsumerRow:
    """Return a consumer.

    Raises:
        ServiceTooOld: the service does not support placement 2.0.
        ConsumerError: the UUID is malformed.
        RestError: the consumer has no allocations.
    """
    api.require_v2("a consumer")
    uuid = check_consumer(consumer)
    try:
        answer = api.get(f"/consumers/{uuid}?include=allocations")
    except RefusedError as refusal:
        if refusal.status != 404:
            raise
        raise RestError(f"{uuid}: the consumer has no allocations") from None
    return _row(answer, ProviderNames(api))


def consumer_pages(
    api: RestApi,
    parameters: Mapping[str, str],
    limit: int | None = None,
    version: Version | None = None,
    page: int = PAGE,
) -> Iterator[Mapping[str, Any]]:
    """Yield consumers in the form in which the service lists them.

    Args:
        api: a service with placement 2.0.
        parameters: of `GET /consumers`.
        limit: most consumers to yield; None: all.
        version: version of the requests; None: that in use.
        page: most consumers of one request.

    Raises:
        RefusedError: the service refuses a parameter.
    """
    left, marker = limit, ""
    while left is None or left > 0:
        query = {
            **parameters,
            "limit": str(page if left is None else min(page, left)),
            **({"marker": marker} if marker else {}),
        }
        answer = api.get(f"/consumers?{urlencode(query)}", version)
        consumers = answer["consumers"]
        yield from consumers
        if not answer.get("consumers_links"):
            return
        left = None if left is None else left - len(consumers)
        marker = consumers[-1]["uuid"]


def _row(consumer: Mapping[str, Any], name_of: ProviderNames) -> ConsumerRow:
    return ConsumerRow(
        consumer["uuid"],
        consumer["project_id"],
        consumer["user_id"],
        consumer["consumer_type"],
        consumer["generation"],
        consumer.get("spread_group", {}).get("name"),
        consumer.get("expires_at"),
        {name_of(uuid): each["resources"] for uuid, each in consumer["allocations"].items()},
    )
