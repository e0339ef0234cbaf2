"""Resolve the names of a request to ids, and its UUIDs to the stored spellings."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any

from sqlalchemy.engine import Connection

from placement.candidates.model import Refusal
from placement.candidates.request import UNSUFFIXED, CandidateRequest
from placement.candidates.terms import Term, Untainted
from placement.config import NO_TRAITS, SpecialTraits
from placement.db.statements import claim_records, root_windows, sharing
from placement.errors import QUERY_BAD_VALUE, UnknownNames, UnknownResourceClasses, UnknownTraits
from placement.objects import catalog
from placement.objects.catalog import NO_NAMES, Ids, Names
from placement.objects.claim_records import GroupKey
from placement.objects.known_names import KnownNames


@dataclass(frozen=True, slots=True)
class ResolvedRequest:
    """A request whose names exist, together with the ids of the names."""

    # The request with resolved terms, and with a root term for each taint that it does not
    # tolerate.
    request: CandidateRequest
    known: KnownNames
    # (refusal, suffix) of each group that requires an aggregate or a tree that does not exist.
    unsatisfiable: tuple[tuple[Refusal, str], ...]
    # Kind -> name -> id of the additional names of the lookup.
    other_ids: Ids
    # Rows of the first sharing providers. There may be more sharing providers.
    sharing: Sequence[Any]
    # (id, revision) rows of the first `root_windows.FIRST` roots, or None if the request names
    # trees.
    roots: Sequence[Any] | None
    # Root uuid -> number of members of the spread group that use the tree.
    members_by_host: Mapping[str, int] = field(default_factory=dict)

    @property
    def class_ids(self) -> Mapping[str, int]:
        """Name -> id of resource classes."""
        return self.known.classes

    @property
    def taints(self) -> frozenset[str]:
        """The existing taints that exclude a tree, because the request does not tolerate them."""
        return self.request.taints


def resolve(
    conn: Connection,
    request: CandidateRequest,
    others: Names = NO_NAMES,
    traits: SpecialTraits = NO_TRAITS,
) -> ResolvedRequest:
    """Look up all names, the first sharing providers and the first roots in one statement.

    Args:
        others: additional names of other kinds, which are looked up by their exact spelling.
        traits: the special traits of the service. Traits that do not exist have no effect.

    Raises:
        UnknownResourceClasses: a resource class in any part of the request does not exist.
        UnknownTraits: a trait in any part of the request does not exist.
    """
    return resolve_all(conn, [request], others, traits)[0]


def resolve_all(
    conn: Connection,
    requests: Sequence[CandidateRequest],
    others: Names = NO_NAMES,
    traits: SpecialTraits = NO_TRAITS,
    spread: GroupKey | None = None,
) -> list[ResolvedRequest]:
    """Resolve several requests in one statement. It also counts the members of `spread`."""
    resolved: list[ResolvedRequest] = []
    for each in resolve_each(conn, requests, others, traits, spread):
        if isinstance(each, UnknownNames):
            raise each
        resolved.append(each)
    return resolved


def resolve_each(
    conn: Connection,
    requests: Sequence[CandidateRequest],
    others: Names = NO_NAMES,
    traits: SpecialTraits = NO_TRAITS,
    spread: GroupKey | None = None,
) -> Iterator[ResolvedRequest | UnknownNames]:
    """Resolve several requests in one statement. Yield an error for each one with unknown names."""
    names = _names(requests)
    # Only requests with traits need the traits of sharing providers.
    first = sharing.FIRST_PROVIDERS_WITH_TRAITS if names["trait"] else sharing.FIRST_PROVIDERS
    further = [first] if names["tree"] else [first, root_windows.FIRST_ROOTS]
    params = {}
    if spread is not None:
        further.append(claim_records.MEMBERS_BY_HOST)
        params = {claim_records.PROJECT: spread.project, claim_records.GROUP: spread.group}
    lookup = catalog.look_up(
        conn,
        {
            "resource_class": names["resource_class"],
            "trait": names["trait"].union(
                *[_other_traits(each, traits.taints) for each in requests]
            ),
            "aggregate": names["aggregate"],
            **others,
        },
        names["tree"],
        further,
        params,
    )
    rows: dict[str, list[Any]] = {}
    for row in lookup.further:
        rows.setdefault(row[0], []).append(row)
    of_sharing = rows.get(sharing.KIND, [])
    members = {host: int(count) for _kind, _id, host, count in rows.get(claim_records.KIND, ())}
    texts = [text for _kind, _id, text, _number in rows.get(root_windows.KIND, ())]
    roots = root_windows.parse_first(texts[0]) if texts else None
    known = KnownNames.from_lookup(lookup.ids, lookup.aggregates, lookup.trees, names["tree"])
    other_ids = {kind: lookup.ids[kind] for kind in others}
    for request in requests:
        try:
            _refuse_unknown(conn, request, known)
        except UnknownNames as error:
            yield error
            continue
        unsatisfiable = tuple(_unsatisfiable(request, known))
        resolved = _resolved(request, known, traits)
        yield ResolvedRequest(resolved, known, unsatisfiable, other_ids, of_sharing, roots, members)


def _names(requests: Iterable[CandidateRequest]) -> dict[str, set[str]]:
    """Return kind -> names in the groups and conditions of requests."""
    names: dict[str, set[str]] = {
        kind: set() for kind in ("resource_class", "trait", "aggregate", "tree")
    }
    for request in requests:
        names["resource_class"] |= request.classes | _order_names(request, "resource_class")
        for _keyword, _suffix, terms in _parts(request):
            for kind, names_of_term in chain(*[term.names.items() for term in terms]):
                names[kind].update(names_of_term)
    return names


def _other_traits(request: CandidateRequest, taints: frozenset[str]) -> set[str]:
    """Return the traits to look up that are in no term of the request."""
    return {*request.tolerate, *(taints - request.tolerated), *_order_names(request, "trait")}


def _order_names(request: CandidateRequest, kind: str) -> set[str]:
    """Return the names of one kind in the order of hosts that a request specifies."""
    return {key.name for key in request.order if key.required_kind == kind}


def _parts(request: CandidateRequest) -> Iterable[tuple[str, str, Sequence[Term]]]:
    """Yield the prefix of the parameters, the suffix and the terms for each part of a request."""
    yield "root_", UNSUFFIXED, request.root
    for group in request.groups:
        yield "", group.suffix, group.terms


def _resolved(
    request: CandidateRequest, known: KnownNames, traits: SpecialTraits
) -> CandidateRequest:
    """Return the request with resolved terms.

    PERF: groups without terms, the most common ones, are not copied. Each existing taint that is
    not tolerated becomes a term of the root, before all others.
    """
    groups = [
        replace(group, terms=_terms(group.terms, known)) if group.terms else group
        for group in request.groups
    ]
    taints = traits.taints
    names = sorted((taints - request.tolerated) & known.traits.keys()) if taints else ()
    untainted = map(Untainted, names)
    return replace(
        request,
        groups=tuple(groups),
        root=(*untainted, *_terms(request.root, known)),
        special_traits=traits,
    )


def _terms(terms: Iterable[Term], known: KnownNames) -> tuple[Term, ...]:
    return tuple([term.resolved(known) for term in terms])


def _unsatisfiable(request: CandidateRequest, known: KnownNames) -> Iterable[tuple[Refusal, str]]:
    for _keyword, suffix, terms in _parts(request):
        # Terms are in the order of their codes. Each code is reported once.
        codes = dict.fromkeys(term.unknown_code for term in terms if not term.is_known(known))
        for code in codes:
            if code is not None:
                yield code, suffix


def _refuse_unknown(conn: Connection, request: CandidateRequest, known: KnownNames) -> None:
    """Raise an error for the first parameter with an unknown name."""
    refuse_traits = partial(_refuse_unknown_traits, conn, known)
    path_of = request.error_path
    refuse_traits(_trait_names(request.root), partial(path_of, "root_required", UNSUFFIXED))
    refuse_traits(request.tolerate, partial(path_of, "tolerate", UNSUFFIXED), QUERY_BAD_VALUE)
    for group in request.groups:
        unknown = {name for name, _amount in group.resources}.difference(known.classes)
        if unknown:
            path = path_of("resources", group.suffix, min(unknown))
            hint = catalog.hint(conn, "resource_class", unknown)
            raise UnknownResourceClasses(unknown, path, hint)
        refuse_traits(_trait_names(group.terms), partial(path_of, "required", group.suffix))
    _refuse_unknown_order(conn, request, known)


def _refuse_unknown_order(conn: Connection, request: CandidateRequest, known: KnownNames) -> None:
    for key in request.order:
        kind = key.required_kind
        existing = known.classes if kind == "resource_class" else known.traits
        if kind is not None and key.name not in existing:
            error = UnknownTraits if kind == "trait" else UnknownResourceClasses
            path = request.error_path("order", UNSUFFIXED, key.name)
            hint = catalog.hint(conn, kind, [key.name])
            raise error([key.name], path, hint, QUERY_BAD_VALUE)


def _trait_names(terms: Iterable[Term]) -> set[str]:
    """Return the traits that terms name."""
    names: set[str] = set()
    for term in terms:
        names.update(term.names.get("trait", ()))
    return names


def _refuse_unknown_traits(
    conn: Connection,
    known: KnownNames,
    names: Collection[str],
    error_path: Callable[[str], str],
    code: str | None = None,
) -> None:
    """Raise UnknownTraits for traits that do not exist."""
    unknown = set(names).difference(known.traits)
    if unknown:
        hint = catalog.hint(conn, "trait", unknown)
        raise UnknownTraits(unknown, error_path(min(unknown)), hint, code)
