"""Sources of all hosts: the trees of a snapshot, and the trees of another source without usages.

The copies of a simulation are a further source.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Protocol

from sqlalchemy.engine import Connection

from placement.candidates.model import Member, Roots, SharingMember, Stocks, Tree
from placement.candidates.trees import (
    PlainRoots,
    SearchTuning,
    SharingProvider,
    TreeCache,
    TreeStore,
    roots_of,
    sharing_members,
)
from placement.runtime.budget import Charge

# Maximum number of trees in a batch.
MAX_BATCH = 8192

# Factor between the sizes of batches. The first batch has the size of a search's batch.
BATCH_GROWTH = 8


class HostSource(Protocol):
    """All hosts, and the sharing providers that they may reach."""

    def batches(self) -> Iterator[Sequence[Tree]]:
        """Yield all trees in batches."""

    def sharing(self) -> Sequence[SharingMember]:
        """Return the sharing providers. It is called after the first batch."""


class SnapshotHosts:
    """The trees in the snapshot of a connection."""

    def __init__(
        self,
        conn: Connection,
        cache: TreeCache,
        roots: PlainRoots,
        sharing: Collection[SharingProvider],
        spend: Charge,
        tuning: SearchTuning,
    ) -> None:
        """Read nothing yet.

        Args:
            conn: a connection with one snapshot.
            cache: cached trees.
            roots: reads the roots.
            sharing: the sharing providers as they were read.
            spend: charges the work of reading.
            tuning: sizes of the reads.
        """
        self._roots = roots
        self._sharing = sharing
        # Reads the trees. The trees of sharing providers are pinned.
        self._store = TreeStore(conn, cache, roots_of(sharing), spend)
        self._tuning = tuning

    def batches(self) -> Iterator[Sequence[Tree]]:
        """Yield all trees in batches, ordered by the ids of their roots.

        The first batches are small because little work may be left.
        """
        size = self._tuning.first_batch
        for roots in self._roots.windows(self._tuning.largest_window):
            pending = iter(roots.items())
            while batch := dict(islice(pending, size)):
                yield self._trees(batch)
                size = min(BATCH_GROWTH * size, MAX_BATCH)

    def _trees(self, roots: Roots) -> list[Tree]:
        """Return the trees of roots, read in batches of a search."""
        pending = iter(roots.items())
        trees: list[Tree] = []
        while batch := dict(islice(pending, self._tuning.largest_batch)):
            trees += self._store.trees(batch)
        return trees

    def sharing(self) -> Sequence[SharingMember]:
        """Return the sharing providers of all trees."""
        return sharing_members(self._sharing, self._store.pinned())


class UnusedHosts:
    """The hosts of another source, without usages. Equal inventories remain the same object."""

    def __init__(self, hosts: HostSource) -> None:
        self._hosts = hosts
        # Inventories of the other source -> the same without usage.
        self._stocks: dict[Stocks, Stocks] = {}

    def batches(self) -> Iterator[Sequence[Tree]]:
        """Yield all trees in batches."""
        for trees in self._hosts.batches():
            yield list(map(self._tree, trees))

    def sharing(self) -> Sequence[SharingMember]:
        """Return the sharing providers of all trees."""
        return [
            SharingMember(self._tree(tree), self._member(member), position)
            for tree, member, position in self._hosts.sharing()
        ]

    def _tree(self, tree: Tree) -> Tree:
        return replace(tree, members=tuple([self._member(member) for member in tree.members]))

    def _member(self, member: Member) -> Member:
        stocks = self._stocks.get(member.stocks)
        if stocks is None:
            stocks = self._stocks[member.stocks] = member.unused().stocks
        return member._replace(stocks=stocks)
