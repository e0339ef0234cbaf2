"""From roots to trees: out of the cache, and out of the database what is not there."""

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from sys import intern
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

from sqlalchemy.engine import Connection

from falcon_placement_client.inventory import Stock
from placement import events, stopwatch
from placement.candidates.budget import LOOKS_PER_STEP, Spend
from placement.candidates.model import Member, Root, Stocks, Tree
from placement.db.statements import trees as statements
from placement.events import Event
from placement.objects import identifiers, revisions
from placement.objects.revision_cache import RevisionCache

T = TypeVar("T")

MAX_INTERNED = 10_000  # values of one kind, of which some may be in no tree any more

# The work of reading a provider and making it part of a tree.
LOOKS_PER_PROVIDER = 15 * LOOKS_PER_STEP

# One tree for each root; the size is the number of providers.
TreeCache = RevisionCache[Tree]

NO_TREES: Mapping[int, Tree] = MappingProxyType({})


class TreeStore:
    """The trees that one request reads, on its connection.

    pinned: roots whose trees the request needs throughout. They are loaded together with the
    first others, and kept. ahead: root id -> tree as it will be, of trees that are taken for so
    already.
    """

    def __init__(
        self,
        conn: Connection,
        cache: TreeCache,
        pinned: Collection[Root],
        spend: Spend,
        ahead: Mapping[int, Tree] = NO_TREES,
    ) -> None:
        self._conn = conn
        self._cache = cache
        self._spend = spend
        self._ahead = ahead
        self._to_pin = pinned
        self._pinned: dict[int, Tree] = {}

    def trees(self, roots: Sequence[Root]) -> list[Tree]:
        """Return the trees of the roots: from memory, or in two statements.

        Where each statement has its own view, a tree may be gone since its root was read.
        """
        needed = {root.id: root for root in (*roots, *self._to_pin)}
        with stopwatch.TREES:
            trees = self._get([root for root in needed.values() if root.id not in self._pinned])
        for root in self._to_pin:
            if root.id in trees:
                self._pinned[root.id] = trees[root.id]
        self._to_pin = ()
        trees |= self._pinned
        return [trees[root.id] for root in roots if root.id in trees]

    def known_first(self, roots: Sequence[Root]) -> list[Sequence[Root]]:
        """Divide roots into those whose trees need not be read, and the others."""
        known = self._cache.get(dict(roots)).keys() | self._ahead.keys()
        cached = [root for root in roots if root.id in known]
        if len(cached) in {0, len(roots)}:
            return [roots]
        return [cached, [root for root in roots if root.id not in known]]

    def pinned(self) -> Collection[Tree]:
        """Return the trees that the request needs throughout."""
        self.trees(())
        return self._pinned.values()

    def _get(self, roots: Sequence[Root]) -> dict[int, Tree]:
        """Return root id -> tree."""
        seen = dict(roots)
        ahead = {root_id: self._ahead[root_id] for root_id in self._ahead.keys() & seen.keys()}
        for root_id in ahead:
            del seen[root_id]
        missing: list[int] = []

        def load(revisions: Mapping[int, int]) -> dict[int, Tree]:
            missing.extend(revisions)
            return self._load(revisions)

        trees = self._cache.read(seen, load) | ahead
        if trees:
            cached, kept = len(roots) - len(missing), self._cache.size
            events.emit(Event.TREES, cached=cached, loaded=len(missing), kept=kept)
        return trees

    def _load(self, seen: Mapping[int, int]) -> dict[int, Tree]:
        """Read the trees of roots that were seen at these revisions."""
        rows = statements.members(seen).rows(self._conn)
        self._spend(LOOKS_PER_PROVIDER * len(rows))
        # Hosts of one model have the same traits, which are most of what there is to read: their
        # sets are read as ids, and each different set is named once.
        names = self._trait_names({row.trait_ids for row in rows})
        stocks = {fields: _stocks(fields) for fields in {row.stocks for row in rows}}
        confirms = revisions.can_confirm(self._conn)
        rows_by_root: dict[int, list[_Row]] = {}
        roots: list[Root] = []
        for root_id, row_id, parent_id, revision, uuid, fields, trait_ids, aggregates in rows:
            if row_id == root_id:
                # What has changed since the root was read is not known to be whole.
                is_true = confirms and revision == seen[root_id]
                roots.append(Root(root_id, revision if is_true else revisions.UNKNOWN))
            keys = _one_set(frozenset(map(identifiers.key, aggregates)))
            row = _Row(row_id, parent_id, uuid, stocks[fields], names[trait_ids], keys)
            rows_by_root.setdefault(root_id, []).append(row)
        return {root.id: _tree(root, rows_by_root[root.id]) for root in roots}

    def _trait_names(
        self, sets: Collection[frozenset[int]]
    ) -> dict[frozenset[int], frozenset[str]]:
        """Return the names of sets of traits, by the ids."""
        trait_ids = frozenset[int]().union(*sets)
        names: dict[int, str] = dict(statements.trait_names(trait_ids).rows(self._conn))
        named: dict[frozenset[int], frozenset[str]] = {}
        for ids in sets:
            # A row may outlive its trait in a damaged database.
            named[ids] = _one_set(frozenset(map(names.__getitem__, ids & names.keys())))
        return named


class _Row(NamedTuple):
    """What the tables say of one provider, before its tree is made."""

    id: int
    parent_id: int | None
    uuid: str
    stocks: Stocks
    traits: frozenset[str]
    aggregates: frozenset[str]


def _tree(root: Root, rows: Iterable[_Row]) -> Tree:
    """Make a tree of its members' rows, parents before children."""
    children: dict[int | None, list[_Row]] = {}
    for row in sorted(rows):
        children.setdefault(row.parent_id, []).append(row)
    members: list[Member] = []
    waiting = [(row, -1) for row in children[None]]
    for row, parent in waiting:
        position = len(members)
        row_id = row.id if members else root.id  # one object for the id of a root
        members.append(Member(row.uuid, parent, row.stocks, row.traits, row.aggregates, row_id))
        waiting += [(child, position) for child in children.get(row.id, ())]
    aggregates = _one_set(frozenset().union(*[member.aggregates for member in members]))
    return Tree(root.id, members[0].uuid, root.revision, tuple(members), aggregates)


class Interned(Generic[T]):
    """The values of one kind, each once; all are forgotten when there are many.

    Thousands of hosts have the same traits and stocks. What they share takes memory once, and a
    search compares it by identity first.
    """

    def __init__(self, most: int = MAX_INTERNED) -> None:
        """`most`: values that are known at a time."""
        self._most = most
        self._values: dict[Hashable | T, T] = {}

    def __call__(self, value: T, key: Hashable = None) -> T:
        """Return the one object for this value.

        key: what no two values share that differ, for values that cannot be hashed.
        """
        if len(self._values) >= self._most:
            self._values.clear()
        return self._values.setdefault(value if key is None else key, value)


_one_set: Interned[frozenset[str]] = Interned()
_one_stock: Interned[Stock] = Interned()
_one_mapping: Interned[Stocks] = Interned(most=1000)


def _stocks(fields: Iterable[Sequence[Any]]) -> Stocks:
    stocks = Stocks({intern(name): _one_stock(Stock(*amounts)) for name, *amounts in fields})
    return _one_mapping(stocks, (*stocks, *stocks.values()))
