"""The names of a request become ids, and its identifiers become what rows hold."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from sqlalchemy.engine import Connection

from placement.candidates.model import SHARING_TRAIT
from placement.candidates.request import CandidateRequest, RequestGroup
from placement.candidates.trace import Refusal
from placement.db.statements import names as statements
from placement.errors import UnknownResourceClasses, UnknownTraits
from placement.objects import catalog, identifiers


@dataclass(frozen=True, slots=True)
class ResolvedRequest:
    """A request whose names are known, with the ids of what it names.

    request: aggregates by `identifiers.key`, trees as rows hold them. aggregate_ids: key -> ids of
    the rows that mean it. root_ids: provider of `in_tree` -> id of its root. unsatisfiable: (why,
    suffix) of groups that ask for aggregates or trees that do not exist.
    """

    request: CandidateRequest
    class_ids: Mapping[str, int]
    trait_ids: Mapping[str, int]
    aggregate_ids: Mapping[str, frozenset[int]]
    root_ids: Mapping[str, int]
    unsatisfiable: tuple[tuple[Refusal, str], ...]

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


def resolve(conn: Connection, request: CandidateRequest) -> ResolvedRequest:
    """Look up every name of the request in one statement.

    Raises UnknownResourceClasses and UnknownTraits, wherever the name stands.
    """
    class_names = {name for group in request.groups for name, _amount in group.resources}
    trait_names = set(request.root_required | request.root_forbidden)
    aggregates: set[str] = set()
    for group in request.groups:
        trait_names = trait_names.union(group.forbidden, *group.required)
        aggregates = aggregates.union(group.not_member_of, *group.member_of)
    trees = {group.in_tree for group in request.groups if group.in_tree is not None}

    ids_by_kind: dict[str, dict[str, int]] = {
        "resource_class": {},
        "trait": {},
        "aggregate": {},
        "tree": {},
    }
    query = statements.with_trees(
        {
            "resource_class": class_names,
            "trait": trait_names | {SHARING_TRAIT},
            "aggregate": identifiers.spellings(*aggregates),
        },
        identifiers.stored_forms(*trees),
    )
    for kind, row_id, name, _revision in query.rows(conn):
        ids_by_kind[kind][name] = row_id
    class_ids, trait_ids = ids_by_kind["resource_class"], ids_by_kind["trait"]
    _refuse_unknown(conn, request, class_ids.keys(), trait_ids.keys())

    aggregate_ids = identifiers.ids_by_key(ids_by_kind["aggregate"])
    tree_ids = ids_by_kind["tree"]
    stored_trees = identifiers.match(trees, {uuid: uuid for uuid in tree_ids})
    return ResolvedRequest(
        replace(
            request,
            groups=tuple(
                _as_stored(group, aggregate_ids.keys(), stored_trees) for group in request.groups
            ),
        ),
        class_ids,
        trait_ids,
        aggregate_ids,
        tree_ids,
        tuple(_unsatisfiable(request.groups, aggregate_ids.keys(), stored_trees)),
    )


def _as_stored(
    group: RequestGroup, aggregates: Collection[str], trees: Mapping[str, str]
) -> RequestGroup:
    """Replace the group's identifiers. Unknown aggregates cannot be met, nor excluded."""

    def stored(uuids: Iterable[str]) -> frozenset[str]:
        return frozenset(map(identifiers.key, uuids)).intersection(aggregates)

    return replace(
        group,
        member_of=tuple(stored(uuids) for uuids in group.member_of),
        not_member_of=stored(group.not_member_of),
        in_tree=None if group.in_tree is None else trees.get(group.in_tree),
    )


def _unsatisfiable(
    groups: Iterable[RequestGroup], aggregates: Collection[str], trees: Mapping[str, str]
) -> Iterable[tuple[Refusal, str]]:
    for group in groups:
        terms = [set(map(identifiers.key, uuids)) for uuids in group.member_of]
        if any(keys.isdisjoint(aggregates) for keys in terms):
            yield Refusal.UNKNOWN_AGGREGATE, group.suffix
        if group.in_tree is not None and group.in_tree not in trees:
            yield Refusal.UNKNOWN_TREE, group.suffix


def _refuse_unknown(
    conn: Connection,
    request: CandidateRequest,
    class_names: Collection[str],
    trait_names: Collection[str],
) -> None:
    """Raise for the first parameter that names something unknown, naming the parameter."""
    _refuse_unknown_traits(
        conn, request.root_required | request.root_forbidden, trait_names, "root_required"
    )
    for group in request.groups:
        unknown = {name for name, _amount in group.resources}.difference(class_names)
        if unknown:
            nearest = catalog.nearest(conn, "resource_class", unknown)
            raise UnknownResourceClasses(unknown, f"resources{group.suffix}", nearest)
        traits = group.forbidden.union(*group.required)
        _refuse_unknown_traits(conn, traits, trait_names, f"required{group.suffix}")


def _refuse_unknown_traits(
    conn: Connection, traits: Collection[str], trait_names: Collection[str], parameter: str
) -> None:
    unknown = set(traits).difference(trait_names)
    if unknown:
        raise UnknownTraits(unknown, parameter, catalog.nearest(conn, "trait", unknown))
