"""The parameters of `GET /allocation_candidates`."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from placement.api.history import Feature, v
from placement.api.microversion import Microversion
from placement.api.query.strings import Pairs, Parameter, bad, unknown
from placement.api.query.terms import Membership, Traits, effective, resources
from placement.api.versioned import Versioned
from placement.candidates.request import UNSUFFIXED, CandidateRequest, RequestGroup
from placement.errors import QUERY_BAD_VALUE, QUERY_DUPLICATE_KEY, QUERY_MISSING_VALUE, BadQuery
from placement.objects import identifiers

_LIMIT = re.compile(r"[1-9][0-9]*\Z", re.ASCII)

PARAMETERS: Mapping[str, Parameter] = {
    "resources": Parameter(
        "1.10",
        "Amounts of resource classes to find: `CLASS:AMOUNT`, separated by commas.",
        suffixed=True,
    ),
    "limit": Parameter(
        "1.16", "The largest number of candidates to list.", {"type": "integer", "minimum": 1}
    ),
    "required": Parameter(
        "1.17",
        "Traits that providers must have (`T1,T2`), must not have (`!T`), or must have one of "
        "(`in:T1,T2`).",
        suffixed=True,
    ),
    "member_of": Parameter(
        "1.21",
        "Aggregates that providers must be in (`UUID`), must be in one of (`in:UUID,UUID`), or "
        "must not be in (`!UUID`).",
        suffixed=True,
    ),
    "group_policy": Parameter(
        "1.25",
        "Whether different suffixed groups must be served by different providers.",
        {"type": "string", "enum": ["none", "isolate"]},
    ),
    "in_tree": Parameter(
        "1.31",
        "The UUID of a provider: only providers of its tree are considered.",
        suffixed=True,
    ),
    "root_required": Parameter(
        "1.35", "Traits that the root of the tree must have (`T1,T2`) or must not have (`!T`)."
    ),
    "same_subtree": Parameter(
        "1.36",
        "Suffixes of groups, separated by commas, that must be served by one provider and those "
        "below it.",
    ),
}

GROUP_KEYS = tuple(name for name, parameter in PARAMETERS.items() if parameter.suffixed)

# What may follow the name of a group's parameter.
SUFFIX = Versioned({"1.10": "", "1.25": "([1-9][0-9]*)?", "1.33": "([a-zA-Z0-9_-]{1,64})?"})
_GROUP_KEY = SUFFIX.map(
    lambda suffix: re.compile(rf"(?P<key>{'|'.join(GROUP_KEYS)})(?P<suffix>{suffix})\Z", re.ASCII)
)
_SUFFIX_FORM = Versioned(
    {
        "1.10": "request groups with a suffix need microversion 1.25 or later",
        "1.25": "the suffix of a request group is a number from 1 on, without leading zeros",
        "1.33": "the suffix of a request group has 1 to 64 letters, digits, _ and -",
    }
)


@dataclass(slots=True)
class _Group:
    """A request group while its parameters are read."""

    traits: Traits
    membership: Membership
    first: str = ""  # the parameter that began the group
    resources: tuple[tuple[str, int], ...] = ()
    in_tree: str | None = None

    @classmethod
    def at(cls, version: Microversion) -> "_Group":
        """Return a group before its first parameter."""
        return cls(Traits(version), Membership(version))

    def add(self, keyword: str, key: str, value: str) -> None:
        """Read one parameter; `keyword` is its name without the suffix."""
        self.first = self.first or key
        if keyword == "resources":
            self.resources = resources(key, value)
        elif keyword == "required":
            self.traits.add(key, value)
        elif keyword == "member_of":
            self.membership.add(key, value)
        else:
            self.in_tree = value.strip()
            if not identifiers.canonical(self.in_tree):
                raise bad(key, value, "expected the UUID of a resource provider")

    def frozen(self, suffix: str) -> RequestGroup:
        """Return the group as a value."""
        return RequestGroup(
            suffix,
            self.resources,
            tuple(dict.fromkeys(self.traits.required)),
            frozenset(self.traits.forbidden),
            tuple(dict.fromkeys(self.membership.positive)),
            frozenset(self.membership.negative),
            self.in_tree,
        )


def parse_candidates(query: Pairs, version: Microversion) -> CandidateRequest:
    """Read the parameters.

    Raises BadQuery for the first thing that is wrong: names, then each parameter that stands once
    for the whole request, then the groups, then what joins them.
    """
    _check_names(query, version)
    limit = _limit(query)
    isolate = _group_policy(query)
    root = _root_required(query, version)
    if root.contradictions:
        raise bad(
            "root_required",
            ",".join(root.contradictions),
            "required and forbidden at once",
            QUERY_BAD_VALUE,
        )
    subtrees = _same_subtree(query)
    groups = _groups(query, version)
    _CHECK_GROUPS.at(version)(groups, subtrees)
    for suffix, group in groups.items():
        if group.traits.contradictions:
            text = ",".join(group.traits.contradictions)
            raise bad(f"required{suffix}", text, "required and forbidden at once")
    if isolate is None and sum(suffix != UNSUFFIXED for suffix in groups) > 1:
        raise BadQuery(
            "group_policy: this parameter is required with two or more suffixed groups; "
            "use none or isolate"
        )
    return CandidateRequest(
        tuple(group.frozen(suffix) for suffix, group in groups.items()),
        isolate=bool(isolate),
        same_subtree=subtrees,
        root_required=frozenset().union(*root.required),
        root_forbidden=frozenset(root.forbidden),
        limit=limit,
        nested=Feature.NESTED_CANDIDATES.at(version),
    )


def _check_names(query: Pairs, version: Microversion) -> None:
    group_key = _GROUP_KEY.at(version)
    for key, value in query:
        match = group_key.match(key)
        name = match["key"] if match else key
        if name in PARAMETERS and version >= v(PARAMETERS[name].since):
            continue
        if not match and key.startswith(GROUP_KEYS):
            raise bad(key, value, f"no such parameter: {_SUFFIX_FORM.at(version)}")
        raise unknown(name, value, PARAMETERS, version)


def _values(query: Pairs, name: str) -> list[str]:
    return [value for key, value in query if key == name]


def _limit(query: Pairs) -> int | None:
    values = _values(query, "limit")
    for value in values:
        if not _LIMIT.match(value):
            raise bad("limit", value, "expected an integer of at least 1")
    # More digits than that bound nothing.
    return int(values[0][:18]) if values else None


def _group_policy(query: Pairs) -> bool | None:
    """Return whether to isolate, None where the parameter is absent."""
    values = _values(query, "group_policy")
    for value in values:
        if value not in {"none", "isolate"}:
            raise bad("group_policy", value, "expected none or isolate")
    return values[0] == "isolate" if values else None


def _root_required(query: Pairs, version: Microversion) -> Traits:
    values = _values(query, "root_required")
    if len(values) > 1:
        raise BadQuery("root_required: this parameter may be given only once", QUERY_DUPLICATE_KEY)
    traits = Traits(version)
    for value in values:
        if value.startswith("in:"):
            raise bad("root_required", value, "in: is not supported here")
        traits.add("root_required", value, any_of=False)
    return traits


def _same_subtree(query: Pairs) -> tuple[frozenset[str], ...]:
    subtrees: dict[frozenset[str], None] = {}  # in their order, each once
    for value in _values(query, "same_subtree"):
        suffixes = [item.strip() for item in value.split(",")]
        if not all(suffixes):
            text = "expected suffixes of request groups, separated by commas"
            raise bad("same_subtree", value, text, QUERY_BAD_VALUE)
        subtrees[frozenset(suffixes)] = None
    return tuple(subtrees)


def _groups(query: Pairs, version: Microversion) -> dict[str, _Group]:
    groups: dict[str, _Group] = {}
    for key, value in effective(query, version):
        match = _GROUP_KEY.at(version).match(key)
        if match:
            group = groups.setdefault(match["suffix"] or UNSUFFIXED, _Group.at(version))
            group.add(match["key"], key, value)
    return groups


def _check_all_have_resources(
    groups: Mapping[str, _Group], _subtrees: Iterable[frozenset[str]]
) -> None:
    if not groups:
        raise BadQuery("resources: this parameter is required: resources=CLASS:AMOUNT")
    for suffix, group in groups.items():
        if not group.resources:
            raise BadQuery(
                f"{group.first}: this group asks for no resources: add resources{suffix}="
                f"CLASS:AMOUNT"
            )


def _check_resourceless(groups: Mapping[str, _Group], subtrees: Iterable[frozenset[str]]) -> None:
    if not any(group.resources for group in groups.values()):
        raise BadQuery(
            "resources: at least one group must ask for resources: resources=CLASS:AMOUNT",
            QUERY_MISSING_VALUE,
        )
    joined = frozenset().union(*subtrees)
    for suffix, group in groups.items():
        if not group.resources and suffix not in joined:
            raise BadQuery(
                f"{group.first}: this group asks for no resources: add resources{suffix}="
                f"CLASS:AMOUNT{f', or name {suffix} in same_subtree' if suffix else ''}",
                QUERY_BAD_VALUE,
            )
    unknown_suffixes = joined - groups.keys()
    if unknown_suffixes:
        text = "no request group has this suffix"
        raise bad("same_subtree", ",".join(sorted(unknown_suffixes)), text, QUERY_BAD_VALUE)


_CHECK_GROUPS: Versioned[Callable[[Mapping[str, _Group], Iterable[frozenset[str]]], None]] = (
    Versioned(
        {"1.10": _check_all_have_resources, Feature.RESOURCELESS_GROUPS.value: _check_resourceless}
    )
)
