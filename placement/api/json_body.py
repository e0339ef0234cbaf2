"""Request bodies: bytes to checked values.

The cost of a body is bounded before it is parsed: its members are counted in the bytes, its depth
and keys are checked before its values.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import orjson
from jsonschema.exceptions import ValidationError

from placement.api.keywords import FORMATS, Validator, in_order
from placement.errors import BadBody

# Those of a reshape of 13,000 consumers with three classes each. One takes up to 130 bytes of
# memory and some 3 µs.
MAX_MEMBERS = 150_000
MAX_DEPTH = 32  # lists and objects within each other
MAX_KEY = 255  # characters
MAX_COMPLAINT = 480  # characters


def decode(raw: bytes) -> Any:
    """Parse JSON; of duplicate keys the last one counts.

    Raises BadBody for invalid JSON, and for more members, more levels or longer keys than any
    operation takes.
    """
    # Every member but the first of a list or object follows a comma. Commas and brackets in texts
    # count too: where members are many, these are few.
    if sum(map(raw.count, (b",", b"[", b"{"))) > MAX_MEMBERS:
        raise BadBody(f"body: all lists and objects may have {MAX_MEMBERS} members together")
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise BadBody(f"The body is not valid JSON: {error}") from None
    _check_shape(value)
    return value


# Takes the steps to a member, names and positions, and returns how a client would write them.
Where = Callable[[Iterable[str | int]], str]


class Schema:
    """A JSON schema, checked and compiled when it is declared."""

    def __init__(self, schema: Mapping[str, Any], where: Where | None = None) -> None:
        """`where`: how complaints write the path of a member; None: with dots alone."""
        self.schema = schema
        self._where = where or _dotted
        Validator.check_schema(schema)
        self._validator = Validator(in_order(schema), format_checker=FORMATS)

    def check(self, value: Any) -> None:
        """Raise BadBody, naming the first wrong field and its value."""
        error = next(self._validator.iter_errors(value), None)
        if error is not None:
            where = self._where(error.absolute_path) or "body"
            raise BadBody(f"JSON does not validate: {where}: {_what(error)}")


class EitherSchema(Schema):
    """Two forms of a body: the second one is meant where a body has the member.

    within: the member of the body that has it; None: the body itself.
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
        """Raise BadBody as the schema of the form does that is meant."""
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
    # PERF: without a look at which key it is.
    if isinstance(container, dict) and max(map(len, container), default=0) > MAX_KEY:
        key = max(container, key=len)
        raise BadBody(f"{key[:MAX_KEY]}…: a key may have {MAX_KEY} characters")


def _levels(value: Any) -> Iterator[list[Any]]:
    """Yield the lists and objects of each depth, without recursion."""
    level = _containers([value])
    while level:
        yield level
        below: list[Any] = []
        for container in level:
            below += _containers(container.values() if isinstance(container, dict) else container)
        level = below


_CONTAINERS = frozenset({dict, list})


def size_of(value: Any) -> int:
    """Return how many members all lists and objects within a parsed body have."""
    return sum(sum(map(len, level)) for level in _levels(value))


def _containers(values: Iterable[Any]) -> list[Any]:
    return [value for value in values if type(value) in _CONTAINERS]


def _deepest_member(value: Any) -> str:
    """Return the member of the body with the deepest nesting."""
    members = value.items() if isinstance(value, dict) else enumerate(value)
    depths = {str(key): sum(1 for _level in _levels(member)) for key, member in members}
    return max(depths, key=lambda key: depths[key])


def _dotted(steps: Iterable[str | int]) -> str:
    return ".".join(map(str, steps))


def path_of(steps: Iterable[str | int]) -> str:
    """Write the path of a member as programs do: `groups._NIC.required[0]`."""
    path = ""
    for step in steps:
        if isinstance(step, int):
            path += f"[{step}]"
        elif step:
            path += f".{step}"
        else:
            path += '[""]'
    return path.removeprefix(".")


def _what(error: ValidationError) -> str:
    """Return the complaint, in one line of bounded length."""
    # A pattern's guard against a line feed at the end would puzzle a client.
    text = error.message.replace(r"(?!\\n)", "")
    return text if len(text) <= MAX_COMPLAINT else f"{text[:MAX_COMPLAINT]}…"
