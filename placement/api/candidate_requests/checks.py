"""Checks of a complete candidate request. They do not depend on the form of the request."""

from collections.abc import Callable, Collection, Mapping

from placement.api.history import Feature, Versioned
from placement.api.parameters import bad
from placement.candidates.model import Refusal
from placement.candidates.request import UNSUFFIXED, CandidateRequest
from placement.candidates.terms import ForbiddenTrait, MemberOf, RequiredTraits, Term, of_kind
from placement.errors import QUERY_BAD_VALUE, QUERY_MISSING_VALUE, BadQuery
from placement.runtime.suggestions import did_you_mean, nearest

# The database evaluates each condition for every root that it examines.
MAX_ROOT_CONDITIONS = 50

# Error for a class that is in `can_split` but is not requested.
NOT_SPLIT = "the unsuffixed group does not ask for it in resources"
SUFFIXED_SPLIT = "only the unsuffixed group can be split: one provider serves each suffixed group"

SUBTREE_RULES = Refusal.SAME_SUBTREE.value  # the name of the parameter is that of the code

CONTRADICTION = "required and forbidden at once: leave out one"

# Checks a request. The mapping contains the client's name of each group, by suffix.
Check = Callable[[CandidateRequest, Mapping[str, str]], None]


def _check_all_have_resources(request: CandidateRequest, names: Mapping[str, str]) -> None:
    if not request.groups:
        raise BadQuery("resources: this parameter is required: resources=CLASS:AMOUNT")
    for group in request.groups:
        if not group.resources:
            raise BadQuery(
                f"{names[group.suffix]}: this group asks for no resources: "
                f"add resources{group.suffix}=CLASS:AMOUNT"
            )


def check_resourceless(request: CandidateRequest, names: Mapping[str, str]) -> None:
    """Check that groups without resources are related to other groups.

    Raises:
        BadQuery: such a group is in no rule about subtrees, or a rule names an unknown group.
    """
    if not any(group.resources for group in request.groups):
        path = request.error_path("resources", "", "")
        raise BadQuery(
            f"{path}: at least one group must ask for resources: resources=CLASS:AMOUNT",
            QUERY_MISSING_VALUE,
        )
    joined: set[str] = set()
    for rule in request.subtree_rules:
        joined |= rule.inside | rule.outside
    other = next((group.suffix for group in request.groups if group.resources), "")
    for group in request.groups:
        suffix = group.suffix
        if not group.resources and suffix not in joined:
            hint = f", or name {suffix} in {SUBTREE_RULES}" if suffix else ""
            if not suffix and group.terms:
                stated = sorted({f"{term.parameter}{other}" for term in group.terms})
                hint = f", or move its conditions to the group {other}: {', '.join(stated)}"
            raise BadQuery(
                f"{names[suffix]}: {'this' if suffix else 'the unsuffixed'} group asks for no "
                f"resources: add resources{suffix}=CLASS:AMOUNT{hint}",
                QUERY_BAD_VALUE,
            )
    _check_suffixes(request, SUBTREE_RULES, joined)


def _check_joins(request: CandidateRequest) -> None:
    """Check the rules about subtrees and the isolated groups.

    Raises:
        BadQuery: a rule has no group inside, or a group that is both inside and outside, or
            `isolate` names an unknown group.
    """
    for rule in request.subtree_rules:
        if not rule.inside:
            suffix = min(rule.outside)
            path = request.error_path(SUBTREE_RULES, "", suffix)
            text = "name a group without !, too: the subtree is that of the groups without !"
            raise bad(path, f"!{suffix}", text, QUERY_BAD_VALUE)
        for suffix in sorted(rule.inside & rule.outside):
            path = request.error_path(SUBTREE_RULES, "", suffix)
            raise bad(
                path,
                suffix,
                "a group is either inside the subtree or outside of it: leave out one",
                QUERY_BAD_VALUE,
            )
    _check_suffixes(request, "isolate", request.isolate)


def _check_splits(request: CandidateRequest) -> None:
    """Raise BadQuery for classes of `can_split` that the unsuffixed group does not request.

    A suffixed group is always served by a single provider.
    """
    for group in request.groups:
        classes = [] if group.suffixed else [name for name, _amount in group.resources]
        names = group.split_classes.difference(classes)
        if names:
            path = request.error_path("can_split", group.suffix, min(names))
            text = SUFFIXED_SPLIT if group.suffixed else NOT_SPLIT
            raise bad(path, ",".join(sorted(names)), text, QUERY_BAD_VALUE)


def _check_suffixes(request: CandidateRequest, keyword: str, suffixes: Collection[str]) -> None:
    """Raise BadQuery for a suffix that no group has."""
    unknown = set(suffixes).difference(group.suffix for group in request.groups if group.suffixed)
    if unknown:
        path = request.error_path(keyword, "", min(unknown))
        noun = "this suffix" if len(unknown) == 1 else "one of these suffixes"
        text = f"no request group has {noun}{_nearest(request, unknown, suffixes)}"
        if UNSUFFIXED in unknown:
            text = "only groups with a suffix can be named"
        raise bad(path, ",".join(sorted(unknown)), text, QUERY_BAD_VALUE)


def _nearest(request: CandidateRequest, unknown: Collection[str], named: Collection[str]) -> str:
    """Return a hint with a similar suffix for each unknown one, or else with all suffixes.

    Clients often omit the `_`. A suffix that is named already is not suggested.
    """
    suffixes = [group.suffix for group in request.groups if group.suffixed]
    unnamed = [suffix for suffix in suffixes if suffix not in named]
    similar = [found for text in sorted(unknown) for found in nearest(text, unnamed, cutoff=0.5)]
    if similar:
        return did_you_mean(similar)
    path = request.error_path("resources", min(unknown), "")
    remedy = f"; add {path}, or leave {min(unknown)} out" if len(unknown) < len(named) else ""
    return f"; there are {', '.join(suffixes) or 'none'}{remedy}"


CHECK_RESOURCES: Versioned[Check] = Versioned(
    {"1.10": _check_all_have_resources, Feature.RESOURCELESS_GROUPS.value: check_resourceless}
)


def check(
    request: CandidateRequest, names: Mapping[str, str], check_resources: Check = check_resourceless
) -> None:
    """Check the parts of a request against each other.

    Args:
        request: the request.
        names: suffix of each group -> its name in the client's request.
        check_resources: checks which groups have resources.

    Raises:
        BadQuery: the request contradicts itself.
    """
    _check_root(request)
    check_resources(request, names)
    _check_contradictions(request)
    _check_joins(request)
    _check_splits(request)


def _check_contradictions(request: CandidateRequest) -> None:
    """Raise BadQuery if a group both requires and forbids a trait."""
    for group in request.groups:
        names = contradictions(group.terms)
        if names:
            path = request.error_path("required", group.suffix, names[0])
            raise bad(path, ",".join(names), CONTRADICTION)


def _check_root(request: CandidateRequest) -> None:
    """Raise BadQuery for contradictions and for too many conditions on the root."""
    names = contradictions(request.root)
    if names:
        where = request.error_path("root_required", "", names[0])
        raise bad(where, ",".join(names), CONTRADICTION, QUERY_BAD_VALUE)
    conditions = choices(request.root)
    if conditions > MAX_ROOT_CONDITIONS:
        paths = [request.error_path(f"root_{name}", "", "") for name in ("required", "member_of")]
        raise BadQuery(
            f"{', '.join(paths)}: {conditions} conditions (sets of traits, sets of aggregates) are "
            f"too many; at most {MAX_ROOT_CONDITIONS} are allowed together"
        )


def choices(terms: Collection[Term]) -> int:
    """Return how many terms the database evaluates separately for each provider.

    The database evaluates single traits together. A choice between several traits is a separate
    condition.
    """
    several = [term for term in of_kind(terms, RequiredTraits) if len(term.any_of) > 1]
    return len(several) + len(of_kind(terms, MemberOf))


def contradictions(terms: Collection[Term]) -> list[str]:
    """Return the traits of terms that allow only forbidden traits."""
    forbidden = {term.name for term in of_kind(terms, ForbiddenTrait)}
    required = [term.any_of for term in of_kind(terms, RequiredTraits)]
    return sorted(frozenset().union(*(names for names in required if names <= forbidden)))
