"""The package's only door to SQL: names, roots by window and condition, trees by root.

Everything runs on the one snapshot of the request, in a number of statements that does not
depend on the size of the cloud: names, sharing providers, a window of roots, and two for the
trees that are not in the cache. A further window or chunk of trees adds a fixed number.

A window takes its trees as they come, for what is in memory is looked at there many times faster
than by any engine. When few of them serve, the engine is asked for the others.
"""

import random
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy.engine import Connection

from placement.candidates.model import SHARING_TRAIT, Lent, Pool, Slot, Tree
from placement.candidates.request import CandidateRequest, RequestGroup
from placement.candidates.solve import Plan
from placement.candidates.trail import LOOKS, ROOT, Trail
from placement.candidates.trees import Root, Row, TreeCache, build, interned
from placement.candidates.windows import Seen, Window, first_size, random_runs, windows
from placement.db.dialect import chunks, read, unpacked
from placement.db.statements import names
from placement.db.statements import trees as statements
from placement.db.statements.trees import Asked, By, Need, RootNeed, Start
from placement.errors import UnknownResourceClasses, UnknownTraits
from placement.objects import catalog, identifiers
from placement.objects.capacity import Stock, fits

# Conditions of one statement at the most: an engine's planner takes seconds beyond some twenty.
MAX_NEEDS = 8
MAX_TERMS = 8  # classes, traits or aggregates of one condition
FIRST_TREES = 64
MOST_TREES = 1000

LOADED = 10 * LOOKS  # work that reading a provider and making it part of a tree takes

NOWHERE = ""  # in_tree of a provider that does not exist


@dataclass(frozen=True, slots=True)
class Known:
    """Names of a request and what the database knows of them.

    aggregates: `identifiers.key` -> ids of the rows that mean it.  trees: provider as given -> (id
    of its root, as stored).
    """

    classes: Mapping[str, int]
    traits: Mapping[str, int]
    aggregates: Mapping[str, frozenset[int]]
    trees: Mapping[str, tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Sharing:
    """A sharing provider, where it stands and what its stock of the asked classes is.

    aggregates: ids.  stocks: by the class's id.
    """

    uuid: str
    root: Root
    aggregates: set[int]
    stocks: dict[int, Stock]


class Fetch:
    """What one request reads, on one connection."""

    def __init__(
        self,
        conn: Connection,
        cache: TreeCache,
        request: CandidateRequest,
        randomize: bool,
        trail: Trail,
    ) -> None:
        """Look up every name of the request.

        Raises UnknownResourceClasses and UnknownTraits, wherever the name stands.
        """
        self._conn = conn
        self._cache = cache
        self._randomize = randomize
        self._trail = trail
        self._known = _names(conn, request)
        self._kept: dict[int, Tree] = {}  # trees of sharing providers, for the whole request
        self._tree_ids = {uuid: root_id for root_id, uuid in self._known.trees.values()}
        self._shared: dict[int, str] = {}  # aggregates of sharing providers: id -> as stored
        self._meaning: Mapping[str, frozenset[int]] | None = None  # key -> ids of these
        self.request = _as_stored(request, self._known)

    @property
    def hopeless(self) -> bool:
        """Some group asks for a tree or for aggregates of which none exists."""
        return any(
            group.in_tree == NOWHERE or not all(group.member_of) for group in self.request.groups
        )

    # -- trees ------------------------------------------------------------------------------

    def trees(self, roots: Collection[Root]) -> list[Tree]:
        """The trees of the roots, from the cache or in two statements."""
        found: dict[int, Tree] = {}
        missing: dict[int, int] = {}
        for root in roots:
            tree = self._kept.get(root[0]) or self._cache.get(root)
            if tree is None:
                missing[root[0]] = root[1]
            else:
                found[root[0]] = tree
        if missing:
            found |= self._load(missing)
        return [found[root_id] for root_id, _revision in roots]

    def _load(self, revisions: Mapping[int, int]) -> dict[int, Tree]:
        found = [row for chunk in chunks(sorted(revisions)) for row in self._members(chunk)]
        # Hosts of one model have the same traits, which are most of what there is to read.
        traits = self._trait_sets({traits for *_others, traits, _aggregates in found})
        rows: dict[int, list[Row]] = {root_id: [] for root_id in revisions}
        for root_id, row_id, parent_id, uuid, stocks, of_traits, aggregates in found:
            rows[root_id].append(
                Row(
                    row_id,
                    parent_id,
                    uuid,
                    {name: Stock(*fields) for name, *fields in unpacked(stocks)},
                    traits[of_traits],
                    interned(identifiers.key(name) for (name,) in unpacked(aggregates)),
                )
            )
        made = {
            root_id: build(root_id, revisions[root_id], members)
            for root_id, members in rows.items()
        }
        for tree in made.values():
            self._cache.put(tree)
        return made

    def _members(self, root_ids: Sequence[int]) -> Sequence[Any]:
        rows = self._conn.execute(*statements.members(root_ids)).all()
        self._trail.spend(LOADED * len(rows))
        return rows

    def _trait_sets(self, texts: Collection[str | None]) -> dict[str | None, frozenset[str]]:
        """The names of sets of traits, by the text that holds their ids."""
        sets = {text: [trait_id for (trait_id,) in unpacked(text)] for text in texts}
        names: dict[int, str] = {}
        for chunk in chunks(sorted({trait_id for ids in sets.values() for trait_id in ids})):
            names |= dict(self._conn.execute(*statements.trait_names(chunk)).all())
        return {
            # A row may outlive its trait in a damaged database.
            text: interned(names[trait_id] for trait_id in trait_ids if trait_id in names)
            for text, trait_ids in sets.items()
        }

    # -- sharing providers ------------------------------------------------------------------

    def sharing(self, wanted: Sequence[Slot]) -> list[Sharing]:
        """The sharing providers that have room for at least one of the slots."""
        found: dict[str, Sharing] = {}
        trait = self._known.traits.get(SHARING_TRAIT)
        rows = () if trait is None else self._conn.execute(*statements.sharing(trait)).all()
        for row in rows:
            root = (row.root_id, row.revision)
            provider = found.setdefault(row.uuid, Sharing(row.uuid, root, set(), {}))
            if row.aggregate_id is not None:
                provider.aggregates.add(row.aggregate_id)
                self._shared[row.aggregate_id] = row.aggregate
            if row.class_id is not None:
                provider.stocks[row.class_id] = Stock(
                    row.capacity, row.used, row.min_unit, row.max_unit, row.step_size
                )
        return [
            provider
            for provider in found.values()
            if any(self._has_room(provider, slot) for slot in wanted)
        ]

    def _has_room(self, provider: Sharing, slot: Slot) -> bool:
        for name, amount in slot.resources:
            stock = provider.stocks.get(self._known.classes[name])
            if stock is None or not fits(stock, amount):
                return False
        return True

    def lent(self, sharing: Sequence[Sharing]) -> list[Lent]:
        """The sharing providers where they stand in their trees."""
        self._keep(sharing)
        wanted = {provider.uuid for provider in sharing}
        return [
            Lent(tree, member, position)
            for tree in {root[0]: self._kept[root[0]] for root in _roots_of(sharing)}.values()
            for position, member in enumerate(tree.members)
            if member.uuid in wanted
        ]

    def _keep(self, sharing: Sequence[Sharing], with_them: Sequence[Root] = ()) -> list[Tree]:
        """Load the trees of the sharing providers, and others together with them."""
        lent = [root for root in _roots_of(sharing) if root[0] not in self._kept]
        present = {root[0] for root in with_them}
        roots = [*with_them, *(root for root in lent if root[0] not in present)]
        trees = dict(zip((root[0] for root in roots), self.trees(roots), strict=True))
        self._kept.update((root[0], trees[root[0]]) for root in lent)
        return [trees[root[0]] for root in with_them]

    def _widened(self, need: Need) -> Need:
        """The need with every row that means an aggregate of its reach."""
        return replace(need, reach=self._same(need.reach)) if need.reach else need

    def _same(self, aggregates: Iterable[int]) -> frozenset[int]:
        """The rows that mean the same as these aggregates of sharing providers."""
        if self._meaning is None:
            rows = {spelling: row_id for row_id, spelling in self._shared.items()}
            for some in chunks(sorted(identifiers.spellings(*self._shared.values()))):
                query = names.ids({"aggregate": some})
                assert query is not None
                rows |= {row.name: row.id for row in self._conn.execute(*query)}
            self._meaning = identifiers.by_key(rows)
        return _union(self._meaning[identifiers.key(self._shared[each])] for each in aggregates)

    # -- roots ------------------------------------------------------------------------------

    def anchors(self, plan: Plan, sharing: Sequence[Sharing]) -> Iterator[list[Tree]]:
        """Yield the trees that may serve the request, and others that were as near at hand.

        They come in lists that are worth loading at once, the first one together with the
        trees of the sharing providers. The trail tells, when the next list is asked for, how the
        earlier ones served.
        """
        needs, trail = self._needs(plan.wanted, sharing), self._trail
        pinned = any(need.tree is not None and not need.reach for need in needs)
        first = None if pinned else first_size(self.request.limit)
        looked_at: set[int] = set()
        if self._randomize and first is not None and self.request.limit is not None:
            sample = self._sample(first)
            looked_at = {root_id for root_id, _revision in sample}
            seen = Seen(rows=len(sample), matches=-trail.served)
            yield from self._loaded(sharing, sample)
            seen.matches += trail.served
            first = None if seen.rare else first
        seen = Seen()
        for window in windows(first, seen):
            if window.size is None:
                roots = self._rest(window, needs)
            else:
                roots = self._run(window.after, window.size, seen)
            served = trail.served
            yield from self._loaded(sharing, [each for each in roots if each[0] not in looked_at])
            seen.matches = trail.served - served

    def _loaded(self, sharing: Sequence[Sharing], roots: Sequence[Root]) -> Iterator[list[Tree]]:
        start, size = 0, FIRST_TREES
        while start < len(roots):
            yield self._keep(sharing, roots[start : start + size])
            start += size
            size = min(size * 4, MOST_TREES)

    def _sample(self, size: int) -> list[Root]:
        """Some roots from random places, in random order."""
        least, most = self._conn.execute(statements.outermost_roots()).one()
        if least is None:
            return []
        found = {
            root
            for window in random_runs(least, most, size)
            for root in self._run(window.after, window.size or 0, Seen())
        }
        return random.sample(sorted(found), len(found))

    def _run(self, after: int, size: int, seen: Seen) -> list[Root]:
        rows = sorted(read(self._conn, *statements.run(after, size)))
        seen.rows = len(rows)
        seen.last = rows[-1][0] if rows else after
        return [(root_id, revision) for root_id, revision in rows if revision is not None]

    def _rest(self, window: Window, needs: Mapping[Need, Sequence[Hashable]]) -> list[Root]:
        order = sorted(needs, key=_rarity)[:MAX_NEEDS]
        # A tree where everything comes from elsewhere is no anchor: see `shared_pools`.
        own = all(need.reach for need in needs) and len(needs) <= MAX_NEEDS
        root = self._root_need(False)
        start = _start(order, needs, root, self._trail)
        asked = Asked(tuple(map(self._widened, order)), root, own)
        query = statements.rest(window.after, asked, start)
        return sorted(
            (root_id, revision)
            for root_id, revision, matches in read(self._conn, *query)
            if matches and revision is not None
        )

    def _needs(
        self, wanted: Sequence[Slot], sharing: Sequence[Sharing]
    ) -> Mapping[Need, Sequence[Hashable]]:
        """What the slots ask, in ids, with what the trail calls those who ask so."""
        needs: dict[Need, list[Hashable]] = {}
        for position, slot in enumerate(wanted):
            reach = frozenset(
                aggregate
                for provider in sharing
                if self._has_room(provider, slot)
                for aggregate in provider.aggregates
            )
            need = self._need(slot.group, slot.resources, slot.group.suffixed, reach)
            keys = needs.setdefault(need, [])
            keys.append(position)
            if not slot.group.suffixed and need.traits:
                keys += slot.group.required
        for group in self.request.groups:
            if not group.suffixed and len(group.resources) > 1:
                # Traits of the unsuffixed group may come from different providers.
                anywhere = frozenset(
                    aggregate for provider in sharing for aggregate in provider.aggregates
                )
                for term in group.required:
                    need = Need(traits=(self._trait_ids(term),), reach=anywhere)
                    needs.setdefault(need, []).append(term)
        return needs

    def _need(
        self,
        group: RequestGroup,
        resources: Sequence[tuple[str, int]],
        whole: bool,
        reach: frozenset[int],
    ) -> Need:
        single = whole or len(group.resources) == 1
        # What is cut off here, the search decides.
        terms = group.required[:MAX_TERMS] if single else ()
        return Need(
            resources=tuple(
                (self._known.classes[name], amount) for name, amount in resources[:MAX_TERMS]
            ),
            traits=tuple(self._trait_ids(term) for term in terms),
            forbidden=self._trait_ids(group.forbidden),
            aggregates=tuple(self._aggregate_ids(term) for term in group.member_of[:MAX_TERMS]),
            not_aggregates=self._aggregate_ids(group.not_member_of),
            spans=not group.suffixed,
            tree=None if group.in_tree is None else self._tree_ids[group.in_tree],
            reach=reach,
        )

    def _trait_ids(self, traits: Iterable[str]) -> frozenset[int]:
        return frozenset(self._known.traits[name] for name in traits)

    def _aggregate_ids(self, keys: Iterable[str]) -> frozenset[int]:
        return _union(self._known.aggregates[each] for each in keys)

    def _root_need(self, with_aggregates: bool) -> RootNeed:
        barred: frozenset[str] = frozenset()
        if with_aggregates:
            barred = barred.union(
                *(group.not_member_of for group in self.request.groups if not group.suffixed)
            )
        return RootNeed(
            traits=self._trait_ids(self.request.root_required),
            forbidden=self._trait_ids(self.request.root_forbidden),
            not_in=self._aggregate_ids(barred),
        )

    # -- candidates of sharing providers alone ----------------------------------------------

    def shared_pools(
        self, wanted: Sequence[Slot], sharing: Sequence[Sharing]
    ) -> Iterator[list[Sharing]]:
        """Yield the distinct sets of sharing providers that trees reach, where it matters.

        A candidate of sharing providers of one tree is found at that tree, unless the root is
        asked for something that another anchor has; so most requests need no statement here.
        """
        root_need = self._root_need(True)
        serving = [
            [provider for provider in sharing if self._has_room(provider, slot)] for slot in wanted
        ]
        trees = {provider.root[0] for providers in serving for provider in providers}
        several = len(wanted) > 1 and len(trees) > 1
        if not all(serving) or (root_need == RootNeed() and not several):
            return
        order = sorted(_union(self._same(provider.aggregates) for provider in sharing))
        if not order:
            return
        pools: dict[frozenset[str], list[Sharing]] = {}
        for masks in self._conn.execute(statements.reaches(order, root_need)):
            reached = {
                aggregate
                for position, aggregate in enumerate(order)
                if int(masks[position // statements.BITS]) >> position % statements.BITS & 1
            }
            members = [
                each for each in sharing if not reached.isdisjoint(self._same(each.aggregates))
            ]
            pools.setdefault(frozenset(each.uuid for each in members), members)
        yield from pools.values()


def shared_pool(lent: Iterable[Lent]) -> Pool:
    """A pool of sharing providers, for an anchor that serves nothing itself."""
    all_lent = tuple(lent)
    return Pool(None, tuple(each.member for each in all_lent), all_lent)


def _union(sets: Iterable[frozenset[int]]) -> frozenset[int]:
    nothing: frozenset[int] = frozenset()
    return nothing.union(*sets)


def _roots_of(sharing: Iterable[Sharing]) -> list[Root]:
    return list({provider.root[0]: provider.root for provider in sharing}.values())


def _rarity(need: Need) -> tuple[bool, bool, bool, int, int]:
    """Sort key: what few trees are likely to meet comes first."""
    return (
        need.tree is None,
        bool(need.reach),
        not need.aggregates,
        -len(need.traits) - len(need.resources),
        -sum(amount for _class_id, amount in need.resources),
    )


def _start(
    order: Sequence[Need], needs: Mapping[Need, Sequence[Hashable]], root: RootNeed, trail: Trail
) -> Start | None:
    """Where to start from: with what most of the trees looked at so far did not have."""
    best = trail.lacking[ROOT] if root.traits else -1
    start = None
    for place, need in enumerate(order):
        given = {
            By.AGGREGATES: need.aggregates, By.TRAITS: need.traits, By.RESOURCES: need.resources
        }  # fmt: skip
        able = [by for by in By if given[by]]
        lacking = sum(trail.lacking[key] for key in needs[need])
        if need.reach or not able or lacking <= best:
            continue
        best = lacking
        barred = sum(trail.barred[key] for key in needs[need])
        roomless = By.RESOURCES in able and 2 * barred <= lacking
        start = Start(place, By.RESOURCES if roomless else able[0])
    return start


def _names(conn: Connection, request: CandidateRequest) -> Known:
    classes = {name for group in request.groups for name, _amount in group.resources}
    traits = request.root_required | request.root_forbidden
    aggregates: set[str] = set()
    for group in request.groups:
        traits = traits.union(group.forbidden, *group.required)
        aggregates = aggregates.union(group.not_member_of, *group.member_of)
    trees = {group.in_tree for group in request.groups if group.in_tree is not None}
    query = names.with_trees(
        {
            "resource_class": classes,
            "trait": traits | {SHARING_TRAIT},
            "aggregate": identifiers.spellings(*aggregates),
        },
        identifiers.forms(*trees),
    )
    assert query is not None
    found: dict[str, dict[str, int]] = {
        "resource_class": {}, "trait": {}, "aggregate": {}, "tree": {}
    }  # fmt: skip
    for kind, row_id, name, _revision in conn.execute(*query):
        found[kind][name] = row_id
    _refuse_unknown(conn, request, found)
    return Known(
        found["resource_class"],
        found["trait"],
        identifiers.by_key(found["aggregate"]),
        identifiers.match(trees, {uuid: (row_id, uuid) for uuid, row_id in found["tree"].items()}),
    )


def _refuse_unknown(
    conn: Connection, request: CandidateRequest, found: Mapping[str, Mapping[str, int]]
) -> None:
    """Raise for the first parameter that names something unknown, naming the parameter."""
    traits, classes = found["trait"].keys(), found["resource_class"].keys()
    unknown = (request.root_required | request.root_forbidden) - traits
    if unknown:
        raise UnknownTraits(unknown, "root_required", catalog.nearest(conn, "trait", unknown))
    for group in request.groups:
        absent = {name for name, _amount in group.resources} - classes
        if absent:
            meant = catalog.nearest(conn, "resource_class", absent)
            raise UnknownResourceClasses(absent, f"resources{group.suffix}", meant)
        unknown = group.forbidden.union(*group.required) - traits
        if unknown:
            meant = catalog.nearest(conn, "trait", unknown)
            raise UnknownTraits(unknown, f"required{group.suffix}", meant)


def _as_stored(request: CandidateRequest, known: Known) -> CandidateRequest:
    """The request with aggregates as trees hold them; unknown ones cannot be met, nor barred."""

    def stored(uuids: Iterable[str]) -> frozenset[str]:
        return frozenset(each for each in map(identifiers.key, uuids) if each in known.aggregates)

    return replace(
        request,
        groups=tuple(
            replace(
                group,
                member_of=tuple(stored(term) for term in group.member_of),
                not_member_of=stored(group.not_member_of),
                in_tree=_tree_as_stored(group.in_tree, known),
            )
            for group in request.groups
        ),
    )


def _tree_as_stored(in_tree: str | None, known: Known) -> str | None:
    if in_tree is None:
        return None
    return known.trees[in_tree][1] if in_tree in known.trees else NOWHERE
