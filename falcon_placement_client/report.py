"""`ReportClient`: the operations of compute agents and schedulers with a placement service."""

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from falcon_placement_client import claims, consumers, simulations, tree_reader, tree_update
from falcon_placement_client import headroom as headrooms
from falcon_placement_client.claims import Candidate, Claim, Rank
from falcon_placement_client.consumers import (
    AllocationRecord,
    AllocationRecords,
    ClaimResult,
    NewConsumer,
    check_consumer,
    read_record,
    read_records_of_tree,
)
from falcon_placement_client.errors import RefusedError, ReshapeNeeded, UpdateFailed
from falcon_placement_client.headroom import HeadroomResult, JsonHeadroomRequests
from falcon_placement_client.holds import ConsumerMethods
from falcon_placement_client.json_request import AnyRequest, ClaimTerms
from falcon_placement_client.listing import ListMethods
from falcon_placement_client.provider_data import check_uuid
from falcon_placement_client.provider_tree import ProviderTree, TreeSnapshot
from falcon_placement_client.rest import V2, RestApi, Version, retry
from falcon_placement_client.simulations import JsonSimulation, SimulationResult
from falcon_placement_client.tree_writer import TreeWriter, is_retriable
from falcon_placement_client.watching import WatchMethods

if TYPE_CHECKING:
    from keystoneauth1.adapter import Adapter

LOG = logging.getLogger(__name__)

# Maximum pauses before the retries of a write that conflicts with other clients, in seconds. An
# attempt fails only if another write succeeds. Therefore, there are more retries than usual
# writers.
UPDATE_PAUSES = tuple(min(0.05 * 2**attempt, 1.0) for attempt in range(9))
# The same for the reshape of a tree in use. Each concurrent claim makes the data outdated.
RESHAPE_PAUSES = (0.05,) * 24
TIMEOUT_SECONDS = 60.0
# Maximum number of connections, one for each thread that waits for a response. With the default of
# ten, additional connections would be closed after each response, with a warning.
MAX_CONNECTIONS = 1000
NOAUTH2_ROLES = "admin,service"

# Edits a tree to match the hardware. Also edits the allocations if there are any. Raises
# ReshapeNeeded if inventory in use has to move and there are no allocations.
ComputeDriver = Callable[[ProviderTree, AllocationRecords | None], None]


class ReportClient(ConsumerMethods, ListMethods, WatchMethods):
    """A client of one service. Thread-safe.

    It uses placement 2.0 if the service supports it, and otherwise 1.36 to 1.39. If the service
    refuses a request, methods raise RefusedError or another ClientError. If there is no response,
    they raise keystoneauth1's ClientException.
    """

    def __init__(self, adapter: "Adapter", max_version: Version = V2) -> None:
        """Create a client.

        Args:
            adapter: adapter of the service, such as one of `PlacementDirect`.
            max_version: newest microversion to use.
        """
        self._api = RestApi(adapter, max_version)
        self._writer = TreeWriter(self._api)

    @classmethod
    def at(cls, url: str, token: str, timeout: float = TIMEOUT_SECONDS) -> "ReportClient":
        """Return a client of the service at a URL, without an identity service.

        With keystone, make an adapter of its session instead. With noauth2, the caller has the
        roles admin and service.

        Args:
            url: address of the API.
            token: the value of X-Auth-Token.
            timeout: seconds to wait for a connection, and for each part of a response; then methods
                raise keystoneauth1's ConnectTimeout. A change may have been made nevertheless.
        """
        # PERF: commands that do not need an adapter start faster without these.
        from keystoneauth1 import adapter, session, token_endpoint  # noqa: PLC0415

        caller = session.Session(
            token_endpoint.Token(url, token),
            timeout=timeout,
            additional_headers={"X-Roles": NOAUTH2_ROLES},
        )
        for scheme in list(caller.adapters):
            kept = session.TCPKeepAliveAdapter(pool_maxsize=MAX_CONNECTIONS)
            caller.mount(scheme, kept)
        return cls(adapter.Adapter(caller, service_type="placement"))

    def get_provider_tree(self, uuid: str) -> ProviderTree:
        """Return the tree of a provider, and the sharing providers that it uses.

        The tree can be edited. If the provider does not exist, the tree is empty.
        """
        root = check_uuid("the tree", uuid)

        def read() -> ProviderTree:
            tree = tree_reader.read_tree(self._api, root)
            return TreeSnapshot([*tree, *tree_reader.read_sharing(self._api, tree)]).edit()

        return self._api.run(read)

    def get_allocations_for_provider_tree(self, uuid: str) -> AllocationRecords:
        """Return the allocations of all consumers that use the tree of a provider.

        The result has all allocations of each consumer, including allocations in other
        trees and on sharing providers. Consumers that use only sharing providers are not included.
        """
        root = check_uuid("the tree", uuid)
        return self._api.run(lambda: read_records_of_tree(self._api, root))

    def get_usages_for_provider_tree(self, uuid: str) -> dict[str, dict[str, int]]:
        """Return the usages of the tree of a provider, by provider UUID and class.

        The result is empty if the provider does not exist.
        """
        root = check_uuid("the tree", uuid)
        return self._api.run(lambda: tree_reader.read_usages(self._api, root))

    def update_from_provider_tree(
        self, new_tree: ProviderTree, allocations: AllocationRecords | None = None
    ) -> TreeSnapshot:
        """Write the changes of a tree to the service. Return the resulting tree.

        Changes that other clients have made since the tree was read are kept, unless both change
        the same data. If a provider was deleted by another client, it is created again. Afterwards
        the edited tree equals the resulting tree, so it can be edited and written again.

        Args:
            new_tree: an edited tree.
            allocations: all allocations of each consumer in it, as edited from the result of
                `get_allocations_for_provider_tree`. They are written together with the inventories
                in one transaction, which takes the service role. None means that no inventory in
                use moves.

        Raises:
            ReshapeNeeded: inventory in use would be removed, and allocations are None.
            ReshapeFailed: the service refused the reshape: read tree and allocations again.
            UpdateFailed: another change cannot be written. The next update completes the tree.
        """
        written = self._write_tree(new_tree, allocations)
        new_tree.rebase(written)
        return written

    def _write_tree(
        self, tree: ProviderTree, allocations: AllocationRecords | None
    ) -> TreeSnapshot:
        if allocations is None:
            created = self._api.run(lambda: tree_update.create(self._writer, tree))
            if created is not None:
                return created
        try:
            return retry(
                lambda: self._api.run(
                    lambda: tree_update.update(self._api, self._writer, tree, allocations)
                ),
                UPDATE_PAUSES,
                is_retriable,
            )
        except RefusedError as refusal:
            if not is_retriable(refusal):
                raise
            raise UpdateFailed(f"other clients keep changing {tree!r}: {refusal}") from refusal

    def report(self, uuid: str, driver: ComputeDriver) -> TreeSnapshot:
        """Let a driver edit the tree of a provider, and write the tree. Reshape it if necessary.

        The driver is called with the tree. If the driver or the service reports that inventory in
        use has to move, the driver is called again with allocations. Raises the same errors as
        `update_from_provider_tree`.
        """
        tree = self.get_provider_tree(uuid)
        try:
            driver(tree, None)
            return self.update_from_provider_tree(tree)
        except ReshapeNeeded as need:
            LOG.info("reshaping the tree of provider %s: %s", uuid, need)

        def reshape() -> TreeSnapshot:
            # The order is important: a claim that is made after the tree was read makes the reshape
            # outdated.
            tree = self.get_provider_tree(uuid)
            allocations = self.get_allocations_for_provider_tree(uuid)
            driver(tree, allocations)
            return self.update_from_provider_tree(tree, allocations)

        return retry(reshape, RESHAPE_PAUSES)

    def allocation_candidates(self, request: AnyRequest) -> dict[str, Any]:
        """Return the candidates of a request, as in the response of the service.

        Args:
            request: the body of `POST /allocation_candidates`, for any version of the service.

        Raises:
            RequestError: the version of the service cannot express the request.
            RefusedError: the service refuses the request.
        """
        return self._api.run(lambda: claims.find_candidates(self._api, request))

    def explain(self, request: AnyRequest) -> str:
        """Return a text that describes which hosts can serve a request, and why others cannot.

        The text is empty if the service does not support placement 2.0 or the caller may not use
        `explain`. Raises the same errors as `allocation_candidates`.
        """
        return self._api.run(lambda: claims.explain(self._api, request))

    def claim(
        self,
        request: AnyRequest,
        consumer: NewConsumer,
        rank: Rank | None = None,
        **terms: Unpack[ClaimTerms],
    ) -> ClaimResult:
        """Find candidates for a request, and claim one of them for a consumer without allocations.

        Args:
            request: see `allocation_candidates`.
            consumer: the consumer that receives the resources.
            rank: function that takes the result of `allocation_candidates`, and returns the
                elements of its `allocation_requests` to try, the best first. None leaves the choice
                to the service, or to chance if the service cannot choose.
            terms: members of `ClaimTerms`, such as `expires_in` for a hold; without `rank`.

        Raises:
            NoCandidates: none fits; the text is the service's explanation, if there is one.
            AllocationConflict: the consumer has allocations already.
            RequestError: see `allocation_candidates`.
        """
        return self._api.run(lambda: claims.claim(self._api, request, consumer, rank, terms))

    def claim_candidate(
        self, candidates: Sequence[Candidate], consumer: NewConsumer
    ) -> ClaimResult:
        """Claim a chosen candidate, or the first alternate that is still free, for a consumer.

        Args:
            candidates: elements of `allocation_requests` in a result of `allocation_candidates`;
                each is tried if the ones before it were taken by concurrent writers.
            consumer: the consumer that receives the resources.

        Raises:
            NoCandidates: concurrent writers took all of them.
            AllocationConflict: the consumer has allocations already.
        """
        return self._api.run(lambda: claims.claim_candidate(self._api, candidates, consumer))

    def claim_together(self, wanted: Sequence[Claim]) -> list[ClaimResult]:
        """Make claims for several consumers in one transaction: either all of them or none.

        Each claim takes the previous claims into account. The service chooses the candidates, or
        the client chooses them at random. The results are in the order of the claims.

        Raises:
            ConsumerError: two claims are for the same consumer.
            NoCandidates, AllocationConflict, RequestError: see `claim`.
        """
        return self._api.run(lambda: claims.claim_together(self._api, wanted))

    def headroom(self, body: JsonHeadroomRequests) -> dict[str, HeadroomResult]:
        """Return how many more consumers of each request fit.

        Raises ServiceTooOld, RefusedError.
        """
        return self._api.run(lambda: headrooms.measure(self._api, body))

    def simulate(self, simulation: JsonSimulation) -> SimulationResult:
        """Simulate changes of hosts. Nothing is stored. Raises ServiceTooOld, RefusedError."""
        return self._api.run(lambda: simulations.simulate(self._api, simulation))

    def get_allocations_for_consumer(self, consumer: str) -> AllocationRecord | None:
        """Return all allocations of a consumer, or None if it has none."""
        uuid = check_consumer(consumer)
        return self._api.run(lambda: read_record(self._api, uuid))

    def put_allocations(self, consumer: str, record: AllocationRecord) -> None:
        """Replace all allocations of a consumer.

        Args:
            consumer: its UUID.
            record: edited from a result of `get_allocations_for_consumer`; without allocations, the
                consumer is released. Its `consumer_generation` is that of the edited state, None
                for a consumer without allocations.

        Raises:
            AllocationConflict: the allocations do not fit, or (`is_conflict`) another client has
                written to the consumer: read it again.
            ConsumerError: the record is malformed.
        """
        self._api.run(lambda: consumers.write(self._api, consumer, record))
