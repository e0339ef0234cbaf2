"""Forms of values that several parameters share: amounts, traits, aggregates."""

import re
from dataclasses import dataclass, field

from placement.api.history import Feature
from placement.api.microversion import Microversion
from placement.api.query.strings import Pairs, bad, check_feature
from placement.errors import BadQuery
from placement.objects import identifiers

TOO_MUCH = 10**18  # more than all providers of a tree have together, whatever they are

_INTEGER = re.compile(r"\s*[+-]?[0-9]+\s*\Z", re.ASCII)


def resources(key: str, value: str) -> tuple[tuple[str, int], ...]:
    """Parse `CLASS:AMOUNT,…`; of a class that is named twice the last amount counts."""
    amounts: dict[str, int] = {}
    for item in value.split(","):
        name, colon, number = item.partition(":")
        if not colon or not _INTEGER.match(number):
            raise bad(key, value, "expected CLASS:AMOUNT pairs, separated by commas")
        digits = number.strip().lstrip("+")
        # Reading a number of thousands of digits would take long.
        amount = TOO_MUCH if len(digits) > 18 and digits[0] != "-" else int(digits[:18])
        if amount < 1:
            raise bad(key, value, f"the amount of {name} must be at least 1")
        amounts[name] = min(amount, TOO_MUCH)
    return tuple(amounts.items())


def effective(query: Pairs, version: Microversion) -> Pairs:
    """Return the parameters that count.

    Before any-traits only the last `required` of each group did.
    """
    if Feature.ANY_TRAITS.at(version):
        return query
    last_position = {key: position for position, (key, _value) in enumerate(query)}
    return [
        (key, value)
        for position, (key, value) in enumerate(query)
        if not key.startswith("required") or last_position[key] == position
    ]


@dataclass(slots=True)
class Traits:
    """Required terms (any of each set) and forbidden traits."""

    version: Microversion
    required: list[frozenset[str]] = field(default_factory=list)
    forbidden: set[str] = field(default_factory=set)

    def add(self, key: str, value: str, any_of: bool = True) -> None:
        """Parse `T1,!T2` or, where `any_of` allows it, `in:T1,T2`.  Raises BadQuery."""
        if any_of and value.startswith("in:"):
            self._add_any(key, value)
            return
        for item, name in self._names(key, value, value):
            if item == name:
                self.required.append(frozenset([name]))
            else:
                since = Feature.FORBIDDEN_TRAITS.since
                check_feature(key, value, "a forbidden trait", since, self.version)
                self.forbidden.add(name)

    def _add_any(self, key: str, value: str) -> None:
        check_feature(key, value, "in:", Feature.ANY_TRAITS.since, self.version)
        names = self._names(key, value, value.removeprefix("in:"))
        if any(item != name for item, name in names):
            raise bad(key, value, "a forbidden trait cannot stand inside in:")
        self.required.append(frozenset(name for _item, name in names))

    def _names(self, key: str, value: str, listed: str) -> list[tuple[str, str]]:
        """Return each item of a list, with and without the marks that forbid it."""
        items = [item.strip() for item in listed.split(",")]
        names = [(item, item.lstrip("!")) for item in items]
        if not all(name for _item, name in names):
            raise bad(key, value, "expected names of traits, separated by commas")
        return names


@dataclass(slots=True)
class Membership:
    """Positive terms (any of each set) and aggregates to stay out of."""

    version: Microversion
    positive: list[frozenset[str]] = field(default_factory=list)
    negative: set[str] = field(default_factory=set)

    def add(self, key: str, value: str) -> None:
        """Parse `AGG`, `in:AGG,…`, `!AGG` or `!in:AGG,…`.  Raises BadQuery."""
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
