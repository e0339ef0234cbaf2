"""`ReportClient`: what compute agents and schedulers do with a placement service."""

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from falcon_placement_client import claims, consumers, tree_reader, tree_update
from falcon_placement_client.allocation_records import (
    AllocationRecord,
    AllocationRecords,
    check_consumer,
    read_record,
    read_records_of_tree,
)
from falcon_placement_client.answers import RefusedError
from falcon_placement_client.claims import Candidate, Claim, ClaimResult, Rank
from falcon_placement_client.consumers import NewConsumer
from falcon_placement_client.errors import (
    ReshapeNeeded,
    UpdateFailed,
)
from falcon_placement_client.json_request import AnyRequest
from falcon_placement_client.provider_data import check_uuid
from falcon_placement_client.provider_tree import ProviderTree, TreeSnapshot
from falcon_placement_client.rest import SECOND_LINE, RestApi, Version, retry
from falcon_placement_client.tree_writer import TreeWriter, may_pass

if TYPE_CHECKING:
    from keystoneauth1.adapter import Adapter

LOG = logging.getLogger(__name__)

# Seconds before each further attempt to write a tree that others write to. An attempt fails only
# where another write has succeeded, so there are more of them than there usually are writers.
UPDATE_PAUSES = tuple(min(0.05 * 2**attempt, 1.0) for attempt in range(9))
# To reshape a tree on which others claim: each claim makes what was read of it stale.
RESHAPE_PAUSES = (0.05,) * 24
TIMEOUT_SECONDS = 60.0
# One for each thread that waits for an answer: beyond ten, the default, connections would be closed
# after each answer, with a warning.
MAX_KEPT_CONNECTIONS = 1000
NOAUTH2_ROLES = "admin,service"

# Edits a tree to what the hardware is. Allocations are edited, too, where there are any. Raises
# ReshapeNeeded if there are none, and inventory that is in use has to move.
ComputeDriver = Callable[[ProviderTree, AllocationRecords | None], None]


class ReportClient:
    """A client of one service; any number of threads may share it.

    It speaks placement 2.0 where the service does, and 1.36 to 1.39 elsewhere. What the service
    refuses is a ClientError; where there is no answer at all, keystoneauth1's ClientException.
    """

    def __init__(self, adapter: "Adapter", max_version: Version = SECOND_LINE) -> None:
        """Take an adapter of the service, such as `PlacementDirect` gives.

        max_version: the newest microversion to speak.
        """
        self._api = RestApi(adapter, max_version)
        self._writer = TreeWriter(self._api)

    @classmethod
    def at(cls, url: str, token: str, timeout: float = TIMEOUT_SECONDS) -> "ReportClient":
        """Return a client of the service at a URL; token: sent as X-Auth-Token.

        timeout: seconds to wait for a connection, and for each piece of an answer; after that,
        methods raise keystoneauth1's ConnectTimeout. A request that changes something may have been
        carried out then.

        Where keystone is asked for tokens and URLs, make an adapter of its session instead. Where
        there is no keystone (noauth2), the caller has the roles of an admin and of a service.
        """
        # PERF: commands that need no adapter start without it.
        from keystoneauth1 import adapter, session, token_endpoint  # noqa: PLC0415

        caller = session.Session(
            token_endpoint.Token(url, token),
            timeout=timeout,
            additional_headers={"X-Roles": NOAUTH2_ROLES},
        )
        for scheme in list(caller.adapters):
            kept = session.TCPKeepAliveAdapter(pool_maxsize=MAX_KEPT_CONNECTIONS)
            caller.mount(scheme, kept)
        return cls(adapter.Adapter(caller, service_type="placement"))

    def get_provider_tree(self, uuid: str) -> ProviderTree:
        """Return the tree that a provider is in, and the sharing providers that it uses.

        It can be edited, and is empty if there is no such provider. Raises ClientError.
        """
        root = check_uuid("the tree", uuid)

        def read() -> ProviderTree:
            tree = tree_reader.read_tree(self._api, root)
            return TreeSnapshot([*tree, *tree_reader.read_sharing(self._api, tree)]).edit()

        return self._api.run(read)

    def get_allocations_for_provider_tree(self, uuid: str) -> AllocationRecords:
        """Return the allocations of all who hold anything of the tree that a provider is in.

        By consumer, and all of each: also those of sharing providers and of other trees. Consumers
        that hold something of sharing providers alone are not among them. Raises ClientError.
        """
        root = check_uuid("the tree", uuid)
        return self._api.run(lambda: read_records_of_tree(self._api, root))

    def get_usages_for_provider_tree(self, uuid: str) -> dict[str, dict[str, int]]:
        """Return how much is used of each provider of a tree, by its UUID and by class.

        It is empty if there is no such provider. Raises ClientError.
        """
        root = check_uuid("the tree", uuid)
        return self._api.run(lambda: tree_reader.read_usages(self._api, root))

    def update_from_provider_tree(
        self, new_tree: ProviderTree, allocations: AllocationRecords | None = None
    ) -> TreeSnapshot:
        """Write to the service what was changed in a tree; return the tree as it is there now.

        What others have changed since the tree was read stays, but where this tree was changed,
        too. What the service has lost is created again.

        allocations: as `get_allocations_for_provider_tree` returns them, edited: all that each
        consumer in it is to hold. They are written together with the inventories, in one
        transaction of the service, which takes the role of a service. None: nothing in use moves.

        Raises ReshapeNeeded, if allocations are None and hold what is to go; ReshapeFailed, if the
        service refuses the reshape: read tree and allocations again; UpdateFailed, for anything
        else that cannot be written. The next update completes one that was cut short.
        """
        try:
            return retry(
                lambda: self._api.run(
                    lambda: tree_update.update(self._api, self._writer, new_tree, allocations)
                ),
                UPDATE_PAUSES,
                may_pass,
            )
        except RefusedError as refusal:
            if not may_pass(refusal):
                raise
            raise UpdateFailed(f"others keep changing {new_tree!r}: {refusal}") from refusal

    def report(self, uuid: str, driver: ComputeDriver) -> TreeSnapshot:
        """Have a driver edit the tree of a provider, and write it; reshape if that is needed.

        The driver is called with the tree, and again, with allocations, if it or the service says
        that inventory in use has to move. Raises as `update_from_provider_tree` does.
        """
        tree = self.get_provider_tree(uuid)
        try:
            driver(tree, None)
            return self.update_from_provider_tree(tree)
        except ReshapeNeeded as need:
            LOG.info("reshaping the tree of provider %s: %s", uuid, need)

        def reshape() -> TreeSnapshot:
            # In this order: what is claimed after the tree was read makes the reshape stale.
            tree = self.get_provider_tree(uuid)
            allocations = self.get_allocations_for_provider_tree(uuid)
            driver(tree, allocations)
            return self.update_from_provider_tree(tree, allocations)

        return retry(reshape, RESHAPE_PAUSES)

    def allocation_candidates(self, request: AnyRequest) -> dict[str, Any]:
        """Return what could serve a request, as the service answers it.

        request: the body of `POST /allocation_candidates`, whatever the service speaks. Raises
        RequestError for what a version before 2.0 cannot say, and RefusedError.
        """
        return self._api.run(lambda: claims.find_candidates(self._api, request))

    def explain(self, request: AnyRequest) -> str:
        """Return in words who can serve a request, and why others cannot.

        It is empty where the service does not speak placement 2.0, or does not tell this caller.
        Raises as `allocation_candidates` does.
        """
        return self._api.run(lambda: claims.explain(self._api, request))

    def claim(
        self, request: AnyRequest, consumer: NewConsumer, rank: Rank | None = None
    ) -> ClaimResult:
        """Find what can serve a request, and give it to a consumer that has nothing yet.

        rank: takes what `allocation_candidates` returns, and returns those of its
        `allocation_requests` that are to be tried, the best one first; None: any of them, of the
        service's choice where it has one.

        Raises NoCandidates, with the reasons where the service explains; AllocationConflict, if the
        consumer has something; and as `allocation_candidates` does.
        """
        return self._api.run(lambda: claims.claim(self._api, request, consumer, rank))

    def claim_candidate(
        self, candidates: Sequence[Candidate], consumer: NewConsumer
    ) -> ClaimResult:
        """Give a candidate that was chosen, or the first alternate that is left, to a consumer.

        candidates: `allocation_requests` of what `allocation_candidates` returned, the chosen one
        first; the next one is tried where others were faster.

        Raises NoCandidates, if others were faster to take each of them; AllocationConflict, if the
        consumer has something; RefusedError.
        """
        return self._api.run(lambda: claims.claim_candidate(self._api, candidates, consumer))

    def claim_together(self, wanted: Sequence[Claim]) -> list[ClaimResult]:
        """Make several claims, of a consumer each, in one transaction: all of them or none.

        Each sees what those before it take; their candidates are the service's choice, or any.
        Returns the results in the same order. Raises as `claim` does, and ConsumerError if two of
        the claims are of one consumer.
        """
        return self._api.run(lambda: claims.claim_together(self._api, wanted))

    def get_allocations_for_consumer(self, consumer: str) -> AllocationRecord | None:
        """Return all that a consumer holds, of any provider; None if that is nothing."""
        uuid = check_consumer(consumer)
        return self._api.run(lambda: read_record(self._api, uuid))

    def put_allocations(self, consumer: str, record: AllocationRecord) -> None:
        """Make a record all that a consumer holds.

        record: as `get_allocations_for_consumer` returned it, edited; without any allocations the
        consumer is released. Its `consumer_generation` is that of the state which it was made of,
        None for a consumer that holds nothing.

        Raises AllocationConflict, if it does not fit, or (`is_conflict`) if others have written to
        the consumer since: read it again; ConsumerError; RefusedError.
        """
        self._api.run(lambda: consumers.write(self._api, consumer, record))

    def move(self, source: str, target: NewConsumer) -> None:
        """Hand all that one consumer holds to another, in one transaction of the service.

        A migration gets what an instance has, before that claims something elsewhere. What the
        target held before is given back. Raises AllocationConflict.
        """
        self._api.run(lambda: consumers.move(self._api, source, target))

    def release(self, consumer: str) -> bool:
        """Give back all that a consumer holds; return whether it held anything."""
        return self._api.run(lambda: consumers.release(self._api, consumer))
