"""Get the trees of roots from the cache, or read them from the database."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from sys import intern
from types import MappingProxyType
from typing import Any

from sqlalchemy.engine import Connection

from placement.candidates.model import Member, Roots, Stocks, Tree
from placement.candidates.trees.ranked_roots import RankedRoots
from placement.db.statements import trees as statements
from placement.inventory import Stock
from placement.objects import identifiers, revisions
from placement.objects.revision_cache import KindCaches, RevisionCache
from placement.runtime import events, stopwatch
from placement.runtime.bounded import Interned
from placement.runtime.budget import COST_PER_READ_PROVIDER, Charge
from placement.runtime.events import Event

# Maximum number of orders of hosts for which a process caches the sorted roots.
MAX_ORDERS = 2


class TreeCache(RevisionCache[Tree]):
    """Caches one tree per root. The size of a tree is the number of its providers."""

    def __init__(self, max_size: int) -> None:
        """max_size: maximum number of providers of all trees."""
        super().__init__(max_size)
        # Order of hosts -> the roots in this order.
        self.ranked: KindCaches[RankedRoots] = KindCaches(MAX_ORDERS, RankedRoots)


NO_TREES: Mapping[int, Tree] = MappingProxyType({})


class TreeStore:
    """Reads the trees of one request on the connection of the request."""

    def __init__(
        self,
        conn: Connection,
        cache: TreeCache,
        pinned: Roots,
        spend: Charge,
        pending_trees: Mapping[int, Tree] = NO_TREES,
    ) -> None:
        """Create a store; it reads nothing yet.

        Args:
            pinned: roots whose trees the request needs throughout. They are read together with the
                first other trees, and kept.
            spend: charges the work of reading.
            pending_trees: root id -> tree with allocations that are not written yet, in place of
                the stored tree.
        """
        self._conn = conn
        self._cache = cache
        self._spend = spend
        self._pending_trees = pending_trees
        self._to_pin = pinned
        # Root id -> tree, for the pinned roots that have been read.
        self._pinned: dict[int, Tree] = {}

    def trees(self, roots: Roots) -> list[Tree]:
        """Return the trees of the roots from the cache, or read them with two statements.

        If each statement has its own view, a tree may have been deleted since its root was read.
        Such roots are skipped.
        """
        needed = {**roots, **self._to_pin}
        for root_id in self._pinned:
            needed.pop(root_id, None)
        with stopwatch.TREES:
            trees = self._get(needed)
        for root_id in self._to_pin:
            if root_id in trees:
                self._pinned[root_id] = trees[root_id]
        self._to_pin = {}
        trees |= self._pinned
        return [tree for tree in map(trees.get, roots) if tree is not None]

    def known_first(self, roots: Roots) -> list[Roots]:
        """Return the roots whose trees are cached, and the other roots."""
        known = self._cache.get(roots).keys() | self._pending_trees.keys()
        cached = {row_id: revision for row_id, revision in roots.items() if row_id in known}
        if len(cached) in {0, len(roots)}:
            return [roots]
        return [cached, {row_id: roots[row_id] for row_id in roots if row_id not in known}]

    def pinned(self) -> Collection[Tree]:
        """Return the trees that the request needs until its end."""
        self.trees({})
        return self._pinned.values()

    def _get(self, seen: dict[int, int]) -> dict[int, Tree]:
        """Return root id -> tree.

        `seen` maps the ids of the roots to the revisions that were read. This function removes the
        roots with pending trees.
        """
        requested = len(seen)
        pending_trees = {
            root_id: self._pending_trees[root_id]
            for root_id in self._pending_trees.keys() & seen.keys()
        }
        for root_id in pending_trees:
            del seen[root_id]
        missing: list[int] = []

        def load(revisions: Mapping[int, int]) -> dict[int, Tree]:
            missing.extend(revisions)
            return self._load(revisions)

        trees = self._cache.read(seen, load) | pending_trees
        if trees:
            cached, kept = requested - len(missing), self._cache.size
            events.emit(Event.TREES, cached=cached, loaded=len(missing), kept=kept)
        return trees

    def _load(self, seen: Mapping[int, int]) -> dict[int, Tree]:
        """Read the trees of roots.

        `seen` maps the ids of the roots to the revisions that were read.
        """
        rows = statements.members(seen).rows(self._conn)
        self._spend(COST_PER_READ_PROVIDER * len(rows))
        # Most of the data is traits, and hosts of one model have the same traits. Therefore, the
        # statement returns sets of trait ids, and each distinct set is translated to names only
        # once.
        names = self._trait_names({row.trait_ids for row in rows})
        stocks = {fields: _stocks(fields) for fields in {row.stocks for row in rows}}
        confirms = revisions.can_confirm(self._conn)
        rows_by_root: dict[int, list[tuple[int | None, Member]]] = {}
        roots: dict[int, int] = {}
        for root_id, row_id, parent_id, revision, uuid, fields, trait_ids, aggregates in rows:
            if row_id == root_id:
                # If a tree has changed since its root was read, it may be inconsistent.
                is_true = confirms and revision == seen[root_id]
                roots[root_id] = revision if is_true else revisions.UNKNOWN
            keys = _one_set(frozenset(map(identifiers.key, aggregates)))
            own_id = root_id if row_id == root_id else row_id  # one object for the id of a root
            member = Member(uuid, -1, stocks[fields], names[trait_ids], keys, own_id)
            rows_by_root.setdefault(root_id, []).append((parent_id, member))
        return {
            root_id: _tree(root_id, revision, rows_by_root[root_id])
            for root_id, revision in roots.items()
        }

    def _trait_names(
        self, sets: Collection[frozenset[int]]
    ) -> dict[frozenset[int], frozenset[str]]:
        """Return set of trait ids -> set of trait names."""
        trait_ids = frozenset[int]().union(*sets)
        names: dict[int, str] = dict(statements.trait_names(trait_ids).rows(self._conn))
        named: dict[frozenset[int], frozenset[str]] = {}
        for ids in sets:
            # In a damaged database, a row may refer to a trait that does not exist.
            named[ids] = _one_set(frozenset(map(names.__getitem__, ids & names.keys())))
        return named


def _tree(root_id: int, revision: int, rows: Iterable[tuple[int | None, Member]]) -> Tree:
    """Build a tree from the ids of the parents and the members. Parents come before children."""
    children: dict[int | None, list[Member]] = {}
    for parent_id, member in sorted(rows, key=lambda row: row[1].id):
        children.setdefault(parent_id, []).append(member)
    members: list[Member] = []
    waiting = [(member, -1) for member in children[None]]
    for member, parent in waiting:
        waiting += [(child, len(members)) for child in children.get(member.id, ())]
        members.append(member if parent < 0 else member._replace(parent=parent))
    aggregates = _one_set(frozenset().union(*[member.aggregates for member in members]))
    return Tree(root_id, members[0].uuid, revision, tuple(members), aggregates)


_one_set: Interned[frozenset[str]] = Interned()
_one_stock: Interned[Stock] = Interned()
_one_mapping: Interned[Stocks] = Interned(most=1000)


def _stocks(fields: Iterable[Sequence[Any]]) -> Stocks:
    stocks = Stocks({intern(name): _one_stock(Stock(*amounts)) for name, *amounts in fields})
    return _one_mapping(stocks, (*stocks, *stocks.values()))
