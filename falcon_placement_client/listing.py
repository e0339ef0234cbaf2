"""Lists of providers and consumers for programs."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from falcon_placement_client.allocation_records import AllocationRecord, AllocationRecords
from falcon_placement_client.consumer_lists import consumer_pages
from falcon_placement_client.names import providers_called
from falcon_placement_client.rest import RestApi

# Parameters of a list, with one value or several.
Filters = Mapping[str, str | Sequence[str]]

PAGE = 1000  # providers in one response


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
    return ListedProvider(
        entry["uuid"],
        entry["name"],
        entry["parent_provider_uuid"],
        entry["root_provider_uuid"],
        entry["generation"],
    )


def _record(consumer: Mapping[str, Any]) -> AllocationRecord:
    return {
        "allocations": consumer["allocations"],
        "project_id": consumer["project_id"],
        "user_id": consumer["user_id"],
        "consumer_generation": consumer["generation"],
        "consumer_type": consumer["consumer_type"],
    }
