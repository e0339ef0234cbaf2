"""The other side of the REST API: what compute agents, schedulers and operators' tools do with it.

`ReportClient` reads, reports and reshapes trees of providers, and claims. It works over any
keystoneauth1 adapter, with this service and with openstack-placement; `placement.direct` gives an
adapter of a service in one's own process. Of the rest of the package only words and limits of the
API are known here.
"""

from placement.client.allocation_records import (
    AllocatedResources,
    AllocationRecord,
    AllocationRecords,
)
from placement.client.answers import RefusedError
from placement.client.claims import ClaimResult, NewConsumer, Rank
from placement.client.errors import (
    AllocationConflict,
    ClientError,
    ConsumerError,
    NoCandidates,
    NoPlacementService,
    ProviderTreeError,
    ReshapeFailed,
    ReshapeNeeded,
    ServiceTooOld,
    UpdateFailed,
)
from placement.client.provider_data import Inventories, InventoryRecord, ProviderData
from placement.client.provider_tree import ProviderTree, TreeSnapshot
from placement.client.report import ComputeDriver, ReportClient
from placement.client.request_errors import RequestError
from placement.client.tree_difference import TreeChange, TreeDifference

__all__ = [
    "AllocatedResources",
    "AllocationConflict",
    "AllocationRecord",
    "AllocationRecords",
    "ClaimResult",
    "ClientError",
    "ComputeDriver",
    "ConsumerError",
    "Inventories",
    "InventoryRecord",
    "NewConsumer",
    "NoCandidates",
    "NoPlacementService",
    "ProviderData",
    "ProviderTree",
    "ProviderTreeError",
    "Rank",
    "RefusedError",
    "ReportClient",
    "RequestError",
    "ReshapeFailed",
    "ReshapeNeeded",
    "ServiceTooOld",
    "TreeChange",
    "TreeDifference",
    "TreeSnapshot",
    "UpdateFailed",
]
