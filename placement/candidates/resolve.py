"""The names of a request become ids, and its identifiers become what rows hold."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy.engine import Connection

from placement.candidates.request import UNSUFFIXED, CandidateRequest, RequestGroup, RootTerms
from placement.candidates.trace import Refusal
from placement.db.statements import root_windows, sharing
from placement.errors import UnknownResourceClasses, UnknownTraits
from placement.objects import catalog, identifiers
from placement.objects.catalog import NO_NAMES, Ids, Names


@dataclass(frozen=True, slots=True)
class ResolvedRequest:
    """A request whose names are known, with the ids of what it names.

    request: aggregates by `identifiers.key`, trees as rows hold them. Unknown aggregates are left
    out and unknown trees are as stated, so that nothing meets them. aggregate_ids: key -> ids of
    the rows that mean it. root_ids: provider of `in_tree` or `subtree` -> id of its root.
    unsatisfiable: (why, suffix) of groups that ask for aggregates or trees that do not exist.
    other_ids: kind -> name -> id, of the names that were looked up besides. sharing: rows
    of the first sharing providers, of which there may be more. roots: (id, revision) rows of the
    first roots, `root_windows.FIRST` or all; None for a request that names trees.
    """

    request: CandidateRequest
    class_ids: Mapping[str, int]
    trait_ids: Mapping[str, int]
    aggregate_ids: Mapping[str, frozenset[int]]
    root_ids: Mapping[str, int]
    unsatisfiable: tuple[tuple[Refusal, str], ...]
    other_ids: Ids
    sharing: Sequence[Any]
    roots: Sequence[Any] | None

    def resource_ids(self, resources: Iterable[tuple[str, int]]) -> tuple[tuple[int, int], ...]:
        """Return (class id, units) pairs."""
        return tuple((self.class_ids[name], amount) for name, amount in resources)

    def ids_of_traits(self, traits: Iterable[str]) -> frozenset[int]:
        """Return the ids of traits."""
        return frozenset(self.trait_ids[name] for name in traits)

    def ids_of_aggregates(self, aggregates: Iterable[str]) -> frozenset[int]:
        """Return the ids of all rows that mean the aggregates."""
        nothing: frozenset[int] = frozenset()
        return nothing.union(*(self.aggregate_ids[key] for key in aggregates))


def resolve(
    conn: Connection, request: CandidateRequest, others: Names = NO_NAMES
) -> ResolvedRequest:
    """Look up every name of the request, the first sharing providers and roots in one statement.

    others: further names, of kinds that requests do not name; those that exist as they are
    written are found. Raises UnknownResourceClasses and UnknownTraits, wherever the name stands.
    """
    class_names = {name for group in request.groups for name, _amount in group.resources}
    trait_names: set[str] = set()
    aggregates: set[str] = set()
    all_terms: list[RootTerms | RequestGroup] = [request.root, *request.groups]
    for terms in all_terms:
        trait_names = trait_names.union(terms.forbidden, *terms.required)
        aggregates = aggregates.union(terms.not_member_of, *terms.member_of)
    trees: set[str] = set().union(*map(_trees, request.groups))

    # Their traits matter to a request that names some.
    first = sharing.FIRST_PROVIDERS_WITH_TRAITS if trait_names else sharing.FIRST_PROVIDERS
    known = catalog.look_up(
        conn,
        {
            "resource_class": class_names,
            "trait": trait_names,
            "aggregate": aggregates,
            **others,
        },
        trees,
        [first] if trees else [first, root_windows.FIRST_ROOTS],
    )
    sharing_rows: list[Any] = []
    roots = None
    for row in known.further:
        kind, _id, text, _number = row
        if kind == sharing.KIND:
            sharing_rows.append(row)
        else:
            roots = root_windows.parse_first(text)
    class_ids, trait_ids = known.ids["resource_class"], known.ids["trait"]
    _refuse_unknown(conn, request, class_ids.keys(), trait_ids.keys())

    aggregate_ids = known.aggregates
    stored_trees = identifiers.match(trees, {uuid: uuid for uuid in known.trees})
    return ResolvedRequest(
        _as_stored(request, aggregate_ids.keys(), stored_trees),
        class_ids,
        trait_ids,
        aggregate_ids,
        known.trees,
        tuple(_unsatisfiable(request, aggregate_ids.keys(), stored_trees)),
        {kind: known.ids[kind] for kind in others},
        sharing_rows,
        roots,
    )


def _trees(group: RequestGroup) -> set[str]:
    """Return the providers by which the group names a tree or a part of one."""
    return {uuid for uuid in (group.in_tree, group.subtree) if uuid is not None}


def _as_stored(
    request: CandidateRequest, aggregates: Collection[str], trees: Mapping[str, str]
) -> CandidateRequest:
    """Return the request with aggregates by their keys, and trees as rows hold them."""
    groups = [
        replace(
            group,
            **_keys(group, aggregates),
            in_tree=group.in_tree and trees.get(group.in_tree, group.in_tree),
            subtree=group.subtree and trees.get(group.subtree, group.subtree),
        )
        for group in request.groups
    ]
    root = replace(request.root, **_keys(request.root, aggregates))
    return replace(request, groups=tuple(groups), root=root)


def _keys(terms: RequestGroup | RootTerms, aggregates: Collection[str]) -> Mapping[str, Any]:
    """Return the members that name aggregates, by keys. Unknown ones can be neither met nor barred.

    PERF: nothing for terms that name none, as those of most requests.
    """
    if not terms.member_of and not terms.not_member_of:
        return {}

    def keys(uuids: Iterable[str]) -> frozenset[str]:
        return frozenset(map(identifiers.key, uuids)).intersection(aggregates)

    return {
        "member_of": tuple(keys(uuids) for uuids in terms.member_of),
        "not_member_of": keys(terms.not_member_of),
    }


def _unsatisfiable(
    request: CandidateRequest, aggregates: Collection[str], trees: Mapping[str, str]
) -> Iterable[tuple[Refusal, str]]:
    if _asks_for_unknown(request.root, aggregates):
        yield Refusal.UNKNOWN_AGGREGATE, UNSUFFIXED
    for group in request.groups:
        if _asks_for_unknown(group, aggregates):
            yield Refusal.UNKNOWN_AGGREGATE, group.suffix
        if not trees.keys() >= _trees(group):
            yield Refusal.UNKNOWN_TREE, group.suffix


def _asks_for_unknown(terms: RequestGroup | RootTerms, aggregates: Collection[str]) -> bool:
    """Whether some term has no aggregate that exists."""
    keys_of_terms = [set(map(identifiers.key, uuids)) for uuids in terms.member_of]
    return any(keys.isdisjoint(aggregates) for keys in keys_of_terms)


def _refuse_unknown(
    conn: Connection,
    request: CandidateRequest,
    class_names: Collection[str],
    trait_names: Collection[str],
) -> None:
    """Raise for the first parameter that names something unknown, naming the parameter."""
    root_traits = request.root.forbidden.union(*request.root.required)
    _refuse_unknown_traits(conn, root_traits, trait_names, request, "root_required", UNSUFFIXED)
    for group in request.groups:
        unknown = {name for name, _amount in group.resources}.difference(class_names)
        if unknown:
            place = request.place("resources", group.suffix, min(unknown))
            nearest = catalog.nearest(conn, "resource_class", unknown)
            raise UnknownResourceClasses(unknown, place, nearest)
        traits = group.forbidden.union(*group.required)
        _refuse_unknown_traits(conn, traits, trait_names, request, "required", group.suffix)


def _refuse_unknown_traits(
    conn: Connection,
    traits: Collection[str],
    trait_names: Collection[str],
    request: CandidateRequest,
    keyword: str,
    suffix: str,
) -> None:
    unknown = set(traits).difference(trait_names)
    if unknown:
        place = request.place(keyword, suffix, min(unknown))
        raise UnknownTraits(unknown, place, catalog.nearest(conn, "trait", unknown))
