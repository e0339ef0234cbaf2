"""The roots of all trees, sorted by an order of hosts.

Each process caches them in blocks. The text of the ids and revisions in a block identifies its
content, so a search ranks only the trees that have changed since the previous search.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import merge
from itertools import groupby, islice
from operator import attrgetter
from typing import NamedTuple

from sqlalchemy.engine import Connection

from placement.candidates.model import Roots, Tree
from placement.candidates.request import Order, Rank, rank_by
from placement.db.statements import root_windows
from placement.objects.revisions import UNKNOWN
from placement.runtime.budget import COST_PER_PROVIDER, Charge

# Maximum number of trees to load at once.
MAX_LOADED = 1000


class RankedRoot(NamedTuple):
    """A root with its sort key. Roots with equal keys are sorted by UUID."""

    rank: Rank
    uuid: str
    id: int
    revision: int


class _RankedBlock(NamedTuple):
    """Roots with consecutive ids."""

    # Identifies the ids and revisions.
    text: str
    # Id -> revision of each root.
    revisions: Roots
    # The roots in the order of hosts.
    roots: Sequence[RankedRoot]


_NO_BLOCK = _RankedBlock("", {}, ())


class RankedRoots:
    """The roots that the searches of a process have sorted by one order."""

    def __init__(self) -> None:
        # Number of a block -> the block. Threads replace the whole mapping.
        self._blocks: Mapping[int, _RankedBlock] = {}

    def read(
        self, conn: Connection, order: Order, load: Callable[[Roots], Iterable[Tree]], spend: Charge
    ) -> Iterator[RankedRoot]:
        """Return all roots in the order of hosts.

        Args:
            conn: a connection with one snapshot.
            order: the order, which is the same in each call.
            load: returns the trees of roots.
            spend: charges the work.

        Raises:
            BudgetSpentError: the search reached a limit.
        """
        known = self._blocks
        texts = dict(root_windows.blocks().rows(conn))
        blocks = {number: known.get(number, _NO_BLOCK) for number in texts}
        changed: dict[int, Roots] = {}
        pending: dict[int, int] = {}
        for number, text in texts.items():
            if blocks[number].text != text:
                changed[number] = dict(root_windows.parse_block(text))
                pending.update(changed[number].items() - blocks[number].revisions.items())
        ranked = _rank(pending, order, load, spend)
        for number, revisions in changed.items():
            # PERF: the unchanged roots come first, in their order, so sorting takes linear time.
            unchanged = revisions.keys() - pending.keys()
            roots = [root for root in blocks[number].roots if root.id in unchanged]
            roots += [ranked[root_id] for root_id in revisions if root_id in ranked]
            blocks[number] = _RankedBlock(texts[number], revisions, sorted(roots))
        self._blocks = {
            number: block
            for number, block in blocks.items()
            if number not in changed or _is_exact(block)
        }
        spend(COST_PER_PROVIDER * sum([len(block.roots) for block in blocks.values()]))
        return merge(*[block.roots for block in blocks.values()])


def _is_exact(block: _RankedBlock) -> bool:
    """Return whether the roots were ranked at the revisions that identify the block."""
    ranked = {root.id: root.revision for root in block.roots}
    return ranked == block.revisions and UNKNOWN not in ranked.values()


def _rank(
    roots: Roots, order: Order, load: Callable[[Roots], Iterable[Tree]], spend: Charge
) -> Mapping[int, RankedRoot]:
    """Return id -> root with its sort key. Roots that no longer exist are omitted."""
    rank_of, cost = rank_by(order), len(order)
    ranked: dict[int, RankedRoot] = {}
    pending = iter(roots.items())
    while batch := dict(islice(pending, MAX_LOADED)):
        for tree in load(batch):
            spend(len(tree.members) * cost)
            ranked[tree.id] = RankedRoot(rank_of(tree), tree.uuid, tree.id, tree.revision)
    return ranked


def shuffled(roots: Iterable[RankedRoot]) -> Iterator[RankedRoot]:
    """Yield sorted roots with those of equal rank in random order."""
    for _rank_of_group, group in groupby(roots, attrgetter("rank")):
        equal = list(group)
        random.shuffle(equal)
        yield from equal
