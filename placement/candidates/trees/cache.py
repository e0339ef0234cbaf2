"""Immutable trees, made of rows once and kept as long as they are true.

A root has one tree here, at one revision. Every change of anything in a tree gives it a revision
that it never had, so nothing needs to be told to this cache: whoever reads another revision does
not find the tree, makes it, and puts it in the place of the one before. Revisions have no order.
Revision 0 is that of a tree that other software has made, which does not renew revisions, or that
was read in a view that may be torn (`objects/revisions.py`): such a tree is never kept.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterable

from placement.candidates.model import Root, Tree


class TreeCache:
    """The trees used last, up to a number of providers in all; shared by a process's threads."""

    def __init__(self, max_providers: int) -> None:
        self._max = max_providers
        self._trees: OrderedDict[int, Tree] = OrderedDict()  # by the root's id
        self._providers = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._trees)

    @property
    def providers(self) -> int:
        """How many providers the trees have together."""
        return self._providers

    def get(self, roots: Iterable[Root]) -> dict[int, Tree]:
        """Return root id -> tree, of those trees that are kept at exactly these revisions."""
        trees: dict[int, Tree] = {}
        with self._lock:
            for root_id, revision in roots:
                tree = self._trees.get(root_id)
                if tree is not None and tree.revision == revision:
                    self._trees.move_to_end(root_id)
                    trees[root_id] = tree
        return trees

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
