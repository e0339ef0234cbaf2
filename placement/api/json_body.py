"""Request bodies: bytes to checked values.

What a body may cost is bounded before anything is made of it: its members are counted in the
bytes, its depth and keys are looked at before its values are checked.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import orjson
from jsonschema.exceptions import ValidationError

from placement.api.keywords import FORMATS, Validator, in_order
from placement.errors import BadBody

# As many as a reshape of 13,000 consumers with three classes each has. One takes up to 130 bytes
# of memory and some 3 µs.
MOST_MEMBERS = 150_000
DEEPEST = 32  # lists and objects within each other
LONGEST_KEY = 255  # characters
LONGEST_COMPLAINT = 480  # characters


def decode(raw: bytes) -> Any:
    """Read JSON; the last of duplicate keys wins.

    Raises BadBody for what is no JSON, and for more members, levels or longer keys than any
    operation takes.
    """
    # Every member but the first of a list or object follows a comma. Commas and brackets in texts
    # count too: where members are many, these are few.
    if sum(map(raw.count, (b",", b"[", b"{"))) > MOST_MEMBERS:
        raise BadBody(f"body: all lists and objects may have {MOST_MEMBERS} members together")
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise BadBody(f"The body is not valid JSON: {error}") from None
    _check_shape(value)
    return value


class Schema:
    """A JSON schema, checked and compiled when it is declared."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema = schema
        Validator.check_schema(schema)
        self._validator = Validator(in_order(schema), format_checker=FORMATS)

    def check(self, value: Any) -> None:
        """Raise BadBody, naming the first wrong field and its value."""
        error = next(self._validator.iter_errors(value), None)
        if error is not None:
            raise BadBody(f"JSON does not validate: {_where(error)}: {_what(error)}")


def _check_shape(value: Any) -> None:
    for depth, level in enumerate(_levels(value)):
        if depth == DEEPEST:
            raise BadBody(f"{_deep(value)}: lists and objects may be nested {DEEPEST} deep")
        for each in level:
            if isinstance(each, dict) and len(key := max(each, key=len, default="")) > LONGEST_KEY:
                raise BadBody(f"{key[:LONGEST_KEY]}…: a key may have {LONGEST_KEY} characters")


def _levels(value: Any) -> Iterator[list[Any]]:
    """Yield the lists and objects of each depth, without recursion."""
    level = _containers([value])
    while level:
        yield level
        level = _containers(
            member
            for each in level
            for member in (each.values() if isinstance(each, dict) else each)
        )


def _containers(values: Iterable[Any]) -> list[Any]:
    return [each for each in values if isinstance(each, (dict, list))]


def _deep(value: Any) -> str:
    """The member of the body in which the nesting is."""
    members = value.items() if isinstance(value, dict) else enumerate(value)
    depths = {str(key): sum(1 for _level in _levels(member)) for key, member in members}
    return max(depths, key=lambda key: depths[key])


def _where(error: ValidationError) -> str:
    path = ".".join(str(step) for step in error.absolute_path)
    return path or "body"


def _what(error: ValidationError) -> str:
    """The complaint, in one line of bounded length."""
    # A pattern's guard against a line feed at the end tells a client nothing.
    text = error.message.replace(r"(?!\\n)", "")
    return text if len(text) <= LONGEST_COMPLAINT else f"{text[:LONGEST_COMPLAINT]}…"
