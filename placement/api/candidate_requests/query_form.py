"""Candidate requests as query strings, which are converted to the JSON form.

The parameters of a request group share a suffix.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from placement.api.candidate_requests.checks import CHECK_RESOURCES, NOT_SPLIT, check
from placement.api.candidate_requests.json_form import request_of
from placement.api.candidate_requests.terms import Members, effective, read_terms, resources
from placement.api.history import Feature, Microversion, Versioned, exists_from, v
from placement.api.parameters import Pairs, Parameter, bad, positive, repeatable, repeated, unknown
from placement.candidates.request import UNSUFFIXED, CandidateRequest, parameter_of
from placement.candidates.terms import ROOT_TERMS
from placement.errors import QUERY_BAD_VALUE, BadQuery

GROUP_PARAMETERS: Mapping[str, Parameter] = {
    "resources": Parameter(
        "1.10",
        "Amounts of resource classes to find: `CLASS:AMOUNT`, separated by commas.",
        suffixed=True,
    ),
    "required": repeatable(
        "1.17",
        "Traits that providers must have (`T1,T2`), must not have (`!T`), or must have one of "
        "(`in:T1,T2`).",
        suffixed=True,
    ),
    "member_of": repeatable(
        "1.21",
        "Aggregates that providers must be in (`UUID`), must be in one of (`in:UUID,UUID`), or "
        "must not be in (`!UUID`).",
        suffixed=True,
    ),
    "in_tree": Parameter(
        "1.31", "UUID of a provider; only providers of its tree are considered.", suffixed=True
    ),
    "subtree": Parameter(
        "2.0",
        "UUID of a provider; only this provider and its descendants are considered.",
        suffixed=True,
    ),
}

# Pattern of the suffix of a group's parameter.
SUFFIX = Versioned({"1.10": "", "1.25": "([1-9][0-9]*)?", "1.33": "([a-zA-Z0-9_-]{1,64})?"})
_GROUP_KEY = SUFFIX.map(
    lambda suffix: re.compile(
        rf"(?P<key>{'|'.join(GROUP_PARAMETERS)})(?P<suffix>{suffix})\Z", re.ASCII
    )
)
_SUFFIX_FORM = Versioned(
    {
        "1.10": "request groups with a suffix need microversion 1.25 or later",
        "1.25": "the suffix of a request group is a number from 1 on, without leading zeros",
        "1.33": "the suffix of a request group has 1 to 64 letters, digits, _ and -",
    }
)

EXPLAIN = ("summary", "providers")
PATH = "/allocation_candidates"
# Members of the JSON form that no parameter states.
JSON_ONLY = frozenset({"order", "first_available", "groups", "root", "forbidden", "not_member_of"})
# Parameters of which clients expect that each group has its own -> why it has not.
WHOLE = {
    "can_split": ", because one provider serves each suffixed group",
    "group_policy": ": it applies to all suffixed groups, and isolate (2.0) to single ones",
    "same_subtree": ": its value names the suffixes",
    "isolate": ": its value names the suffixes",
}

PARAMETERS: Mapping[str, Parameter] = {
    **GROUP_PARAMETERS,
    "limit": Parameter("1.16", "Maximum number of candidates.", {"type": "integer", "minimum": 1}),
    "group_policy": Parameter(
        "1.25",
        "Whether different suffixed groups must be served by different providers.",
        {"type": "string", "enum": ["none", "isolate"]},
    ),
    "isolate": repeatable(
        "2.0",
        "Suffixes of groups, separated by commas, whose provider serves no other suffixed group.",
    ),
    "explain": Parameter(
        "2.0",
        "Also return why hosts cannot serve the request: as counts, or also for single hosts.",
        {"type": "string", "enum": list(EXPLAIN)},
    ),
    "can_split": repeatable(
        "2.0",
        "Classes of the unsuffixed group, separated by commas, that several providers of one tree "
        "may serve together. Candidates with such splits come after all others.",
    ),
    "root_required": repeatable(
        "1.35",
        "Traits that the root of the tree must have (`T1,T2`), must not have (`!T`), or, since "
        "2.0, must have one of (`in:T1,T2`).",
    ),
    "root_member_of": repeatable(
        "2.0",
        "Aggregates that the root of the tree must be in (`UUID`), must be in one of "
        "(`in:UUID,UUID`), or must not be in (`!UUID`).",
    ),
    "tolerate": repeatable(
        "2.0",
        "Traits, separated by commas, that the root of the tree may have although the service is "
        "configured to exclude hosts with them (taints).",
    ),
    "same_subtree": repeatable(
        "1.36",
        "Suffixes of groups, separated by commas, that must be served by one provider and its "
        "descendants. Since 2.0, groups with `!` must be served outside of that subtree.",
    ),
}


def parse_candidates(query: Pairs, version: Microversion) -> CandidateRequest:
    """Parse the parameters.

    Raises:
        BadQuery: the first error, in this order: names of parameters, their values, the relations
            between them.
    """
    body = to_json(query, version)
    request = replace(request_of(body, parameter_of), nested=Feature.NESTED_CANDIDATES.at(version))
    check(request, _first_parameters(query, version), CHECK_RESOURCES.at(version))
    if "group_policy" not in body and not Feature.WHOLE_LANGUAGE.at(version):
        _refuse_without_policy(body["groups"])
    return request


def to_json(query: Pairs, version: Microversion) -> Mapping[str, Any]:
    """Return a request in the JSON form, without unset members.  Raises BadQuery."""
    _check_names(query, version)
    members = {
        "limit": _limit(query),
        "group_policy": _one_of(query, "group_policy", ("none", "isolate")),
        "explain": _one_of(query, "explain", EXPLAIN),
        "root": _root(query, version),
        "same_subtree": _same_subtree(query, version),
        "isolate": _listed(query, "isolate", "suffixes of request groups"),
        "groups": _groups(query, version),
        "tolerate": _listed(query, "tolerate", "names of traits"),
    }
    stated = {name: value for name, value in members.items() if value}
    return {"groups": {}, **stated}


def _check_names(query: Pairs, version: Microversion) -> None:
    keys: set[str] = set()
    for key, value in query:
        match = _GROUP_KEY.at(version).match(key)
        name = match["key"] if match else key
        if name not in PARAMETERS or version < v(PARAMETERS[name].since):
            if match is None and key.startswith(tuple(GROUP_PARAMETERS)):
                raise bad(key, value, f"no such parameter: {_SUFFIX_FORM.at(version)}")
            if name in JSON_ONLY:
                raise bad(key, value, f"only the JSON form, POST {PATH} of 2.0, has {name}")
            for whole in PARAMETERS.keys() - GROUP_PARAMETERS.keys():
                if key.startswith(whole) and key != whole and version >= v(PARAMETERS[whole].since):
                    text = f"no such parameter: {whole} takes no suffix{WHOLE.get(whole, '')}"
                    raise bad(key, value, text)
            ending = re.split(r"(?=_[^_]*\Z|(?<!\d)[1-9]\d*\Z)", key, maxsplit=1)[1:]
            suffix = "".join(ending)
            exists = _GROUP_KEY.at(version).match(f"resources{suffix}")
            raise unknown(name, value, PARAMETERS, version, suffix if exists else "")
        if key in keys and PARAMETERS[name].is_single(version):
            raise repeated(key)
        keys.add(key)


def _refuse_without_policy(suffixes: Iterable[str]) -> None:
    if sum(suffix != UNSUFFIXED for suffix in suffixes) > 1:
        raise BadQuery(
            "group_policy: this parameter is required with two or more suffixed groups; "
            "use none or isolate"
        )


def _groups(query: Pairs, version: Microversion) -> dict[str, Members]:
    """Return the members of each group, by suffix."""
    groups: dict[str, Members] = {}
    for key, value in effective(query, version):
        if match := _GROUP_KEY.at(version).match(key):
            group = groups.setdefault(match["suffix"] or UNSUFFIXED, {})
            if match["key"] == "resources":
                group["resources"] = resources(key, value, version)
            else:
                read_terms(group, match["key"], key, value, version)
    splits = _listed(query, "can_split", "names of resource classes")
    if splits:
        if UNSUFFIXED not in groups:
            raise bad("can_split", ",".join(splits), NOT_SPLIT, QUERY_BAD_VALUE)
        groups[UNSUFFIXED]["can_split"] = splits
    return groups


def _first_parameters(query: Pairs, version: Microversion) -> Mapping[str, str]:
    """Return suffix -> first parameter of the group, for errors."""
    names: dict[str, str] = {}
    for key, _value in effective(query, version):
        if match := _GROUP_KEY.at(version).match(key):
            names.setdefault(match["suffix"] or UNSUFFIXED, key)
    return names


def _root(query: Pairs, version: Microversion) -> Members:
    """Parse the conditions on the root. Since 2.0, several terms and alternatives are allowed."""
    choices = Feature.WHOLE_LANGUAGE.at(version)
    members: Members = {}
    for parameter in dict.fromkeys(kind.parameter for kind in ROOT_TERMS):
        key = f"root_{parameter}"
        values = _values(query, key)
        if len(values) > 1 and not choices:
            raise repeated(key)
        for value in values:
            if value.startswith("in:") and not choices:
                since = Feature.WHOLE_LANGUAGE.since
                raise bad(key, value, f"in: in {key} {exists_from(since)}")
            read_terms(members, parameter, key, value, version)
    return members


def _same_subtree(query: Pairs, version: Microversion) -> list[Mapping[str, list[str]]]:
    rules: list[Mapping[str, list[str]]] = []
    for value in _values(query, "same_subtree"):
        inside = set(_items("same_subtree", value, "suffixes of request groups"))
        outside: set[str] = set()
        if Feature.WHOLE_LANGUAGE.at(version):
            outside = {suffix for suffix in inside if suffix.startswith("!")}
        names = sorted(suffix[1:] for suffix in outside)
        rules.append({"of": sorted(inside - outside), "not": names})
    return rules


def _values(query: Pairs, name: str) -> list[str]:
    return [value for key, value in query if key == name]


def _limit(query: Pairs) -> int | None:
    limits = [positive("limit", value) for value in _values(query, "limit")]
    return limits[0] if limits else None


def _one_of(query: Pairs, key: str, allowed: Collection[str]) -> str | None:
    """Return the first value of a parameter, after a check of all values."""
    values = _values(query, key)
    for value in values:
        if value not in allowed:
            raise bad(key, value, f"expected {' or '.join(allowed)}")
    return values[0] if values else None


def _listed(query: Pairs, key: str, what: str) -> list[str]:
    """Return the distinct items of all values of a parameter."""
    items = [item for value in _values(query, key) for item in _items(key, value, what)]
    return sorted(set(items))


def _items(key: str, value: str, what: str) -> list[str]:
    items = [item.strip() for item in value.split(",")]
    if not all(item.removeprefix("!") for item in items):
        raise bad(key, value, f"expected {what}, separated by commas", QUERY_BAD_VALUE)
    return items
