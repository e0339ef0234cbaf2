"""The parameters of request groups, which share a suffix."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from placement.api.candidate_requests.terms import TermReader, effective, resources
from placement.api.microversion import Microversion
from placement.api.parameters import Pairs, Parameter, bad
from placement.api.versioned import Versioned
from placement.candidates.request import UNSUFFIXED, RequestGroup
from placement.candidates.terms import ordered

GROUP_PARAMETERS: Mapping[str, Parameter] = {
    "resources": Parameter(
        "1.10",
        "Amounts of resource classes to find: `CLASS:AMOUNT`, separated by commas.",
        suffixed=True,
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
    "in_tree": Parameter(
        "1.31",
        "UUID of a provider; only providers of its tree are considered.",
        suffixed=True,
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


@dataclass(slots=True)
class Group:
    """A request group during parsing."""

    # Parser of the group's terms.
    reader: TermReader
    # First parameter of the group, for error messages.
    first: str
    # (class, units) pairs.
    resources: tuple[tuple[str, int], ...] = ()
    # Classes whose amounts several providers may serve together.
    can_split: frozenset[str] = frozenset()

    def add(self, keyword: str, key: str, value: str) -> None:
        """Parse one parameter. keyword: name of the parameter without the suffix."""
        if keyword == "resources":
            self.resources = resources(key, value)
        else:
            self.reader.read(keyword, key, value)

    def frozen(self, suffix: str) -> RequestGroup:
        """Return the group for the search."""
        return RequestGroup(suffix, self.resources, ordered(self.reader.terms), self.can_split)


def read_groups(query: Pairs, version: Microversion) -> dict[str, Group]:
    """Parse the parameters of groups, and return the groups by suffix. Raises BadQuery."""
    groups: dict[str, Group] = {}
    for key, value in effective(query, version):
        match = _GROUP_KEY.at(version).match(key)
        if match:
            suffix = match["suffix"] or UNSUFFIXED
            if suffix not in groups:
                groups[suffix] = Group(TermReader(version), key)
            groups[suffix].add(match["key"], key, value)
    return groups


def keyword_of(key: str, version: Microversion) -> str | None:
    """Return the name of a group's parameter without its suffix, or None for other parameters."""
    match = _GROUP_KEY.at(version).match(key)
    return match["key"] if match else None


def check_suffix(key: str, value: str, version: Microversion) -> None:
    """Raise BadQuery if the suffix of a group's parameter is malformed."""
    if keyword_of(key, version) is None and key.startswith(tuple(GROUP_PARAMETERS)):
        raise bad(key, value, f"no such parameter: {_SUFFIX_FORM.at(version)}")
