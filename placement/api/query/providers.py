"""The filters of `GET /resource_providers`."""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace

from placement.api.candidate_requests.checks import choices
from placement.api.candidate_requests.terms import TermReader, effective, resources
from placement.api.history import v
from placement.api.microversion import Microversion
from placement.api.parameters import (
    PROVIDER_UUID,
    Pairs,
    Parameter,
    bad,
    include_parameter,
    last_values,
    matching,
    pairs,
    parse_include,
    positive,
)
from placement.candidates.terms import GROUP_TERMS, InSubtree, InTree, ordered
from placement.errors import BadQuery
from placement.objects import identifiers
from placement.objects.provider_list import ProviderFilter, ProviderPage
from placement.objects.provider_parts import Part
from placement.vocabulary import MAX_INTEGER

# Each condition is evaluated for each provider. With fifty conditions, PostgreSQL takes 0.4 s for
# 1,000 hosts.
MAX_CONDITIONS = 50

DASHED_UUID = "[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
_DASHED_UUID = re.compile(rf"{DASHED_UUID}\Z")

# Parameters that may be repeated.
_LISTED_TERMS = {kind.parameter for kind in GROUP_TERMS if kind.is_listed}

# Maximum number of providers in a list with parts. Each part requires a statement.
MAX_WITH_PARTS = 1_000
# Default limit of a list without parts.
NO_LIMIT = MAX_INTEGER

_INCLUDE = include_parameter("provider", Part)
SHOW_PARAMETERS: Mapping[str, Parameter] = {"include": _INCLUDE}
PARAMETERS: Mapping[str, Parameter] = {
    "name": Parameter("1.0", "The name of a provider."),
    "uuid": Parameter("1.0", "The UUID of a provider.", matching(DASHED_UUID)),
    "member_of": Parameter(
        "1.3",
        "Aggregates that providers must be in (`UUID`), must be in one of (`in:UUID,UUID`), or "
        "must not be in (`!UUID`).",
    ),
    "resources": Parameter(
        "1.4", "Amounts that must be free on a provider: `CLASS:AMOUNT`, separated by commas."
    ),
    "in_tree": Parameter(
        "1.14",
        "UUID of a provider; only providers of its tree are listed.",
        matching(DASHED_UUID),
    ),
    "subtree": Parameter(
        "2.0",
        "UUID of a provider; only this provider and its descendants are listed.",
        matching(DASHED_UUID),
    ),
    "required": Parameter(
        "1.18",
        "Traits that providers must have (`T1,T2`), must not have (`!T`), or must have one of "
        "(`in:T1,T2`).",
    ),
    "include": replace(
        _INCLUDE,
        about=f"{_INCLUDE.about} The list then has at most {MAX_WITH_PARTS} providers.",
    ),
    "limit": Parameter(
        "2.0",
        "Maximum number of providers, in the order of their UUIDs. "
        "`resource_providers_links` has a link to the next page.",
        {"type": "integer", "minimum": 1},
    ),
    "marker": Parameter(
        "2.0",
        "A UUID; only providers after it are listed, in the order of their UUIDs.",
        matching("[{}A-Za-z0-9:-]+"),
    ),
}


def parse_provider_filter(query: Pairs, version: Microversion) -> ProviderFilter:
    """Read the filters.  Raises BadQuery."""
    values = last_values(query, PARAMETERS, version)
    for key in ("uuid", "in_tree", "subtree"):
        if key in values and not _DASHED_UUID.match(values[key]):
            raise bad(key, values[key], f"{PROVIDER_UUID}; it has dashes")
    reader = TermReader(version)
    for key, value in effective(query, version):
        if key in _LISTED_TERMS:
            reader.read(key, key, value)
    amounts = resources("resources", values["resources"]) if "resources" in values else ()
    _check_number(choices(reader.terms) + len(amounts))
    places = [kind(values[kind.keyword]) for kind in (InTree, InSubtree) if kind.keyword in values]
    return ProviderFilter(
        name=values.get("name") or None,
        uuid=values.get("uuid"),
        resources=amounts,
        terms=ordered([*reader.terms, *places]),
    )


def parse_page(query: Pairs, parts: Collection[Part]) -> ProviderPage | None:
    """Return the requested page, or None if the whole list is requested. Raises BadQuery."""
    values = dict(query)
    marker = values.get("marker")
    if marker is not None and identifiers.canonical(marker) is None:
        raise bad("marker", marker, PROVIDER_UUID)
    most = MAX_WITH_PARTS if parts else NO_LIMIT
    if "limit" in values:
        return ProviderPage(min(positive("limit", values["limit"]), most), marker)
    return ProviderPage(most, marker) if parts or marker is not None else None


def parse_show(query_string: str, version: Microversion) -> tuple[Part, ...]:
    """Return the parts to include with one provider.

    Raises:
        BadQuery: the query is invalid; older versions ignore it.
    """
    if version < v(_INCLUDE.since):
        return ()
    query = pairs(query_string)
    last_values(query, SHOW_PARAMETERS, version)
    return parse_include(query, Part)


def _check_number(conditions: int) -> None:
    if conditions > MAX_CONDITIONS:
        raise BadQuery(
            f"required=in:, member_of, resources: {conditions} conditions (sets of traits, sets of "
            f"aggregates, classes) are too many; at most {MAX_CONDITIONS} are allowed together"
        )
