"""The public names of the package, from the modules that define them."""

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
from placement.client.inventory import InventoryRecord
from placement.client.provider_data import Inventories, ProviderData
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
