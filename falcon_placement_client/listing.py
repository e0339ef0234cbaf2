"""Find and list providers and consumers, for programs and for operators.

Functions that implement commands return rows, and the commands format them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from falcon_placement_client.consumers import AllocationRecord, AllocationRecords, check_consumer
from falcon_placement_client.errors import RestError
from falcon_placement_client.rest import MAX_V1, RestApi, Version
from falcon_placement_client.suggestions import did_you_mean, nearest
from falcon_placement_client.terms import is_uuid

# Parameters of a list, with one value or several.
Filters = Mapping[str, str | Sequence[str]]

PAGE = 1000  # providers or consumers in one response


class ListedProvider(NamedTuple):
    """A provider in a list. A host is a provider whose `uuid` equals its `root_uuid`."""

    # UUID of the provider.
    uuid: str
    # Name of the provider.
    name: str
    # UUID of its parent, or None for a root.
    parent_uuid: str | None
    # UUID of the root of its tree.
    root_uuid: str
    # Generation of the provider.
    generation: int


class ListMethods:
    """The methods of `ReportClient` that find and list providers and consumers."""

    _api: RestApi

    def find_provider(self, name_or_uuid: str) -> ListedProvider | None:
        """Return the provider with a name or a UUID, or None if there is none."""
        found = self._api.run(lambda: providers_called(self._api, name_or_uuid))
        return _provider(found[0]) if found else None

    def list_providers(self, filters: Filters | None = None) -> list[ListedProvider]:
        """Return the providers that all filters match.

        Args:
            filters: parameters of `GET /resource_providers`, such as `{"member_of": uuid}`.

        Raises:
            RefusedError: the service refuses a filter.
        """

        def read() -> list[ListedProvider]:
            paging = {"limit": PAGE} if self._api.supports_v2 else {}
            query = urlencode({**(filters or {}), **paging}, doseq=True)
            return [_provider(each) for each in self._api.pages(query)]

        return self._api.run(read)

    def list_consumers(self, filters: Mapping[str, str] | None = None) -> AllocationRecords:
        """Return the consumers that all filters match, with all of their allocations.

        Args:
            filters: parameters of `GET /consumers`, such as `{"project_id": project}`.

        Raises:
            ServiceTooOld: the service does not support placement 2.0.
            RefusedError: the service refuses a filter.
        """

        def read() -> AllocationRecords:
            self._api.require_v2("a list of consumers")
            pages = consumer_pages(self._api, {**(filters or {}), "include": "allocations"})
            return {each["uuid"]: _record(each) for each in pages}

        return self._api.run(read)


def _provider(entry: Mapping[str, Any]) -> ListedProvider:
    members = "uuid", "name", "parent_provider_uuid", "root_provider_uuid", "generation"
    return ListedProvider(*(entry[member] for member in members))


def _record(consumer: Mapping[str, Any]) -> AllocationRecord:
    return {
        "allocations": consumer["allocations"],
        "project_id": consumer["project_id"],
        "user_id": consumer["user_id"],
        "consumer_generation": consumer["generation"],
        "consumer_type": consumer["consumer_type"],
    }


def find_provider(api: RestApi, name_or_uuid: str, noun: str = "provider") -> dict[str, Any]:
    """Return a provider in the form of lists.  Raises RestError."""
    providers = providers_called(api, name_or_uuid)
    if not providers:
        names = (each["name"] for each in api.pages("", min(api.version, MAX_V1)))
        hint = did_you_mean(nearest(name_or_uuid, names)) if name_or_uuid else ""
        hint = hint or "; 'openstack resource provider list' shows the existing ones"
        raise RestError(f"{name_or_uuid or repr('')}: there is no such {noun}{hint}")
    return providers[0]


def providers_called(api: RestApi, name_or_uuid: str) -> list[dict[str, Any]]:
    """Return the provider in the form of lists, or an empty list if there is none."""
    if not name_or_uuid:
        return []  # the service treats an empty name as no condition
    parameter = "uuid" if is_uuid(name_or_uuid) else "name"
    path = f"/resource_providers?{parameter}={quote(name_or_uuid, safe='')}"
    found: list[dict[str, Any]] = api.get(path, min(api.version, MAX_V1))["resource_providers"]
    return found


NameOf = Callable[[str], str]  # UUID of a provider -> its name


def provider_names(api: RestApi) -> NameOf:
    """Return a function that reads the name of a provider, or its UUID if there is none.

    Each name is read only once.  The function raises RestError.
    """

    @cache
    def name_of(uuid: str) -> str:
        found = providers_called(api, uuid)
        return str(found[0]["name"]) if found else uuid

    return name_of


class ConsumerRow(NamedTuple):
    """A consumer with all of its allocations."""

    uuid: str
    project_id: str
    user_id: str
    # Type of the consumer, or `unknown` if it has none.
    consumer_type: str
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
    name_of = provider_names(api)
    filters["include"] = "allocations"
    return [_row(each, name_of) for each in consumer_pages(api, filters, limit)]


def show_consumer(api: RestApi, consumer: str) -> ConsumerRow:
    """Return a consumer.  Raises ServiceTooOld, ConsumerError, RestError."""
    api.require_v2("a consumer")
    uuid = check_consumer(consumer)
    response = api.find(f"/consumers/{uuid}?include=allocations")
    if response is None:
        raise RestError(f"{uuid}: the consumer has no allocations")
    return _row(response, provider_names(api))


def consumer_pages(
    api: RestApi,
    parameters: Mapping[str, str],
    limit: int | None = None,
    version: Version | None = None,
    page: int | None = None,
) -> Iterator[Mapping[str, Any]]:
    """Return consumers in the form in which the service lists them.

    Args:
        parameters: of `GET /consumers`.
        limit: most consumers to return; None: all.
        version: version of the requests; None: that in use.
        page: most consumers of one request; None: PAGE.

    Raises:
        RefusedError: the service refuses a parameter.
    """
    size = page or PAGE
    query = {**parameters, "limit": str(size if limit is None else min(size, limit))}
    return islice(api.pages(urlencode(query), version, "consumers"), limit)


def _row(consumer: Mapping[str, Any], name_of: NameOf) -> ConsumerRow:
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
