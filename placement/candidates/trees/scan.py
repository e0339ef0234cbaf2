"""The data that is read for one request. The search and the explanation after it share the data.

Names, sharing providers and roots are read once for both, in one transaction.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Self

from sqlalchemy.engine import Connection

from placement.candidates.model import Roots
from placement.candidates.request import CandidateRequest, Slot
from placement.candidates.trees.resolve import ResolvedRequest, resolve
from placement.candidates.trees.sharing import (
    AnchorPools,
    Sharing,
    SharingProvider,
    sharing_members,
    sharing_of,
)
from placement.candidates.trees.store import TreeStore
from placement.config import NO_TRAITS, SpecialTraits
from placement.db.statements import root_windows
from placement.runtime.budget import Charge

# Maximum number of roots that an explanation reuses before it reads the other roots.
MAX_KEPT_ROOTS = 10_000


class PlainRoots:
    """Reads unfiltered runs of roots, and caches the roots of the first contiguous runs.

    A search reads only as many roots as it needs. `windows` first returns the cached roots, and
    then reads the other roots.
    """

    def __init__(self, conn: Connection, first: Sequence[Any] | None) -> None:
        """first: rows that were read together with the names, or None if none were."""
        # Connection of the transaction that reads the roots.
        self.conn = conn
        self._first = first
        # The cached roots, ordered by id.
        self._kept: dict[int, int] = {}
        self._last = 0  # id of the last cached root
        self._complete = False  # whether all roots are cached

    def run(self, after: int, size: int) -> tuple[dict[int, int], int, int]:
        """Return the next roots after an id, the number of rows read, and the last row's id."""
        if after == 0 and self._first is not None and size <= root_windows.FIRST:
            rows = self._first[:size]
        else:
            rows = root_windows.next_roots(after, size).rows(self.conn)
        roots = sound_roots(rows)
        last = rows[-1][0] if rows else after
        if after == self._last and not self._complete and len(self._kept) < MAX_KEPT_ROOTS:
            self._kept |= roots
            self._last = last
            self._complete = len(rows) < size
        return roots, len(rows), last

    def windows(self, size: int) -> Iterator[Roots]:
        """Yield all roots: first the cached roots, and then windows of this size."""
        if not self._last and self._first is not None and len(self._first) < root_windows.FIRST:
            self.run(0, root_windows.FIRST)  # the first rows are all roots
        if self._kept:
            yield self._kept.copy()
        after, complete = self._last, self._complete
        while not complete:
            roots, rows, after = self.run(after, size)
            complete = rows < size
            yield roots


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
        cls, conn: Connection, request: CandidateRequest, traits: SpecialTraits = NO_TRAITS
    ) -> Self:
        """Resolve a request and return its scan. For traits and errors, see `resolve`."""
        return cls(conn, resolve(conn, request, traits=traits))

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
        # Returns the trees of roots, in their order.
        self.trees = store.trees
        self._taints = taints
        self._store = store
        self._sharing = sharing
        self._spend = spend

    @cached_property
    def pools(self) -> AnchorPools:
        """The pools of anchors. The trees of the sharing providers are read with other trees."""
        members = sharing_members(self._sharing, self._store.pinned())
        return AnchorPools(members, self._spend, self._taints)


def sound_roots(rows: Iterable[Sequence[int]]) -> dict[int, int]:
    """Return the roots of (id, revision) rows. A statement may return a root several times.

    Rows without a revision, which in a damaged database refer to another root, are skipped.
    """
    roots: dict[int, int] = dict(rows)  # type: ignore[arg-type]  # rows have two values
    if None in roots.values():
        return {row_id: revision for row_id, revision in roots.items() if revision is not None}
    return roots
