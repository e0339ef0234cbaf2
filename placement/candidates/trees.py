"""Immutable trees, made of rows once and kept as long as they are true.

A root has one tree here, at one revision. Every change of anything in a tree gives it a revision
that it never had, so nothing needs to be told to this cache: whoever reads another revision does
not find the tree, makes it, and puts it in the place of the one before. Revisions have no order.
Revision 0 was written by somebody who does not renew revisions, so such a tree is never kept.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from placement.candidates.model import Member, Tree
from placement.objects.capacity import Stock

Root = tuple[int, int]  # id, revision


class TreeCache:
    """The trees used last, up to a number of providers in all; shared by a process's threads."""

    def __init__(self, max_providers: int) -> None:
        self._max = max_providers
        self._trees: OrderedDict[int, Tree] = OrderedDict()  # by the root's id
        self._providers = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._trees)

    def get(self, root: Root) -> Tree | None:
        """The tree at exactly this revision, if it is kept."""
        root_id, revision = root
        with self._lock:
            tree = self._trees.get(root_id)
            if tree is None or tree.revision != revision:
                return None
            self._trees.move_to_end(root_id)
            return tree

    def put(self, tree: Tree) -> None:
        """Keep a tree in the place of its root's other one, letting go of those least used."""
        if tree.revision == 0:
            return
        with self._lock:
            before = self._trees.get(tree.id)
            if before is not None:
                if before.revision == tree.revision:
                    return
                self._providers -= len(before.members)
            self._trees[tree.id] = tree
            self._trees.move_to_end(tree.id)
            self._providers += len(tree.members)
            while self._providers > self._max:
                _root_id, oldest = self._trees.popitem(last=False)
                self._providers -= len(oldest.members)


class Row(NamedTuple):
    """What the tables say of one provider, before its tree is made."""

    id: int
    parent_id: int | None
    uuid: str
    stocks: Mapping[str, Stock]
    traits: frozenset[str]
    aggregates: frozenset[str]


class Interned:
    """Equal sets of names become one object: thousands of hosts have the same traits."""

    def __init__(self) -> None:
        self._sets: dict[frozenset[str], frozenset[str]] = {}

    def __call__(self, names: Iterable[str]) -> frozenset[str]:
        made = frozenset(names)
        if len(self._sets) > 10_000:
            self._sets.clear()
        return self._sets.setdefault(made, made)


interned = Interned()


def build(root_id: int, revision: int, rows: Iterable[Row]) -> Tree:
    """Make a tree of its members' rows, parents before children."""
    children: dict[int | None, list[Row]] = {}
    for row in sorted(rows):
        children.setdefault(row.parent_id, []).append(row)
    members: list[Member] = []
    waiting = [(root, -1) for root in children[None]]
    for row, parent in waiting:
        position = len(members)
        members.append(Member(row.uuid, parent, row.stocks, row.traits, row.aggregates))
        waiting += [(child, position) for child in children.get(row.id, ())]
    aggregates = interned(name for member in members for name in member.aggregates)
    return Tree(root_id, members[0].uuid, revision, tuple(members), aggregates)
