"""The data that is read for one request. The search and the explanation after it share the data.

Names, sharing providers and roots are read once for both, in one transaction.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Self

from sqlalchemy.engine import Connection

from placement.candidates.budget import Charge
from placement.candidates.model import Pool, Roots, Tree
from placement.candidates.request import CandidateRequest, Slot
from placement.candidates.trees.resolve import ResolvedRequest, resolve
from placement.candidates.trees.roots import PlainRoots
from placement.candidates.trees.sharing import (
    AnchorPools,
    Sharing,
    SharingProvider,
    sharing_members,
    sharing_of,
)
from placement.candidates.trees.store import TreeStore


class Scan:
    """The data that has been read for a request so far."""

    def __init__(self, conn: Connection, resolved: ResolvedRequest) -> None:
        self.conn = conn
        # The request with the ids of its names.
        self.resolved = resolved
        # Reads unfiltered runs of roots and caches them.
        self.roots = PlainRoots(conn, resolved.roots)
        # The sharing providers, or None until they are read.
        self._sharing: Sharing | None = None

    @classmethod
    def of(
        cls,
        conn: Connection,
        request: CandidateRequest,
        taints: frozenset[str] = frozenset(),
    ) -> Self:
        """Resolve a request and return its scan. For taints and errors, see `resolve`."""
        return cls(conn, resolve(conn, request, taints=taints))

    def sharing(self, slots: Sequence[Slot]) -> Sharing:
        """Read the sharing providers. Return them by the slots for which they have capacity."""
        self._sharing = sharing_of(self.conn, self.resolved, slots)
        return self._sharing

    def sharing_providers(self) -> Collection[SharingProvider]:
        """Return all sharing providers, including providers without free capacity."""
        sharing = self._sharing or self.sharing(())
        return sharing.all_providers


class AnchorReader:
    """Reads the trees of roots in batches, and creates the pools of anchors."""

    def __init__(
        self,
        store: TreeStore,
        sharing: Collection[SharingProvider],
        spend: Charge,
        taints: frozenset[str],
    ) -> None:
        """Create a reader.

        Args:
            sharing: sharing providers that anchors may use. Their roots are pinned in the store.
            taints: root traits of trees whose sharing providers no anchor may use.
        """
        self._taints = taints
        self._store = store
        self._sharing = sharing
        self._spend = spend
        # The pools of anchors. The first call of `trees` sets them and reads the trees of the
        # sharing providers.
        self.pools: AnchorPools
        # Returns the pool of an anchor. Set with `pools`.
        self.pool: Callable[[Tree], Pool]
        self._is_ready = False

    def trees(self, roots: Roots) -> list[Tree]:
        """Return the trees of the roots, in their order."""
        trees = self._store.trees(roots)
        if not self._is_ready:
            members = sharing_members(self._sharing, self._store.pinned())
            self.pools = AnchorPools(members, self._spend, self._taints)
            self.pool = self.pools.pool
            self._is_ready = True
        return trees
