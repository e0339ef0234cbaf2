"""A walk through the service with a generated client; run where the generator is installed.

Arguments: the directory that holds the package `generated`, and the URL of a server.
"""

import sys

directory, url = sys.argv[1:]
sys.path.insert(0, directory)

from generated import AuthenticatedClient  # noqa: E402
from generated.api.allocations import delete_allocations, replace_allocations, show_allocations  # noqa: E402
from generated.api.candidates import list_allocation_candidates  # noqa: E402
from generated.api.inventories import replace_inventories  # noqa: E402
from generated.api.providers import (  # noqa: E402
    create_resource_provider,
    list_resource_providers,
    show_resource_provider,
)
from generated.models import (  # noqa: E402
    CreateResourceProviderRequest,
    Errors,
    ListAllocationCandidatesGroupPolicy,
    Microversion,
    NewInventories,
    RequestedAllocations,
    RequestGroups,
)

CONSUMER = "30328d13-e299-4a93-a102-61e4ccabe474"

client = AuthenticatedClient(
    base_url=url, token="admin", prefix="", auth_header_name="X-Auth-Token"
)
at = {"client": client, "open_stack_api_version": Microversion.PLACEMENT_1_39}

host = create_resource_provider.sync(body=CreateResourceProviderRequest(name="host"), **at)
listed = list_resource_providers.sync(**at)
assert [provider.name for provider in listed.resource_providers] == ["host"]
assert isinstance(show_resource_provider.sync(CONSUMER, **at), Errors)

inventories = NewInventories.from_dict(
    {"resource_provider_generation": host.generation, "inventories": {"VCPU": {"total": 8}}}
)
assert replace_inventories.sync(host.uuid, body=inventories, **at).inventories["VCPU"].total == 8

candidates = list_allocation_candidates.sync(resources="VCPU:2", limit=1, **at)
[request] = candidates.allocation_requests
groups = RequestGroups.from_dict({"resources1": "VCPU:1", "resources2": "VCPU:9"})
none = list_allocation_candidates.sync(
    groups=groups, group_policy=ListAllocationCandidatesGroupPolicy.NONE, **at
)
assert none.allocation_requests == []
claim = RequestedAllocations.from_dict(
    {
        **request.to_dict(), "project_id": "project", "user_id": "user",
        "consumer_generation": None, "consumer_type": "INSTANCE",
    }
)  # fmt: skip
assert replace_allocations.sync_detailed(CONSUMER, body=claim, **at).status_code == 204
held = show_allocations.sync(CONSUMER, **at)
assert held.allocations[host.uuid].resources["VCPU"] == 2
assert delete_allocations.sync_detailed(CONSUMER, **at).status_code == 204
