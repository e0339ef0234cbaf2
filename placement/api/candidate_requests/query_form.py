"""The parameters of `GET /allocation_candidates`."""

from collections.abc import Iterable, Mapping

from placement.api.candidate_requests.checks import (
    CHECK_RESOURCES,
    NOT_SPLIT,
    check_contradictions,
    check_joins,
    check_root,
    check_splits,
)
from placement.api.candidate_requests.groups import (
    GROUP_PARAMETERS,
    Group,
    check_suffix,
    keyword_of,
    read_groups,
)
from placement.api.candidate_requests.terms import TermReader
from placement.api.history import Feature, v
from placement.api.microversion import Microversion
from placement.api.parameters import Pairs, Parameter, bad, positive, unknown
from placement.candidates.request import UNSUFFIXED, CandidateRequest, SubtreeRule
from placement.candidates.terms import ROOT_TERMS, Term, ordered
from placement.errors import QUERY_BAD_VALUE, QUERY_DUPLICATE_KEY, BadQuery

EXPLAIN = ("summary", "providers")

PARAMETERS: Mapping[str, Parameter] = {
    **GROUP_PARAMETERS,
    "limit": Parameter("1.16", "Maximum number of candidates.", {"type": "integer", "minimum": 1}),
    "group_policy": Parameter(
        "1.25",
        "Whether different suffixed groups must be served by different providers.",
        {"type": "string", "enum": ["none", "isolate"]},
    ),
    "isolate": Parameter(
        "2.0",
        "Suffixes of groups, separated by commas, whose provider serves no other suffixed group.",
    ),
    "explain": Parameter(
        "2.0",
        "Also return why hosts cannot serve the request: as counts, or also for single hosts.",
        {"type": "string", "enum": list(EXPLAIN)},
    ),
    "can_split": Parameter(
        "2.0",
        "Classes of the unsuffixed group, separated by commas, that several providers of one tree "
        "may serve together. Candidates with such splits come after all others.",
    ),
    "root_required": Parameter(
        "1.35", "Traits that the root of the tree must have (`T1,T2`) or must not have (`!T`)."
    ),
    "root_member_of": Parameter(
        "2.0",
        "Aggregates that the root of the tree must be in (`UUID`), must be in one of "
        "(`in:UUID,UUID`), or must not be in (`!UUID`).",
    ),
    "tolerate": Parameter(
        "2.0",
        "Traits, separated by commas, that the root of the tree may have although the service is "
        "configured to exclude hosts with them (taints).",
    ),
    "same_subtree": Parameter(
        "1.36",
        "Suffixes of groups, separated by commas, that must be served by one provider and its "
        "descendants. Since 2.0, groups with `!` must be served outside of that subtree.",
    ),
}


def parse_candidates(query: Pairs, version: Microversion) -> CandidateRequest:
    """Parse the parameters.

    Raises:
        BadQuery: the first error, in this order: names, parameters of the whole request, groups,
            relations between groups.
    """
    _check_names(query, version)
    if Feature.WHOLE_LANGUAGE.at(version):
        _check_once(query, ("limit", "group_policy", "explain"))
    limit = _limit(query)
    policy = _group_policy(query)
    explain = _explain(query)
    root = _root(query, version)
    check_root(root)
    subtrees = _same_subtree(query, version)
    isolated = _isolate(query)
    groups = read_groups(query, version)
    _read_splits(query, groups)
    suffixed = frozenset(groups) - {UNSUFFIXED}
    request = CandidateRequest(
        tuple(group.frozen(suffix) for suffix, group in groups.items()),
        isolate=isolated or (suffixed if policy == "isolate" else frozenset()),
        same_subtree=subtrees,
        root=root,
        limit=limit,
        nested=Feature.NESTED_CANDIDATES.at(version),
        tolerate=_tolerate(query),
        isolate_all=policy == "isolate",
        explain=explain,
    )
    CHECK_RESOURCES.at(version)(request, {suffix: group.first for suffix, group in groups.items()})
    check_contradictions(request)
    check_joins(request)
    check_splits(request)
    if policy is None and not Feature.WHOLE_LANGUAGE.at(version):
        _refuse_without_policy(groups)
    return request


def _check_names(query: Pairs, version: Microversion) -> None:
    for key, value in query:
        name = keyword_of(key, version) or key
        if name not in PARAMETERS or version < v(PARAMETERS[name].since):
            check_suffix(key, value, version)
            raise unknown(name, value, PARAMETERS, version)


def _check_once(query: Pairs, names: Iterable[str]) -> None:
    for name in names:
        if len(_values(query, name)) > 1:
            raise _repeated(name)


def _repeated(name: str) -> BadQuery:
    return BadQuery(f"{name}: this parameter may be given only once", QUERY_DUPLICATE_KEY)


def _refuse_without_policy(suffixes: Iterable[str]) -> None:
    if sum(suffix != UNSUFFIXED for suffix in suffixes) > 1:
        raise BadQuery(
            "group_policy: this parameter is required with two or more suffixed groups; "
            "use none or isolate"
        )


def _values(query: Pairs, name: str) -> list[str]:
    return [value for key, value in query if key == name]


def _limit(query: Pairs) -> int | None:
    limits = [positive("limit", value) for value in _values(query, "limit")]
    return limits[0] if limits else None


def _group_policy(query: Pairs) -> str | None:
    values = _values(query, "group_policy")
    for value in values:
        if value not in {"none", "isolate"}:
            raise bad("group_policy", value, "expected none or isolate")
    return values[0] if values else None


def _explain(query: Pairs) -> str | None:
    values = _values(query, "explain")
    for value in values:
        if value not in EXPLAIN:
            raise bad("explain", value, f"expected {' or '.join(EXPLAIN)}")
    return values[0] if values else None


def _root(query: Pairs, version: Microversion) -> tuple[Term, ...]:
    """Parse the conditions on the root. Since 2.0, several terms and alternatives are allowed."""
    choices = Feature.WHOLE_LANGUAGE.at(version)
    reader = TermReader(version)
    for parameter in dict.fromkeys(kind.parameter for kind in ROOT_TERMS):
        key = f"root_{parameter}"
        values = _values(query, key)
        if len(values) > 1 and not choices:
            raise _repeated(key)
        for value in values:
            if value.startswith("in:") and not choices:
                raise bad(key, value, "in: is not supported here")
            reader.read(parameter, key, value)
    return ordered(reader.terms)


def _isolate(query: Pairs) -> frozenset[str] | None:
    """Return the suffixes of `isolate`, or None if it is absent."""
    values = _values(query, "isolate")
    if values and _values(query, "group_policy"):
        raise bad("isolate", values[0], "group_policy says the same of all groups", QUERY_BAD_VALUE)
    suffixes = [suffix for value in values for suffix in _suffixes("isolate", value)]
    return frozenset(suffixes) if values else None


def _tolerate(query: Pairs) -> frozenset[str]:
    names: list[str] = []
    for value in _values(query, "tolerate"):
        names += [name.strip() for name in value.split(",")]
        if not all(names):
            text = "expected names of traits, separated by commas"
            raise bad("tolerate", value, text, QUERY_BAD_VALUE)
    return frozenset(names)


def _read_splits(query: Pairs, groups: Mapping[str, Group]) -> None:
    """Add the classes of `can_split` to the unsuffixed group."""
    names: list[str] = []
    for value in _values(query, "can_split"):
        names += [name.strip() for name in value.split(",")]
        if not all(names):
            text = "expected names of resource classes, separated by commas"
            raise bad("can_split", value, text, QUERY_BAD_VALUE)
        if UNSUFFIXED not in groups:
            raise bad("can_split", value, NOT_SPLIT, QUERY_BAD_VALUE)
        groups[UNSUFFIXED].can_split = frozenset(names)


def _same_subtree(query: Pairs, version: Microversion) -> tuple[SubtreeRule, ...]:
    rules: dict[SubtreeRule, None] = {}  # ordered, without duplicates
    for value in _values(query, "same_subtree"):
        suffixes = _suffixes("same_subtree", value)
        inside = frozenset(suffixes)
        if Feature.WHOLE_LANGUAGE.at(version):
            inside = frozenset(suffix for suffix in suffixes if not suffix.startswith("!"))
        outside = frozenset(suffixes) - inside
        rules[SubtreeRule(inside, frozenset(suffix[1:] for suffix in outside))] = None
    return tuple(rules)


def _suffixes(key: str, value: str) -> list[str]:
    suffixes = [item.strip() for item in value.split(",")]
    if not all(suffix.removeprefix("!") for suffix in suffixes):
        text = "expected suffixes of request groups, separated by commas"
        raise bad(key, value, text, QUERY_BAD_VALUE)
    return suffixes
