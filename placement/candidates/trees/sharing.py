"""Sharing providers, the anchors that they can serve, and the requests that they can serve alone.

A sharing provider serves every tree that has a member in one of its aggregates.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from sqlalchemy.engine import Connection

from placement.candidates.model import Pool, Roots, SharingMember, Tree
from placement.candidates.request import Slot
from placement.candidates.terms import Term
from placement.candidates.terms.base import AGGREGATES, TRAITS, MemberTerm
from placement.candidates.trees.resolve import ResolvedRequest
from placement.db.conditions import RootCondition
from placement.db.statements import names as name_statements
from placement.db.statements import sharing as statements
from placement.db.statements.sharing import SharingRow
from placement.inventory import Stock, fits
from placement.objects import identifiers
from placement.runtime.budget import Charge
from placement.vocabulary import SHARING_TRAIT


class Spellings:
    """The rows of all spellings of the aggregates of sharing providers.

    Several rows may contain the same UUID in different spellings. These rows are read on first use,
    because most requests do not need them.
    """

    def __init__(self, conn: Connection, names: Mapping[int, str]) -> None:
        """names: id -> stored spelling of the aggregates of sharing providers."""
        self._conn = conn
        self._names = names
        # Normalized UUID -> ids of its rows, or None until the rows are read.
        self._ids_by_key: Mapping[str, frozenset[int]] | None = None

    def rows(self, aggregates: Iterable[int]) -> frozenset[int]:
        """Return the ids of all rows of the aggregates with these ids."""
        if self._ids_by_key is None:
            self._ids_by_key = self._read()
        nothing: frozenset[int] = frozenset()
        keys = [identifiers.key(self._names[aggregate]) for aggregate in aggregates]
        return nothing.union(*(self._ids_by_key[key] for key in keys))

    def _read(self) -> Mapping[str, frozenset[int]]:
        ids = {name: aggregate for aggregate, name in self._names.items()}
        spellings = identifiers.spellings(*self._names.values())
        query = name_statements.ids({"aggregate": spellings})
        for _kind, row_id, spelling, _number in query.rows(self._conn):
            ids[spelling] = row_id
        return identifiers.ids_by_key(ids)


NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class SharingProvider:
    """A sharing provider as it was read from the database, without its tree."""

    uuid: str
    root_id: int
    revision: int
    aggregates: set[int]
    # The normalized UUIDs of its aggregates. Empty if the request names no aggregates.
    aggregate_keys: frozenset[str]
    # Inventory and usage by class id.
    stocks: dict[int, Stock]
    # The traits of the provider that the request names.
    traits: frozenset[str]

    def has_room(self, resources: Iterable[tuple[int, int]]) -> bool:
        """Return whether the provider has the capacity for all of the (class id, units) pairs."""
        for class_id, amount in resources:
            stock = self.stocks.get(class_id)
            if stock is None or not fits(stock, amount):
                return False
        return True


@dataclass(frozen=True, slots=True)
class Sharing:
    """The sharing providers of a request."""

    # The sharing providers that have the capacity for each slot.
    by_slot: tuple[tuple[SharingProvider, ...], ...]
    # The sharing providers that have the capacity for any slot.
    providers: tuple[SharingProvider, ...]
    all_providers: tuple[SharingProvider, ...]
    # The rows of all spellings of their aggregates.
    spellings: Spellings

    @property
    def roots(self) -> Roots:
        """The distinct roots of the providers that have capacity."""
        return roots_of(self.providers)

    def reach(self, terms: Sequence[Term], slot: int | None = None) -> frozenset[int]:
        """Return the aggregates of the sharing providers that may satisfy the terms.

        The providers have the capacity for the slot, or for any slot if it is None.
        """
        providers: Iterable[SharingProvider] = self.providers
        if slot is not None:
            providers = self.by_slot[slot]
        for term in terms:
            if isinstance(term, MemberTerm):
                providers = _may_meet(term, providers)
        return _aggregates(providers)


def _may_meet(term: MemberTerm, providers: Iterable[SharingProvider]) -> Iterable[SharingProvider]:
    """Return the providers, except those that fail a term that can be checked without trees."""
    failed = term.check([(1, term)])
    if term.reads is TRAITS:
        return [provider for provider in providers if not failed(provider.traits)]
    if term.reads is AGGREGATES:
        return [provider for provider in providers if not failed(provider.aggregate_keys)]
    return providers


def roots_of(providers: Iterable[SharingProvider]) -> Roots:
    """Return the distinct roots of sharing providers."""
    return {provider.root_id: provider.revision for provider in providers}


def _aggregates(providers: Iterable[SharingProvider]) -> frozenset[int]:
    return frozenset().union(*(provider.aggregates for provider in providers))


def sharing_of(conn: Connection, resolved: ResolvedRequest, slots: Sequence[Slot]) -> Sharing:
    """Return the sharing providers, and the slots for which each of them has capacity.

    The lookup of names has returned the first sharing providers. This function reads the others.
    """
    rows = list(resolved.sharing)
    if len(rows) >= statements.FIRST:
        _kind, last, _text, trait_id = max(rows)
        rows += statements.others(trait_id, last).rows(conn)
    parsed = statements.parse(rows)
    traits = {trait_id: name for name, trait_id in resolved.known.traits.items()}
    with_keys = bool(resolved.known.aggregates)
    all_providers = tuple(_provider(row, traits, with_keys=with_keys) for row in parsed)
    names = dict(chain(*[row.aggregates for row in parsed]))
    by_slot = []
    useful: dict[str, SharingProvider] = {}
    for slot in slots:
        resources = resolved.known.resource_ids(slot.resources)
        providers = tuple(provider for provider in all_providers if provider.has_room(resources))
        by_slot.append(providers)
        useful.update((provider.uuid, provider) for provider in providers)
    return Sharing(tuple(by_slot), tuple(useful.values()), all_providers, Spellings(conn, names))


def _provider(row: SharingRow, traits: Mapping[int, str], *, with_keys: bool) -> SharingProvider:
    """Return the sharing provider of a row. Its aggregate UUIDs are normalized `with_keys`."""
    keys = frozenset(identifiers.key(name) for _id, name in row.aggregates) if with_keys else NONE
    named = [traits[row_id] for (row_id,) in row.traits if row_id in traits] if traits else ()
    return SharingProvider(
        row.uuid,
        row.root_id,
        row.revision,
        {aggregate for aggregate, _name in row.aggregates},
        keys,
        {class_id: Stock(*fields) for class_id, *fields in row.stocks},
        frozenset(named),
    )


def sharing_members(
    providers: Iterable[SharingProvider], trees: Iterable[Tree]
) -> list[SharingMember]:
    """Return the sharing providers as members of their trees."""
    uuids = {provider.uuid for provider in providers}
    return [each for each in _members_of(trees) if each.member.uuid in uuids]


def sharing_in(trees: Iterable[Tree]) -> list[SharingMember]:
    """Return the sharing providers among the members of trees."""
    return [
        each
        for each in _members_of(trees)
        if SHARING_TRAIT in each.member.traits and each.member.aggregates
    ]


def _members_of(trees: Iterable[Tree]) -> Iterator[SharingMember]:
    for tree in trees:
        for position, member in enumerate(tree.members):
            yield SharingMember(tree, member, position)


def untainted(sharing: Iterable[SharingMember], taints: frozenset[str]) -> list[SharingMember]:
    """Return the sharing providers of trees whose root has none of the taints."""
    return [each for each in sharing if taints.isdisjoint(each.tree.root.traits)]


class AnchorPools:
    """The pools of anchors: the members of a tree, and the sharing providers that it reaches.

    Trees with equal aggregates reach the same sharing providers. Therefore, the sharing providers
    are cached by aggregates.
    """

    def __init__(
        self, sharing: Collection[SharingMember], spend: Charge, taints: frozenset[str] = NONE
    ) -> None:
        """Prepare the pools.

        Args:
            sharing: the sharing providers.
            spend: charges the work per sharing provider.
            taints: root traits of trees whose sharing providers no anchor may use.
        """
        self._all = sharing
        self._taints = taints
        self._spend = spend
        # The sharing providers that anchors may use.
        self.sharing = untainted(sharing, taints)
        # Ids of the roots of the sharing providers.
        self._trees = {provider.tree.id for provider in self.sharing}
        # Aggregates of an anchor -> the pool with the sharing providers that it reaches.
        self._pools: dict[frozenset[str], Pool] = {}

    def tolerating(self, taint: str) -> "AnchorPools | None":
        """Return the pools as if the request tolerated a taint.

        Returns:
            None if this taint alone excludes no sharing provider.
        """
        pools = AnchorPools(self._all, self._spend, self._taints - {taint})
        return None if len(pools.sharing) == len(self.sharing) else pools

    def pool(self, anchor: Tree) -> Pool:
        """Return the pool of an anchor."""
        if not self.sharing:
            return Pool(anchor, anchor.members)
        pool = self._pools.get(anchor.aggregates)
        if pool is None:
            pool = self._pools[anchor.aggregates] = self._reached(anchor.aggregates)
        if anchor.id in self._trees:
            # Sharing providers of the anchor's own tree are already among its members.
            pool = sharing_pool([each for each in pool.sharing if each.tree.id != anchor.id])
        return Pool(anchor, anchor.members + pool.members, pool.sharing, pool.reached)

    def _reached(self, aggregates: frozenset[str]) -> Pool:
        """Return the pool of the sharing providers in any of these aggregates."""
        self._spend(len(self.sharing))
        return sharing_pool(
            [each for each in self.sharing if not aggregates.isdisjoint(each.member.aggregates)]
        )


def sharing_pool(sharing: Sequence[SharingMember]) -> Pool:
    """Return the pool of an anchor that serves nothing itself."""
    return Pool(
        None,
        tuple([provider.member for provider in sharing]),
        tuple(sharing),
        frozenset([(provider.tree.id, provider.position) for provider in sharing]),
    )


def sharing_alone(
    conn: Connection, sharing: Sharing, root: RootCondition, *, asks_root: bool
) -> Iterator[Sequence[SharingProvider]]:
    """Yield each set of sharing providers that an anchor reaches and that may serve alone.

    One statement finds the distinct sets. If ten thousand hosts reach the same providers, they
    result in one set. Most requests do not need this statement.

    Args:
        root: condition on the root of the anchor.
        asks_root: whether the request states a condition on the root. Taints do not count, because
            they also exclude the sharing providers of the tainted tree.
    """
    if not _needs_search_alone(sharing, asks_root=asks_root):
        return
    reach = {
        provider.uuid: sharing.spellings.rows(provider.aggregates) for provider in sharing.providers
    }
    aggregates = sorted(frozenset().union(*reach.values()))
    if not aggregates:
        return
    sets: dict[frozenset[str], Sequence[SharingProvider]] = {}
    for reached in statements.reached_sets(aggregates, root).rows(conn):
        providers = [each for each in sharing.providers if reached & reach[each.uuid]]
        sets.setdefault(frozenset([each.uuid for each in providers]), providers)
    yield from sets.values()


def _needs_search_alone(sharing: Sharing, *, asks_root: bool) -> bool:
    """Whether sharing providers may have candidates that their own trees do not yield.

    Every slot needs a sharing provider. If all of these providers are in one tree, the candidate is
    found at this tree, unless its root is refused and the root of another anchor is not. Candidates
    with providers of several trees are found only by this search.
    """
    if not all(sharing.by_slot):
        return False
    if asks_root:
        return True
    trees = {provider.root_id for provider in sharing.providers}
    return len(sharing.by_slot) > 1 and len(trees) > 1
