"""Conversion of request bodies from bytes to validated values.

The cost of a body is limited before the body is parsed: its members are counted in the raw bytes.
Depth and keys are checked before values.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import orjson

from placement.api.keywords import compiled
from placement.errors import BadBody

# The limit allows a reshape of 13,000 consumers with three classes each. A member takes 130 bytes
# of memory and about 3 µs.
MAX_MEMBERS = 150_000
MAX_DEPTH = 32  # nested lists and objects
MAX_KEY = 255  # characters
MAX_REASON = 480  # characters


def decode(raw: bytes) -> Any:
    """Parse JSON. If keys are repeated, the last one takes effect.

    Raises:
        BadBody: the JSON is invalid, or has more members, deeper nesting or longer keys than any
            operation accepts.
    """
    # Every member of a list or object except the first follows a comma. Commas and brackets in
    # strings are counted as well, but large bodies contain few of them.
    if sum(map(raw.count, (b",", b"[", b"{"))) > MAX_MEMBERS:
        raise BadBody(f"body: all lists and objects together may have {MAX_MEMBERS} members")
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise BadBody(_fault(error, raw)) from None
    _check_shape(value)
    return value


# Words of JavaScript and Python that are no JSON.
_NOT_JSON = re.compile(r"NaN|Infinity|True\b|False\b|None\b|undefined\b|'|//|/\*|#")


def _fault(error: orjson.JSONDecodeError, raw: bytes) -> str:
    """Return what is wrong with a body that cannot be parsed, and where."""
    if not raw.strip():
        return "The body is empty: this operation needs a JSON object in it"
    if not error.doc:
        return "The body is not valid JSON: its encoding must be UTF-8"
    at = f"line {error.lineno} column {error.colno} (char {error.pos})"
    if "infinity" in error.msg:
        return f"The body has a number of more than 1.8e308, which no member allows: {at}"
    word = _NOT_JSON.match(error.doc, error.pos)
    reason = error.msg if word is None else f"JSON does not have {word[0]}"
    return f"The body is not valid JSON: {reason}: {at}"


# Formats the path of a member from its keys and indices.
Where = Callable[[Iterable[str | int]], str]


class Schema:
    """A JSON schema, compiled when it is declared; tests check the declared schemas."""

    def __init__(self, schema: Mapping[str, Any], where: Where | None = None) -> None:
        """Compile a schema.

        Args:
            schema: the schema to compile.
            where: formats paths in errors. None means keys separated by dots.
        """
        self.schema = schema
        self._where = where or _dotted
        self._first_error = compiled(schema)

    def check(self, value: Any) -> None:
        """Raise BadBody for the first invalid field, with its path and value."""
        error = self._first_error(value)
        if error is not None:
            where, what = self._where(error.path) or "body", error.message
            if len(what) > MAX_REASON:
                what = f"{what[:MAX_REASON]}…"
            raise BadBody(f"JSON does not validate: {where}: {what}")

    def accepts(self, value: Any) -> bool:
        """Return whether a value is valid."""
        try:
            self.check(value)
        except BadBody:
            return False
        return True


class EitherSchema(Schema):
    """Two alternative forms of a body. Only the second form has a certain member.

    within: the member of the body that has it. None means the body itself.
    """

    def __init__(
        self, first: Schema, second: Schema, member: str, within: str | None = None
    ) -> None:
        forms = [form.schema.get("oneOf", [form.schema]) for form in (first, second)]
        self.schema = {"oneOf": [*forms[0], *forms[1]]}
        self._within = within
        self._first = first
        self._second = second
        self._member = member

    def check(self, value: Any) -> None:
        """Check a body with the schema of its form. Raise BadBody if it is invalid."""
        part = value
        if self._within is not None:
            part = value.get(self._within) if isinstance(value, dict) else None
        second = isinstance(part, dict) and self._member in part
        (self._second if second else self._first).check(value)


def _check_shape(value: Any) -> None:
    for depth, level in enumerate(_levels(value)):
        if depth == MAX_DEPTH:
            path = _deepest_member(value)
            raise BadBody(f"{path}: lists and objects may be nested {MAX_DEPTH} deep")
        for container in level:
            _check_keys(container)


def _check_keys(container: Any) -> None:
    # PERF: search for the longest key only if a key is too long.
    if isinstance(container, dict) and max(map(len, container), default=0) > MAX_KEY:
        key = max(container, key=len)
        raise BadBody(f"{key[:MAX_KEY]}…: a key may have {MAX_KEY} characters")


def _levels(value: Any) -> Iterator[list[Any]]:
    """Yield the lists and objects at each depth. The function does not use recursion."""
    level = _containers([value])
    while level:
        yield level
        below: list[Any] = []
        for container in level:
            below += _containers(container.values() if isinstance(container, dict) else container)
        level = below


_CONTAINERS = frozenset({dict, list})


def size_of(value: Any) -> int:
    """Return the number of members of all lists and objects in a parsed body."""
    return sum(sum(map(len, level)) for level in _levels(value))


def _containers(values: Iterable[Any]) -> list[Any]:
    return [value for value in values if type(value) in _CONTAINERS]


def _deepest_member(value: Any) -> str:
    """Return the member of the body that is nested most deeply."""
    members = value.items() if isinstance(value, dict) else enumerate(value)
    depths = {str(key): sum(1 for _level in _levels(member)) for key, member in members}
    return max(depths, key=lambda key: depths[key])


def _dotted(steps: Iterable[str | int]) -> str:
    return ".".join(map(str, steps))


def path_of(steps: Iterable[str | int]) -> str:
    """Return the path of a member in the notation of code: `groups._NIC.required[0]`."""
    path = ""
    for step in steps:
        if isinstance(step, int):
            path += f"[{step}]"
        elif step:
            path += f".{step}"
        else:
            path += '[""]'
    return path.removeprefix(".")
