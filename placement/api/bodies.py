"""Conversion of request bodies from bytes to validated values, and parts of several schemas.

The cost of a body is limited before the body is parsed: its members are counted in the raw bytes.
Depth and keys are checked before values.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import orjson

from placement.api import samples
from placement.api.history import Versioned
from placement.api.keywords import CLASS_KEYS, compiled
from placement.api.shapes import Fragment
from placement.errors import BadBody, BadPath
from placement.objects import identifiers
from placement.vocabulary import CUSTOM_PREFIX, is_custom_name

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


# `$` alone would also match before a trailing newline.
END = r"$(?!\n)"

CLASS_NAME: Fragment = {
    "type": "string",
    "pattern": f"^[A-Z0-9_]+{END}",
    "description": "capital letters, digits and _",
    "maxLength": 255,
    "examples": ["VCPU"],
}
CUSTOM_NAME: Fragment = {
    "type": "string",
    "pattern": f"^{CUSTOM_PREFIX}[A-Z0-9_]+{END}",
    "description": f"{CUSTOM_PREFIX} and capital letters, digits and _",
    "maxLength": 255,
    "examples": [samples.CUSTOM_CLASS],
}
UUID_PATTERN = rf"^[0-9a-fA-F-]{{36}}{END}"
CLASS_PATTERN = rf"^[A-Z0-9_]{{1,255}}{END}"
GENERATION: Fragment = {
    "type": "integer",
    "description": "the generation that GET /resource_providers/{uuid} returns",
    "examples": [6],
}
# NUL is excluded because some databases cannot store it.
TEXT: Fragment = {"type": "string", "pattern": "^[^\\u0000]*$", "description": "text without NUL"}
OWNER: Fragment = {**TEXT, "minLength": 1, "maxLength": 255}
OFF: Fragment = {"type": "boolean", "default": False, "examples": [False]}
UUID_LIKE: Fragment = {"type": "string", "format": "uuid", "maxLength": 64}

# Maximum number of inventories, traits or aggregates of a provider, and of the providers of a
# consumer. The number of consumers is limited only by the size of the body.
MAX_ITEMS = 10_000


def by_uuid(value: Fragment, example: str) -> Fragment:
    """Return the schema of an object that maps UUIDs to values."""
    return _by_key(UUID_PATTERN, "a 'uuid' (names are not accepted)", example, value)


def by_class(value: Fragment) -> Fragment:
    """Return the schema of an object that maps resource classes to values."""
    return {**_by_key(CLASS_PATTERN, CLASS_KEYS, "VCPU", value), "maxProperties": MAX_ITEMS}


def _by_key(pattern: str, noun: str, example: str, value: Fragment) -> Fragment:
    """Return the schema of an object whose keys all have the same form."""
    return {
        "type": "object",
        "propertyNames": {"description": noun, "examples": [example]},
        "patternProperties": {pattern: value},
        "additionalProperties": False,
    }


def sample(fragment: Fragment, example: Any) -> Fragment:
    """Return the schema with an example for the OpenAPI document."""
    return {**fragment, "examples": [example]}


def choice(*names: str) -> Fragment:
    """Return the schema of one of several names."""
    return {"type": "string", "enum": [*names], "examples": [names[0]]}


def closed(
    required: Mapping[str, Any], optional: Mapping[str, Any] | None = None, title: str | None = None
) -> Fragment:
    """Return the schema of an object that allows no other members."""
    return {
        **({"title": title} if title else {}),
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": sorted(required),
        "additionalProperties": False,
    }


def custom_name(name: str, kind: str) -> str:
    """Return the name of a custom resource class or trait.

    Raises:
        BadPath: it is not a valid custom name.
    """
    if not is_custom_name(name):
        raise BadPath(f"{name!r}: a custom {kind} is named {CUSTOM_PREFIX}[A-Z0-9_]+")
    return name


def check_uuids(keys: Iterable[str], field: str) -> None:
    """Raise BadBody if a key is not a UUID, or if two keys are the same UUID."""
    key_by_uuid: dict[str, str] = {}
    for key in keys:
        uuid = identifiers.canonical(key)
        if uuid is None:
            raise BadBody(f"{field}: {key!r} is not a 'uuid'")
        if uuid in key_by_uuid:
            raise BadBody(f"{field}: {key_by_uuid[uuid]!r} and {key!r} are the same UUID")
        key_by_uuid[uuid] = key


def canonical_uuid(text: str) -> str:
    """Return the canonical form of a UUID that conforms to its schema."""
    uuid = identifiers.canonical(text)
    assert uuid is not None, "the schema allows UUIDs only"
    return uuid


def body_since_2(schema: Fragment) -> Versioned[Schema]:
    """Return the table of a body that 2.0 introduced. Errors contain paths in the form of code."""
    return Versioned({"2.0": Schema(schema, path_of)})
