"""The forms of values that several parameters use, such as amounts, traits and aggregates."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from placement.api.history import Feature, Microversion
from placement.api.parameters import PROVIDER_UUID, Pairs, bad, check_feature
from placement.candidates.terms import (
    ForbiddenTrait,
    InSubtree,
    InTree,
    MemberOf,
    NotMemberOf,
    RequiredTraits,
    Term,
    ordered,
)
from placement.errors import QUERY_DUPLICATE_KEY, BadQuery
from placement.objects import identifiers
from placement.vocabulary import TOO_MUCH

# Members of the JSON form, by keyword.
Members = dict[str, Any]

_INTEGER = re.compile(r"\s*[+-]?[0-9]+\s*\Z", re.ASCII)


def resources(key: str, value: str, version: Microversion) -> dict[str, int]:
    """Parse `CLASS:AMOUNT,…`. Before 2.0, the last amount of a repeated class takes effect."""
    amounts: dict[str, int] = {}
    for item in value.split(","):
        name, colon, number = item.partition(":")
        if not colon or not _INTEGER.match(number):
            text = (
                "expected CLASS:AMOUNT pairs, separated by commas; amounts have the digits 0 to 9"
            )
            raise bad(key, value, text)
        if name in amounts and Feature.WHOLE_LANGUAGE.at(version):
            raise bad(key, value, f"{name} may be stated only once", QUERY_DUPLICATE_KEY)
        digits = number.strip().lstrip("+0")
        # Parsing a number of thousands of digits would be slow.
        is_long = len(digits) > 18 and digits[0] != "-"
        amount = TOO_MUCH if is_long else int(digits[:18] or "0")
        if amount < 1:
            raise bad(key, value, f"the amount of {name} must be at least 1")
        amounts[name] = min(amount, TOO_MUCH)
    return amounts


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


def read_terms(
    members: Members, parameter: str, key: str, value: str, version: Microversion
) -> None:
    """Add the terms of one of the parameters of `READERS` to the members of the JSON form.

    Args:
        members: the members of a group, of the root or of a filter.
        parameter: name without the suffix.
        key: name as sent, for errors.
        value: the value as sent.
        version: version of the request.

    Raises:
        BadQuery: the value is malformed.
    """
    READERS[parameter](members, key, value, version)


def terms_of(members: Mapping[str, Any], kinds: Sequence[type[Term]]) -> tuple[Term, ...]:
    """Return the terms that members of the JSON form state."""
    terms: list[Term] = []
    for kind in kinds:
        stated = members.get(kind.keyword)
        if stated:
            values = stated if kind.is_listed else [stated]
            terms += [kind.from_json(value) for value in values]
    return ordered(terms)


def _add(members: Members, kind: type[Term], value: str | list[str]) -> None:
    """Add a term. Of a term that is not listed, the last value takes effect."""
    if not kind.is_listed:
        members[kind.keyword] = value
        return
    listed = members.setdefault(kind.keyword, [])
    if value not in listed:
        listed.append(value)
    if kind.excludes:
        listed.sort()


def _any_of(names: Iterable[str]) -> str | list[str]:
    """Return one name, or the distinct names of a choice."""
    distinct = sorted(set(names))
    return distinct if len(distinct) > 1 else distinct[0]


# Takes the earlier members, the name and the value of a parameter, and the version.
Reader = Callable[[Members, str, str, Microversion], None]


def _read_traits(members: Members, key: str, value: str, version: Microversion) -> None:
    """Parse `T1,!T2` or `in:T1,T2`."""
    if value.startswith("in:"):
        check_feature(key, value, "in:", Feature.ANY_TRAITS.since, version)
        names = _trait_names(key, value, value.removeprefix("in:"))
        if any(item != name for item, name in names):
            raise bad(key, value, "a forbidden trait cannot stand inside in:")
        _add(members, RequiredTraits, _any_of(name for _item, name in names))
        return
    for item, name in _trait_names(key, value, value):
        if item != name:
            since = Feature.FORBIDDEN_TRAITS.since
            check_feature(key, value, "a forbidden trait", since, version)
        _add(members, RequiredTraits if item == name else ForbiddenTrait, name)


def _trait_names(key: str, value: str, listed: str) -> list[tuple[str, str]]:
    """Return each item of a list, both with and without its `!`."""
    items = [item.strip() for item in listed.split(",")]
    names = [(item, item.lstrip("!")) for item in items]
    if not all(name for _item, name in names):
        raise bad(key, value, "expected names of traits, separated by commas")
    return names


def _read_membership(members: Members, key: str, value: str, version: Microversion) -> None:
    """Parse `AGG`, `in:AGG,…`, `!AGG` or `!in:AGG,…`."""
    since = Feature.REPEATED_MEMBER_OF.since
    if version < since and members.keys() & {MemberOf.keyword, NotMemberOf.keyword}:
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
        _add(members, MemberOf, _any_of(uuids))
        return
    for uuid in uuids:
        _add(members, NotMemberOf, uuid)


def _reader_of_provider(kind: type[Term]) -> Reader:
    """Return a reader for the UUID of a provider."""

    def read(members: Members, key: str, value: str, _version: Microversion) -> None:
        uuid = value.strip()
        if not identifiers.canonical(uuid):
            raise bad(key, value, PROVIDER_UUID)
        _add(members, kind, uuid)

    return read


# Parameter without suffix -> its reader.
READERS: Mapping[str, Reader] = {
    RequiredTraits.parameter: _read_traits,
    MemberOf.parameter: _read_membership,
    InTree.parameter: _reader_of_provider(InTree),
    InSubtree.parameter: _reader_of_provider(InSubtree),
}
