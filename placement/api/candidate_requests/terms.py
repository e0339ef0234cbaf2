"""The forms of values that several parameters use, such as amounts, traits and aggregates."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from placement.api.history import Feature
from placement.api.microversion import Microversion
from placement.api.parameters import PROVIDER_UUID, Pairs, bad, check_feature
from placement.candidates.terms import (
    ForbiddenTrait,
    InSubtree,
    InTree,
    MemberOf,
    NotMemberOf,
    RequiredTraits,
    Term,
)
from placement.errors import BadQuery
from placement.objects import identifiers

TOO_MUCH = 10**18  # more than the providers of a tree can have together

_INTEGER = re.compile(r"\s*[+-]?[0-9]+\s*\Z", re.ASCII)


def resources(key: str, value: str) -> tuple[tuple[str, int], ...]:
    """Parse `CLASS:AMOUNT,…`. The last amount of a repeated class takes effect."""
    amounts: dict[str, int] = {}
    for item in value.split(","):
        name, colon, number = item.partition(":")
        if not colon or not _INTEGER.match(number):
            raise bad(key, value, "expected CLASS:AMOUNT pairs, separated by commas")
        digits = number.strip().lstrip("+")
        # Parsing a number of thousands of digits would be slow.
        is_long = len(digits) > 18 and digits[0] != "-"
        amount = TOO_MUCH if is_long else int(digits[:18])
        if amount < 1:
            raise bad(key, value, f"the amount of {name} must be at least 1")
        amounts[name] = min(amount, TOO_MUCH)
    return tuple(amounts.items())


def effective(query: Pairs, version: Microversion) -> Pairs:
    """Return the parameters that have an effect.

    Before 1.39, only the last `required` of each group has an effect.
    """
    if Feature.ANY_TRAITS.at(version):
        return query
    last_values = dict(query)
    effective_query: list[tuple[str, str]] = []
    for key, value in reversed(query):
        if not key.startswith("required"):
            effective_query.append((key, value))
        elif key in last_values:
            effective_query.append((key, last_values.pop(key)))
    return effective_query[::-1]


@dataclass(slots=True)
class TermReader:
    """Parser of the parameters that contain the terms of a group, of the root or of a filter."""

    # Version of the request.
    version: Microversion
    # The terms in the order of the query.
    terms: list[Term] = field(default_factory=list)

    def read(self, parameter: str, key: str, value: str) -> None:
        """Parse one of the parameters of `READERS`.

        Args:
            parameter: name without the suffix.
            key: name as sent, for errors.
            value: the value as sent.

        Raises:
            BadQuery: the value is malformed.
        """
        self.terms = READERS[parameter](self.terms, key, value, self.version)


# Takes the earlier terms, the name and the value of a parameter, and the version. Returns all
# terms.
Reader = Callable[[list[Term], str, str, Microversion], list[Term]]


def _read_traits(earlier: list[Term], key: str, value: str, version: Microversion) -> list[Term]:
    """Parse `T1,!T2` or `in:T1,T2`."""
    if value.startswith("in:"):
        check_feature(key, value, "in:", Feature.ANY_TRAITS.since, version)
        names = _trait_names(key, value, value.removeprefix("in:"))
        if any(item != name for item, name in names):
            raise bad(key, value, "a forbidden trait cannot stand inside in:")
        return [*earlier, RequiredTraits(frozenset(name for _item, name in names))]
    terms = [*earlier]
    for item, name in _trait_names(key, value, value):
        if item == name:
            terms.append(RequiredTraits(frozenset([name])))
        else:
            since = Feature.FORBIDDEN_TRAITS.since
            check_feature(key, value, "a forbidden trait", since, version)
            terms.append(ForbiddenTrait(name))
    return terms


def _trait_names(key: str, value: str, listed: str) -> list[tuple[str, str]]:
    """Return each item of a list, both with and without its `!`."""
    items = [item.strip() for item in listed.split(",")]
    names = [(item, item.lstrip("!")) for item in items]
    if not all(name for _item, name in names):
        raise bad(key, value, "expected names of traits, separated by commas")
    return names


def _read_membership(
    earlier: list[Term], key: str, value: str, version: Microversion
) -> list[Term]:
    """Parse `AGG`, `in:AGG,…`, `!AGG` or `!in:AGG,…`."""
    since = Feature.REPEATED_MEMBER_OF.since
    if version < since and any(isinstance(term, MemberOf | NotMemberOf) for term in earlier):
        raise BadQuery(f"{key}: repeating it needs microversion {since} or later")
    text = value.removeprefix("!")
    if text != value:
        since = Feature.FORBIDDEN_AGGREGATES.since
        check_feature(key, value, "a forbidden aggregate", since, version)
    listed = text.startswith("in:")
    uuids = text.removeprefix("in:").split(",") if listed else [text]
    if not all(identifiers.canonical(uuid) for uuid in uuids):
        raise bad(key, value, "expected the UUID of an aggregate, or in:UUID,UUID…")
    if text == value:
        return [*earlier, MemberOf(frozenset(uuids))]
    return [*earlier, *map(NotMemberOf, uuids)]


def _reader_of_provider(kind: type[Term]) -> Reader:
    """Return a reader for the UUID of a provider. The last value takes effect."""

    def read(earlier: list[Term], key: str, value: str, _version: Microversion) -> list[Term]:
        uuid = value.strip()
        if not identifiers.canonical(uuid):
            raise bad(key, value, PROVIDER_UUID)
        return [*(term for term in earlier if type(term) is not kind), kind.from_json(uuid)]

    return read


# Parameter without suffix -> its reader.
READERS: Mapping[str, Reader] = {
    RequiredTraits.parameter: _read_traits,
    MemberOf.parameter: _read_membership,
    InTree.parameter: _reader_of_provider(InTree),
    InSubtree.parameter: _reader_of_provider(InSubtree),
}
