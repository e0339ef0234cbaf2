"""Forms of values that several parameters have in common: amounts, traits, aggregates."""

import re
from dataclasses import dataclass, field

from placement.api.history import Feature
from placement.api.microversion import Microversion
from placement.api.query.strings import Pairs, bad, check_feature
from placement.errors import BadQuery
from placement.objects import identifiers
from placement.vocabulary import MAX_INTEGER

TOO_MUCH = MAX_INTEGER + 1  # more than any max_unit: an amount that fits nowhere

_INTEGER = re.compile(r"\s*[+-]?[0-9]+\s*\Z", re.ASCII)


def resources(key: str, value: str) -> tuple[tuple[str, int], ...]:
    """`CLASS:AMOUNT,…`; of a class named twice the last amount counts."""
    found: dict[str, int] = {}
    for item in value.split(","):
        name, colon, amount = item.partition(":")
        if not colon or not _INTEGER.match(amount):
            raise bad(key, value, "expected CLASS:AMOUNT pairs, separated by commas")
        digits = amount.strip().lstrip("+")
        number = TOO_MUCH if len(digits) > 10 and digits[0] != "-" else int(digits[:12])
        if number < 1:
            raise bad(key, value, f"the amount of {name} must be at least 1")
        found[name] = min(number, TOO_MUCH)
    return tuple(found.items())


def counting(given: Pairs, version: Microversion) -> Pairs:
    """The parameters that count: before any-traits only the last `required` of a group did."""
    if Feature.ANY_TRAITS.at(version):
        return given
    last = {key: at for at, (key, _value) in enumerate(given)}
    return [
        (key, value)
        for at, (key, value) in enumerate(given)
        if not key.startswith("required") or last[key] == at
    ]


@dataclass(slots=True)
class Traits:
    """Required terms (any of each set) and forbidden traits."""

    version: Microversion
    required: list[frozenset[str]] = field(default_factory=list)
    forbidden: set[str] = field(default_factory=set)

    def add(self, key: str, value: str, any_of: bool = True) -> None:
        """`T1,!T2` or, where `any_of` is allowed, `in:T1,T2`."""
        prefixed = any_of and value.startswith("in:")
        if prefixed:
            check_feature(key, value, "in:", Feature.ANY_TRAITS.since, self.version)
        items = [item.strip() for item in value.removeprefix("in:" if prefixed else "").split(",")]
        names = [item.lstrip("!") for item in items]
        if not all(names):
            raise bad(key, value, "expected names of traits, separated by commas")
        if prefixed:
            if names != items:
                raise bad(key, value, "a forbidden trait cannot stand inside in:")
            self.required.append(frozenset(names))
            return
        if names != items:
            check_feature(
                key, value, "a forbidden trait", Feature.FORBIDDEN_TRAITS.since, self.version
            )
        for item, name in zip(items, names, strict=True):
            if item == name:
                self.required.append(frozenset([name]))
            else:
                self.forbidden.add(name)

    @property
    def contradictions(self) -> list[str]:
        """Traits that are required and forbidden at once."""
        return sorted({name for term in self.required if term <= self.forbidden for name in term})


@dataclass(slots=True)
class Membership:
    """Positive terms (any of each set) and aggregates to stay out of."""

    version: Microversion
    positive: list[frozenset[str]] = field(default_factory=list)
    negative: set[str] = field(default_factory=set)

    def add(self, key: str, value: str) -> None:
        """`AGG`, `in:AGG,…`, `!AGG` or `!in:AGG,…`."""
        if self.positive or self.negative:
            since = Feature.REPEATED_MEMBER_OF.since
            if self.version < since:
                raise BadQuery(f"{key}: repeating it needs microversion {since} or later")
        text = value.removeprefix("!")
        if text != value:
            since = Feature.FORBIDDEN_AGGREGATES.since
            check_feature(key, value, "a forbidden aggregate", since, self.version)
        listed = text.startswith("in:")
        uuids = text.removeprefix("in:").split(",") if listed else [text]
        if not all(identifiers.canonical(uuid) for uuid in uuids):
            raise bad(key, value, "expected the UUID of an aggregate, or in:UUID,UUID…")
        if text == value:
            self.positive.append(frozenset(uuids))
        else:
            self.negative.update(uuids)
