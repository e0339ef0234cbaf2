"""What one request reads of the cloud: its search reads it, and the explanation after it goes on.

Names, sharing providers and roots are read once for both, in one transaction.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Self

from sqlalchemy.engine import Connection

from placement.candidates.budget import Spend
from placement.candidates.model import Pool, Root, SharingMember, Tree
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
    """What was read for a request so far.

    resolved: the request, whose names are known. roots: those that were read in order.
    """

    def __init__(self, conn: Connection, resolved: ResolvedRequest) -> None:
        self.conn = conn
        self.resolved = resolved
        self.roots = PlainRoots(conn, resolved.roots)
        self._sharing: Sharing | None = None

    @classmethod
    def of(
        cls,
        conn: Connection,
        request: CandidateRequest,
        taints: frozenset[str] = frozenset(),
    ) -> Self:
        """Return the scan of a request, whose names are read.

        taints: as of `resolve`. Raises UnknownResourceClasses, UnknownTraits.
        """
        return cls(conn, resolve(conn, request, taints=taints))

    def sharing(self, slots: Sequence[Slot]) -> Sharing:
        """Return the sharing providers, by the slots that they have room for."""
        self._sharing = sharing_of(self.conn, self.resolved, slots)
        return self._sharing

    def sharing_providers(self) -> Collection[SharingProvider]:
        """Return all sharing providers, with room or without."""
        sharing = self._sharing or self.sharing(())
        return sharing.everyone


class AnchorReader:
    """Reads trees, a batch of roots at a time, and makes the pools of those that are anchors."""

    def __init__(
        self,
        store: TreeStore,
        sharing: Collection[SharingProvider],
        spend: Spend,
        taints: frozenset[str],
    ) -> None:
        """sharing: those that anchors may use; the store has pinned their roots.

        taints: traits of roots whose sharing providers no anchor may use.
        """
        self._taints = taints
        self._store = store
        self._sharing = sharing
        self._spend = spend
        # Returns the pool of an anchor; once the trees of sharing providers are read.
        self.pool: Callable[[Tree], Pool]
        self._is_ready = False

    def trees(self, roots: Sequence[Root]) -> list[Tree]:
        """Return the trees of the roots, in their order."""
        trees = self._store.trees(roots)
        if not self._is_ready:
            self.pool = AnchorPools(self._members(self._taints), self._spend).pool
            self._is_ready = True
        return trees

    def pools_tolerating(self, taint: str) -> Callable[[Tree], Pool] | None:
        """Return what makes the pools of anchors that may also use the trees with a taint.

        None: no sharing provider is left out by this taint alone.
        """
        members = self._members(self._taints - {taint})
        if len(members) == len(self._members(self._taints)):
            return None
        return AnchorPools(members, self._spend).pool

    def _members(self, taints: frozenset[str]) -> list[SharingMember]:
        return sharing_members(self._sharing, self._store.pinned(), taints)
