"""The public names of the package, imported from the modules that define them."""

from falcon_placement_client.claims import Candidate, Claim, Rank
from falcon_placement_client.consumers import (
    AllocatedResources,
    AllocationRecord,
    AllocationRecords,
    ClaimResult,
    NewConsumer,
)
from falcon_placement_client.errors import (
    AllocationConflict,
    ClientError,
    ConsumerError,
    HoldExpired,
    NoCandidates,
    NoPlacementService,
    ProviderTreeError,
    RefusedError,
    RequestError,
    ReshapeFailed,
    ReshapeNeeded,
    ServiceTooOld,
    UpdateFailed,
)
from falcon_placement_client.headroom import (
    AggregateHeadroom,
    HeadroomResult,
    JsonHeadroomRequests,
    LimitedHosts,
)
from falcon_placement_client.inventory import InventoryRecord
from falcon_placement_client.json_request import (
    ClaimTerms,
    JsonFirstAvailable,
    JsonGroup,
    JsonOrderKey,
    JsonRequest,
    JsonRoot,
    JsonSpreadGroup,
    JsonSubtreeRule,
)
from falcon_placement_client.listing import ListedProvider
from falcon_placement_client.provider_data import Inventories, ProviderData
from falcon_placement_client.provider_tree import ProviderTree, TreeSnapshot
from falcon_placement_client.report import ComputeDriver, ReportClient
from falcon_placement_client.simulations import (
    JsonAddedHosts,
    JsonChange,
    JsonHeadroom,
    JsonSimulatedClaim,
    JsonSimulation,
    Move,
    SimulationResult,
    Unplaceable,
)
from falcon_placement_client.tree_difference import TreeChange, TreeDifference
from falcon_placement_client.watching import Watch, WatchedTree, WatchEvent

__all__ = [
    "AggregateHeadroom",
    "HeadroomResult",
    "JsonHeadroomRequests",
    "LimitedHosts",
    "AllocatedResources",
    "AllocationConflict",
    "AllocationRecord",
    "AllocationRecords",
    "Candidate",
    "Claim",
    "ClaimResult",
    "ClaimTerms",
    "ClientError",
    "ComputeDriver",
    "ConsumerError",
    "HoldExpired",
    "Inventories",
    "InventoryRecord",
    "JsonAddedHosts",
    "JsonChange",
    "JsonFirstAvailable",
    "JsonGroup",
    "JsonHeadroom",
    "JsonRequest",
    "JsonRoot",
    "JsonOrderKey",
    "JsonSimulatedClaim",
    "JsonSimulation",
    "JsonSpreadGroup",
    "JsonSubtreeRule",
    "ListedProvider",
    "Move",
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
    "SimulationResult",
    "TreeChange",
    "TreeDifference",
    "TreeSnapshot",
    "Unplaceable",
    "UpdateFailed",
    "Watch",
    "WatchEvent",
    "WatchedTree",
]
